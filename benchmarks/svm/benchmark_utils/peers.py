"""Peers in environments of their own: where they are, how to make them, and a process that runs one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import weakref
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

HOME = Path(__file__).resolve().parents[1]
ENVIRONMENTS = HOME / ".environments"
WORKER = Path(__file__).with_name("worker.py")
PLAIN = ("numpy", "scipy")


class Package(NamedTuple):
    """What to import to see that a peer is there, and what pip is given, call after call."""

    module: str
    installs: tuple[tuple[str, ...], ...]


PEERS = {
    # The two LIBLINEARs have the same import name and overwrite each other.
    "liblinear-official": Package("liblinear.liblinearutil", (("liblinear-official", *PLAIN),)),
    "liblinear-multicore": Package("liblinear.liblinearutil", (("liblinear-multicore", *PLAIN),)),
    "lightning": Package(
        "lightning.classification",
        # Only a source distribution, whose build predates newer versions of these.
        (
            ("setuptools<60", "wheel", "Cython<3", "numpy<2", "scipy<1.14", "scikit-learn<1.6"),
            ("--no-build-isolation", "sklearn-contrib-lightning"),
        ),
    ),
    "skglm": Package("skglm.estimators", (("skglm", *PLAIN),)),
    "vowpalwabbit": Package("vowpalwabbit", (("vowpalwabbit", *PLAIN),)),
}


def variable(name: str) -> str:
    """The environment variable that may name an interpreter with this peer."""
    return "HINGE_BENCH_" + name.upper().replace("-", "_")


def interpreter(name: str) -> Path:
    """The interpreter that should have this peer."""
    return Path(os.environ.get(variable(name)) or ENVIRONMENTS / name / "bin" / "python")


@cache
def missing(name: str) -> str | None:
    """Why a peer cannot run, and what to do, as a sentence; None if it can."""
    python = interpreter(name)
    remedy = (
        f"install it with `python benchmarks/svm/environments.py {name}`, or name an interpreter that has "
        f"it in {variable(name)}."
    )
    if not python.exists():
        return f"{name} is not installed (there is no {python}): {remedy}"
    asked = subprocess.run([python, "-c", f"import {PEERS[name].module}"], capture_output=True, text=True, check=False)
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or ["no message"])[-1]
        return f"{name} does not import in {python} ({last}): {remedy}"
    return None


class Worker:
    """A process of another interpreter that holds the data, converted, and trains when told.

    Attributes
    ----------
    preparation : float
        Seconds before it could train: import, conversion of the data, compilation.
    cpu, memory : float
        Processor seconds of the last order; the most MB since it read the data, beyond what it held then.
    """

    def __init__(self, name: str, X: Any, y: np.ndarray, task: dict[str, Any], python: str | None = None) -> None:
        folder = Path(tempfile.mkdtemp(prefix="hinge-bench-"))
        if sp.issparse(X):
            sp.save_npz(folder / "X.npz", sp.csr_matrix(X), compressed=False)
        else:
            np.save(folder / "X.npy", np.asarray(X))
        np.save(folder / "y.npy", np.asarray(y))
        (folder / "task.json").write_text(json.dumps({**task, "folder": str(folder)}))
        self.name, self.folder, self.log = name, folder, folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [python or interpreter(name), WORKER, name, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.close = weakref.finalize(self, _close, self.process, folder)
        self.preparation = self._answer()

    def train(self, stop: float) -> float:
        """Train from nothing; the seconds of the training call alone."""
        return self._order({"train": stop})

    def weights(self) -> np.ndarray:
        """What was trained last."""
        self._order({"save": True})
        return np.load(self.folder / "w.npy")

    def _order(self, order: dict[str, Any]) -> float:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, and the answer says why
        return self._answer()

    def _answer(self) -> float:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            last = (self.log.read_text().strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(f"The process of {self.name} ended before it answered: {last}")
        answer = json.loads(line)
        self.cpu, self.memory = answer["cpu"], answer["memory"]
        return float(answer["seconds"])


def _close(process: subprocess.Popen[str], folder: Path) -> None:
    process.kill()
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)
