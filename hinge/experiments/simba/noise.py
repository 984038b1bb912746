"""SIMBA, Eq. (7) and Corollary 5.1: what wrong labels cost, by (R* + δ)/δ."""

import math
from functools import lru_cache
from statistics import median_high
from typing import Any

import numpy as np

from hinge.access.tables.memory import ProductTable
from hinge.display.figure import Value, loglog
from hinge.experiments.base import Cell, CellResults, Claims, Draft, Experiment, Scale, grid
from hinge.experiments.measure import growing, line_of, margin_after_slack, power_law, ratio, slope
from hinge.experiments.simba.runtime import MARGIN, UPPER, Rare
from hinge.problems import SlackConstrained
from hinge.solvers import Simba, trace

SIZES = {"tiny": 400, "full": 4_000}
"""n = d. The regime of the theorem begins at 16,000 (`simba-regime`)."""
SEEDS = {"tiny": 2, "full": 5}
FACTORS = {"tiny": (1.0, 2.0, 3.0), "full": (1.0, 2.0, 3.0, 5.0, 9.0)}
"""r = (R* + δ)/δ, from which δ = R*/(r - 1) follows."""
MOST = {"tiny": 4_000, "full": 60_000}  # iterations
RADIUS = 1.0 + 1e-5  # rows of norm one, formed in float32
B = 1 / MARGIN


@lru_cache(maxsize=1)
def _rows(n: int, noise: float, seed: int) -> tuple[Rare, np.ndarray]:
    """Rows, and labels of which a share is turned, at least two where there is any."""
    data = Rare(n, n, experiment.share_rare, 1.0, seed)
    turned = np.random.default_rng([seed, 3]).permutation(n)[: max(2, round(noise * n)) if noise else 0]
    labels = data.y.copy()
    labels[turned] *= -1
    return data, labels


class SimbaNoise(Experiment):
    """Iterations to a hinge loss of R* + δ with twice the norm, over (R* + δ)/δ and the share of wrong labels."""

    name = "simba-noise"

    share_rare = 0.05
    noises = (0.0, 0.001, 0.01)

    def cells(self, scale: Scale) -> list[Cell]:
        """One run tells of every r."""
        seeds, factors = range(SEEDS[scale]), [list(FACTORS[scale])]
        return grid(n=SIZES[scale], noise=self.noises, seed=seeds, factors=factors, most=MOST[scale])

    def run(self, cell: Cell) -> dict[str, Any]:
        """Iterations and cells at which the answer, scaled to a margin of one, is first good enough for each r."""
        data, labels = _rows(cell["n"], cell["noise"], cell["seed"])
        loss = 2.0 * float(np.mean(labels != data.y))  # of the best w, whose margins are all 1 or -1
        problem = SlackConstrained(ProductTable(data.coordinates, data.axes), labels, loss / B)
        signed = data.coordinates * labels[:, None]
        wanted = [r for r in cell["factors"] if r == 1.0 or loss]
        found: dict[str, list[float]] = {}
        solver = Simba("exact", radius=RADIUS, certify=False)
        for now in trace(problem, solver, growing(), seed=cell["seed"]):
            level = margin_after_slack(signed @ (data.axes @ now.solution.w), loss / B)
            for r in wanted:
                if f"{r:g}" not in found and level >= _enough(r):
                    found[f"{r:g}"] = [float(now.iteration), float(now.feature_reads)]
            if len(found) == len(wanted) or now.iteration >= cell["most"]:
                break
        return {"found": found, "loss": loss, "level": level}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Iterations over r for each share of wrong labels, and whether the share matters besides."""
        lines, rows = dict[float, dict[float, float]](), list[list[Value]]()
        for noise, part in results.by("noise"):
            lines[noise] = {}
            for r in FACTORS[scale]:
                each = [one.get(f"{r:g}", [math.inf, math.inf]) for one in part.column("found")]
                iterations, cells = median_high(each)
                met = sum(math.isfinite(one[0]) for one in each)
                if math.isfinite(iterations):
                    lines[noise][r] = iterations
                if noise or r == 1.0:
                    rows.append([100 * noise, r, iterations, cells, f"{met} of {len(each)}"])
        where = self.text("conditions", sizes=SIZES[scale], rare=100 * self.share_rare, B=B, seeds=results.seeds)
        series = [line_of(f"{100 * noise:g}% wrong", line) for noise, line in lines.items()]
        longest = max(lines.values(), key=len, default={})
        if len(longest) > 1:
            series.append(power_law("∝ r²", line_of("", {r: T for r, T in longest.items() if r > 1.0}), 2))
        caption = f"Iterations to a hinge loss of R* + δ with a norm of at most 2B: {where}."
        draft.figure(caption, [loglog("Synthetic, labels turned", "r = (R* + δ)/δ", "iterations", series)])
        caption = "Iterations and cells read (medians); r = 1 asks for the norm alone."
        draft.table(caption, ("wrong labels, %", "r", "iterations", "cells", "met"), rows)
        _claims(draft.claims, lines, where)


def _enough(r: float) -> float:
    """The level from which on w/level has a norm of at most 2B and, as its hinge loss is ν/level, one of R* + δ."""
    return max(0.5, 1 - 1 / r) / B


def _claims(claims: Claims, lines: dict[float, dict[float, float]], where: str) -> None:
    quiet = lines.get(0.0, {}).get(1.0)
    for noise in experiment.noises[1:]:
        on = f"synthetic, {100 * noise:g}% of labels wrong"
        line = {r: T for r, T in lines.get(noise, {}).items() if r >= 2.0}  # below, the norm is what takes time
        said = f"{where}; r = {', '.join(f'{r:g}' for r in line)}"
        claims.add("square", on, slope(line, line.values(), 3), 2.0, said, silent=UPPER)
        claims.add("alone", on, ratio(line.get(2.0), quiet), 1.0, where)


experiment = SimbaNoise()
