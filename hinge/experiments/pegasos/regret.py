"""Pegasos, Theorem 1 and Corollary 1: all rows in each iteration, beside the bound c ln T/(λT)."""

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from hinge.bounds import pegasos_gap
from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, log_spaced, loose_bound
from hinge.problems import Solution
from hinge.solvers import Pegasos, trace

SETS = {"tiny": ("reuters",), "full": ("reuters", "adult")}
ROWS = {"tiny": 500, "full": None}
LAMS = (0.1, 0.01)
LAST = {"tiny": 100, "full": 3000}
FIRST = 10
"""T from which on the bound is looked at; the theorem has T ≥ 3."""


class PegasosRegret(Experiment):
    """Objectives of all iterates and of their average, A_t = S, above the minimum."""

    name = "pegasos-regret"

    def cells(self, scale: Scale) -> list[Cell]:
        """Both λ on each set; nothing is drawn."""
        return grid(set=SETS[scale], rows=ROWS[scale], lam=LAMS, T=LAST[scale], seed=0)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Both excesses at some T, and what w = 0 has."""
        (data, problem, best), T = above_minimum(cell, cell["lam"]), cell["T"]
        iterates = trace(problem, Pegasos(batch_size="all", output="last"), range(T))  # iteration 0 has w_1
        above = np.array([problem.objective(now.solution) for now in iterates]) - best
        regret = np.cumsum(above) / np.arange(1, T + 1)
        at = log_spaced(FIRST, T)
        # The solver's average is of w_2, …, w_{T+1}: to T − 1 iterations w_1 = 0 is added.
        averaged = trace(problem, Pegasos(batch_size="all", output="uniform"), [t - 1 for t in at])
        average = [
            problem.objective(Solution(now.solution.w * (t - 1) / t)) - best
            for t, now in zip(at, averaged, strict=True)
        ]
        return {
            "at": at,
            "regret": [float(regret[t - 1]) for t in at],
            "average": average,
            "start": float(above[0]),
            "R": float(row_norms(data.data.X_train).max()),
            **data.about,
        }

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """The largest share of the bound, where the bound is below what w = 0 has."""
        panels = []
        for one in results:
            found, lam = one.values, one.cell["lam"]
            T = np.array(found["at"])
            bound = np.asarray(pegasos_gap(T, lam, found["R"]))
            on = f"{found['label']}, λ = {lam:g}"
            series = [Series(name, found["at"], found[name]) for name in ("regret", "average")]
            series.append(Series("bound, c ln T/(λT)", found["at"], bound.tolist(), kind="theory"))
            panels.append(loglog(on, "T, iterations", "objective above the minimum", series))
            telling = bound < found["start"]
            loose = "" if telling.any() else "w = 0 is within the bound at every T"
            kept = telling if telling.any() else np.ones_like(telling)
            where = f"R = {found['R']:.3g}, A_t = S, T from {T[kept].min():,} to {T[kept].max():,}, at the worst T"
            for sentence in ("regret", "average"):
                share = float((np.array(found[sentence]) / bound)[kept].max())
                draft.claims.add(sentence, on, share, 1.0, where, silent=loose, sure=loose_bound(share))
        draft.figure(self.text("caption"), panels)


experiment = PegasosRegret()
