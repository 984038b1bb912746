"""Small kernel problems on their whole Gram matrix: pairs of points, and Newton steps on their face."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized, Problem
from hinge.problems.cost import Cost
from hinge.problems.svm.duality import duality_gap, slope_above, slope_below, stationary_bias
from hinge.problems.svm.quantiles import quantile
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.conjugate_steps import conjugate_steps
from hinge.solvers.kernel.face_steps import face_steps
from hinge.solvers.kernel.set_exchange import exchange_sets
from hinge.solvers.kernel.stalling import STILL, count_idle
from hinge.solvers.kernel.two_point import steps

MOST = 1024
"""Points up to which the whole matrix is worked on; above, `BlockDual` spares what it can of it."""
LARGEST = 5 * MOST
"""Points up to which that is possible."""
ALONE = 3.0
"""Times the spread of the targets that a coefficient can add to its own response, where it is said to fit it alone."""
FIRST = 0.1
"""Violation to which the pairs are solved first."""
SHARPER = 0.3
"""Share of it to which they are solved after each look that was not good enough."""
FINEST = 1e-13
PASSES = 4.0
"""Passes that a round of pair steps is worth: it moves as many points as that."""
SINGLE = 1e-5
"""A gap below which only rounding can keep a certificate from one that kernel values in single precision are for."""


class ActiveState(NamedTuple):
    """β, its pulls e = Kβ - y (or - t, of targets), the violation to solve to, the gap and the dual when last computed.

    The dual has been `still` for so many rounds.
    """

    beta: np.ndarray
    e: np.ndarray
    level: float
    gap: float
    b: float
    dual: float
    still: float
    t: int


@dataclass(frozen=True)
class ActiveSet(Solver[KernelRegularized, ActiveState]):
    """Dual ascent by pairs of points, in turn with Newton steps over all that are between their bounds.

    .. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta - y^\\top\\beta, \\qquad lo \\le \\beta \\le hi,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    A round makes at most 2n + 50 pair steps (`two_point`). If these do not end it, the points F strictly
    between their bounds move together, by the Δ that solves

    .. math:: K_{FF}\\Delta = -e_F + \\mu\\mathbf 1, \\qquad \\textstyle\\sum\\Delta = 0,

    as far as the box allows; a point that meets its bound leaves F, and so on until a whole step was made.
    Pairs find out which points are at which bound, and are slow to place the others where C is large or K
    nearly singular, as for unscaled features; Newton steps place those at once.

    With the ε-insensitive loss the y are targets and the objective has the term
    :math:`\\varepsilon\\sum_i|\\beta_i|`. A point at zero is as one at a bound then: on its own side of zero the
    objective is as smooth as without it.

    A round costs O(n) arithmetic for each pair step and O(|F|³ + n|F|) for each Newton step. All n² kernel
    values are computed, once.

    References
    ----------
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005;
    K. Scheinberg, *An Efficient Implementation of an Active Set Method for SVMs*, 2006.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import ActiveSet
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, ActiveSet(), stop=Stop(tol=1e-3, max_iter=10**5))
    >>> bool(result.certificate.gap <= 1e-3)
    True
    """

    paper = Paper(
        "Working Set Selection Using Second Order Information for Training Support Vector Machines",
        "Fan, Chen, Lin",
        2005,
        "WSS 3, on the whole matrix",
    )
    tubes = True
    exact_estimate = True
    finished = Status.STALLED

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, KernelRegularized):
            return f"ActiveSet solves KernelRegularized problems, not {type(problem).__name__}; use SBP."
        if problem.n > LARGEST:
            return f"ActiveSet works on the whole Gram matrix, and {problem.n} points are many; use BlockDual."
        return None

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> ActiveState:
        beta, r = np.zeros((2, problem.n))
        if start is not None:
            beta = problem.feasible(start.beta)
            used = np.flatnonzero(beta)
            r = problem.gram.host(problem.gram.pass_over(used, beta[used], np.arange(problem.n)))
        return ActiveState(beta, r - problem.aims, FIRST, np.inf, 0.0, -np.inf, 0.0, 0)

    def advance(self, problem: KernelRegularized, state: ActiveState, n_iter: int) -> ActiveState:
        if n_iter == 0:
            return state
        K, lo, hi = problem.gram.whole(), *problem.limits
        beta, e, level, gap, b, dual, still, t = state
        free, convex = problem.bias == "free", problem.certifiable
        unbiased, indefinite = None if free else True, None if convex else True
        boxes = problem.boxes
        zeros, own = np.zeros(problem.n), np.sqrt(np.maximum(np.diagonal(K), 0.0)).copy()
        aims, unit, epsilon = problem.aims, problem.unit, problem.epsilon
        for _ in range(n_iter):
            if problem.n <= MOST:
                advance_round(K, beta, e, lo, hi, level * problem.spread, free, convex, epsilon)
            else:
                advance_many(K, beta, e, lo, hi, level * problem.spread, free, convex, epsilon)
            level = max(SHARPER * level, FINEST)
            b, gap, value, primal = measured(
                aims, boxes, problem.lam, unit, beta, e, lo, hi, own, zeros, unbiased, indefinite, epsilon
            )
            missing = min(primal, problem.spread) - value if convex else 0.0
            still = float(count_idle(still, value, dual, abs(value), missing, PASSES, problem.n))
            dual, t = max(value, dual), t + 1
        return ActiveState(beta, e, level, gap, b, dual, still, t)

    def solution(self, problem: KernelRegularized, state: ActiveState) -> Expansion:
        """Responses are computed again from β, so that rounding does not add up over the run."""
        r = np.zeros(problem.n)
        if state.beta.any():
            r = state.beta @ problem.gram.whole().astype(np.float64, copy=False)
        return Expansion(state.beta, state.b, r, None, problem.n)

    def estimate(self, problem: KernelRegularized, state: ActiveState) -> float:
        return state.gap

    def pause(self, problem: KernelRegularized, state: ActiveState) -> int:
        if problem.gram.dtype == np.float32 and state.gap <= SINGLE:
            return 0
        return 0 if state.still >= STILL and state.level <= FINEST else 1

    def cost(self, problem: KernelRegularized, state: ActiveState | None = None) -> Cost:
        every = problem.n**2
        if problem.gram.capacity < problem.n:
            return Cost(kernel_values=2 * every)
        known = problem.gram.evals >= problem.n * (problem.n + 1) // 2
        return Cost(kernel_values=0 if known else every)


def at_answer(problem: KernelRegularized, answer: Expansion) -> ActiveState:
    """The state of a run that goes on from a feasible answer of the same Gram, whose responses are known."""
    return ActiveState(answer.beta.copy(), answer.responses - problem.aims, FIRST, np.inf, 0.0, -np.inf, 0.0, 0)


def fit_alone(boxes: np.ndarray, diag: np.ndarray, spread: float) -> bool:
    """Whether most points of a regression could meet their targets on their own, long before they reach their bounds.

    Then most will lie between them, and pair steps would be many.
    """
    return float(boxes.mean() * diag.mean()) > ALONE * spread


def advance_many(
    K: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    level: float,
    free: bool,
    convex: bool,
    epsilon: float | None,
    more: int = 48,
) -> None:
    """`advance_round` of many points: where pairs are slow whole sets are exchanged, and then pairs have the rest.

    Where the sets do not settle there are so many `more` pair steps for each point.
    """
    n = len(beta)
    most = most_pairs(n)

    def moves(limit: int) -> int:
        if free and convex:
            return int(conjugate_steps(K, beta, e, lo, hi, level, limit, epsilon or 0.0, None))
        return steps(free, K, beta, e, lo, hi, level, limit, epsilon)

    if moves(most) < most:
        return
    moves(most if convex and exchange_sets(K, beta, e, lo, hi, free, epsilon) else more * n)


@compiled
def measured(y, box, lam, unit, beta, e, lo, hi, own, off, unbiased, indefinite, epsilon):
    """The bias, the relative gap or, where there is none, the violation; the dual; and the primal.

    `y`, `unit` and `epsilon` are those of `KernelRegularized.aims` and so on: labels, 0 and None for the hinge.
    `unbiased` and `indefinite` are None, and their part not compiled, where there is a bias and the kernel is positive.
    """
    n = len(beta)
    r = np.empty(n)
    for i in range(n):
        r[i] = e[i] + y[i]
    if indefinite is not None:
        return _violation(y, box, lam, beta, e, r, lo, hi, unbiased, epsilon)
    b = _best_bias(y, e, box, epsilon) if unbiased is None else 0.0
    primal, _, most, dual = duality_gap(y, box, lam, beta, r, off, own, b, unbiased is None, np.empty(n), epsilon)
    if most == 0.0 and epsilon is not None:
        return b, 0.0, dual, primal
    return b, most / max(dual, unit) if max(dual, unit) > 0.0 else np.inf, dual, primal


@compiled
def _violation(y, box, lam, beta, e, r, lo, hi, unbiased, epsilon):
    """What `measured` gives where there is no certificate: how far slopes are apart that should be equal."""
    least, largest, dual, primal = np.inf, -np.inf, 0.0, 0.0
    b = stationary_bias(beta, e, lo, hi, epsilon) if unbiased is None else 0.0
    for i in range(len(beta)):
        if beta[i] < hi[i]:
            least = min(least, slope_above(beta[i], e[i], epsilon))
        if beta[i] > lo[i]:
            largest = max(largest, slope_below(beta[i], e[i], epsilon))
        dual += lam * beta[i] * (y[i] - 0.5 * r[i])
        if epsilon is None:
            cost = max(0.0, 1.0 - y[i] * (r[i] + b))
        else:
            dual -= lam * epsilon * abs(beta[i])
            cost = max(0.0, abs(y[i] - r[i] - b) - epsilon)
        primal += lam * (0.5 * beta[i] * r[i] + box[i] * cost)
    violation = largest - least if unbiased is None else max(largest, -least)
    return b, max(violation, 0.0), dual, primal


@compiled(no_cpython_wrapper=True)
def _best_bias(y, e, weight, epsilon):
    """The order statistic of the kinks y - r, with r = e + y, at which the positive mass is used up.

    With `epsilon` there are two kinks a point, at y - r ± ε, and half of their mass is to be used up.
    """
    n, times = len(e), 1 if epsilon is None else 2
    kinks, mass, target = np.empty(times * n), np.empty(times * n), 0.0
    for i in range(n):
        if epsilon is None:
            kinks[i], mass[i] = y[i] - (e[i] + y[i]), weight[i]
            target += weight[i] if y[i] > 0 else 0.0
        else:
            kink = y[i] - (e[i] + y[i])
            kinks[i], kinks[n + i] = kink - epsilon, kink + epsilon
            mass[i], mass[n + i] = weight[i], weight[i]
            target += weight[i]
    low, high = quantile(kinks, mass, target)
    return 0.5 * (low + high)


def advance_round(
    K: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    level: float,
    free: bool,
    convex: bool,
    epsilon: float | None,
) -> None:
    """Pair steps and, where these do not end it, Newton steps.

    Where the problem is not convex there are pair steps only: they lead where LIBSVM's do.
    """
    most = most_pairs(len(beta))
    if steps(free, K, beta, e, lo, hi, level, most, epsilon) == most and convex:
        steps_on_face(K, beta, e, lo, hi, free, epsilon, None)


@compiled(inline="always")
def most_pairs(n):
    """Pair steps of a round."""
    return 2 * n + 50


@compiled
def steps_on_face(K, beta, e, lo, hi, free, epsilon, cut):
    """Newton steps; with the term ε|β| every point stays on its side of zero, where that term is linear.

    Where there is a `cut`, the points before it and from it on have a sum of their own. The arithmetic done, in units
    of n.
    """
    if epsilon is None:
        return face_steps(K, beta, e, lo, hi, free, cut)
    if epsilon == 0.0:
        return face_steps(K, beta, e, lo, hi, free, None)
    n = len(beta)
    low, high, sides = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        if beta[i] > 0.0:
            high[i], sides[i] = hi[i], epsilon
        elif beta[i] < 0.0:
            low[i], sides[i] = lo[i], -epsilon
        e[i] += sides[i]
    work = face_steps(K, beta, e, low, high, free, None)
    for i in range(n):
        e[i] -= sides[i]
    return work
