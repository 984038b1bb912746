"""SIMBA, Theorem 4.3 and section 6: the theorem's rates for a given T, beside those that fall with t."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from hinge.access import DenseTable
from hinge.bounds import simba_iterations
from hinge.display.figure import Series, Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid, median, share_at_most
from hinge.experiments.measure import slope, spread, value_at
from hinge.experiments.simba.runtime import Rare
from hinge.problems import SlackConstrained
from hinge.saddle.front_doors import max_margin
from hinge.solvers import Simba, trace

SHAPE = {"tiny": (200, 200), "full": (1600, 2000)}
SEEDS = {"tiny": 2, "full": 20}
RATIOS = {"tiny": (5.0, 10.0), "full": (5.0, 10.0, 20.0, 40.0)}
"""c/ε: T = (c/ε)² log n, so that a run tells of several ε."""
STEPS = {"fixed": "the theorem's, for this T", "adaptive": "section 6, falling with t"}


@lru_cache(maxsize=1)
def _rows(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Unit rows, their labels, and the widest margin."""
    data = Rare(n, d, experiment.share_rare, 1.0, seed)
    X = data.X
    found = max_margin(X, data.y, eps=experiment.tolerance)
    return X, data.y, float(found.lower + found.upper) / 2


class SimbaRates(Experiment):
    """The margin that is lost after T iterations, with either kind of rates."""

    name = "simba-rates"

    share_rare = 0.01
    accuracies = (0.2, 0.1)
    slack = 1e-5  # ν: nothing, since the points are separable
    tolerance = 1e-3  # how far the widest margin that is computed may be off, relative to it

    def cells(self, scale: Scale) -> list[Cell]:
        """Every T with both kinds of rates."""
        n, d = SHAPE[scale]
        return grid(n=n, d=d, seed=range(SEEDS[scale]), steps=STEPS, ratio=RATIOS[scale])

    def run(self, cell: Cell) -> dict[str, Any]:
        """What the answer after T iterations loses of the widest margin."""
        X, y, widest = _rows(cell["n"], cell["d"], cell["seed"])
        table = DenseTable(X, columns=np.ascontiguousarray(X.T))
        problem = SlackConstrained(table, y, self.slack)
        T = math.ceil(float(simba_iterations(cell["n"], 1.0, cell["ratio"])))
        options: dict[str, Any] = {}
        if cell["steps"] == "fixed":
            options = {"steps": "fixed", "epsilon": 1.0, "constant": cell["ratio"]}
        (now,) = trace(problem, Simba("exact", radius=1.0, certify=False, **options), [T], seed=cell["seed"])
        w = now.solution.w / max(1.0, float(np.linalg.norm(now.solution.w)))
        return {"T": T, "loss": widest - float((y * (X @ w)).min()), "margin": widest}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Losses over T, the share of runs within ε, and what the falling rates gain."""
        n, d = SHAPE[scale]
        margins = results.column("margin")
        where = self.text("conditions", n=n, d=d, least=min(margins), most=max(margins), seeds=results.seeds)
        lines = {s: spread(label, results.where(steps=s), "ratio", "loss") for s, label in STEPS.items()}
        series = [replace(line, x=_iterations(line, n)) for line in lines.values()]
        at = next(line.x for line in series if line.x)
        series.append(Series("√(log n/T)", at, [math.sqrt(math.log(n) / T) for T in at], kind="theory"))
        panel = loglog("Synthetic, separable", "T, iterations", "margin lost", series)
        draft.figure(f"Margin lost after T iterations: {where}. The band is the range.", [panel])
        rows: list[list[Value]] = [
            [label, eps, *(_share(results, s, c, eps) for c in (1.0, 2.0, 4.0))]
            for s, label in STEPS.items()
            for eps in self.accuracies
        ]
        caption = "Share of runs within ε after T = c² log n/ε² iterations; the theorem has a half at c = 100."
        draft.table(caption, ("rates", "ε", "c = 1", "c = 2", "c = 4"), rows)
        _claims(draft.claims, results, lines, where)


def _iterations(line: Series, n: int) -> list[float]:
    return [float(simba_iterations(n, 1.0, ratio)) for ratio in line.x]


def _share(results: CellResults, steps: str, c: float, eps: float) -> float:
    """Of the runs of c² log n/ε² iterations those within ε."""
    return share_at_most(results.where(steps=steps, ratio=c / eps).column("loss"), eps)


def _claims(claims: Claims, results: CellResults, lines: dict[str, Series], where: str) -> None:
    shares = [share for eps in experiment.accuracies if (share := _share(results, "fixed", 2.0, eps)) >= 0]
    line, other = lines["fixed"], lines["adaptive"]
    gain = median(y / value_at(other, x) for x, y in zip(line.x, line.y, strict=True) if x in other.x)
    on = "synthetic, separable"
    said = f"{where}, ε = {' and '.join(f'{eps:g}' for eps in experiment.accuracies)}, rates for T"
    sure = "w = 0 is within ε" if min(results.column("margin")) <= min(experiment.accuracies) else ""
    claims.add("main", on, min(shares) if shares else None, "1/2 at c = 100", said, sure=sure)
    rate = -slope([x * x for x in line.x], line.y) if min(line.y, default=0) > 0 else None
    claims.add("rate", on, rate, 0.5, where)
    claims.add("equivalent", on, gain, "almost equivalent", where)


experiment = SimbaRates()
