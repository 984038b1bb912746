"""The ν-SVMs over features, by regularised problems: the root of the sum of their dual weights."""

import math
from typing import NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.monitoring import Status, Stop
from hinge.problems import KernelNuClassification, KernelNuRegression, Regularized, Solution
from hinge.solvers.base import Solver
from hinge.solvers.driver import solve
from hinge.solvers.root_search import next_place

LevelProblem = KernelNuClassification | KernelNuRegression
"""The ν-SVMs whose optimum is that of a regularised problem, at a λ or an ε that is not known."""
ROOTS = 40
"""Regularised problems at most; it takes three to ten."""
SHARE = 0.3
"""Part of the gap that a regularised problem may leave: the rest is that of its λ or ε."""
NARROW, WIDER = 1e-3, 1.2
"""Relative width at which a bracket is closed, and the factor by which it is opened for more exact solves."""
LEAST = 1e-2
"""Sums below this share of ν count as this share: the logarithm of next to nothing would mislead the secant."""
FINEST = 1e-11
"""Relative gap below which no regularised problem is solved."""


class FeatureAnswer(NamedTuple):
    """The best answer that was found.

    ======== ===================================================================
    `w`      over the features, in units of the ν-SVM
    `dual`   its dual point, for which w = Zᵀ`dual`
    `left`   the gap of both over the features
    `bound`  the dual objective there
    `ended`  whether the search came to an end, by rounding or by its limits
    ======== ===================================================================
    """

    w: np.ndarray
    dual: np.ndarray
    left: float
    bound: float
    ended: bool


def solve_levels(
    problem: LevelProblem, features: Matrix, solver: Solver, tol: float, steps: int, dual: np.ndarray, r: np.ndarray
) -> FeatureAnswer:
    """The answer of a ν-SVM over features to a relative gap, from a dual point and responses, or from zeros.

    At the optimum of the regularised problem with λ the weighted mean of the dual weights, :math:`\\nu(\\lambda)`,
    increases with λ; in regression, where λ is given, it decreases with ε. The root of :math:`\\nu(\\lambda) = \\nu`
    is found by the secant method in logarithms within a bracket, and each solve starts from the answer of the one
    before. Dual weights on both sides of the root are mixed until their sum is as it should be: where ν(ε) jumps, both
    are optimal, and so is the mixture. The search ends by the gap of the ν-SVM itself.

    Parameters
    ----------
    problem : KernelNuClassification or KernelNuRegression
    features : Matrix
        A row for each point.
    solver : Solver
        Of the regularised problems.
    tol : float
    steps : int
        Limit of the solver's iterations for each of them.
    dual, r : ndarray of shape (n,)
        The dual point and the responses to start from.
    """
    ends = low, high = problem.places
    place, inner, start = float(np.clip(problem.place_of(r), low, high)), tol, None
    points: list[tuple[float, float]] = []
    sides: dict[bool, tuple[float, np.ndarray]] = {}  # sums and dual points, by whether the sum is too small
    best = FeatureAnswer(np.zeros(features.shape[1]), dual, np.inf, -np.inf, True)
    for _ in range(ROOTS):
        linear, scale = problem.on_features(features, place), problem.scale_at(place)
        if start is None and dual.any():
            w, b = _combined(problem, linear, dual), problem.best_bias(r) - problem.centre
            start = Solution(w / scale, b / scale, _weights(problem, linear, dual))
        found = solve(linear, solver, stop=Stop(inner, steps), start=start)
        start, alpha = found.solution, found.solution.alpha
        share = float(linear.row_shares() @ np.abs(alpha))
        sides[share < problem.nu] = share, alpha * linear.y * problem.boxes
        measured = _measured(problem, linear, scale * start.w, _mixed(problem, sides))
        # Without a margin all gaps are infinite, and the first answer is nearest to the difference of the means.
        best = min(best, measured, key=lambda answer: answer.left) if points else measured
        if best.left <= tol:
            return best
        if found.status in (Status.MAX_TIME, Status.INTERRUPTED):
            break
        points.append((math.log(place), math.log(max(share / problem.nu, LEAST))))
        low, high = (place, high) if share < problem.nu else (low, place)
        closed, none = low >= high * (1.0 - NARROW), best.left == np.inf
        if closed and (inner <= FINEST or (none and high <= ends[0] * (1.0 + NARROW))):
            break
        # A gap of the regularised problem is a larger part of this one's objective, from which a loss is subtracted.
        whole = scale * float(problem.boxes.sum()) * found.certificate.bound
        finer = SHARE * tol * abs(best.bound) / whole if whole > 0.0 and not none else inner
        if closed:  # the regularised problems are not solved well enough to tell the side
            finer, low, high = 0.1 * inner, max(low / WIDER, ends[0]), min(high * WIDER, ends[1])
        inner = max(FINEST, min(inner, finer))
        place = next_place(points, low, high)
    return best._replace(ended=True)


def _mixed(problem: LevelProblem, sides: dict[bool, tuple[float, np.ndarray]]) -> np.ndarray:
    """The feasible dual point of the last solves on both sides of ν: along the path of optima it is linear in ν."""
    (share, beta), *others = sides.values()
    if others:
        other, end = others[0]
        beta = beta + (problem.nu - share) / (other - share) * (end - beta)
    return problem.feasible(beta)


def _measured(problem: LevelProblem, linear: Regularized, w: np.ndarray, dual: np.ndarray) -> FeatureAnswer:
    """The better answer of w and of Zᵀ`dual`, each at its best levels, with its gap to `dual`."""
    own = _combined(problem, linear, dual)
    bound, found = float(problem.linear @ dual) - 0.5 * float(own @ own), []
    for one in (own, w):
        sq, r = float(one @ one), linear.responses(one)
        s = problem.best_multiple(sq, r)
        left = problem.gap_apart(problem.primal(s * s * sq, s * r) - bound, bound, s * s * sq)
        found.append(FeatureAnswer(s * one, dual, left, bound, False))
    return min(found, key=lambda answer: answer.left)


def _weights(problem: LevelProblem, linear: Regularized, dual: np.ndarray) -> np.ndarray:
    """The dual weights of the regularised problem."""
    box = problem.boxes
    return np.divide(dual * linear.y, box, out=np.zeros(problem.n), where=box > 0.0)


def _combined(problem: LevelProblem, linear: Regularized, dual: np.ndarray) -> np.ndarray:
    """Zᵀ`dual`."""
    return linear.combination(_weights(problem, linear, dual)) * float(problem.boxes.sum())
