"""Tests of a user's own max-min problem: whether its methods agree with one another."""

from itertools import pairwise

import numpy as np

from hinge.problems.base import ROUNDING_32
from hinge.problems.max_min.base import MaxMin, offers


def check_problem(problem: MaxMin, seed: int = 0, draws: int = 2000) -> list[str]:
    """Test the methods that a problem implements, at random points; a ValueError describes the first fault.

    Parameters
    ----------
    problem : MaxMin
    seed : int
    draws : int
        Number of estimates by which the mean and the mean square of `estimate_values` are tested.

    Returns
    -------
    list of str
        Names of the methods that were tested.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import MatrixGame
    >>> "combine" in hinge.check_problem(MatrixGame([[3.0, 1.0], [0.0, 2.0]]))
    True
    """
    if not isinstance(problem, MaxMin):
        raise TypeError(f"check_problem takes a hinge.MaxMin, not {type(problem).__name__}.")
    if not isinstance(getattr(problem, "n", None), int | np.integer):
        raise ValueError(f"{type(problem).__name__} must set n, the number of its functions.")
    rng = np.random.default_rng(seed)
    start = np.asarray(problem.start(), np.float64)
    tested = ["start"]
    if not np.isfinite(start).all():
        raise ValueError("start() has entries that are not finite.")
    points = [start]
    if offers(problem, "project"):
        points = _check_projection(problem, start, rng)
        tested.append("project")
    if offers(problem, "values"):
        _check_values(problem, points)
        tested.append("values")
    if problem.linear and offers(problem, "values", "combine"):
        _check_adjoint(problem, points, rng)
        tested.append("combine")
    if problem.linear and offers(problem, "support", "project"):
        _check_support(problem, points, rng)
        tested.append("support")
    if offers(problem, "values", "values_at"):
        rows = rng.integers(0, problem.n, min(problem.n, 5))
        for x in points:
            _same(problem.values_at(rows, x), np.asarray(problem.values(x))[rows], "values_at(rows, x)", "values(x)")
        tested.append("values_at")
    if offers(problem, "values", "grad_at"):
        _check_gradient(problem, points, rng)
        tested.append("grad_at")
    if offers(problem, "values", "estimate_values"):
        _check_estimate(problem, points, rng, draws)
        tested.append("estimate_values")
    if offers(problem, "values") and (offers(problem, "dual_bound") or offers(problem, "combine", "support")):
        p = rng.dirichlet(np.ones(problem.n))
        upper = problem.dual_bound(p)
        for x in points:
            reached = float(p @ problem.values(x))
            if reached > upper + ROUNDING_32 * (1 + abs(upper)):
                raise ValueError(f"The upper bound of some p is {upper:.6g}, but a point of K reaches {reached:.6g}.")
        tested.append("dual_bound")
    return tested


