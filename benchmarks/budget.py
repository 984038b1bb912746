"""Kernel Pegasos with a budget of support vectors: what it costs in the objective and in the error.

    python benchmarks/budget.py [--rows 2000] [--passes 3]

Adult, Gaussian kernel, λ = 1e-3; the error is on test rows, seconds are of the processor.
"""

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from hinge.datasets import load
from hinge.kernels import Gaussian
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized
from hinge.solvers import BlockDual, KernelPegasos, solve


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--passes", type=int, default=3)
    args = parser.parse_args()
    adult, kernel = load("adult"), Gaussian(0.05)
    X, y = adult.X_train[: args.rows].toarray(), adult.y_train[: args.rows]
    K = kernel(adult.X_test[:4000].toarray(), X)
    best = 0.0
    print(f"{'':24} {'support vectors':>15} {'excess':>8} {'error':>7} {'seconds':>8}")
    for budget in ("the optimum", None, 400, 200, 100, 50):
        problem, begun = KernelRegularized(X, y, 1e-3, kernel), time.process_time()
        if budget == "the optimum":
            result = solve(problem, BlockDual(), stop=Stop(tol=1e-4))
            best = result.certificate.objective
        else:
            stop = Stop(tol=0, max_iter=args.passes * args.rows)
            result = solve(problem, KernelPegasos(budget=budget), stop=stop)
        seconds, beta = time.process_time() - begun, result.solution.beta
        name = budget if isinstance(budget, str) else f"Pegasos, budget {budget}"
        excess, error = problem.objective(result.solution) / best - 1, (np.sign(K @ beta) != adult.y_test[:4000]).mean()
        print(f"{name:24} {np.count_nonzero(beta):15} {excess:8.1%} {error:7.1%} {seconds:8.1f}")


if __name__ == "__main__":
    main()
