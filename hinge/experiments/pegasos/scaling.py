"""Pegasos, Theorems 2 and 3: iterations to an accuracy, against m, ε and λ."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hinge.bounds import pegasos_iterations
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


class Sweep(NamedTuple):
    """One of m, ε and λ varies: its name and axis, the others, p as the paper has it, and m, λ and ε of each point."""

    name: str
    axis: str
    held: str
    paper: float | str
    points: dict[float, tuple[int, float, float]]


def _sweeps(scale: Scale) -> dict[str, Sweep]:
    """By the sentence that is judged."""
    m, lam, eps = SIZE[scale], LAM[scale], EPS[scale]
    of_m: dict[float, tuple[int, float, float]] = {one: (one, lam, eps) for one in SIZES[scale]}
    of_eps = {one: (m, lam, one) for one in ACCURACIES[scale]}
    of_lam = {one: (m, one, eps) for one in LAMS[scale]}
    return {
        "of_m": Sweep("m", "m, rows of the training set", f"λ = {lam:g}, ε = {eps:g}", "p = 0", of_m),
        "of_eps": Sweep("ε", "ε, absolute accuracy", f"λ = {lam:g}, m = {m:,}", 1.0, of_eps),
        "of_lam": Sweep("λ", "λ", f"ε = {eps:g}, m = {m:,}", 1.0, of_lam),
    }


class PegasosScaling(Experiment):
    """The first T at which the last iterate is ε-accurate, m, ε and λ varied one at a time."""

    name = "pegasos-scaling"

    def cells(self, scale: Scale) -> list[Cell]:
        """Every m at one λ, and every λ at one m, over the seeds; ε is read off the curves."""
        points = [(m, lam) for sweep in _sweeps(scale).values() for m, lam, _ in sweep.points.values()]
        return [
            cell
            for name in SETS[scale]
            for m, lam in dict.fromkeys(points)
            for cell in grid(set=name, rows=m, lam=lam, eps=EPS[scale], seed=range(SEEDS[scale]))
        ]

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
        for name, part in results.by("set"):
            label, R, seeds = part.first["label"], float(part.first["R"]), f"median of {part.seeds} seeds"
            where = f"last iterate, first T with an excess of ε, {seeds}, "
            panels, shares = [], []
            for sentence, sweep in _sweeps(scale).items():
                reached = {x: _iterations_to(part, *point) for x, point in sweep.points.items()}
                measured = spread_of("Pegasos", {x: T for x, T in reached.items() if T})
                law = np.array([pegasos_iterations(*sweep.points[x][1:], R) for x in measured.x])
                lines = [measured, _fit_law(measured, law)] if measured.x else []
                panels.append(loglog(f"{label}: {sweep.held}", sweep.axis, "T, iterations", lines))
                p = slope(measured.x, measured.y, len(sweep.points))
                values = ", ".join(f"{x:,}" if x >= 1 else f"{x:g}" for x in sweep.points)
                said = f"{where}{sweep.name} = {values}, {sweep.held}"
                draft.claims.add(sentence, label, abs(p) if sentence == "of_m" else -p, sweep.paper, said)
                shares += (np.array(measured.y) / law).tolist()
            draft.figure(self.text("caption", label=label, seeds=seeds), panels, name)
            given_up = "a run is given up at a fifth of the bound"
            said = f"{where}all of the above, R = {R:.2f}"
            draft.claims.add("bound", label, max(shares, default=None), 1.0, said, sure=given_up)


def _iterations_to(part: CellResults, m: int, lam: float, eps: float) -> list[float]:
    """The T of each seed at which the excess is ε; none where a seed did not come to it."""
    reached = [_first_accurate(looks, eps) for looks in part.where(rows=m, lam=lam).column("looks")]
    found = [T for T in reached if T is not None]
    return found if len(found) == len(reached) else []


def _first_accurate(looks: Sequence[Evaluation], eps: float) -> float | None:
    """The T at which the excess first meets ε, by interpolation on logarithmic scales between two evaluations."""
    for before, after in pairwise(looks):
        if after["excess"] <= eps < before["excess"]:
            x = np.log([before["iteration"], after["iteration"]])
            y = np.log([before["excess"], max(after["excess"], 1e-12)])
            return float(np.exp(np.interp(np.log(eps), y[::-1], x[::-1])))
    return None


def _fit_law(measured: Series, law: np.ndarray) -> Series:
    factor = np.exp(np.mean(np.log(measured.y) - np.log(law)))
    return Series(f"theorem × {factor:.2g}", measured.x, (factor * law).tolist(), kind="theory")


experiment = PegasosScaling()