def _check_projection(problem: MaxMin, start: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    raw = [scale * rng.standard_normal(start.shape) for scale in (0.1, 1.0, 10.0, 1.0)]
    points = [np.asarray(problem.project(x.copy())) for x in raw]
    for x in points:
        _same(problem.project(x.copy()), x, "project(project(x))", "project(x): it must be idempotent")
    _same(problem.project(start.copy()), start, "project(start())", "start(): it must lie in K")
    for a, b, pa, pb in zip(raw, raw[1:], points, points[1:], strict=False):
        if np.linalg.norm(pa - pb) > (1 + ROUNDING_32) * np.linalg.norm(a - b):
            raise ValueError("project moves two points apart: it is not the nearest point of a convex set.")
    return [start, *points]


def _check_values(problem: MaxMin, points: list[np.ndarray]) -> None:
    for x in points:
        v = np.asarray(problem.values(x))
        if v.shape != (problem.n,) or not np.isfinite(v).all():
            raise ValueError(f"values(x) must be {problem.n} finite numbers; it has shape {v.shape}.")
    a, b = points[0], points[-1]
    middle = 0.5 * (np.asarray(problem.values(a)) + problem.values(b))
    between = np.asarray(problem.values(0.5 * (a + b)))
    size = ROUNDING_32 * (1 + np.abs(middle).max())
    if problem.linear and np.abs(between - middle).max() > size:
        raise ValueError("values are not linear in x: set linear = False and give dual_bound.")
    if (between < middle - size).any():
        raise ValueError("values are not concave in x.")


def _check_adjoint(problem: MaxMin, points: list[np.ndarray], rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(problem.n))
    g = np.asarray(problem.combine(p))
    for x in points:
        there, back = float(p @ problem.values(x)), float(np.vdot(g, x))
        if abs(there - back) > ROUNDING_32 * (1 + abs(there)):
            raise ValueError(
                f"combine is not the adjoint of values: p·values(x) is {there:.6g}, combine(p)·x {back:.6g}."
            )


def _check_support(problem: MaxMin, points: list[np.ndarray], rng: np.random.Generator) -> None:
    for _ in range(3):
        g = rng.standard_normal(points[0].shape)
        most = problem.support(g)
        far = np.asarray(problem.project(1e6 * g))  # nearly maximises ⟨g, x⟩ over K
        for x in [*points, far]:
            if np.vdot(g, x) > most + ROUNDING_32 * (1 + abs(most)):
                raise ValueError(f"support(g) is {most:.6g}, but a point of K has {np.vdot(g, x):.6g}.")
        if np.vdot(g, far) < most - 1e-3 * (1 + abs(most)):
            raise ValueError(f"support(g) is {most:.6g}, but K seems to reach only {np.vdot(g, far):.6g}.")


def _check_gradient(problem: MaxMin, points: list[np.ndarray], rng: np.random.Generator) -> None:
    for i in rng.integers(0, problem.n, 3).tolist():
        for x, z in pairwise(points):
            g = np.asarray(problem.grad_at(i, x))
            above = float(problem.values(x)[i] + np.vdot(g, z - x))
            value = float(problem.values(z)[i])
            if value > above + ROUNDING_32 * (1 + abs(value)):
                raise ValueError(f"grad_at({i}, x) is no gradient of a concave function: it underestimates c_{i}.")
            if problem.linear and value < above - ROUNDING_32 * (1 + abs(value)):
                raise ValueError(f"grad_at({i}, x) is not the gradient of c_{i}.")


def _check_estimate(problem: MaxMin, points: list[np.ndarray], rng: np.random.Generator, draws: int) -> None:
    limit = problem.second_moment * problem.scale**2
    for x in points[-2:]:
        total, squares, count = np.zeros(problem.n), np.zeros(problem.n), 0
        for unit in rng.random(draws):
            v = problem.estimate_values(x, unit)
            if v is not None and (np.shape(v) != (problem.n,) or not np.isfinite(v).all()):
                raise ValueError(f"estimate_values must give {problem.n} finite numbers; it gave {np.shape(v)}.")
            if v is not None:
                total, squares, count = total + v, squares + np.square(v), count + 1
        if count == 0:
            continue
        mean, square = total / count, squares / count
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / count)
        off = np.abs(mean - problem.values(x)) - 6.0 * error - ROUNDING_32 * problem.scale
        if (off > 0).any():
            i = int(np.argmax(off))
            raise ValueError(
                f"estimate_values is biased: its mean for c_{i} is {mean[i]:.4g} ± {error[i]:.1g}, the value "
                f"is {problem.values(x)[i]:.4g}."
            )
        spread = np.sqrt(np.maximum(square, 0.0) * limit / count)  # the standard error of the mean square, roughly
        if (square > limit + 6.0 * spread + ROUNDING_32 * limit).any():
            raise ValueError(
                f"The mean square of an estimate is {square.max():.4g}, above second_moment · scale² = "
                f"{limit:.4g}: state a larger second_moment or scale, or average several samples."
            )


def _same(a: np.ndarray, b: np.ndarray, name: str, other: str) -> None:
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or np.abs(a - b).max(initial=0.0) > ROUNDING_32 * (1 + np.abs(b).max(initial=0.0)):
        raise ValueError(f"{name} differs from {other}.")
