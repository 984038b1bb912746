"""Probabilities from one fit against scikit-learn's five folds: log-loss, cost over the plain fit, contradictions.

    python benchmarks/probabilities.py [--data ../shared/data] [--sets a9a madelon] [--kernels linear rbf] [--C 1 10]

For each set, kernel and C: the log-loss on test rows of `predict_proba` after `calibrate` (linear) or with
``probability=True`` (rbf), of ``CalibratedClassifierCV(ensemble=False, cv=5)`` over the same machine, their quotient;
the quotient where the five folds, too, may not say another class than the machine predicts, which they do in a share
of the test rows; the time of the fit with probabilities over that without (processor time, least of `--repeats`,
interleaved); the share of test rows where our most probable class is not the predicted one. Sets with more than
`--rows` (linear) or `--kernel-rows` rows are cut to the first so many of a fixed permutation, and so are their tests.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402

from hinge import SVC, LinearSVC  # noqa: E402
from hinge.calibration.coupling import agreeing  # noqa: E402
from hinge.estimators.fitting.reports import ConstantPredictionWarning  # noqa: E402

POSITIVE = {"mnist": 8, "covtype": 1}
"""The class of sets with several that is told from the rest."""


def some(X, y, rows):
    keep = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[keep], y[keep]


def loaded(name, options, rows, divide=None):
    """Training and test rows; divided in another way, where one is given, before features are brought to one spread."""
    sys.path.insert(0, str(options.data))
    from load import load

    X, y, X_test, y_test = load(name, options.data, positive=POSITIVE.get(name))
    if y.ndim > 1:
        y, y_test = y[:, 0], y_test[:, 0]
    (X, y), (X_test, y_test) = some(X, y, rows), some(X_test, y_test, rows)
    for part in (X, X_test):
        if sp.issparse(part):
            part.sum_duplicates()  # sorted indices, which spares every fit a copy
    if divide is not None:
        X, y, X_test, y_test = divide(X, y, X_test, y_test)
    if name in ("madelon", "arcene"):  # features in their own units
        X, X_test = (part.toarray() if sp.issparse(part) else part for part in (X, X_test))
        mean, spread = X.mean(axis=0), X.std(axis=0) + 1e-9
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
    return X, y, X_test, y_test


def seconds(call):
    before = time.process_time()
    call()
    return time.process_time() - before


class Case(NamedTuple):
    """One line of the table; all times but `fit` in units of it."""

    ours: float
    folds: float
    quotient: float
    tied: float
    against: float
    fit: float
    cost: float
    five: float
    wrong: float
    converged: bool


def measured(machine, X, y, X_test, y_test, repeats):
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
    codes = np.searchsorted(folds.classes_, folds.calibrated_classifiers_[0].estimator.predict(X_test))
    against = float(np.mean(q.argmax(axis=1) != codes))
    a, b, tied = (log_loss(y_test, one, labels=likely.classes_) for one in (p, q, agreeing(q.copy(), codes)))
    least = times.min(axis=0)
    return Case(
        a, b, a / b, a / tied, against, least[0], least[1] / least[0], five / least[0], wrong, likely.gap_ <= likely.tol
    )


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
    warnings.simplefilter("ignore", ConstantPredictionWarning)  # at the smallest C
    lines = {kernel: [] for kernel in options.kernels}
    print(
        "set, kernel, C, rows: log-loss, of five folds, quotient, quotient of tied ones, share of rows where five "
        "folds contradict predict; fit in s, with probabilities, with five folds (x)"
    )
    for kernel in options.kernels:
        for name in names:
            rows = options.rows if kernel == "linear" else options.kernel_rows
            X, y, X_test, y_test = loaded(name, options, rows)
            for C in options.C:
                limits = {"C": C, "random_state": 0, "max_time": options.max_time}
                machine = LinearSVC(loss=options.loss, **limits) if kernel == "linear" else SVC(**limits)
                case = measured(machine, X, y, X_test, y_test, options.repeats)
                lines[kernel].append(case)
                note = ("" if case.converged else " not converged") + (
                    f" CONTRADICTS {case.wrong:.4f}" if case.wrong else ""
                )
                print(
                    f"{name:16s} {kernel:6s} {C:6g} {X.shape[0]:6d}: {case.ours:.4f} {case.folds:.4f}"
                    f" {case.quotient:.4f} {case.tied:.4f} {case.against:.3f};"
                    f" {case.fit:8.3f} {case.cost:5.2f} {case.five:5.2f}{note}",
                    flush=True,
                )
    for kernel, cases in lines.items():
        summary(kernel, cases)


def summary(kernel, cases):
    """The lines of the table of aims."""
    fine = [case for case in cases if case.converged]
    cost = np.array([case.cost for case in cases])
    print(f"\n{kernel}, {len(cases)} cases, of which {len(fine)} converged")
    for what, field in (("five folds", "quotient"), ("five folds tied to predict, as ours are", "tied")):
        values, converged = (np.array([getattr(case, field) for case in some]) for some in (cases, fine))
        print(
            f"| log-loss against {what} | within 1.01 in {np.mean(values <= 1.01):.0%}, within 1.03 in "
            f"{np.mean(converged <= 1.03):.0%} of those that converged, largest {converged.max(initial=0.0):.3f} |"
        )
    print(f"| cost over the plain fit | median {np.median(cost):.2f}, largest {cost.max():.2f} |")
    print(f"| argmax is predict | {'always' if not any(case.wrong for case in cases) else 'NOT always'} |")


if __name__ == "__main__":
    main()
