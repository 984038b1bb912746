"""Kernel machines on a GPU side by side: hinge, TorchKM, cuML and ThunderSVM, those that are installed.

    python benchmarks/gpu_peers.py [--device cuda] [--rows 10000] [--sets few made a9a mnist] [--calls 2]
                                   [--limit 140] [--out FILE]

Two races on each set, on the same rows, in float32 on the host, with the same kernel width γ = "scale". *search*: 50
values of C with five folds, and the fit of the chosen one: `SVCCV` and TorchKM, which both do that in one call. *fit*:
one machine at C = 1, each with its own default tolerance. Seconds are wall-clock seconds of the last of `--calls`
calls, from the arrays to the fitted model.

The objective of every model is computed here, from its coefficients and in float64, and stands beside a lower bound on
the optimum at the same C, which `SVC` certifies: "above" is by how much of that bound the model misses it at most. So
no one's own word is taken for how far a fit went. No new contest begins after `--limit` seconds, which the last line
says. Without a GPU, ``--device cpu --rows 300`` runs the same code.
"""

import argparse
import importlib.metadata
import time
import warnings
from typing import NamedTuple

import numpy as np
import torch
from gpu_search import CS, SETS

import hinge
from hinge import SVC, SVCCV

TILE = 2048


class Model(NamedTuple):
    """What a contestant found: C, the rows with coefficients, these, the bias, and predictions of the test rows."""

    C: float
    support: np.ndarray
    coef: np.ndarray
    b: float
    predicted: np.ndarray


def plain(values):
    """A flat NumPy array of what libraries give: of CuPy, sparse, or a list."""
    values = values.get() if hasattr(values, "get") and not hasattr(values, "keys") else values
    values = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(values).ravel()


def found(model, C, X_test, support="support_", coef="dual_coef_"):
    rows, beta = plain(getattr(model, support)).astype(np.int64), plain(getattr(model, coef)).astype(np.float64)
    return Model(C, rows, beta, float(plain(model.intercept_)[0]), plain(model.predict(X_test)))


def hinge_search(X, y, X_test, gamma, device):
    model = SVCCV(Cs=CS, gammas=[gamma], cv=5, device=device).fit(X, y)
    return found(model, model.C_, X_test)


def torchkm_search(X, y, X_test, gamma, device):
    from torchkm.estimators import TorchKMSVC

    # Its kernel is exp(-2σ‖x - z‖²), and its path of C descends.
    model = TorchKMSVC(kernel="rbf", cv=5, device=device, Cs=CS[::-1].copy(), nC=len(CS), rbf_sigma=gamma / 2)
    model.fit(X, y)
    model.all_rows = np.arange(len(X))
    return found(model, float(model.best_C_), X_test, "all_rows", "alpha_")


def hinge_fit(X, y, X_test, gamma, device):
    return found(SVC(C=1.0, gamma=gamma, device=device).fit(X, y), 1.0, X_test)


def cuml_fit(X, y, X_test, gamma, device):
    from cuml.svm import SVC as CumlSVC

    return found(CumlSVC(C=1.0, kernel="rbf", gamma=gamma).fit(X, y.astype(np.float32)), 1.0, X_test)


def thundersvm_fit(X, y, X_test, gamma, device):
    from thundersvm import SVC as ThunderSVC

    return found(ThunderSVC(C=1.0, kernel="rbf", gamma=gamma).fit(X, y), 1.0, X_test)


RACES = {
    "search": {"hinge": hinge_search, "TorchKM": torchkm_search},
    "fit": {"hinge": hinge_fit, "cuML": cuml_fit, "ThunderSVM": thundersvm_fit},
}
PACKAGES = {"TorchKM": "torchkm", "cuML": "cuml", "ThunderSVM": "thundersvm"}


def kernel_sums(X, V, coef, gamma, device):
    """Σⱼ coefⱼ K(x, vⱼ) of all rows x, in float64."""
    V = torch.as_tensor(V, dtype=torch.float64, device=device)
    c, sq, out = torch.as_tensor(coef, dtype=torch.float64, device=device), (V * V).sum(1), []
    for lo in range(0, len(X), TILE):
        x = torch.as_tensor(X[lo : lo + TILE], dtype=torch.float64, device=device)
        far = ((x * x).sum(1)[:, None] + sq - 2.0 * x @ V.T).clamp_(min=0.0)
        out.append((far.mul_(-gamma).exp_() @ c).cpu().numpy())
    return np.concatenate(out)


def objective(model, X, y, gamma, device):
    """½‖w‖² + C Σ max(0, 1 - yf) of a model."""
    r = kernel_sums(X, X[model.support], model.coef, gamma, device)
    sign = 1.0 if np.mean((r + model.b) * y > 0) >= 0.5 else -1.0  # whichever class its positive side stands for
    losses = np.maximum(0.0, 1.0 - sign * y * (r + model.b)).sum()
    return 0.5 * float(model.coef @ r[model.support]) + model.C * float(losses)


def lower_bound(X, y, C, gamma, device):
    """What no answer can go below at this C, in the same unit."""
    best = SVC(C=C, gamma=gamma, device=device, tol=1e-4, max_time=20.0).fit(X, y)
    return best.objective_ / (1.0 + best.gap_) * C * len(y)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--limit", type=float, default=140.0)
    parser.add_argument("--out")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    began, lines = time.perf_counter(), []

    def say(line):
        lines.append(line)
        print(line, flush=True)
        if asked.out:
            with open(asked.out, "w", encoding="utf-8") as file:
                file.write("\n".join([*lines, ""]))

    versions = [f"hinge {hinge.__version__}"]
    for name, package in PACKAGES.items():
        try:
            versions.append(f"{name} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not found")
    device = torch.cuda.get_device_name() if asked.device.startswith("cuda") else "CPU"
    say(f"{', '.join(versions)}; {device}; {asked.calls} calls, the last one timed\n")
    say("| set | rows | race | who | seconds | C | test error | objective | above |")
    say("|---|---|---|---|---|---|---|---|---|")
    late = False
    for name in asked.sets:
        try:
            X, y, X_test, y_test = SETS[name](asked.rows)
        except FileNotFoundError as error:
            say(f"| {name} | {error} | | | | | | | |")
            continue
        gamma, bounds = 1.0 / (X.shape[1] * float(X.var(dtype=np.float64))), {}
        for race, contestants in RACES.items():
            for who, run in contestants.items():
                if late := late or time.perf_counter() - began > asked.limit:
                    break
                try:
                    for _ in range(asked.calls):
                        start = time.perf_counter()
                        model = run(X, y, X_test, gamma, asked.device)
                        seconds = time.perf_counter() - start
                except ImportError:
                    continue
                error = float(np.mean(model.predicted != y_test))
                if model.C not in bounds:
                    bounds[model.C] = lower_bound(X, y, model.C, gamma, asked.device)
                value = objective(model, X, y, gamma, asked.device)
                say(
                    f"| {name} | {len(X):,} x {X.shape[1]:,} | {race} | {who} | {seconds:.2f} | {model.C:.3g} "
                    f"| {error:.4f} | {value:.6g} | {value / bounds[model.C] - 1.0:.1e} |"
                )
    say("\nThe limit of time was reached: contests are missing." if late else "\nAll contests were held.")


if __name__ == "__main__":
    main()
