"""scikit-learn's own examples that use `sklearn.svm`, as they are and with hinge's classes in their place.

    python benchmarks/scripts.py CHECKOUT [--only WORD] [--timeout 300] [--out FILE]

CHECKOUT is a folder with scikit-learn's sources, of the version that is installed. Scripts that download data are left
out. Each runs twice in turn, by `python script` and by `python -m hinge.accel script`, without a display, in a folder
of its own; seconds are those of the whole process. What both print is compared: the same, the same but for numbers that
differ by 2% or less, or the number of lines that differ; durations do not count. `hinge.warm()` compiles beforehand.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import sklearn

ROOT = Path(__file__).resolve().parents[1]
USES = re.compile(r"^\s*(from sklearn\.svm import|import sklearn\.svm|from sklearn import .*\bsvm\b)", re.MULTILINE)
DOWNLOADS = re.compile(r"\bfetch_\w+\(|\burlretrieve\(|\burlopen\(")
DURATION = re.compile(r"\d+(\.\d+)? ?(s|ms|sec|secs|seconds)\b|(time|took|duration|elapsed)[^\n]*", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?", re.IGNORECASE)
CLOSE = 0.02


class Run(NamedTuple):
    """What a script printed, its seconds, and the last line of its error; empty if it had none."""

    out: str
    seconds: float
    error: str


def scripts_of(checkout: Path) -> tuple[list[Path], list[Path]]:
    """The examples that use sklearn.svm: those that run offline, and those that download data."""
    found = [path for path in sorted((checkout / "examples").rglob("*.py")) if USES.search(path.read_text("utf-8"))]
    online = [path for path in found if DOWNLOADS.search(path.read_text("utf-8"))]
    return [path for path in found if path not in online], online


def ran(script: Path, swapped: bool, timeout: float) -> Run:
    """One run of a script, in an empty folder."""
    command = [sys.executable, *(("-m", "hinge.accel") if swapped else ()), str(script)]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return Run("", timeout, f"not done in {timeout:g} s")
        seconds = time.perf_counter() - began
    lines = done.stderr.strip().splitlines()
    return Run(done.stdout, seconds, (lines[-1] if lines else "failed") if done.returncode else "")


def compared(theirs: str, ours: str) -> str:
    """How two outputs differ, in words."""
    pairs = list(zip_longest(theirs.splitlines(), ours.splitlines(), fillvalue=""))
    pairs = [(DURATION.sub("", one), DURATION.sub("", other)) for one, other in pairs]
    off = [pair for pair in pairs if pair[0] != pair[1]]
    if not off:
        return "the same"
    far = [pair for pair in off if not close(*pair)]
    if not far:
        return f"numbers within {CLOSE:.0%}"
    return f"{len(far)} of {len(pairs)} lines differ"


def close(one: str, other: str) -> bool:
    """Whether two lines are equal but for numbers that hardly differ."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= CLOSE * max(abs(float(a)), abs(float(b))) for a, b in numbers)


def table(scripts: list[Path], checkout: Path, timeout: float) -> Iterator[str]:
    """The lines of the table, each as soon as it is known."""
    yield "| script | seconds, scikit-learn | hinge | what is printed |"
    yield "|---|---|---|---|"
    sums, failed = [0.0, 0.0], 0
    for script in scripts:
        theirs, ours = ran(script, False, timeout), ran(script, True, timeout)
        if theirs.error:
            verdict = f"fails with scikit-learn too: {theirs.error}"
        elif ours.error:
            verdict, failed = f"**fails**: {ours.error}", failed + 1
        else:
            verdict = compared(theirs.out, ours.out)
            sums = [sums[0] + theirs.seconds, sums[1] + ours.seconds]
        name = script.relative_to(checkout / "examples")
        yield f"| {name} | {theirs.seconds:.1f} | {ours.seconds:.1f} | {verdict.replace('|', '/')} |"
    yield f"| {len(scripts)} in all, {failed} fail | {sums[0]:.0f} | {sums[1]:.0f} | |"


def main() -> None:
    """Write the table to standard output, or to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=lambda text: Path(text).resolve())  # scripts run in folders of their own
    parser.add_argument("--only", default="", help="run scripts whose path has this word")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not (options.checkout / "examples").is_dir():
        parser.error(
            f"{options.checkout} has no folder 'examples': give a checkout of scikit-learn {sklearn.__version__}."
        )
    scripts, online = scripts_of(options.checkout)
    scripts = [script for script in scripts if options.only in str(script)]
    sys.path.insert(0, str(ROOT))
    from hinge import warm

    warm()
    lines = []
    for line in table(scripts, options.checkout, options.timeout):
        lines.append(line)
        print(line, flush=True)
    if online:
        lines += ["", f"Left out, since they download data: {', '.join(path.name for path in online)}."]
        print(*lines[-2:], sep="\n")
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
