"""Make the environments of the peers that cannot share one.

    python benchmarks/svm/environments.py [NAME ...]

Each goes to benchmarks/svm/.environments/NAME; without names, all are tried. What fails is said, with
the end of pip's message, and leaves no environment behind.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys

from benchmark_utils.peers import ENVIRONMENTS, PEERS, missing

MINUTES = 10


def make(name: str) -> str:
    """Make one environment; the sentence that says how it went."""
    place = ENVIRONMENTS / name
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        for packages in PEERS[name].installs:
            subprocess.run(
                [place / "bin" / "python", "-m", "pip", "install", "--quiet", *packages],
                check=True,
                capture_output=True,
                text=True,
                timeout=60 * MINUTES,
            )
    except subprocess.TimeoutExpired:
        why = f"pip took more than {MINUTES} minutes"
    except subprocess.CalledProcessError as failed:
        why = "\n".join((failed.stderr or str(failed)).strip().splitlines()[-5:])
    else:
        return missing(name) or f"{name} is ready."
    shutil.rmtree(place, ignore_errors=True)
    return f"{name} could not be installed: {why}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PEERS))
    names = parser.parse_args().names or list(PEERS)
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        parser.error(f"no environment is called {unknown[0]!r}; there are {', '.join(PEERS)}")
    for name in names:
        print(make(name), flush=True)
