"""hinge.SVR and LinearSVR against scikit-learn's (LIBSVM, LIBLINEAR): times to the same objective.

    python benchmarks/regression.py [--only SVR LinearSVR small] [--sets NAME ...] [--repeats 3]

Every row: the same data, C and epsilon, one process, one thread, runs interleaved, CPU seconds of `fit`, medians,
compiled code warm; both sides have their default cache. Our tolerance is the loosest of a fixed grid, from the default
on, whose training objective is not above the peer's; objectives are printed, for SVR as

    1/2 |w|^2 + C sum max(0, |t - f(x)| - epsilon).

Targets have mean 0 and variance 1. Sets: `covtype` (elevation from the other 53 columns, 10,000 rows), `mnist` (a pixel
in the middle from all others, 4,000 rows), `a9a` (a linear function of its bits, with noise, 8,000 rows), `friedman1`
(synthetic, 4,000 rows of 10), `diabetes` (442 rows; with scikit-learn). Real sets are read from $HINGE_DATA (or
../shared/data); a missing set is said and left out. `small` has sets of 100 to 500 rows, where the fixed cost of a fit
shows.
"""

import argparse
import os
import statistics
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import sklearn.datasets as toys  # noqa: E402
from sklearn import svm  # noqa: E402

import hinge  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
GRID = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
SETTINGS = {  # C and ε of SVR
    "covtype": ((1.0, 0.1), (10.0, 0.1)),
    "mnist": ((1.0, 0.1), (10.0, 0.01)),
    "a9a": ((1.0, 0.1), (10.0, 0.1)),
    "friedman1": ((1.0, 0.1), (10.0, 0.1), (100.0, 0.1)),
    "diabetes": ((1.0, 0.1), (100.0, 0.01)),
}
LINEAR = (1.0, 0.0), (1.0, 0.1)


def standard(a):
    spread = a.std(axis=0)
    return (a - a.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def rows_of(name, n, seed=0):
    """Some training rows of a real set, in full."""
    X = hinge.datasets.load(name, home=HOME, **({"positive": 8} if name == "mnist" else {})).X_train
    X = X[np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:n])]
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64)


def data(name):
    rng = np.random.default_rng(1)
    if name == "covtype":
        X = rows_of(name, 10_000)
        return X[:, 1:].copy(), standard(X[:, 0])
    if name == "mnist":
        X = rows_of(name, 4_000)
        at = 14 * 28 + 14
        return np.delete(X, at, axis=1), standard(X[:, at])
    if name == "a9a":
        X = rows_of(name, 8_000)
        w = rng.standard_normal(X.shape[1])
        return X, standard(standard(X @ w) + 0.3 * rng.standard_normal(len(X)))
    if name == "diabetes":
        X, t = toys.load_diabetes(return_X_y=True)
    else:
        X, t = toys.make_friedman1(4_000, noise=1.0, random_state=0)
    return standard(X), standard(t)


def objective(model, X, t, C, epsilon):
    """That of the docstring for a kernel machine; w of a linear one has the bias in it, as in LIBLINEAR."""
    f = model.predict(X)
    if hasattr(model, "dual_coef_"):
        beta = np.zeros(len(t))
        beta[model.support_] = np.ravel(model.dual_coef_)
        sq = float(beta @ (f - model.intercept_[0]))
    else:
        sq = float(np.ravel(model.coef_) @ np.ravel(model.coef_)) + float(np.ravel(model.intercept_)[0]) ** 2
    return 0.5 * sq + C * float(np.maximum(np.abs(t - f) - epsilon, 0.0).sum())


def fitted(make, X, t):
    before = time.process_time()
    model = make().fit(X, t)
    return time.process_time() - before, model


def compared(label, ours, peer, X, t, C, epsilon, repeats):
    """One row: `ours` takes a tolerance, `peer` is called as it is."""
    seconds, model = fitted(peer, X, t)
    theirs, times = objective(model, X, t, C, epsilon), {"peer": [seconds], "ours": []}
    for tol in GRID:
        seconds, model = fitted(lambda: ours(tol), X, t)  # noqa: B023
        found = objective(model, X, t, C, epsilon)
        if found <= theirs:
            break
    times["ours"].append(seconds)
    for _ in range(repeats - 1):
        times["peer"].append(fitted(peer, X, t)[0])
        times["ours"].append(fitted(lambda: ours(tol), X, t)[0])
    a, b = (statistics.median(times[who]) for who in ("peer", "ours"))
    print(
        f"{label:34s} {len(t):6d} {C:6g} {epsilon:6g} {a:9.3f} {b:9.3f} {a / b:7.2f}   "
        f"{theirs:.6g} {found:.6g} {tol:7.0e} {model.gap_:8.1e}",
        flush=True,
    )


def kernel(options):
    for name in options.sets or SETTINGS:
        try:
            X, t = data(name)
        except (OSError, ValueError) as error:
            print(f"{name}: left out. {error}")
            continue
        for C, epsilon in SETTINGS[name]:
            compared(
                f"SVR {name}",
                lambda tol: hinge.SVR(C=C, epsilon=epsilon, tol=tol),  # noqa: B023
                lambda: svm.SVR(C=C, epsilon=epsilon),  # noqa: B023
                X,
                t,
                C,
                epsilon,
                options.repeats,
            )


def linear(options):
    for name in options.sets or SETTINGS:
        try:
            X, t = data(name)
        except (OSError, ValueError) as error:
            print(f"{name}: left out. {error}")
            continue
        for C, epsilon in LINEAR:
            compared(
                f"LinearSVR {name}",
                lambda tol: hinge.LinearSVR(C=C, epsilon=epsilon, tol=tol),  # noqa: B023
                lambda: svm.LinearSVR(C=C, epsilon=epsilon, max_iter=10_000),  # noqa: B023
                X,
                t,
                C,
                epsilon,
                options.repeats,
            )


def small(options):
    for n in (100, 200, 500):
        X, t = toys.make_friedman1(n, noise=1.0, random_state=0)
        X, t = standard(X), standard(t)
        for kind in ("SVR", "NuSVR"):
            times = {"peer": [], "ours": []}
            for _ in range(21):
                for who, module in (("peer", svm), ("ours", hinge)):
                    times[who].append(fitted(getattr(module, kind), X, t)[0])
            a, b = (1e3 * statistics.median(times[who]) for who in ("peer", "ours"))
            print(f"{kind + ' friedman1, milliseconds':34s} {n:6d} {'':13s} {a:9.2f} {b:9.2f} {a / b:7.2f}", flush=True)


TABLES = {"SVR": kernel, "LinearSVR": linear, "small": small}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sets", nargs="*", choices=SETTINGS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, t = toys.make_friedman1(1500, random_state=0)
    for make in (hinge.SVR, hinge.LinearSVR):  # compiled code
        for part in (slice(0, 300), slice(None)):
            make(C=10.0).fit(X[part], t[part])
    print(
        f"{'':34s} {'rows':>6s} {'C':>6s} {'eps':>6s} {'sklearn':>9s} {'ours':>9s} {'ratio':>7s}   "
        "objective: theirs, ours; tol, gap"
    )
    for table in options.only:
        TABLES[table](options)


if __name__ == "__main__":
    main()
