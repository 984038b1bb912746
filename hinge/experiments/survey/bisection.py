"""The survey, section 4.1: semidefinite optimisation by bisection over Algorithm 3."""

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hinge.display.figure import Panel, Value
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import spread
from hinge.experiments.survey.sdp import instances, matrices
from hinge.monitoring import Stop
from hinge.problems import Semidefinite
from hinge.problems.max_min.symmetric import svec
from hinge.saddle.semidefinite_program import maximize_semidefinite
from hinge.solvers import PrimalDual, solve

SHAPES = {"tiny": ((4, 10),), "full": ((8, 50), (16, 200))}
"""Order and number of constraints."""
EPS = {"tiny": (0.2,), "full": (0.2, 0.1)}
SEEDS = {"tiny": 2, "full": 5}


@lru_cache(maxsize=4)
def _objective(n: int, m: int) -> tuple[np.ndarray, float, float, float]:
    """C of unit norm, its largest eigenvalue, and an interval that holds the optimum."""
    rng = np.random.default_rng(1)
    C = rng.standard_normal((n, n))
    C = (C + C.T) / np.linalg.norm(C + C.T)
    found = maximize_semidefinite(C, matrices(n, m), experiment.tolerance)
    return C, float(np.linalg.eigvalsh(C)[-1]), found.lower, found.upper


class SurveyBisection(Experiment):
    """The largest C ∘ X that bisection proves feasible, with Algorithm 3 for every decision."""

    name = "survey-bisection"

    constant: ClassVar[dict[str, float]] = {"tiny": 2.0, "full": 8.0}  # c of T = c² log m/ε²
    steps = 6  # of the bisection: to 1/64 of the first interval
    tolerance = 1e-3  # interval of the optimum, by PDHG, in units of the largest eigenvalue of C

    def cells(self, scale: Scale) -> list[Cell]:
        """Every shape and ε, over the seeds of Algorithm 3."""
        about = {"eps": EPS[scale], "c": self.constant[scale], "steps": self.steps, "seed": range(SEEDS[scale])}
        return [cell for n, m in SHAPES[scale] for cell in grid(n=n, m=m, **about)]

    def run(self, cell: Cell) -> dict[str, Any]:
        """How far the largest c that was proved lies below the optimum, and which decisions were right."""
        n, m, eps = cell["n"], cell["m"], cell["eps"]
        C, top, lower, upper = _objective(n, m)
        A = matrices(n, m)
        low, high, right, told, iterations = 0.0, top, 0, 0, 0
        for step in range(cell["steps"]):
            c = (low + high) / 2
            goal = C - c * np.eye(n)  # C ∘ X ≥ c tr X, in the homogeneous form of the other constraints
            rows = np.stack([svec(one) for one in (*A, goal / max(1.0, float(np.linalg.norm(goal))))])
            solver = PrimalDual("fixed", eps, cell["c"])
            result = solve(
                Semidefinite(rows, packed=True, relative=False), solver, stop=Stop(0), seed=1000 * step + cell["seed"]
            )
            feasible = float((rows @ result.solution.x).min()) > 0.0  # an X that proves it, but for rounding
            iterations += result.n_iter
            if c <= lower or c >= upper:
                told += 1
                right += feasible == (c <= lower)
            low, high = (c, high) if feasible else (low, c)
        return {
            "shortfall": max(0.0, lower - low) / top,
            "excess": max(0.0, low - upper) / top,
            "right": right,
            "told": told,
            "iterations": iterations,
            "optimum": [lower / top, upper / top],
        }

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Shortfalls over ε, and the share of right decisions."""
        claims, series, rows = draft.claims, [], list[list[Value]]()
        for part in instances(results):
            n, m = (part[0].cell[key] for key in ("n", "m"))
            series.append(spread(f"order {n}, {m} constraints", part, "eps", "shortfall"))
            for eps, some in part.by("eps"):
                lost = some.column("shortfall")
                share = sum(some.column("right")) / max(1, sum(some.column("told")))
                rows.append([n, m, eps, some.median("shortfall"), max(lost), share, some.median("iterations")])
                optimum = some.first["optimum"]
                on = f"synthetic, order {n}, ε = {eps:g}"
                where = self.text("conditions", **some[0].cell, seeds=len(some), optimum=optimum)
                sure = "X = 0 is within ε" if optimum[0] <= eps else ""
                claims.add("optimum", on, max(lost) / eps, "an optimum", where, sure=sure)
                claims.add("right", on, share, None, where)
        caption = self.text("caption")
        draft.figure(caption, [Panel("Synthetic constraints", "ε of a decision", "shortfall", series, log_x=True)])
        columns = ("order", "constraints", "ε", "shortfall", "worst", "right decisions", "iterations in all")
        draft.table(caption, columns, rows)


experiment = SurveyBisection()
