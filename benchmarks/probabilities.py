"""Probabilities from one fit against scikit-learn's five folds: log-loss, cost over the plain fit, contradictions.

    python benchmarks/probabilities.py [--data ../shared/data] [--sets a9a madelon] [--kernels linear rbf] [--C 1 10]

For each set, kernel and C: the log-loss on test rows of `predict_proba` after `calibrate` (linear) or with
``probability=True`` (rbf), of ``CalibratedClassifierCV(ensemble=False, cv=5)`` over the same machine, their quotient;
the time of the fit with probabilities over that without (processor time, least of `--repeats`, interleaved); the share
of test rows where the most probable class is not the predicted one. Sets with more than `--rows` (linear) or
`--kernel-rows` rows are cut to the first so many of a fixed permutation, and so are their tests.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402

from hinge import SVC, LinearSVC  # noqa: E402

POSITIVE = {"mnist": 8, "covtype": 1}
"""The class of sets with several that is told from the rest."""


def some(X, y, rows):
    keep = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[keep], y[keep]


def loaded(name, options, rows):
    sys.path.insert(0, str(options.data))
    from load import load

    X, y, X_test, y_test = load(name, options.data, positive=POSITIVE.get(name))
    if y.ndim > 1:
        y, y_test = y[:, 0], y_test[:, 0]
    (X, y), (X_test, y_test) = some(X, y, rows), some(X_test, y_test, rows)
    for part in (X, X_test):
        if sp.issparse(part):
            part.sum_duplicates()  # sorted indices, which spares every fit a copy
    if name in ("madelon", "arcene"):  # features in their own units
        X, X_test = (part.toarray() if sp.issparse(part) else part for part in (X, X_test))
        mean, spread = X.mean(axis=0), X.std(axis=0) + 1e-9
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
    return X, y, X_test, y_test


def seconds(call):
    before = time.process_time()
    call()
    return time.process_time() - before


def measured(machine, X, y, X_test, y_test, repeats):
    """One line of the table."""
    linear = isinstance(machine, LinearSVC)
    plain, likely = clone(machine), clone(machine)

    def with_probabilities():
        if linear:
            likely.fit(X, y).calibrate(X, y)
        else:
            likely.set_params(probability=True).fit(X, y)

    clone(machine).fit(X[:300], y[:300])  # compiled code is warm
    times = np.array([(seconds(lambda: plain.fit(X, y)), seconds(with_probabilities)) for _ in range(repeats)])
    folds = CalibratedClassifierCV(clone(machine), ensemble=False, cv=5)
    five = seconds(lambda: folds.fit(X, y))
    p, q = likely.predict_proba(X_test), folds.predict_proba(X_test)
    wrong = float(np.mean(likely.classes_[p.argmax(axis=1)] != likely.predict(X_test)))
    a, b = (log_loss(y_test, one, labels=likely.classes_) for one in (p, q))
    least = times.min(axis=0)
    converged = likely.gap_ <= likely.tol
    return a, b, least[0], least[1] / least[0], five / least[0], wrong, converged


def main():
    """Print a line for each, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--kernels", nargs="*", default=["linear", "rbf"])
    parser.add_argument("--C", nargs="*", type=float, default=[0.01, 0.1, 1.0, 10.0, 100.0])
    parser.add_argument("--loss", default="squared_hinge", help="of linear machines")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--kernel-rows", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-time", type=float, default=60.0, help="limit of one fit in seconds")
    options = parser.parse_args()
    names = options.sets or sorted(path.name.removesuffix(".npz.xz") for path in options.data.glob("*.npz.xz"))
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = {kernel: [] for kernel in options.kernels}
    print("set, kernel, C, rows: log-loss, of five folds, quotient; fit in s, with probabilities, with five folds (x)")
    for kernel in options.kernels:
        for name in names:
            rows = options.rows if kernel == "linear" else options.kernel_rows
            X, y, X_test, y_test = loaded(name, options, rows)
            for C in options.C:
                limits = {"C": C, "random_state": 0, "max_time": options.max_time}
                machine = LinearSVC(loss=options.loss, **limits) if kernel == "linear" else SVC(**limits)
                found = measured(machine, X, y, X_test, y_test, options.repeats)
                a, b, fit, cost, five, wrong, converged = found
                lines[kernel].append((a / b, cost, wrong, converged))
                note = ("" if converged else " not converged") + (f" CONTRADICTS {wrong:.4f}" if wrong else "")
                print(
                    f"{name:16s} {kernel:6s} {C:6g} {X.shape[0]:6d}: {a:.4f} {b:.4f} {a / b:.4f};"
                    f" {fit:8.3f} {cost:5.2f} {five:5.2f}{note}",
                    flush=True,
                )
    for kernel, found in lines.items():
        ratio, cost, wrong, converged = np.array(found, float).T
        fine = ratio[converged > 0]
        print(
            f"{kernel}: {len(ratio)} cases, within 1.01 {np.mean(ratio <= 1.01):.0%}, largest of those that converged "
            f"{fine.max(initial=0.0):.3f}; cost median {np.median(cost):.2f}, largest {cost.max():.2f}; "
            f"contradictions {wrong.max():g}"
        )


if __name__ == "__main__":
    main()
