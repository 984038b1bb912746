"""SBP, Figure 1: the water level over the responses of a run, the p* that belongs to it, and what they cost."""

import time
from typing import Any

import numpy as np

from hinge.access import Gram, as_points
from hinge.display.figure import Panel, Series, level_line, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale
from hinge.experiments.measure import power_law, slope, spread
from hinge.experiments.sets import choose
from hinge.kernels import Gaussian
from hinge.problems import KernelSlackConstrained
from hinge.solvers import SBP, trace
from hinge.solvers.papers.water_level import lowest_level, one_basin

ROWS, ITERATIONS, NU = 300, 300, 0.05
SIZES = {"tiny": (10_000, 40_000, 160_000), "full": (10_000, 40_000, 160_000, 640_000, 2_560_000)}
SEEDS = {"tiny": 2, "full": 5}
REPEATS = 5


class SBPFigure1(Experiment):
    """The responses of a run in order, the water over them, and the distribution that draws the next point."""

    name = "sbp-figure1"

    timed = True

    def cells(self, scale: Scale) -> list[Cell]:
        """A run; and levels of growing numbers of responses."""
        run: list[Cell] = [{"part": "run", "rows": ROWS, "T": ITERATIONS, "nu": NU, "seed": 0}]
        return run + [{"part": "seconds", "n": n, "seed": s} for n in SIZES[scale] for s in range(SEEDS[scale])]

    def run(self, cell: Cell) -> dict[str, Any]:
        """The responses of the last iterate on Adult in order; or the seconds of a level."""
        if cell["part"] == "run":
            data = choose("adult", cell["rows"])
            X, y = data.parts[:2]
            problem = KernelSlackConstrained(Gram(as_points(X, Gaussian(1 / 20.0))), y, cell["nu"])
            (now,) = trace(problem, SBP(output="last"), [cell["T"]], seed=cell["seed"])
            c = np.sort(y * now.solution.responses)
            level = one_basin(c, np.arange(len(c)), cell["nu"] * len(c))
            return {"c": c.tolist(), "gamma": level.gamma, "wet": len(level.wet[0]), **data.about}
        c = np.random.default_rng(cell["seed"]).standard_normal((cell["n"],))
        took = []
        for _ in range(REPEATS + 1):  # the first compiles
            begun = time.process_time()
            lowest_level(c, 0.1 * len(c), np.inf)
            took.append(time.process_time() - begun)
        return {"milliseconds": 1e3 * float(np.median(took[1:]))}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Water and p* side by side, and the time of a level over n."""
        panels = []
        for one in results.where(part="run"):
            panels += _basin(one.values)
        seconds = results.where(part="seconds")
        if seconds:
            line = spread("a water level", seconds, "n", "milliseconds")
            panels.append(loglog("Synthetic responses", "n", "milliseconds", [line, power_law("∝ n", line, 1)]))
            where = self.text("conditions", least=line.x[0], most=line.x[-1])
            where += f", {seconds.seeds} seeds, processor's time"
            draft.claims.add("linear", "synthetic", slope(line.x, line.y), 1.0, where)
        draft.figure(self.text("caption", iterations=ITERATIONS, rows=ROWS, nu=NU), panels)


def _basin(found: dict[str, Any]) -> list[Panel]:
    c, wet, at = found["c"], found["wet"], list(range(1, len(found["c"]) + 1))
    responses = Series("responses c_i", at, c)
    water = level_line("water level γ", found["gamma"], [Series("", at[:wet], c[:wet])])
    chances = Series("p*", at, [1.0 / wet] * wet + [0.0] * (len(c) - wet))
    order = "i, in order of c_i"
    return [
        Panel(found["label"], order, "c_i, and c_i + ξ_i where it is under water", [responses, water]),
        Panel(found["label"], order, "p*", [chances]),
    ]


experiment = SBPFigure1()
