"""Losses of the survey's methods after T = (c/ε)² log n iterations: what is measured and judged of all of them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hinge.display.figure import Panel, Series, loglog
from hinge.experiments.base import CellResults, Claims, median, share_at_most
from hinge.experiments.measure import Evaluation, band, slope
from hinge.problems.max_min.base import MaxMin
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers import PrimalDual, SublinearPerceptron, trace
from hinge.solvers.base import certified

Law = Callable[[int], Any]
"""A bound on the loss after T iterations."""


def loss_after(
    problem: MaxMin, solver: PrimalDual, T: int, value: float, tolerance: float, seed: int, unit: float = 1.0
) -> Evaluation:
    """The loss of the mean of all x in T iterations, and whether the certificate holds the exact value."""
    (now,) = trace(problem, solver, [T], seed=seed)
    loss = value - float(problem.values(now.state.x_sum / T).min())
    lower, upper = certified(problem, solver, now.state)[:2]
    held = lower - tolerance <= value <= upper + tolerance
    return {"T": T, "loss": loss / unit, "gap": (upper - lower) / unit, "held": held}


def loss_at_ratio(
    problem: MaxMin, ratio: float, value: float, tolerance: float, seed: int, unit: float = 1.0
) -> Evaluation:
    """The same with fixed rates for T = ratio² log n, as the algorithms are printed but for the constant of T."""
    literal = SublinearPerceptron if type(problem) is MaxMargin else PrimalDual
    solver = literal("fixed", problem.scale * math.sqrt(problem.second_moment), ratio)
    return {"ratio": ratio, **loss_after(problem, solver, solver.horizon(problem), value, tolerance, seed, unit)}


def all_looks(results: CellResults) -> list[Evaluation]:
    """The losses of all cells."""
    return [look for looks in results.column("looks") for look in looks]


def share_within(part: CellResults, c: float, eps: float) -> float:
    """The share of runs at T = c² log n / ε² whose loss is at most ε; nan where there are none."""
    return share_at_most([look["loss"] for look in all_looks(part) if math.isclose(look["ratio"], c / eps)], eps)


def least_share_within(parts: Iterable[CellResults], c: float, accuracies: Sequence[float]) -> float:
    """The least of these shares of several problems and several ε."""
    shares = [share_within(part, c, eps) for part in parts for eps in accuracies]
    return min((share for share in shares if share >= 0), default=math.nan)


def exponent_of_losses(part: CellResults) -> float:
    """p of the law loss ~ T^-p that fits the medians over the seeds best; nan where a median is not positive."""
    medians = band("", part.column("looks"), "T", "loss")
    return -slope(medians.x, medians.y) if min(medians.y) > 0 else math.nan


def median_exponent(parts: Iterable[CellResults]) -> float:
    """The median of these exponents over several problems."""
    return median(p for part in parts if not math.isnan(p := exponent_of_losses(part)))


def root_law(letter: str, n: int, constant: float = 1, more: str = "") -> dict[str, Law]:
    """The law constant · √(log n/T), under the name that it has in a legend."""
    label = f"{'' if constant == 1 else f'{constant:g} '}√(log {letter}/T){more}"
    return {label: lambda T: constant * math.sqrt(math.log(n) / T)}


def losses_panel(title: str, axis: str, part: CellResults, laws: Mapping[str, Law]) -> Panel:
    """Losses and certified gaps over T, beside laws of T."""
    traces = part.column("looks")
    T = [look["T"] for look in traces[0]]
    measured = [band("loss", traces, "T", "loss"), band("certified gap", traces, "T", "gap")]
    theory = [Series(label, T, [float(law(t)) for t in T], kind="theory") for label, law in laws.items()]
    return loglog(title, "T, iterations", axis, [*measured, *theory])


def certificates_hold(claims: Claims, what: str, looks: Sequence[Evaluation], conditions: str) -> None:
    """That the certificate of every run holds the exact value."""
    claims.add("survey-all.held", what, float(np.mean([look["held"] for look in looks])), 1.0, conditions)
