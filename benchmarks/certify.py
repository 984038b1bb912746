"""Proofs that no C has an error more than ε below that of the chosen one: what they take beside the search, and prove.

    python benchmarks/certify.py [--data ../shared/data] [--sets a9a digits] [--rows 3000] [--losses squared_hinge]

``LinearSVCCV(Cs=geomspace(1e-3, 1e3, 10), certify=0.05)`` with five folds on each set, two classes but for the ten of
digits: the processor time of the whole search over that without `certify` (both with the refit), the ε that was proven
within ten times the time, and the one within three; medians of `--repeats`, interleaved. The limits are of elapsed
time, so that a busy machine changes what is reached. Sets with more than `--rows` rows are cut to the first so many of
a fixed permutation.
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
from sklearn.datasets import load_digits  # noqa: E402

from hinge import LinearSVCCV  # noqa: E402
from hinge.selection import tuning  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from conformal import SHARED, of_shared  # noqa: E402

CS = np.geomspace(1e-3, 1e3, 10)


def rows_of(name, options):
    """The first rows of a permutation, and their classes."""
    X, y = load_digits(return_X_y=True) if name == "digits" else of_shared(name, options.data)
    order = np.random.default_rng(0).permutation(len(y))[: options.rows]
    return X[order], y[order]


def measured(X, y, loss, times):
    """Processor time of a search, and what it proved: within `times` the time of the search; None: no proof."""
    tuning.CERTIFY_TIMES, tuning.CERTIFY_SECONDS = (times or 1.0) - 1.0, 0.0
    model = LinearSVCCV(Cs=CS, loss=loss, random_state=0, certify=None if times is None else 0.05)
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began, model


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[1] / "shared" / "data")
    parser.add_argument("--sets", nargs="+", default=[*SHARED.split(), "digits"])
    parser.add_argument("--losses", nargs="+", default=["squared_hinge"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of what was not proven in the time
    print("| set, rows | loss | search, s | with a proof, times as long | ε proven within ten times | within three |")
    print("|---|---|---|---|---|---|")
    for name in options.sets:
        X, y = rows_of(name, options)
        for loss in options.losses:
            for times in (None, 3.0):  # compiles
                measured(X, y, loss, times)
            runs = [[measured(X, y, loss, times) for times in (None, 10.0, 3.0)] for _ in range(options.repeats)]
            base = float(np.median([run[0][0] for run in runs]))
            cost = float(np.median([run[1][0] / run[0][0] for run in runs]))
            gaps = [float(np.median([run[k][1].choice_gap_ for run in runs])) for k in (1, 2)]
            n_fits = runs[0][1][1].error_bounds_.n_fits
            cells = f"{cost:.1f} ({n_fits} fits) | {gaps[0]:.4f} | {gaps[1]:.4f}"
            print(f"| {name}, {len(y):,} | {loss} | {base:.2f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
