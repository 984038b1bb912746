"""Data in its own units, which no scaler has seen: seconds to a certified gap, and how the fit ended.

    python benchmarks/hard.py [--sets madelon arcene covtype twins nearly] [--C 1e-4 1 1e4] [--losses hinge]
    python benchmarks/hard.py --draws 300 [--first 0]

The first fits LinearSVC to sets, the second default estimators to random ones: columns of 1e-3 to 1e9, rows that occur
several times, C from 1e-6 to 1e6, and ν from a hundredth of the largest that is feasible up to it. None may take more
than 5 s and 20 times scikit-learn's time, and one that has not converged must say so.

madelon and arcene as they are, covtype in metres and degrees, madelon with a fifth of its columns twice (`twins`) and
with as many that are nearly sums of others (`nearly`). CPU seconds of one thread, compiled code warm. Sets are read
from $HINGE_DATA (or ../shared/data).
"""

import argparse
import io
import lzma
import multiprocessing
import os
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn import svm  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

import hinge  # noqa: E402
from hinge import LinearSVC, datasets  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
AT_MOST = 10.0  # seconds that are aimed at
DRAW_SECONDS, DRAW_TIMES = 5.0, 20.0  # a fit to random data may take so long, or so many times what scikit-learn takes


def stored(name):
    found = datasets.load(name, home=HOME)
    X = found.X_train
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, np.float32), np.where(found.y_train > 0, 1, -1)


