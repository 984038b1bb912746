"""hinge.LinearSVC on a GPU against the same on two cores: time from `fit` to fitted, data on the host.

    python benchmarks/linear_gpu.py [--data FOLDER] [--only mnist covtype text] [--device cuda] [--rows N]

Both sides end at the same certified gap; objectives (summed over the classes) and gaps of both are printed. First fit,
and the median of later ones: five, or as many as fit the time that is allowed. FOLDER has mnist.npz.xz and
covtype.npz.xz; "text" has the size of CCAT and is made here. Below each set: what the parts of a step take there.
"""

import argparse
import cProfile
import os
import pstats
import statistics
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from gpu import HOME, archive  # noqa: E402

from hinge import LinearSVC, datasets  # noqa: E402
from hinge.access import as_matrix  # noqa: E402
from hinge.access.device_rows import on_device  # noqa: E402
from hinge.estimators.data import validation  # noqa: E402

HINGE = {"loss": "hinge", "lam": 1e-4, "tol": 1e-3}
SETTINGS = {"hinge, lam=1e-4, tol=1e-3": HINGE, "hinge, lam=1e-5, tol=1e-3": {**HINGE, "lam": 1e-5}, "as it comes": {}}


def mnist(folder, rows):
    """Ten classes of pixels in [0, 1]."""
    z = archive(folder, "mnist")
    return z["X_train"].reshape(len(z["y_train"]), -1)[:rows].astype(np.float32) / 255, z["y_train"][:rows]


def covtype(folder, rows):
    """Seven classes, numbers scaled to [0, 1]."""
    z = archive(folder, "covtype")
    n = len(z["cover_type"])
    X = np.zeros((n, 54), np.float32)
    X[:, :10] = (z["num"] - z["num"].min(0)) / np.ptp(z["num"], axis=0)
    X[np.arange(n), 10 + z["wilderness"]] = 1
    X[np.arange(n), 14 + z["soil"]] = 1
    return X[:rows], z["cover_type"][:rows]


def binary(folder, rows):
    """The same, class 2 against the rest."""
    X, y = covtype(folder, rows)
    return X, np.where(y == 2, 1, -1)


def text(folder, rows):
    """Sparse text of two classes."""
    made = datasets.make_text(rows or 800_000, 47_000, 75, seed=0)
    return made.X_train, made.y_train


SETS = {"mnist": mnist, "covtype": covtype, "binary": binary, "text": text}


def settled():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def timed(make, X, y, repeats, seconds):
    """Seconds of the first fit and of later ones, and the last model."""
    times = []
    while len(times) < 2 or (len(times) <= repeats and sum(times) < seconds):
        before = time.perf_counter()
        model = make().fit(X, y)
        settled()
        times.append(time.perf_counter() - before)
    return times[0], statistics.median(times[1:]), model


def parts(X, y, device):
    """What the parts of a step take."""

    def of(work, times=5):
        work()
        settled()
        before = time.perf_counter()
        for _ in range(times):
            found = work()
        settled()
        return found, 1e3 * (time.perf_counter() - before) / times

    matrices = [as_matrix(X) for _ in range(3)]
    on_device(matrices[0], device)
    settled()
    before = time.perf_counter()
    rows = on_device(matrices[1], device)
    settled()
    took = {"sending": 1e3 * (time.perf_counter() - before)}
    _, took["checks on the host"] = of(lambda: validation.validated(LinearSVC(), X, y), 1)
    _, took["and if sound"] = of(lambda: validation.validated(LinearSVC(), X, y, sound=True), 1)
    for k in (1, 10):
        V = torch.randn((rows.width, k), dtype=torch.float64, device=device)
        R, took[f"responses to {k}"] = of(lambda V=V: rows.responses(V))
        _, took[f"sums of {k}"] = of(lambda R=R: rows.combine(R))
    on = torch.rand(rows.n, device=device) < 0.1
    _, took["a tenth of the rows"] = of(lambda: rows.some(on))
    if rows.forms_squares:
        H, took["squares of a tenth"] = of(lambda: rows.squares(on.double()))
        H.diagonal().add_(1.0)
        L, took["factor"] = of(lambda: torch.linalg.cholesky_ex(H)[0])
        _, took["solve"] = of(lambda: torch.cholesky_solve(V[:, :1], L))
    else:
        few, used = rows.some(on)
        _, took["responses of a tenth"] = of(lambda: few.responses(V[:, :1]))
        _, took["sums of a tenth"] = of(lambda: few.combine(R[used, :1]))
    print("    ms: " + ", ".join(f"{name} {value:.2f}" for name, value in took.items()), flush=True)


def profiled(model, X, y):
    """Where the time of a fit goes, as the host sees it."""
    watch = cProfile.Profile()
    watch.runcall(model.fit, X, y)
    pstats.Stats(watch).sort_stats("tottime").print_stats(28)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=HOME, type=Path)
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0, help="of later fits on two cores, for each line")
    parser.add_argument("--profile", action="store_true", help="write what a fit on the device takes on the host")
    parser.add_argument("--trace", action="store_true", help="write each look at the answer")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.device == "cuda":
        print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    for name in options.only:
        X, y = SETS[name](options.data, options.rows)
        print(f"{name}: {X.shape[0]:,} x {X.shape[1]:,}, {X.dtype}, {len(np.unique(y))} classes", flush=True)
        for label, settings in SETTINGS.items():
            if options.trace:
                LinearSVC(device=options.device, verbose=1, **settings).fit(X, y)
            there = timed(lambda s=settings: LinearSVC(device=options.device, **s), X, y, options.repeats, 60.0)
            here = timed(lambda s=settings: LinearSVC(n_jobs=2, **s), X, y, options.repeats, options.seconds)
            print(f"  {label}: {here[1] / there[1]:.1f} x", flush=True)
            for who, (first, median, model) in (("two cores", here), ("device", there)):
                objective = float(np.sum(model.objective_))
                print(
                    f"    {who}: first {first:.3f} s, median {median:.3f} s, {model.n_iter_} steps, objective "
                    f"{objective:.8f}, gap {model.gap_:.1e}, {model.stop_reason_}, {type(model.solver_).__name__}",
                    flush=True,
                )
        parts(X, y, options.device)
        if options.profile:
            profiled(LinearSVC(device=options.device, **HINGE), X, y)


if __name__ == "__main__":
    main()
