"""One peer, served by an interpreter that has it installed; needs NumPy, SciPy and the peer alone.

    python worker.py PEER FOLDER

The folder holds the rows, the labels and `task.json`. Orders come as lines of JSON on standard input, one
answer goes back for each: ``{"train": stop}`` trains from nothing and answers with the seconds of the
training call; ``{"save": true}`` writes the weights into the folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


class Liblinear:
    """LIBLINEAR's dual coordinate descent, ``-s 3``; with threads where it is the multicore build."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        from liblinear.liblinearutil import problem, train

        self.call = train
        self.rows = sp.csr_matrix(X, dtype=np.float64)
        self.problem = problem(y.astype(np.float64), self.rows)
        threads = f" -m {task['threads']}" if "threads" in task else ""
        self.options = f"-s 3 -B -1 -q -c {1 / (lam * len(y))!r}{threads}"

    def train(self, stop: float) -> None:
        """Until the dual's largest violation is at most `stop`."""
        self.model = self.call(self.problem, f"{self.options} -e {stop!r}")

    def weights(self) -> np.ndarray:
        """Of the class +1, whichever came first in the data."""
        w = np.array(self.model.get_decfun()[0])
        return w if self.model.get_labels()[0] == 1 else -w


class Lightning:
    """lightning's two dual solvers; `stop` is the number of passes."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        from lightning.classification import LinearSVC, SDCAClassifier

        self.X = sp.csr_matrix(X, dtype=np.float64) if sp.issparse(X) else np.ascontiguousarray(X, np.float64)
        self.y = y
        settings = dict(loss="hinge", tol=1e-12, random_state=task["seed"])  # passes alone end a run
        if task["method"] == "sdca":
            self.model = SDCAClassifier(alpha=lam, **settings)
        else:
            self.model = LinearSVC(C=1 / (lam * len(y)), **settings)

    def train(self, stop: float) -> None:
        """So many passes."""
        self.model.set_params(max_iter=int(stop)).fit(self.X, self.y)

    def weights(self) -> np.ndarray:
        """Of the class +1."""
        return self.model.coef_.ravel()


class Skglm:
    """skglm's LinearSVC: Anderson-accelerated coordinate descent on the dual; `stop` is the number of passes.

    Its working sets begin with ten rows, and 50 of them end a fit: on a9a that is far from the optimum at any
    tolerance. Here the first, and only one, has all rows.
    """

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        from skglm.estimators import LinearSVC

        self.model = LinearSVC(
            C=1 / (lam * len(y)), p0=len(y), max_iter=1, max_epochs=1, tol=1e-12, fit_intercept=False
        )
        self.y = y.astype(np.float64)
        self.X = sp.csc_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asfortranarray(X, np.float64)
        few = np.concatenate([np.flatnonzero(y == sign)[:10] for sign in (-1, 1)])
        self.model.fit(self.X[few], self.y[few])  # compiles

    def train(self, stop: float) -> None:
        """So many passes."""
        self.model.set_params(max_epochs=int(stop)).fit(self.X, self.y)

    def weights(self) -> np.ndarray:
        """Of the class +1."""
        return np.ravel(self.model.coef_)


class VowpalWabbit:
    """Vowpal Wabbit over a cache file, which training reads; `stop` is the number of passes."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        from vowpalwabbit import Workspace

        self.workspace, self.d = Workspace, X.shape[1]
        rows = sp.csr_matrix(X)
        text = Path(task["folder"], "rows.vw")
        with text.open("w") as file:
            for i, label in enumerate(y):
                part = slice(rows.indptr[i], rows.indptr[i + 1])
                cells = zip(rows.indices[part], rows.data[part], strict=True)
                file.write(f"{label} | " + " ".join(f"{j}:{v:.9g}" for j, v in cells) + "\n")
        self.result = text.with_suffix(".weights")
        bits = max(1, int(self.d - 1).bit_length())
        self.options = (
            f"--loss_function hinge --l2 {lam!r} --noconstant -b {bits} --holdout_off --quiet "
            f"--data {text} --cache_file {text}.cache --readable_model {self.result}{task['flags']}"
        )
        self.train(1)  # writes the cache

    def train(self, stop: float) -> None:
        """So many passes, and the end that applies what is left of the regularisation."""
        self.workspace(f"{self.options} --passes {int(stop)}").finish()

    def weights(self) -> np.ndarray:
        """Of the features, whose numbers are their places."""
        factor, _, cells = self.result.read_text().partition("l2_state ")[2].partition("\n")
        w = np.zeros(self.d)
        for line in cells.splitlines():
            place, values = line.split(":")
            w[int(place)] = float(values.split()[0])
        return float(factor) * w  # regularisation shrinks a common factor, which the file keeps apart


PEERS: dict[str, Any] = {
    "liblinear-official": Liblinear,
    "liblinear-multicore": Liblinear,
    "lightning": Lightning,
    "skglm": Skglm,
    "vowpalwabbit": VowpalWabbit,
}


def read(folder: Path) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Rows, labels and task."""
    sparse = folder / "X.npz"
    X = sp.csr_matrix(sp.load_npz(sparse)) if sparse.exists() else np.load(folder / "X.npy")
    return X, np.load(folder / "y.npy"), json.loads((folder / "task.json").read_text())


def serve(name: str, folder: Path, orders: Any, answers: Any) -> None:
    """Answer orders until there are no more."""

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    X, y, task = read(folder)
    began = time.perf_counter()
    peer = PEERS[name](X, y, task["lam"], task)
    answer(seconds=time.perf_counter() - began)
    for line in orders:
        order = json.loads(line)
        began = time.perf_counter()
        if "train" in order:
            peer.train(order["train"])
        else:
            np.save(folder / "w.npy", np.asarray(peer.weights(), np.float64))
        answer(seconds=time.perf_counter() - began)


if __name__ == "__main__":
    # What a peer prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.argv[1], Path(sys.argv[2]), sys.stdin, answers)
