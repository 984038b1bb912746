"""Choosing C and γ against scikit-learn's GridSearchCV: time, the test error of the choice, and the error foretold.

    python benchmarks/search.py [--data ../shared/data] [--sets a9a imdb_unigram] [--kinds linear loo rbf]

``linear``: `LinearSVCCV`, ten C and five folds, against ``GridSearchCV(LinearSVC())`` of scikit-learn with the same
ones; ``loo``: the same with ``cv="loo"``; ``rbf``: `SVCCV`, six C, five γ and five folds, against
``GridSearchCV(SVC())``; ``rbf-loo`` likewise. For each set the processor time of both (one thread each), its quotient,
the C (and γ) chosen, the test errors, and the error foretold with its distance from ours in standard errors, that of
the test rows included. Sets with more than `--rows` (linear) or `--kernel-rows` rows are cut to the first so many of a
fixed permutation, and so are their tests. With `--divide-anew` training and test rows are joined and divided at random
first: news20 and reuters are divided by date, and rows to come are not like those that a search sees. With `--one-fold`
scikit-learn's time for a kernel is not measured but five times that of its fits of the first fold, with all C and γ.
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
import sklearn.svm  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold  # noqa: E402

from hinge import SVCCV, LinearSVCCV  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from probabilities import loaded  # noqa: E402

LINEAR_CS = np.geomspace(1e-4, 1e2, 10)
KERNEL_CS = np.geomspace(0.1, 1e3, 6)
TIMES_SCALE = np.geomspace(1 / 16, 16, 5)
KERNEL_SETS = ("a9a", "mnist")


def seconds(call):
    before = time.process_time()
    call()
    return time.process_time() - before


def searches(kind, X, folds):
    """Ours and scikit-learn's."""
    if kind in ("linear", "loo"):
        ours = LinearSVCCV(Cs=LINEAR_CS, cv="loo" if kind == "loo" else folds, random_state=0)
        theirs = GridSearchCV(sklearn.svm.LinearSVC(random_state=0), {"C": LINEAR_CS.tolist()}, cv=folds)
        return ours, theirs
    spread = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
    gammas = TIMES_SCALE / (X.shape[1] * spread)
    ours = SVCCV(Cs=KERNEL_CS, gammas=gammas, cv="loo" if kind == "rbf-loo" else folds, random_state=0)
    theirs = GridSearchCV(
        sklearn.svm.SVC(cache_size=500), {"C": KERNEL_CS.tolist(), "gamma": gammas.tolist()}, cv=folds
    )
    return ours, theirs


def divided_anew(X, y, X_test, y_test):
    join = sp.vstack if sp.issparse(X) else np.vstack
    X, y, n = join([X, X_test]), np.concatenate([y, y_test]), len(y)
    X = X.tocsr() if sp.issparse(X) else X
    order = np.random.default_rng(0).permutation(len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def of_one_fold(theirs, X, y, folds):
    """Seconds of scikit-learn's kernel search, from those of all its fits of the first fold, and their scores."""
    train, test = next(iter(folds.split(X, y)))
    once = 0.0
    for candidate in ParameterGrid(theirs.param_grid):
        machine = clone(theirs.estimator).set_params(**candidate)
        once += seconds(lambda m=machine: m.fit(X[train], y[train]).score(X[test], y[test]))
    return once * folds.get_n_splits()


class Peer(NamedTuple):
    """What scikit-learn's search took, the test error of its choice, and its C."""

    seconds: float = np.nan
    error: float = np.nan
    C: float = np.nan


def of_peer(kind, X, y, X_test, y_test, how):
    """Its whole search, or what one fold says of its time."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = searches(kind, X, folds)[1]
    if how == "one fold" and kind not in ("linear", "loo"):
        return Peer(of_one_fold(theirs, X, y, folds))
    took = seconds(lambda: theirs.fit(X, y))
    return Peer(took, 1.0 - theirs.score(X_test, y_test), theirs.best_params_["C"])


def measured(kind, X, y, X_test, y_test):
    """Ours: time, test error, the search, and how many standard errors the error foretold is from the one found."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    ours = searches(kind, X, folds)[0]
    if kind in ("linear", "loo"):
        ours.fit(X, y)  # compiled code is warm
    else:
        searches(kind, X, folds)[0].set_params(Cs=[0.01, 1.0], cv=2).fit(X[:3000], y[:3000])
    mine = seconds(lambda: ours.fit(X, y))
    error = 1.0 - ours.score(X_test, y_test)
    both = np.sqrt(ours.error_std_**2 + error * (1 - error) / len(y_test))
    return mine, error, ours, (ours.error_ - error) / both


def main():
    """Print a line for each, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--kinds", nargs="*", default=["linear", "loo", "rbf"])
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--kernel-rows", type=int, default=3000)
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--divide-anew", action="store_true", help="into training and test rows, at random")
    parser.add_argument("--one-fold", action="store_true", help="scikit-learn's time for a kernel from one fold's")
    options = parser.parse_args()
    every = sorted(path.name.removesuffix(".npz.xz") for path in options.data.glob("*.npz.xz"))
    warnings.simplefilter("ignore")
    peers = {}
    for kind in options.kinds:
        linear, found = kind in ("linear", "loo"), []
        print(
            f"{kind}: ours s, theirs s, times; test errors, their difference; foretold, standard errors off; C, theirs"
        )
        for name in options.sets or (every if linear else KERNEL_SETS):
            rows, divide = (
                options.rows if linear else options.kernel_rows,
                divided_anew if options.divide_anew else None,
            )
            X, y, X_test, y_test = loaded(name, options, rows, divide)
            if (name, linear) not in peers:  # it searches by folds, whatever we do
                how = "one fold" if options.one_fold else "all folds"
                peers[name, linear] = Peer() if options.no_peer else of_peer(kind, X, y, X_test, y_test, how)
            other, their_error, their_C = peers[name, linear]
            mine, error, ours, off = measured(kind, X, y, X_test, y_test)
            found.append((other / mine, error - their_error, off))
            gamma = "" if linear else f" gamma {ours.gamma_:.3g}"
            print(
                f"{name:22s} {X.shape[0]:6d}: {mine:8.2f} {other:8.2f} {other / mine:6.1f}; {error:.4f} "
                f"{their_error:.4f} {error - their_error:+.4f}; {ours.error_:.4f} {off:+.1f}; {ours.C_:.3g} "
                f"{their_C:.3g}{gamma}",
                flush=True,
            )
        times, worse, off = np.array(found).T
        near = np.mean(np.abs(off) <= 2)
        print(
            f"{kind}: median {np.nanmedian(times):.1f} times as fast, least {np.nanmin(times):.1f}; test error "
            f"worse by at most {np.nanmax(worse):+.4f}; foretold within two standard errors in {near:.0%}"
        )


if __name__ == "__main__":
    main()