def covtype():
    """Numbers as they were measured, and a column of zeros and ones for each kind of wilderness and soil."""
    with np.load(io.BytesIO(lzma.decompress((Path(HOME) / "covtype.npz.xz").read_bytes()))) as z:
        n = len(z["cover_type"])
        X = np.zeros((n, 54), np.float32)
        X[:, :10] = z["num"]
        X[np.arange(n), 10 + z["wilderness"]] = 1
        X[np.arange(n), 14 + z["soil"]] = 1
        order = np.random.default_rng(0).permutation(n)[: n * 9 // 10]
        return X[order], np.where(z["cover_type"] == 1, 1, -1)[order]


def more_columns(nearly):
    """madelon with some of its columns once more, or with sums of two that are a millionth off."""
    X, y = stored("madelon")
    rng = np.random.default_rng(0)
    some = X[:, rng.permutation(X.shape[1])[:100]]
    if nearly:
        others = X[:, rng.permutation(X.shape[1])[:100]]
        some = (some + others) * (1 + 1e-6 * rng.standard_normal(some.shape).astype(np.float32))
    return np.ascontiguousarray(np.hstack([X, some])), y


SETS = {
    "madelon": lambda: stored("madelon"),
    "arcene": lambda: stored("arcene"),
    "covtype": covtype,
    "twins": lambda: more_columns(False),
    "nearly": lambda: more_columns(True),
}


def draw(seed):
    """Name and parameters of an estimator, and its data: of mixed scales, or with duplicates, or far from zero."""
    rng = np.random.default_rng([31, seed])
    n, d = int(rng.choice([60, 300, 1000, 2000, 4000])), int(rng.choice([1, 2, 5, 20, 100]))
    X = rng.normal(size=(n, d))
    target = X @ rng.normal(size=d) / np.sqrt(d) + rng.choice([0.0, 0.3, 1.0, 100.0]) * rng.normal(size=n)
    kind = rng.choice(["plain", "mixed", "twice", "mixed, twice", "far", "integers"])
    if "mixed" in kind:
        X = X * 10.0 ** rng.integers(-3, 10, size=d)
    if "twice" in kind:
        X = X[rng.integers(0, n // 4, size=n)]
    if kind == "far":
        X = X + 10.0 ** rng.integers(1, 5)
    if kind == "integers":
        X = np.round(X)
    names = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]
    name = str(rng.choice(names, p=[0.25, 0.25, 0.12, 0.08, 0.08, 0.15, 0.07]))
    classes = np.argsort(np.argsort(target)) * int(rng.choice([2, 2, 2, 3])) // n
    if rng.random() < 0.3:
        classes = (target > np.quantile(target, 0.9)).astype(int)
    given = {"C": float(10.0 ** rng.integers(-6, 7))}
    if "Linear" not in name:
        given["kernel"] = str(rng.choice(["linear", "rbf", "poly"], p=[0.4, 0.45, 0.15]))
    elif name == "LinearSVC":
        form = rng.choice(3)
        given |= [{"loss": "hinge"}, {"loss": "squared_hinge"}, {"multi_class": "crammer_singer"}][form]
    else:
        given["loss"] = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    if name in ("NuSVC", "NuSVR", "OneClassSVM"):
        given["nu"] = float(rng.choice([0.01, 0.1, 0.5, 0.9, 1.0]))
    if name == "NuSVC":
        sizes = np.sort(np.bincount(classes))
        given["nu"] *= 2.0 * sizes[0] / (sizes[0] + sizes[-1])
    if name in ("NuSVC", "OneClassSVM"):
        del given["C"]
    y = None if name == "OneClassSVM" else classes if "SVC" in name else target * 10.0 ** rng.choice([0, 0, 3, -3])
    return name, given, X, y, kind


def fit_theirs(seed):
    name, given, X, y, _ = draw(seed)
    warnings.simplefilter("ignore")
    getattr(svm, name)(**given).fit(X, y)


def takes_longer(seed, seconds):
    """Whether scikit-learn takes more than so many seconds, in a process that is ended then."""
    process = multiprocessing.get_context("fork").Process(target=fit_theirs, args=(seed,))
    process.start()
    process.join(seconds)
    longer = process.is_alive()
    process.kill()
    process.join()
    return longer


def run_draws(first, count):
    """Fit default estimators to random data; the number of those that took too long or ended without a word."""
    bad = short = 0
    longest = 0.0
    for seed in range(first, first + count):
        name, given, X, y, kind = draw(seed)
        for _ in range(2):  # a slow one again: it may have compiled
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                began = time.process_time()
                model = getattr(hinge, name)(**given).fit(X, y)
                seconds = time.process_time() - began
            if seconds <= DRAW_SECONDS:
                break
        told = any(issubclass(one.category, ConvergenceWarning) for one in said)
        reached = model.gap_ <= model.tol
        slow = seconds > DRAW_SECONDS and not takes_longer(seed, seconds / DRAW_TIMES)
        bad += slow or not (reached or told)
        short += not reached
        longest = max(longest, seconds)
        if not reached or seconds > DRAW_SECONDS:
            ended = f"gap {model.gap_:.1e} {model.stop_reason_}{'' if reached or told else ', silently'}"
            shape = f"{X.shape[0]} x {X.shape[1]}"
            print(f"  {seed:4} {name:11} {shape:10} {kind:12} {given}: {seconds:.2f} s {ended}{'  *' if slow else ''}")
    print(f"{count} fits, the longest {longest:.1f} s; {short} short of their tolerance")
    print(
        f"{bad} took more than {DRAW_SECONDS:g} s and {DRAW_TIMES:g} times scikit-learn's time (*), or ended silently"
    )
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--C", nargs="*", type=float, default=[1e-4, 1.0, 1e4, 1e6])
    parser.add_argument("--losses", nargs="*", default=["squared_hinge", "hinge"])
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--most", type=float, default=2 * AT_MOST, help="seconds after which a fit is cut off")
    parser.add_argument("--draws", type=int, help="fit default estimators to so many random sets instead")
    parser.add_argument("--first", type=int, default=0, help="the first of these")
    args = parser.parse_args()
    if args.draws:
        raise SystemExit(run_draws(args.first, args.draws) > 0)
    warnings.simplefilter("ignore")
    missed = fits = 0
    for name in args.sets:
        X, y = SETS[name]()
        print(f"{name}: {X.shape[0]} x {X.shape[1]}", flush=True)
        for loss in args.losses:
            LinearSVC(loss=loss, C=1e-6, tol=0.5, solver=args.solver, max_time=args.most).fit(X, y)  # compiles
            for C in args.C:
                model = LinearSVC(
                    loss=loss, C=C, tol=args.tol, solver=args.solver, max_time=args.most, max_iter=10**6, random_state=0
                )
                began = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - began
                good = model.gap_ <= args.tol and seconds <= AT_MOST
                fits, missed = fits + 1, missed + (not good)
                what = f"{type(model.solver_).__name__:10} {model.stop_reason_}"
                print(
                    f"  {loss:14} C {C:6.0e}  {seconds:7.2f} s  gap {model.gap_:8.1e}  objective {model.objective_:.5g}"
                    f"  {what}{'' if good else '  *'}",
                    flush=True,
                )
    print(f"{missed} of {fits} not certified to {args.tol:g} within {AT_MOST:g} s (*)")


if __name__ == "__main__":
    main()
