"""A search over C on a GPU: 50 values of C, five folds and one γ. Others on the same sets: `gpu_peers.py`.

    python benchmarks/gpu_search.py [--rows 10000] [--sets made few a9a mnist] [--calls 2]

Wall seconds of each call in one process, data on the host, the fit of the chosen model included; the certified gaps of
all fits of the search; how many were fitted one by one because they did not reach their gap jointly; the C that was
chosen, and the test error. a9a and mnist (8 against the rest) are read from $HINGE_DATA (or ../shared/data), and left
out where they are not there.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

import hinge
from hinge import SVCCV, datasets
from hinge.selection import kernel_path

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
CS = np.geomspace(1e-3, 1e3, 50)


def made(n, rows, **options):
    X, y = make_classification(rows + 5000, n, random_state=0, **options)
    X = ((X - X[:rows].mean(0)) / X[:rows].std(0)).astype(np.float32)
    y = np.where(y > 0, 1, -1)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def stored(name, rows):
    found = datasets.load(name, home=HOME)
    order = np.random.default_rng(0).permutation(found.X_train.shape[0])[:rows]
    parts = []
    for X, y in ((found.X_train[order], found.y_train[order]), (found.X_test[:5000], found.y_test[:5000])):
        parts += [np.asarray(X.toarray() if sp.issparse(X) else X, np.float32), np.where(y > 0, 1, -1)]
    return parts


SETS = {
    "few": lambda rows: made(22, rows, n_informative=10, weights=[0.95], flip_y=0.01),
    "made": lambda rows: made(1000, rows, n_informative=30, flip_y=0.1),
    "a9a": lambda rows: stored("a9a", rows),
    "mnist": lambda rows: stored("mnist", rows),
}


class Watched(kernel_path.GramSplitting):
    """Keeps the gaps of the last joint run."""

    gaps = np.empty(0)

    def estimate(self, problem, state):
        Watched.gaps = state.gap
        return super().estimate(problem, state)


def search(X, y, X_test, y_test):
    model = SVCCV(Cs=CS, gammas="scale", cv=5, device="cuda")
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    gaps = Watched.gaps
    said = f"gaps: largest {gaps.max():.1e}, median {np.median(gaps):.1e}, {np.sum(gaps > 1e-2)} fitted alone"
    return seconds, model.C_, 1.0 - model.score(X_test, y_test), said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--calls", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kernel_path.GramSplitting = Watched
    print(f"hinge {hinge.__version__}")
    for name in args.sets:
        try:
            data = SETS[name](args.rows)
        except FileNotFoundError as error:
            print(f"{name}: {error}")
            continue
        for call in range(args.calls):
            seconds, C, error, said = search(*data)
            print(
                f"{name:6} {data[0].shape[0]} x {data[0].shape[1]:5} call {call + 1}: "
                f"{seconds:6.2f} s  C {C:8.3g}  test error {100 * error:.2f}%  {said}",
                flush=True,
            )


if __name__ == "__main__":
    main()
