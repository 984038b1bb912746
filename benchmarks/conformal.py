"""Prediction sets and intervals from one fit: coverage, size beside split conformal prediction, and cost over the fit.

    python benchmarks/conformal.py [--data ../shared/data] [--sets a9a wide] [--machines LinearSVC SVR] [--splits 20]

For each set and machine, over random splits into training and test rows, at α = 0.05, 0.1 and 0.2: the mean coverage
of `predict_set` or `predict_interval` after a plain fit, and the least of all splits; the mean size of the sets, or
width of the intervals, divided by that of split conformal prediction, which fits four fifths of the rows and
calibrates on the others; and the processor time of the fit and the first set over that of the fit alone (the median
over splits). Sets with more rows than `--rows` (linear) or `--kernel-rows` are cut to as many, drawn for each split.
Regressions predict the label of classes, the height of covtype, the progression of diabetes, and synthetic targets.
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
from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.datasets import load_diabetes, load_digits, make_friedman1, make_regression  # noqa: E402

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR  # noqa: E402

ALPHAS = (0.05, 0.1, 0.2)
POSITIVE = {"mnist": 8, "covtype": 1}
"""The class of sets with several that is told from the rest."""
SHARED = (
    "a9a mnist covtype news20_trigram news20_unigram imdb_unigram reuters_money_fx rcv1_small basehock arcene madelon"
)
CLASSES = [*SHARED.split(), "digits"]
TARGETS = ["diabetes", "friedman", "wide", "covtype_height", "a9a", "arcene", "rcv1_small"]
MACHINES = {
    "LinearSVC": LinearSVC(),
    "LinearSVC, hinge": LinearSVC(loss="hinge"),
    "LinearSVC, C=.01": LinearSVC(C=0.01),
    "SVC": SVC(),
    "SVC, C=100": SVC(C=100.0),
    "NuSVC": NuSVC(nu=0.1),
    "LinearSVR": LinearSVR(),
    "LinearSVR, squares": LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
    "SVR": SVR(),
    "SVR, C=100": SVR(C=100.0),
    "NuSVR": NuSVR(),
}


def of_shared(name, folder):
    """All rows of a shared set, and their labels."""
    sys.path.insert(0, str(folder))
    from load import load

    X, y, X_test, y_test = load(name, folder, positive=POSITIVE.get(name))
    y = np.concatenate([y, y_test])
    X = sp.vstack([X, X_test]).tocsr() if sp.issparse(X) else np.concatenate([X, X_test])
    if name in ("madelon", "arcene"):  # features in their own units
        X = X.toarray() if sp.issparse(X) else X
        X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    return X, (y[:, 0] if y.ndim > 1 else y)


def loaded(name, folder, classes):
    """Rows with their classes, or with targets of about unit spread."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16.0, y
    if classes:
        return of_shared(name, folder)
    if name == "diabetes":
        X, t = load_diabetes(return_X_y=True)
        X = X / X.std(axis=0)
    elif name == "friedman":
        X, t = make_friedman1(3000, noise=1.0, random_state=0)
    elif name == "wide":
        X, t = make_regression(400, 600, n_informative=20, noise=50.0, random_state=0)
        X /= np.sqrt(X.shape[1])
    elif name == "covtype_height":
        X, _ = of_shared("covtype", folder)
        X, t = X[:, 1:], X[:, 0].astype(np.float64)
    else:
        X, t = of_shared(name, folder)
    t = t.astype(np.float64)
    return X, (t - t.mean()) / t.std()


