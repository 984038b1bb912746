"""Pegasos, section 5: what the projection step is worth, for Pegasos and for Norma."""

import math
from typing import Any

from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, band, evaluate_at, log_spaced, ratio, value_at
from hinge.solvers import Norma, Pegasos

SEEDS = {"tiny": 2, "full": 5}
ROWS = {"tiny": 1500, "full": None}
LAST = {"tiny": 10_000, "full": 1_000_000}


class PegasosProjection(Experiment):
    """The excess of the last iterate over T, with and without the projection."""

    name = "pegasos-projection"

    lam = 2e-4
    early = (100, 1000)  # below 1/λ = 5,000, from which on even orthogonal unit rows keep w in the ball

    def cells(self, scale: Scale) -> list[Cell]:
        """Both solvers, with and without, over the seeds."""
        both: dict[str, Any] = {"solver": ["Pegasos", "Norma"], "projection": [True, False]}
        return grid(set=["astro-ph", "imdb"], **both, seed=range(SEEDS[scale]), rows=ROWS[scale], T=LAST[scale])

    def run(self, cell: Cell) -> dict[str, Any]:
        """The objective of the last iterate above the optimum, on the way to T."""
        data, problem, best = above_minimum(cell, self.lam)
        solver = (
            Pegasos(projection=cell["projection"], output="last")
            if cell["solver"] == "Pegasos"
            else Norma(projection=cell["projection"])
        )
        looks = evaluate_at(
            problem, solver, log_spaced(10, cell["T"]), lambda w: {"excess": problem.objective(w) - best}, cell["seed"]
        )
        return {"looks": looks, **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel for each set, and what leaving the projection out costs at small and at large T."""
        panels, claims, seeds = [], draft.claims, results.seeds
        for _, part in results.by("set"):
            label = part.first["label"]
            lines = {(s, p): _line(part, s, p) for s in ("Pegasos", "Norma") for p in (True, False)}
            panels.append(loglog(label, "T, iterations", "objective above the optimum", list(lines.values())))
            where = f"{label}, λ = {self.lam:g}, last iterate, median of {seeds} seeds"
            last = LAST[scale]
            late = _ratio(lines, "Pegasos", last)
            said = where if math.isnan(late) else f"{where}; after {last:,} iterations {late:.2f}"
            for T in self.early:
                claims.add("important", f"{label}, T = {T:,}", _ratio(lines, "Pegasos", T), "important", said)
            for T in (self.early[-1], last):
                claims.add("improves", f"{label}, T = {T:,}", _ratio(lines, "Norma", T), "improves", where)
        draft.figure(self.text("caption", seeds=seeds), panels)


def _line(part: CellResults, solver: str, projection: bool) -> Series:
    """The excess over T of a solver with the projection, or without."""
    found = part.where(solver=solver, projection=projection)
    label = f"{solver}, {'' if projection else 'not '}projected"
    return band(label, found.column("looks"), "iteration", "excess")


def _ratio(lines: dict[tuple[str, bool], Series], solver: str, T: int) -> float:
    """Excess without the projection over that with it, after T iterations."""
    return ratio(value_at(lines[solver, False], T), value_at(lines[solver, True], T))


experiment = PegasosProjection()
