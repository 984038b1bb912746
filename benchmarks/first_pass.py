"""Does a stochastic gradient pass help dual coordinate ascent? The open question of the talk, measured.

    python benchmarks/first_pass.py

Relative suboptimality after each pass, begun by the dual-feasible gradient pass ("sgd") and without it
("plain"), over λn; median of three seeds on synthetic CCAT-like text of 100,000 rows.
"""

import numpy as np

from hinge import Stop, solve, trace
from hinge.datasets import make_text
from hinge.problems import Regularized
from hinge.solvers import SDCA

PASSES = 5


def main() -> None:
    text = make_text(100_000, seed=0)
    print(f"{'λn':>6} {'begun by':>9}  suboptimality after passes 1 to {PASSES}")
    for lam in (1e-5, 1e-4, 1e-3):
        problem = Regularized(text.X_train, text.y_train, lam)
        best = solve(problem, SDCA(), stop=Stop(tol=1e-5)).certificate.bound
        for first in ("sgd", "plain"):
            solver = SDCA(first_pass=first, shrinking=False)
            runs = [
                [
                    problem.objective(now.solution) / best - 1
                    for now in trace(problem, solver, range(1, PASSES + 1), unit="passes", seed=seed)
                ]
                for seed in range(3)
            ]
            line = " ".join(f"{value:9.1e}" for value in np.median(runs, axis=0))
            print(f"{lam * problem.n:6.0f} {first:>9}  {line}", flush=True)


if __name__ == "__main__":
    main()
