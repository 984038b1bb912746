"""One peer, served by an interpreter that has it installed; needs NumPy, SciPy and the peer alone.

    python worker.py PEER FOLDER

The folder holds the rows, the labels and `task.json`. Orders come as lines of JSON on standard input, one
answer goes back for each: ``{"train": stop}`` trains from nothing and answers with the seconds of the
training call; ``{"save": true}`` writes the weights into the folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


class Liblinear:
    """LIBLINEAR's dual coordinate descent, ``-s 3``, or another solver; with threads in the multicore build."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        from liblinear.liblinearutil import problem, train

        self.call = train
        self.rows = sp.csr_matrix(X, dtype=np.float64)
        self.problem = problem(y.astype(np.float64), self.rows)
        threads = f" -m {task['threads']}" if "threads" in task else ""
        self.options = f"-s {task.get('solver', 3)} -B -1 -q -c {1 / (lam * len(y))!r}{threads}"

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


class Estimator:
    """A class of scikit-learn's form; `stop` is what the task says, its tolerance or its passes."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        self.X = sp.csr_matrix(X, dtype=np.float64) if task.get("csr") else X
        self.y, self.stop, self.kernel = y, task["stop"], "gamma" in task["settings"]
        self.settings = {k: 1 / (lam * len(y)) if v == "1/(λn)" else v for k, v in task["settings"].items()}
        module, _, own = task["class"].rpartition(".")
        self.make = getattr(import_module(module), own)

    def train(self, stop: float) -> None:
        """`fit`, all of it, of a new machine."""
        settings = {**self.settings, self.stop: int(stop) if self.stop == "max_iter" else stop}
        self.model = self.make(**settings).fit(self.X, self.y)
        assert getattr(self.model, "gap_", 0.0) <= stop  # ours, by which all are judged

    def weights(self) -> np.ndarray:
        """Of a linear machine w; of a kernel machine the coefficients of all rows, and the bias."""
        if not self.kernel:
            return np.ravel(self.model.coef_)
        dual, beta = self.model.dual_coef_, np.zeros(len(self.y) + 1)
        beta[np.asarray(self.model.support_)] = np.ravel(dual.toarray() if sp.issparse(dual) else dual)
        beta[-1] = np.ravel(self.model.intercept_)[0]
        return beta


def gaussian(X: Any, Z: Any, gamma: float) -> np.ndarray:
    """Kernel values of all pairs of rows, in float64."""
    X, Z = (sp.csr_matrix(part, dtype=np.float64) if sp.issparse(part) else np.float64(part) for part in (X, Z))
    inner = X @ Z.T
    apart = (inner.toarray() if sp.issparse(inner) else inner) * -2
    for part, at in ((X, np.s_[:, None]), (Z, np.s_[None, :])):
        apart += np.ravel((part.multiply(part) if sp.issparse(part) else part * part).sum(axis=1))[at]
    return np.exp(-gamma * np.maximum(apart, 0.0, out=apart), out=apart)


class TorchKM:
    """The solver of TorchKM's estimator, without the folds that always follow."""

    def __init__(self, X: Any, y: np.ndarray, lam: float, task: dict[str, Any]) -> None:
        import torch
        from torchkm.cvksvm import cvksvm

        torch.set_num_threads(1)
        self.solver, self.torch, self.settings, self.X = cvksvm, torch, task["settings"], X
        self.y = torch.as_tensor(y, dtype=torch.float64)

    def train(self, stop: float) -> None:
        """The kernel matrix and the fit."""
        torch, n = self.torch, len(self.y)
        lam = torch.tensor([1 / (2 * n * self.settings["C"])], dtype=torch.float64)
        K, small = torch.as_tensor(gaussian(self.X, self.X, self.settings["gamma"])), min(1e-3, stop)
        model = self.solver(
            K, self.y, 1, lam, nfolds=2, eps=stop, maxit=10**6, gamma=1e-8, KKTeps=small, KKTeps2=small, device="cpu"
        )
        model._cv_batched_lambda = lambda *_, **__: torch.zeros(n)
        model.fit()
        self.answer = model.alpmat[:, 0].numpy()

    def weights(self) -> np.ndarray:
        """Coefficients of all rows, and the bias, which it has first."""
        return np.roll(self.answer, -1)


PEERS: dict[str, Any] = {
    "liblinear-official": Liblinear,
    "liblinear-multicore": Liblinear,
    "lightning": Lightning,
    "skglm": Skglm,
    "vowpalwabbit": VowpalWabbit,
    "estimator": Estimator,
    "torchkm": TorchKM,
}


def read(folder: Path) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Rows, labels and task."""
    sparse = folder / "X.npz"
    X = sp.csr_matrix(sp.load_npz(sparse)) if sparse.exists() else np.load(folder / "X.npy")
    return X, np.load(folder / "y.npy"), json.loads((folder / "task.json").read_text())


def megabytes(line: str) -> float:
    """Of this process, by Linux: "VmRSS" now, "VmHWM" at most; nan elsewhere."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(one.split()[1]) / 1e3 for one in lines if one.startswith(line)), float("nan"))


def serve(name: str, folder: Path) -> None:
    """Answer orders on standard input until there are no more."""
    # What a peer prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    X, y, task = read(folder)
    if task.get("warm"):  # imports and compiles, which no memory or time is counted for
        few = np.concatenate([np.flatnonzero(y == sign)[: task["warm"]] for sign in (-1, 1)])
        PEERS[name](X[few], y[few], task["lam"], task).train(1)
    held = megabytes("VmRSS")
    with contextlib.suppress(OSError):  # not on Linux, or not allowed
        Path("/proc/self/clear_refs").write_text("5")  # forgets the most so far

    def timed(call: Any) -> Any:
        began, cpu = time.perf_counter(), time.process_time()
        made = call()
        content = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        answers.write(json.dumps({**content, "memory": megabytes("VmHWM") - held}) + "\n")
        answers.flush()
        return made

    peer = timed(lambda: PEERS[name](X, y, task["lam"], task))
    for line in sys.stdin:
        order = json.loads(line)
        if "train" in order:
            timed(lambda stop=order["train"]: peer.train(stop))
        else:
            timed(lambda: np.save(folder / "w.npy", np.asarray(peer.weights(), np.float64)))


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
