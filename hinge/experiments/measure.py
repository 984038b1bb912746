"""Runs of solvers looked at on the way, evaluation off the clock and off the bill; curves over seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from hinge.experiments.base import Results
from hinge.experiments.sets import choose
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.report.figure import Series
from hinge.solvers import SDCA, Solver, solve

Look = dict[str, float]
"""Iteration, seconds, reads, evals, and what the evaluation added."""


def spaced(first: int, last: int, per_decade: int = 4) -> list[int]:
    """Whole numbers from `first` to `last`, evenly spaced on a logarithmic scale."""
    count = 1 + int(np.ceil(per_decade * np.log10(max(last / first, 1.0))))
    return sorted({round(t) for t in np.geomspace(first, last, count)})


def trace(
    problem: Any, solver: Solver, at: Sequence[int], evaluate: Callable[[Any], Look], seed: int = 0
) -> list[Look]:
    """Run to each iteration of `at` in turn, and evaluate the answer there.

    The clock and the bill hold the solver's work alone: no certificate, no evaluation, no compilation. A run
    ends early where the solver has finished.
    """
    solver.advance(problem, solver.init(problem, seed), 0)  # compiles
    seconds, first_read, first_eval = 0.0, problem.reads, problem.kernel_evals
    began = time.perf_counter()
    state = solver.init(problem, seed)
    seconds += time.perf_counter() - began
    looks: list[Look] = []
    for target in at:
        missing = target - state.t
        if missing > 0:
            began = time.perf_counter()
            state = solver.advance(problem, state, missing)
            seconds += time.perf_counter() - began
        spent = problem.reads - first_read, problem.kernel_evals - first_eval
        before = problem.reads, problem.kernel_evals
        values = evaluate(solver.solution(problem, state))
        first_read += problem.reads - before[0]
        first_eval += problem.kernel_evals - before[1]
        looks.append({
            "iteration": state.t, "seconds": seconds,
            "reads": spent[0], "evals": spent[1], **values,
        })  # fmt: skip
        if state.t < target:
            break
    return looks


def error(solution: Solution, X: Any, y: np.ndarray) -> float:
    """Share of rows on the wrong side."""
    return float(np.mean(np.where(X @ solution.w + solution.b > 0, 1, -1) != y))


def mean_hinge(solution: Solution, X: Any, y: np.ndarray) -> float:
    """Mean hinge loss on any rows."""
    return float(np.mean(np.maximum(0.0, 1.0 - y * (X @ solution.w + solution.b))))


@lru_cache
def minimum(name: str, rows: int | None, lam: float, tol: float = 1e-5) -> float:
    """The minimum over a set without a bias, from below: the dual value of a gap of at most `tol`."""
    X, y, _, _ = choose(name, rows).parts
    result = solve(Regularized(X, y, lam), SDCA(), stop=Stop(tol=tol, max_time=300.0))
    return float(result.certificate.bound)


def band(
    label: str,
    traces: Sequence[Sequence[Look]],
    x: str,
    y: str,
    kind: Literal["line", "points", "theory"] = "line",
) -> Series:
    """The median of several seeds' curves, and the range of them as the band.

    Curves whose x differ (reads do) are put on common x by interpolation in log x.
    """
    xs = [[float(look[x]) for look in looks] for looks in traces]
    ys = [[float(look[y]) for look in looks] for looks in traces]
    if all(one == xs[0] for one in xs):
        at = np.array(xs[0])
        lines = np.array(ys)
    else:
        low, high = max(one[0] for one in xs), min(one[-1] for one in xs)
        at = np.geomspace(max(low, 1e-12), max(high, 1e-12), max(len(one) for one in xs))
        lines = np.array([
            np.interp(np.log(at), np.log(np.maximum(one, 1e-12)), values)
            for one, values in zip(xs, ys, strict=True)
        ])  # fmt: skip
    middle = np.median(lines, axis=0).tolist()
    if len(traces) == 1:
        return Series(label, at.tolist(), middle, kind=kind)
    return Series(label, at.tolist(), middle, lines.min(axis=0).tolist(), lines.max(axis=0).tolist(), kind)


def spread(label: str, results: Results, parameter: str, value: str) -> Series:
    """The median of a value over a parameter of the cells, and its range over all else that varies."""
    at = results.of(parameter)
    groups = [results.where(**{parameter: one}).column(value) for one in at]
    middle, low, high = ([float(f(group)) for group in groups] for f in (np.median, np.min, np.max))
    return Series(label, at, middle, low, high)


def first_below(looks: Sequence[Look], x: str, y: str, level: float) -> float | None:
    """The first x at which y is at most the level; None if it never is."""
    return next((float(look[x]) for look in looks if look[y] <= level), None)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent p of the law y ~ x^p that fits best; nan where fewer than two x are known."""
    if len(set(x)) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
