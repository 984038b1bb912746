"""Training where columns have prices: what a budget buys with and without a choice of columns.

    python benchmarks/prices.py [--seeds 10] [--first 0] [--rows 3000] [--cancer]

Forty columns: nineteen that cost 1 and one that costs 30 decide the label, together with noise; twenty that cost 10
tell nothing. The dear one weighs as much as a cheap one ("weak"), or three times as much ("strong"). For budgets of 3,
10 and 30% of the price of all cells: accuracy on 5,000 other rows of random whole rows, of random rows of the twenty
useful columns (which nobody knows), of the same beside a pilot of whole rows as `Thrifty` buys it, and of `Thrifty`,
with the price of a new row. Hinge loss, C = 0.1. With --cancer instead: breast cancer, 30 columns at 1, 2 and 5, a
quarter of the full price, twenty splits.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.datasets import load_breast_cancer  # noqa: E402

from hinge.access import DenseTable  # noqa: E402
from hinge.monitoring import Stop  # noqa: E402
from hinge.problems import Regularized  # noqa: E402
from hinge.problems.svm.losses import SQUARED_HINGE  # noqa: E402
from hinge.solvers import SDCA, Frugal, Thrifty, solve  # noqa: E402

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


def beside_pilot(budget):
    """Rows of the useful columns, if one were told them after a pilot of whole rows."""
    pilot = int(min(Thrifty().pilot * budget / PRICES.sum(), 4 * len(PRICES)))
    return pilot + int((budget - pilot * PRICES.sum()) / PRICES[USEFUL].sum())


def cancer(splits=20):
    """Error and price of a new row, of the thrifty and of the frugal learner."""
    X, y = load_breast_cancer(return_X_y=True)
    X, prices = (X - X.mean(axis=0)) / X.std(axis=0), np.repeat([1.0, 2.0, 5.0], 10)
    money = 0.25 * 379 * prices.sum()
    for solver in (Thrifty(budget=money), Frugal()):
        found = []
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, new = order[:379], order[379:]
            table = DenseTable(X[train], prices=prices)
            problem = Regularized.from_C(table, 2 * y[train] - 1, 1.0, bias="penalized", loss=SQUARED_HINGE)
            answer = solve(problem, solver, stop=Stop(0, max_cost=money), seed=seed).solution
            found.append((1 - accuracy(answer.w, answer.b, X[new], 2 * y[new] - 1), prices[answer.w != 0].sum()))
        wrong, price = np.mean(found, axis=0)
        print(f"{type(solver).__name__:8} error {wrong:.3f}, a new row costs {price:.0f} of {prices.sum():.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cancer", action="store_true")
    parser.add_argument("--rows", type=int, default=3000)
    args = parser.parse_args()
    if args.cancer:
        return cancer()
    heads = f"{'random rows':>11} {'useful only':>11} {'after pilot':>11} {'Thrifty':>8} {'worst':>6}"
    print(f"{'dear column':12} {'budget':>6}  {heads}  new row")
    for label, dear in (("weak", 0.5), ("strong", 1.5)):
        for share in SHARES:
            budget, found = share * args.rows * PRICES.sum(), []
            for seed in range(args.first, args.first + args.seeds):
                X, y = drawn(args.rows, dear, seed)
                table = DenseTable(X[: args.rows], prices=PRICES)
                problem = Regularized.from_C(table, y[: args.rows], C, bias="penalized")
                solver, stop = Thrifty(budget=budget), Stop(0, max_cost=budget)
                answer = solve(problem, solver, stop=stop, seed=seed).solution
                found.append(
                    (
                        of_rows(X, y, int(budget / PRICES.sum()), np.arange(40)),
                        of_rows(X, y, int(budget / PRICES[USEFUL].sum()), USEFUL),
                        of_rows(X, y, beside_pilot(budget), USEFUL),
                        accuracy(answer.w, answer.b, X[args.rows :], y[args.rows :]),
                        float(PRICES[answer.w != 0].sum()),
                    )
                )
            rows, useful, told, ours, price = np.mean(found, axis=0)
            worst = min(one[3] for one in found)
            line = f"{label:12} {share:6.0%}  {rows:11.3f} {useful:11.3f} {told:11.3f} {ours:8.3f} {worst:6.3f}"
            print(f"{line}  {price:.0f} of {PRICES.sum():.0f}", flush=True)


if __name__ == "__main__":
    main()
