"""Runs of solvers measured on the way, evaluation not counted in time or reads; curves over seeds, and what they say.

What is not known, since cells are missing or runs never came there, is nan or a line without points.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np

from hinge.display.figure import Series
from hinge.experiments.base import Cell, CellResults
from hinge.experiments.sets import Chosen, choose
from hinge.monitoring import Stop
from hinge.problems import Problem, Regularized, Solution
from hinge.solvers import SDCA, Solver, solve, trace
from hinge.types import Stored

Evaluation = dict[str, float]
"""Iteration, seconds, reads, evals, and what the evaluation added."""


def log_spaced(first: int, last: int, per_decade: int = 4) -> list[int]:
    """Whole numbers from `first` to `last`, evenly spaced on a logarithmic scale."""
    count = 1 + int(np.ceil(per_decade * np.log10(max(last / first, 1.0))))
    return sorted({round(t) for t in np.geomspace(first, last, count)})


def growing() -> Iterator[int]:
    """An endless sequence of integers from 1, each 5% larger than the last, at least by 1."""
    return accumulate(repeat(20), lambda t, share: t + max(1, t // share), initial=1)


def evaluate_at(
    problem: Problem, solver: Solver, at: Iterable[int], evaluate: Callable[[Any], Evaluation], seed: int = 0
) -> list[Evaluation]:
    """Run to each iteration of `at` in turn, and evaluate the answer there, not counted in time or reads.

    A run ends early where the solver has finished.
    """
    return [
        {
            "iteration": now.iteration,
            "seconds": now.seconds,
            "reads": now.feature_reads,
            "evals": now.kernel_evals,
            **evaluate(now.solution),
        }
        for now in trace(problem, solver, at, seed=seed)
    ]


def error(solution: Solution, X: Stored, y: np.ndarray) -> float:
    """Share of rows on the wrong side."""
    return float(np.mean(np.where(X @ solution.w + solution.b > 0, 1, -1) != y))


def mean_hinge(solution: Solution, X: Stored, y: np.ndarray) -> float:
    """Mean hinge loss on any rows."""
    return float(np.mean(np.maximum(0.0, 1.0 - y * (X @ solution.w + solution.b))))


@lru_cache
def minimum(name: str, rows: int | None, lam: float, tol: float = 1e-5) -> float:
    """A lower bound on the minimum over a set without a bias: the dual value at a relative gap of at most `tol`."""
    X, y, _, _ = choose(name, rows).parts
    result = solve(Regularized(X, y, lam), SDCA(), stop=Stop(tol=tol, max_time=300.0))
    return float(result.certificate.bound)


def above_minimum(cell: Cell, lam: float, tol: float = 1e-5) -> tuple[Chosen, Regularized, float]:
    """The set of a cell, its problem without a bias, and the minimum of that."""
    data = choose(cell["set"], cell["rows"])
    return data, Regularized(*data.parts[:2], lam), minimum(cell["set"], cell["rows"], lam, tol)


def band(label: str, traces: Sequence[Sequence[Evaluation]], x: str, y: str) -> Series:
    """The median of several seeds' curves, and the range of them as the band; without points where there are none.

    Curves whose x differ (reads do) are put on common x by interpolation in log x.
    """
    if not traces:
        return Series(label, [], [])
    xs = [[float(look[x]) for look in looks] for looks in traces]
    ys = [[float(look[y]) for look in looks] for looks in traces]
    if all(one == xs[0] for one in xs):
        at = np.array(xs[0])
        lines = np.array(ys)
    else:
        low, high = max(one[0] for one in xs), min(one[-1] for one in xs)
        at = np.geomspace(max(low, 1e-12), max(high, 1e-12), max(len(one) for one in xs))
        lines = np.array(
            [np.interp(np.log(at), np.log(np.maximum(one, 1e-12)), values) for one, values in zip(xs, ys, strict=True)]
        )
    middle = np.median(lines, axis=0).tolist()
    if len(traces) == 1:
        return Series(label, at.tolist(), middle)
    return Series(label, at.tolist(), middle, lines.min(axis=0).tolist(), lines.max(axis=0).tolist())


def spread(label: str, results: CellResults, parameter: str, value: str) -> Series:
    """The median of a value for each value of a parameter, with its range over all other parameters as the band."""
    return spread_of(label, {at: part.column(value) for at, part in results.by(parameter)})


def spread_of(
    label: str,
    groups: Mapping[float, Sequence[float]] | Mapping[int, Sequence[float]],
    middle: Callable[..., float | np.floating] = np.median,
) -> Series:
    """The middle of the values at each x, with their range as the band."""
    centre, low, high = ([float(f(group)) for group in groups.values()] for f in (middle, np.min, np.max))
    return Series(label, list(groups), centre, low, high)


def line_of(label: str, points: Mapping[float, float]) -> Series:
    """A line through the points whose y is known and finite."""
    known = {x: y for x, y in points.items() if math.isfinite(y)}
    return Series(label, list(known), list(known.values()))


def first_below(looks: Iterable[Evaluation], x: str, y: str, level: float) -> float:
    """The first x at which y is at most the level; infinite if it never is."""
    return next((float(look[x]) for look in looks if look[y] <= level), math.inf)


def last(line: Series) -> float:
    """The last y of a line; nan where it has no points."""
    return float(line.y[-1]) if len(line.y) else math.nan


def value_at(line: Series, x: float) -> float:
    """The y of a line at one of its x; nan where it has none there."""
    return dict(zip(line.x, line.y, strict=True)).get(x, math.nan)


def ratio(above: float | None, below: float | None) -> float:
    """One number over another; nan where one of them is unknown, or the second is zero."""
    return math.nan if above is None or not below else above / below


def power_law(label: str, line: Series, power: float, point: int = 0) -> Series:
    """The law y ~ x^power through one point of a line."""
    y = [line.y[point] * (x / line.x[point]) ** power for x in line.x]
    return Series(label, line.x, y, kind="theory")


def arrival(line: Series, level: float) -> float:
    """The first x at which a line is at most the level; infinite if it never is."""
    return next((x for x, y in zip(line.x, line.y, strict=True) if y <= level), math.inf)


def slope(x: Iterable[float], y: Iterable[float], least: int = 2) -> float:
    """The exponent p of the law y ~ x^p that fits best; nan where y of fewer than `least` x are known."""
    x, y = list(x), list(y)
    if len(set(x)) < least:
        return math.nan
    if len(set(y)) == 1:
        return 0.0  # where a fit leaves its rounding
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def late_rate(line: Series, start: float, least: int = 2) -> float:
    """p of the law y ~ x^-p from an x on, where y is positive; nan where it is at fewer than `least` x."""
    late = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x >= start and y > 0]
    return -slope([x for x, _ in late], [y for _, y in late], least)


def loose_bound(share: float) -> str:
    """Why a bound is met that is more than ten times what is needed, which says nothing; empty where it is tighter."""
    return "the bound is far above what is needed" if share < 0.1 else ""


def of_sets(form: str, values: Mapping[str, Any], sets: Iterable[str]) -> str:
    """A value for each set, for captions: "0.0001 (ccat), 1e-06 (covertype)"."""
    return ", ".join(f"{form.format(values[name])} ({name})" for name in sets)


def margin_after_slack(c: np.ndarray, nu: float) -> float:
    """The level to which n·ν of water fills a basin whose floor are these n margins: the objective with slack ν."""
    c = np.sort(c)
    return float(((np.cumsum(c) + nu * len(c)) / np.arange(1, len(c) + 1)).min())
