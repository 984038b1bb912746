"""Pegasos, Theorem 3 and Eq. (9): how sure a single run is, and what the best of several is worth."""

import math
from typing import Any, ClassVar

import numpy as np

from hinge.bounds import pegasos_gap
from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, share_at_most
from hinge.experiments.measure import above_minimum
from hinge.solvers import Amplified, Pegasos, Solver, trace

SETS = {"tiny": ("reuters",), "full": ("reuters", "imdb")}
ROWS = {"tiny": 1500, "full": None}
T = {"tiny": 5_000, "full": 200_000}
BATCHES, EACH = {"tiny": 2, "full": 10}, {"tiny": 5, "full": 20}
"""Seeds come in batches, a cell each."""


class PegasosConfidence(Experiment):
    """The excess of many runs of T iterations: a random iterate, the best of several, the last iterate."""

    name = "pegasos-confidence"

    version = 2  # the best run has the least objective

    lam = 1e-3
    delta = 0.05
    runs = math.ceil(math.log(1 / delta))
    ways: ClassVar[dict[str, str]] = {
        "random": "one run, a random iterate",
        "best": f"the best of {runs} runs of T/{runs}, random iterates",
        "last": "one run, the last iterate",
    }

    def cells(self, scale: Scale) -> list[Cell]:
        """Batches of seeds."""
        return grid(set=SETS[scale], rows=ROWS[scale], T=T[scale], each=EACH[scale], seed=range(BATCHES[scale]))

    def run(self, cell: Cell) -> dict[str, Any]:
        """The excess of every seed, in each way."""
        data, problem, best = above_minimum(cell, self.lam)
        solvers: dict[str, Solver] = {
            "random": Pegasos(output="random"),
            "best": Amplified(delta=self.delta, horizon=cell["T"]),
            "last": Pegasos(output="last"),
        }
        excess: dict[str, list[float]] = {}
        for way, solver in solvers.items():
            at = cell["T"] // self.runs * self.runs if way == "best" else cell["T"]
            seeds = range(cell["seed"] * cell["each"], (cell["seed"] + 1) * cell["each"])
            ends = [list(trace(problem, solver, [at], seed=seed))[-1].solution for seed in seeds]
            excess[way] = [problem.objective(end) - best for end in ends]
        return {"excess": excess, "best": best, "R": problem.largest_norm(), **data.about}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Quantiles of the excess beside the bounds."""
        panels, rows = [], []
        for _, part in results.by("set"):
            first = part.first
            excess = {way: sorted(x for one in part.column("excess") for x in one[way]) for way in self.ways}
            label, count = first["label"], len(excess["random"])
            where = f"λ = {self.lam:g}, T = {T[scale]:,}, δ = {self.delta:g}, {count} seeds"
            at = [(count - k) / count for k in range(count)]
            series = [Series(words, at, excess[way]) for way, words in self.ways.items()]
            panels.append(loglog(label, "δ: share of the runs with more", "objective above the optimum", series))
            for way, words in self.ways.items():
                mean, median = float(np.mean(excess[way])), float(np.median(excess[way]))
                rows.append([label, words, mean, median, _sure(excess[way]), excess[way][-1]])
            bound = float(pegasos_gap(T[scale], self.lam, first["R"]))
            _claims(draft.claims, label, excess, bound, 1.0 - first["best"], where)
        caption = self.text("caption", T=T[scale])
        draft.figure(caption, panels)
        below = f"{1 - self.delta:.0%} of the runs are below"
        draft.table(caption, ("set", "answer", "mean", "median", below, "worst"), rows)


def _sure(excess: list[float]) -> float:
    """The excess that a share δ of the runs exceeds."""
    return float(np.quantile(excess, 1 - experiment.delta, method="higher"))


def _claims(
    claims: Claims, label: str, excess: dict[str, list[float]], mean_bound: float, at_zero: float, where: str
) -> None:
    bounds = {"random": mean_bound / experiment.delta, "best": mean_bound * math.e * experiment.runs}
    for sentence, (way, bound) in zip(("theorem_3", "equation_9"), bounds.items(), strict=True):
        share = share_at_most(excess[way], bound)
        said = f"{where}; the bound is {bound:.3g}, w = 0 has {at_zero:.3g}"
        sure = "w = 0 is within the bound" if bound >= at_zero else ""
        claims.add(sentence, label, share, 1 - experiment.delta, said, sure=sure)
    surest = {way: max(_sure(excess[way]), 1e-12) for way in experiment.ways}
    bounds_apart = bounds["random"] / bounds["best"]
    said = f"{where}; the paper's number is the ratio of its bounds"
    claims.add("surer", label, surest["random"] / surest["best"], bounds_apart, said)
    claims.add("needless", label, surest["best"] / surest["last"], "not necessary", where)


experiment = PegasosConfidence()
