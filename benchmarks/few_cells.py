"""Predictions from part of a row: how many cells they take, and how often the class is another one.

    python benchmarks/few_cells.py [--sets NAME ...] [--confidence 0.998 0.995 0.99]

A linear machine is fitted to all training rows, which also teach the order of the columns; then the test rows are
predicted from as few cells as `confidence` asks for, and once for certain, by the ranges that columns have in
training and test rows together. Cells are counted by the table, zeros too; the share is of all cells of the test rows.
"another class" is against the same machine on whole rows, "error" against the labels. Nothing here is tuned on test
rows. Sets are read from $HINGE_DATA (or ../shared/data); a missing set is said and left out.
"""

import argparse
import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from hinge import LinearSVC  # noqa: E402
from hinge.access import as_table  # noqa: E402

HOME = Path(os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
SETS = {"reuters_money_fx": 1.0, "imdb_unigram": 1.0, "mnist": 0.01, "a9a": 0.1, "news20_unigram": 1.0, "covtype": 0.1}
"""Sets, with a C that does well on each."""


def extremes(X, X_test):
    """The least and the largest value of each column, in training and test rows."""
    both = [np.asarray(part.todense() if sp.issparse(part) else part).ravel() for part in _sides(X) + _sides(X_test)]
    return np.minimum(both[0], both[2]), np.maximum(both[1], both[3])


def _sides(X):
    return [X.min(axis=0), X.max(axis=0)]


def measure(name, C, confidences):
    sys.path.insert(0, str(HOME))
    from load import load

    X, y, X_test, y_test = load(name)
    if name == "mnist":
        y, y_test = y == 8, y_test == 8
    model = LinearSVC(C=C, loss="hinge").fit(X, y)
    whole = model.predict(X_test)
    error = np.mean(whole != y_test)
    print(f"{name}: {X_test.shape[0]} test rows of {X.shape[1]} cells, error {error:.4f}")
    for confidence in (*confidences, 1.0):
        model.learn_order(X, ranges=extremes(X, X_test) if confidence == 1.0 else None)
        table = as_table(X_test)
        bought = model.buy(table, confidence=confidence)
        share = table.bill.cells / (X_test.shape[0] * X.shape[1])
        other, more = np.mean(bought.labels != whole), np.mean(bought.labels != y_test) - error
        label = "certain" if confidence == 1.0 else f"{confidence}"
        print(f"  {label:>8}  cells {share:7.2%}  another class {other:6.2%}  error {more:+.2%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--confidence", nargs="+", type=float, default=[0.998, 0.995, 0.99])
    options = parser.parse_args()
    for name in options.sets:
        if not (HOME / f"{name}.npz.xz").exists():
            print(f"{name}: not in {HOME}, left out")
            continue
        measure(name, SETS[name], options.confidence)


if __name__ == "__main__":
    main()
