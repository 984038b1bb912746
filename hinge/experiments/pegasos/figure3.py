"""Pegasos, Figure 3: what a larger mini-batch is worth, at fixed T and at fixed kT."""

from typing import Any

from hinge.display.figure import Panel, Series, level_line
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import above_minimum, slope, spread
from hinge.solvers import Pegasos, trace

SEEDS = {"tiny": 2, "full": 5}
BATCHES = {"tiny": (1, 4, 16), "full": (1, 4, 16, 64, 256, 1024)}
FIXED_T = {"tiny": 200, "full": 1000}
FIXED_KT = {"tiny": 2_000, "full": 100_000}
ROWS = {"tiny": 1500, "full": None}


class PegasosFigure3(Experiment):
    """The objective after T iterations of batches of k, T fixed on the left and kT on the right."""

    name = "pegasos-figure3"

    lam = 2e-4
    wide = 64
    """A range of k that one may call wide; all of them, of which the last has few iterations left, are judged too."""

    def cells(self, scale: Scale) -> list[Cell]:
        """Every k, with T or kT held, over the seeds."""
        seeds, rows = range(SEEDS[scale]), ROWS[scale]
        cells = grid(set=["astro-ph", "imdb"], held=["T", "kT"], k=BATCHES[scale], seed=seeds, rows=rows)
        return [{**c, "T": FIXED_T[scale] if c["held"] == "T" else FIXED_KT[scale] // c["k"]} for c in cells]

    def run(self, cell: Cell) -> dict[str, Any]:
        """The objective of the last iterate, as in the paper, above the optimum."""
        data, problem, best = above_minimum(cell, self.lam)
        solver = Pegasos(batch_size=cell["k"], output="last")
        (now,) = trace(problem, solver, [cell["T"]], seed=cell["seed"])
        objective = problem.objective(now.solution)
        return {"objective": objective, "excess": objective - best, **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """One panel for each set and each quantity held."""
        panels, claims = [], draft.claims
        for _, of_set in results.by("set"):
            for held, part in of_set.by("held"):
                label, T = part.first["label"], FIXED_T[scale] if held == "T" else FIXED_KT[scale]
                series = spread("Pegasos", part, "k", "excess")
                shown = spread("Pegasos", part, "k", "objective")
                optimum = part.first["objective"] - part.first["excess"]
                lines = [shown, level_line("optimum", optimum, [shown])]
                panels.append(Panel(f"{label}, {held} = {T:,}", "k, rows in a batch", "objective", lines, log_x=True))
                where = f"{label}, λ = {self.lam:g}, {held} = {T:,}, last iterate, median of {SEEDS[scale]} seeds"
                if held == "T":
                    claims.add("improves", label, -slope(series.x, series.y), "improves with k", where)
                    continue
                for largest in (self.wide, max(BATCHES[scale])):
                    on = f"{label}, k up to {largest:,}"
                    claims.add("constant", on, _spread_of(series, largest), "about constant", where)
        draft.figure(self.text("caption", seeds=SEEDS[scale]), panels)


def _spread_of(series: Series, largest: int) -> float:
    """The largest excess over the smallest, of batches up to this size."""
    kept = [excess for k, excess in zip(series.x, series.y, strict=True) if k <= largest]
    return max(kept) / min(kept)


experiment = PegasosFigure3()
