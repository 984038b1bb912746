"""Training where columns have prices: what a budget buys with and without a choice of columns.

    python benchmarks/prices.py [--seeds 10] [--rows 3000]

Forty columns: nineteen that cost 1 and one that costs 30 decide the label, together with noise; twenty that cost 10
tell nothing. The dear one weighs as much as a cheap one ("weak"), or three times as much ("strong"). For budgets of 3,
10 and 30% of the price of all cells: accuracy on 5,000 other rows of random whole rows, of random rows of the twenty
useful columns (which nobody knows), and of `Thrifty`, with the price of a new row. Hinge loss, C = 0.1.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from hinge.access import DenseTable  # noqa: E402
from hinge.monitoring import Stop  # noqa: E402
from hinge.problems import Regularized  # noqa: E402
from hinge.solvers import SDCA, Thrifty, solve  # noqa: E402

PRICES = np.concatenate([np.ones(19), [30.0], np.full(20, 10.0)])
USEFUL = np.arange(20)
SHARES = (0.03, 0.1, 0.3)
C, NEW = 0.1, 5000


def drawn(n, dear, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + NEW, 40))
    score = X[:, :19].sum(axis=1) * 2 / np.sqrt(19) + dear * X[:, 19] + 0.5 * rng.standard_normal(len(X))
    return X, np.where(score > 0, 1, -1)


def accuracy(w, b, X, y):
    return float(np.mean((X @ w + b > 0) == (y > 0)))


def of_rows(X, y, count, columns):
    """The SVM of the first rows, some columns."""
    n = len(y) - NEW
    k = min(n, count)
    inner = Regularized.from_C(np.ascontiguousarray(X[:k, columns]), y[:k], C, bias="penalized")
    answer = solve(inner, SDCA(), stop=Stop(1e-3)).solution
    return accuracy(answer.w, answer.b, X[n:, columns], y[n:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=3000)
    args = parser.parse_args()
    heads = f"{'random rows':>11} {'useful only':>11} {'Thrifty':>8} {'worst':>6}"
    print(f"{'dear column':12} {'budget':>6}  {heads}  new row")
    for label, dear in (("weak", 0.5), ("strong", 1.5)):
        for share in SHARES:
            budget, found = share * args.rows * PRICES.sum(), []
            for seed in range(args.seeds):
                X, y = drawn(args.rows, dear, seed)
                table = DenseTable(X[: args.rows], prices=PRICES)
                problem = Regularized.from_C(table, y[: args.rows], C, bias="penalized")
                solver, stop = Thrifty(budget=budget), Stop(0, max_cost=budget)
                answer = solve(problem, solver, stop=stop, seed=seed).solution
                found.append(
                    (
                        of_rows(X, y, int(budget / PRICES.sum()), np.arange(40)),
                        of_rows(X, y, int(budget / PRICES[USEFUL].sum()), USEFUL),
                        accuracy(answer.w, answer.b, X[args.rows :], y[args.rows :]),
                        float(PRICES[answer.w != 0].sum()),
                    )
                )
            rows, useful, ours, price = np.mean(found, axis=0)
            worst = min(one[2] for one in found)
            line = f"{label:12} {share:6.0%}  {rows:11.3f} {useful:11.3f} {ours:8.3f} {worst:6.3f}"
            print(f"{line}  {price:.0f} of {PRICES.sum():.0f}", flush=True)


if __name__ == "__main__":
    main()
