"""Pegasos, Theorems 2 and 3: iterations to an accuracy, against m, ε and λ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import neg
from typing import Any

import numpy as np

from hinge.bounds import Numbers, pegasos_iterations
from hinge.display.figure import Series, loglog
from hinge.experiments.base import Cell, CellResults, Draft, Experiment, Scale, grid
from hinge.experiments.measure import Evaluation, above_minimum, log_spaced, slope, spread_of
from hinge.solvers import Pegasos, trace

SETS = {"tiny": ("ccat",), "full": ("ccat", "covertype")}
SEEDS = {"tiny": 2, "full": 5}
SIZES = {"tiny": (1000, 2000, 4000), "full": (5_000, 20_000, 80_000, 320_000)}
LAMS = {"tiny": (1e-2, 1e-3), "full": (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)}
ACCURACIES = {"tiny": (0.2, 0.1, 0.05), "full": (0.1, 0.05, 0.02, 0.01)}
LAM = {"tiny": 1e-3, "full": 1e-4}  # where m or ε vary
SIZE = {"tiny": 2000, "full": 80_000}  # where λ varies
EPS = {"tiny": 0.05, "full": 0.01}  # where m or λ vary; none of the accuracies is smaller


class PegasosScaling(Experiment):
    """The first T at which the last iterate is ε-accurate, m, ε and λ varied one at a time."""

    name = "pegasos-scaling"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every m at one λ, and every λ at one m, over the seeds; ε is read off the curves."""
        cells: list[Cell] = []
        for name in SETS[scale]:
            places = [(m, LAM[scale]) for m in SIZES[scale]] + [(SIZE[scale], lam) for lam in LAMS[scale]]
            for rows, lam in dict.fromkeys(places):
                cells += grid(set=[name], rows=[rows], lam=[lam], eps=[EPS[scale]], seed=range(SEEDS[scale]))
        return cells

    def run(self, cell: Cell) -> dict[str, Any]:
        """The excess of the last iterate, until it is ε for the first time."""
        data, problem, best = above_minimum(cell, cell["lam"], 1e-4)
        most = pegasos_iterations(cell["lam"], cell["eps"]) / 5  # where to give up
        looks: list[Evaluation] = []
        for now in trace(problem, Pegasos(output="last"), log_spaced(100, int(most), 8), seed=cell["seed"]):
            looks.append({"iteration": now.iteration, "excess": problem.objective(now.solution) - best})
            if looks[-1]["excess"] <= cell["eps"]:
                break
        label = data.label.rsplit(", ", 1)[0]  # without the number of rows, which varies
        return {"looks": looks, "R": problem.largest_norm(), "label": label, "note": data.note}

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """A panel for each of m, ε and λ, with the law of the theorem through the measurements."""
        claims, lam, size, eps = draft.claims, LAM[scale], SIZE[scale], EPS[scale]
        for name, part in results.by("set"):
            label, R = part.first["label"], float(part.first["R"])
            by_m = _points([(m, part.where(rows=m, lam=lam), eps) for m in SIZES[scale]])
            by_eps = _points([(one, part.where(rows=size, lam=lam), one) for one in ACCURACIES[scale]])
            by_lam = _points([(one, part.where(rows=size, lam=one), eps) for one in LAMS[scale]])
            seeds = f"median of {part.seeds} seeds"
            titles = f"λ = {lam:g}, ε = {eps:g}", f"λ = {lam:g}, m = {size:,}", f"ε = {eps:g}, m = {size:,}"
            axes = "m, rows of the training set", "ε, absolute accuracy", "λ"
            laws = (
                lambda x, R=R: np.full(len(x), pegasos_iterations(lam, eps, R)),
                lambda x, R=R: pegasos_iterations(lam, x, R),
                lambda x, R=R: pegasos_iterations(x, eps, R),
            )
            panels = []
            for title, axis, measured, law in zip(titles, axes, (by_m, by_eps, by_lam), laws, strict=True):
                lines = []
                if measured.x:
                    lines = [measured, _fit_law(measured, np.asarray(law(np.array(measured.x))))]
                panels.append(loglog(f"{label}: {title}", axis, "T, iterations", lines))
            draft.figure(self.text("caption", label=label, seeds=seeds), panels, name)
            where = f"last iterate, first T with an excess of ε, {seeds}, "
            of_m = _exponent(by_m, len(SIZES[scale]), abs)
            claims.add("of_m", label, of_m, "p = 0", f"{where}m = {_join_numbers(SIZES[scale])}, {titles[0]}")
            of_eps = _exponent(by_eps, len(ACCURACIES[scale]), neg)
            claims.add("of_eps", label, of_eps, 1.0, f"{where}ε = {_join_numbers(ACCURACIES[scale])}, {titles[1]}")
            of_lam = _exponent(by_lam, len(LAMS[scale]), neg)
            claims.add("of_lam", label, of_lam, 1.0, f"{where}λ = {_join_numbers(LAMS[scale])}, {titles[2]}")
            bound = _above_bound((by_m, by_eps, by_lam), laws)
            given_up = "a run is given up at a fifth of the bound"
            claims.add("bound", label, bound, 1.0, f"{where}all of the above, R = {R:.2f}", sure=given_up)


def _first_accurate(looks: Sequence[Evaluation], eps: float) -> float | None:
    """The T at which the excess first meets ε, by interpolation on logarithmic scales between two evaluations."""
    for before, after in pairwise(looks):
        if after["excess"] <= eps < before["excess"]:
            x = np.log([before["iteration"], after["iteration"]])
            y = np.log([before["excess"], max(after["excess"], 1e-12)])
            return float(np.exp(np.interp(np.log(eps), y[::-1], x[::-1])))
    return None


def _points(places: Sequence[tuple[float, CellResults, float]]) -> Series:
    """The median T over the seeds at each place; a place that some seed did not reach is left out."""
    groups: dict[float, list[float]] = {}
    for x, results, eps in places:
        reached = [_first_accurate(looks, eps) for looks in results.column("looks")]
        found = [T for T in reached if T is not None]
        if found and len(found) == len(reached):
            groups[x] = found
    return spread_of("Pegasos", groups)


def _fit_law(measured: Series, law: np.ndarray) -> Series:
    factor = np.exp(np.mean(np.log(measured.y) - np.log(law)))
    return Series(f"theorem × {factor:.2g}", measured.x, (factor * law).tolist(), kind="theory")


def _exponent(measured: Series, wanted: int, sign: Callable[[float], float]) -> float | None:
    return sign(slope(measured.x, measured.y)) if len(measured.x) == wanted else None


def _above_bound(measured: Sequence[Series], laws: Sequence[Callable[..., Numbers]]) -> float | None:
    ratios = [float(np.max(np.array(s.y) / law(np.array(s.x)))) for s, law in zip(measured, laws, strict=True) if s.x]
    return max(ratios, default=None)


def _join_numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{v:,}" if v >= 1 else f"{v:g}" for v in values)


experiment = PegasosScaling()
