"""Pegasos, section 5: what the projection step is worth, for Pegasos and for Norma."""

from __future__ import annotations

from typing import Any

from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, band, evaluate_at, log_spaced
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
        return grid(
            set=["astro-ph", "imdb"],
            solver=["Pegasos", "Norma"],
            projection=[True, False],
            seed=range(SEEDS[scale]),
            rows=[ROWS[scale]],
            T=[LAST[scale]],
        )

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
            lines: dict[tuple[str, bool], Series] = {}
            for solver, of_solver in part.by("solver"):
                for projection, found in of_solver.by("projection"):
                    called = f"{solver}, {'' if projection else 'not '}projected"
                    lines[solver, projection] = band(called, found.column("looks"), "iteration", "excess")
            panels.append(loglog(label, "T, iterations", "objective above the optimum", list(lines.values())))
            where = f"{label}, λ = {self.lam:g}, last iterate, median of {seeds} seeds"
            last = LAST[scale]
            late = _ratio(lines, "Pegasos", last)
            said = where + (f"; after {last:,} iterations {late:.2f}" if late else "")
            for T in self.early:
                claims.add("important", f"{label}, T = {T:,}", _ratio(lines, "Pegasos", T), "important", said)
            for T in (self.early[-1], last):
                claims.add("improves", f"{label}, T = {T:,}", _ratio(lines, "Norma", T), "improves", where)
        draft.figure(self.text("caption", seeds=seeds), panels)


def _ratio(lines: dict[tuple[str, bool], Series], solver: str, T: int) -> float | None:
    """Excess without the projection over that with it, after T iterations."""
    if (solver, True) not in lines or (solver, False) not in lines:
        return None
    values = [dict(zip(s.x, s.y, strict=True)).get(T) for s in (lines[solver, False], lines[solver, True])]
    without, with_ = values
    return None if without is None or not with_ else without / with_


experiment = PegasosProjection()