def measured(model, X, y):
    """Whether the label of each row is in its set, and the size of the set, for each α."""
    found = []
    for alpha in ALPHAS:
        if is_classifier(model):
            sets = model.predict_set(X, alpha)
            found.append((sets[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean(), sets.sum(axis=1).mean()))
        else:
            ends = model.predict_interval(X, alpha)
            found.append(((np.abs(y - ends.mean(axis=1)) <= np.ptp(ends, axis=1) / 2).mean(), np.ptp(ends[0])))
    return np.array(found)


def one_split(machine, X, y, rows, most_tests, seed):
    """Coverage and size at each α by leave-one-out and by split conformal prediction, and the cost over the fit."""
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(rows, 3 * len(y) // 4)
    train, test = order[:n], order[n : n + most_tests]
    A, b = X[train], y[train]
    began = time.process_time()
    model = clone(machine).fit(A, b)
    fitted = time.process_time()
    model.conformalize()
    cost = (time.process_time() - began) / (fitted - began)
    cut = 4 * n // 5
    part = clone(machine).fit(A[:cut], b[:cut]).conformalize(A[cut:], b[cut:], held_out=True)
    return measured(model, X[test], y[test]), measured(part, X[test], y[test]), cost


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[1] / "shared" / "data")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--kernel-rows", type=int, default=2000)
    parser.add_argument("--test", type=int, default=4000, help="most rows that are tested on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that a class is rare, or a fit was cut off, shows in its coverage
    every = {True: [], False: []}
    print("| set | machine | rows | " + " | ".join(f"1-α={1 - a:g}: mean, least, size" for a in ALPHAS) + " | cost |")
    print("|---|---|---|" + "---|" * 4)
    for classes, names in ((True, CLASSES), (False, TARGETS)):
        for name in [name for name in names if options.sets is None or name in options.sets]:
            X, y = loaded(name, options.data, classes)
            for label in options.machines:
                machine = MACHINES[label]
                if is_classifier(machine) != classes:
                    continue
                linear = isinstance(machine, LinearSVC | LinearSVR)
                rows = options.rows if linear else options.kernel_rows
                try:
                    one_split(machine, X, y, rows, options.test, 0)  # compiles, and loads what is loaded once
                    runs = [one_split(machine, X, y, rows, options.test, seed) for seed in range(options.splits)]
                except ValueError as error:
                    print(f"| {name} | {label} | | {error} |")
                    continue
                own, split = (np.mean([run[k] for run in runs], axis=0) for k in (0, 1))
                least = np.min([run[0][:, 0] for run in runs], axis=0)
                cost = float(np.median([run[2] for run in runs]))
                size = own[:, 1] / split[:, 1]
                tested = min(options.test, len(y) - min(rows, 3 * len(y) // 4))
                every[linear].append((own[:, 0], least, size, cost, tested))
                cells = " | ".join(f"{own[k, 0]:.3f}, {least[k]:.3f}, {size[k]:.3f}" for k in range(len(ALPHAS)))
                print(f"| {name} | {label} | {min(rows, 3 * len(y) // 4):,} | {cells} | {cost:.2f} |", flush=True)
    for linear, kind in ((True, "linear"), (False, "kernel")):
        if every[linear]:
            show(kind, *map(np.array, zip(*every[linear], strict=True)))


def show(kind, coverage, least, size, cost, tested):
    """The figures of all cases of a kind."""
    wanted = 1.0 - np.array(ALPHAS)
    print(f"\n{kind}, {len(cost)} cases, at α = {', '.join(map(str, ALPHAS))}")
    print(f"| mean coverage minus 1 - α | {', '.join(f'{x:+.4f}' for x in (coverage - wanted).mean(axis=0))} |")
    off = np.abs(coverage - wanted)
    print(f"| within 1.5% of it | {np.mean(off <= 0.015):.0%} of cases, farthest {off.max():.3f} |")
    limit = 1.0 - 2.0 * np.array(ALPHAS)
    chance = 3.0 * np.sqrt(limit * (1.0 - limit) / tested[:, None])  # of a share of so many test rows
    below = f"{np.sum(least < limit)} cases, by more than three standard errors {np.sum(least < limit - chance)}"
    print(f"| the least of all splits below 1 - 2α | {below} |")
    print(f"| size over split conformal's | mean {size.mean():.3f}, largest {np.nanmax(size):.3f} |")
    print(f"| cost over the fit | median {np.median(cost):.2f}, largest {cost.max():.2f} |")


if __name__ == "__main__":
    main()
