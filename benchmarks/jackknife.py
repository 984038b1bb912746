"""The jackknife and the jackknife+ by refits without each row, and our intervals from one fit: coverage and width.

    python benchmarks/jackknife.py [--C 100] [--rows 331] [--splits 6] [--set diabetes]

Refits are scikit-learn's `SVR` with the same γ, one for each support vector: minutes at C = 100.
"""

import argparse
import warnings

import numpy as np
import sklearn.svm
from sklearn.datasets import load_diabetes, make_friedman1

from hinge import SVR


def ends_of(low, high, k):
    """The k-th largest of the lower ends, and the k-th smallest of the upper ones, for each new row."""
    return np.sort(low, axis=0)[-k], np.sort(high, axis=0)[k - 1]


def one_split(X, t, train, test, C):
    """For each α, coverage and mean width of the three kinds of intervals."""
    A, b, n = X[train], t[train], len(train)
    model = SVR(C=C).fit(A, b)
    machine = sklearn.svm.SVR(C=C, gamma=model.kernel_.gamma, tol=1e-4)
    whole = machine.fit(A, b)
    f, own = np.tile(whole.predict(X[test]), (n, 1)), whole.predict(A)
    centre = f[0].copy()
    for i in whole.support_.tolist():
        rest = np.arange(n) != i
        machine.fit(A[rest], b[rest])
        f[i], own[i] = machine.predict(X[test]), machine.predict(A[i : i + 1])[0]
    residual = np.abs(b - own)[:, None]
    found = []
    for alpha in (0.05, 0.1, 0.2):
        k = int(np.ceil((1.0 - alpha) * (n + 1) - 1e-9))
        kinds = [
            ends_of(centre - residual, centre + residual, k),
            ends_of(f - residual, f + residual, k),
            model.predict_interval(X[test], alpha).T,
        ]
        found.append([(np.mean((low <= t[test]) & (t[test] <= high)), np.mean(high - low)) for low, high in kinds])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--rows", type=int, default=331)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--set", choices=("diabetes", "friedman"), default="diabetes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, t = (
        load_diabetes(return_X_y=True) if options.set == "diabetes" else make_friedman1(3000, random_state=0, noise=1.0)
    )
    X, t = X / (X.std(axis=0) if options.set == "diabetes" else 1.0), (t - t.mean()) / t.std()
    every = []
    for seed in range(options.splits):
        order = np.random.default_rng(seed).permutation(len(t))
        every.append(one_split(X, t, order[: options.rows], order[options.rows :][:1000], options.C))
    print("| 1 - α | jackknife: coverage, width | jackknife+ | ours |\n|---|---|---|---|")
    for alpha, kinds in zip((0.05, 0.1, 0.2), np.mean(every, axis=0), strict=True):
        print(f"| {1 - alpha:g} | " + " | ".join(f"{share:.3f}, {width:.3f}" for share, width in kinds) + " |")


if __name__ == "__main__":
    main()
