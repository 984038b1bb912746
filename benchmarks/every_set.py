"""LinearSVC against scikit-learn's (LIBLINEAR) on every stored set: times to the same objective.

    python benchmarks/every_set.py [--tables defaults hinge l1] [--sets a9a covtype] [--lams 1e-2 1e-4] [--seconds 4]

``defaults``: ``LinearSVC()`` of both. ``hinge``: ``loss="hinge"`` without a bias at each λ, the peer at ``tol=0.1``.
``l1``: ``penalty="l1"``, C = 1. Every row: the same data and objective, one process, one thread, CPU seconds of `fit`,
runs interleaved for some seconds, medians, compiled code warm. `matched` is the loosest tolerance of a fixed grid
whose training objective is not above the peer's by more than 1e-6 of it; `as it comes` is ours with its default
tolerance. madelon and arcene are there in their own units and standardised. The last lines have the geometric mean and
the lowest quotient of each table. Sets are read from $HINGE_DATA (or ../shared/data).
"""

import argparse
import os
import statistics
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from regret import SETS, set_of  # noqa: E402
from sklearn.svm import LinearSVC as Liblinear  # noqa: E402

from hinge import LinearSVC  # noqa: E402

warnings.simplefilter("ignore")
SETS.update({"madelon": ("madelon", None, False), "arcene": ("arcene", None, False)})
LAMS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
EQUAL = 1e-6  # relative: both sides end within their own tolerances
GRID = tuple(10 ** (-k / 4) for k in range(29))


def objective(model, X, y, C, loss, penalty):
    w, b = model.coef_.ravel().astype(np.float64), float(np.ravel(model.intercept_)[0])
    short = np.maximum(0.0, 1.0 - y * (X @ w + b))
    size = np.abs(w).sum() + abs(b) if penalty == "l1" else 0.5 * (w @ w + b * b)
    return size + C * (short.sum() if loss == "hinge" else short @ short)


def tables(wanted, lams, n):
    """Name of the table, settings of both, settings of the peer."""
    if "defaults" in wanted:
        yield "defaults", {}, {}
    if "hinge" in wanted:
        for lam in lams:
            yield f"hinge λ={lam:g}", {"loss": "hinge", "C": 1 / (lam * n), "fit_intercept": False}, {"tol": 0.1}
    if "l1" in wanted:
        yield "l1", {"penalty": "l1"}, {"dual": False}


def compare(X, y, settings, theirs, seconds):
    """CPU seconds of the peer, of ours to its objective and as it comes; the tolerance; both objectives."""
    C, loss, penalty = (settings.get(key, other) for key, other in (("C", 1.0), ("loss", ""), ("penalty", "l2")))
    value = lambda model: objective(model, X, y, C, loss, penalty)  # noqa: E731
    began = time.process_time()
    peer = value(Liblinear(**settings, **theirs, random_state=0).fit(X, y))
    for tol in GRID:
        ours = value(LinearSVC(**settings, tol=tol, random_state=0).fit(X, y))
        if ours <= peer * (1 + EQUAL):
            break
    makers = (
        lambda: Liblinear(**settings, **theirs, random_state=0),
        lambda: LinearSVC(**settings, tol=tol, random_state=0),
        lambda: LinearSVC(**settings, random_state=0),
    )
    times, began = ([], [], []), time.process_time()
    while len(times[0]) < 3 or (time.process_time() - began < seconds and len(times[0]) < 31):
        for make, taken in zip(makers, times, strict=True):
            before = time.process_time()
            make().fit(X, y)
            taken.append(time.process_time() - before)
    return *map(statistics.median, times), tol, peer, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=["defaults", "hinge", "l1"], choices=["defaults", "hinge", "l1"])
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--lams", nargs="*", type=float, default=LAMS)
    parser.add_argument("--seconds", type=float, default=4.0, help="of repeated runs, for each row")
    args = parser.parse_args()
    print(f"{'set':16} {'problem':14} {'peer ms':>9} {'matched':>9} {'as comes':>9} {'ratio':>6}   objectives, tol")
    found: dict[str, list[float]] = {}
    for name in args.sets:
        X, y = set_of(name)
        for table, settings, theirs in tables(args.tables, args.lams, len(y)):
            peer, matched, default, tol, theirs_value, ours_value = compare(X, y, settings, theirs, args.seconds)
            said = "" if ours_value <= theirs_value * (1 + EQUAL) else "  NOT MATCHED"
            print(
                f"{name:16} {table:14} {1e3 * peer:9.2f} {1e3 * matched:9.2f} {1e3 * default:9.2f} "
                f"{peer / matched:6.2f}   {theirs_value:.7g} / {ours_value:.7g}, {tol:.2g}{said}",
                flush=True,
            )
            found.setdefault(table.split()[0], []).append(peer / matched)
    for table, ratios in found.items():
        print(f"{table}: geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, lowest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
