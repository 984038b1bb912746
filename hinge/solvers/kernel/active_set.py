"""Small kernel problems on their whole Gram matrix: pairs of points, and Newton steps on their face."""

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Certificate, Expansion, KernelRegularized, Problem
from hinge.problems.base import Cost
from hinge.problems.svm.kernel_batch import BatchExpansion, KernelBatch, LevelBatch, PackedBatch
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.active_batch import (
    BatchState,
    advance_batch,
    begin_batch,
    certify_batch,
    is_done,
    solution_of,
)
from hinge.solvers.kernel.active_rounds import (
    FINEST,
    FIRST,
    MOST,
    PASSES,
    SHARPER,
    advance_many,
    advance_round,
    measured,
)
from hinge.solvers.kernel.low_rank import improve_problem, is_due
from hinge.solvers.kernel.stalling import STILL, count_idle

LARGEST = 5 * MOST
"""Points up to which the whole matrix can be worked on."""
SINGLE = 1e-5
"""A gap below which only rounding can keep a certificate from one that kernel values in single precision are for."""


class ActiveState(NamedTuple):
    """β, its pulls e = Kβ - y (or - t, of targets), the violation to solve to, the gap and the dual when last computed.

    `still` counts the rounds without progress of the dual. `work` is the arithmetic of all rounds, in units of n.
    """

    beta: np.ndarray
    e: np.ndarray
    level: float
    gap: float
    b: float
    dual: float
    still: float
    work: float
    t: int


@dataclass(frozen=True)
class ActiveSet(Solver[KernelRegularized | PackedBatch, ActiveState | BatchState]):
    """Dual ascent by pairs of points, in turn with Newton steps over all that are between their bounds.

    .. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta - y^\\top\\beta, \\qquad lo \\le \\beta \\le hi,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    A round makes at most 2n + 50 pair steps (`two_point`). If these do not end it, the points F strictly
    between their bounds move together, by the Δ that solves

    .. math:: K_{FF}\\Delta = -e_F + \\mu\\mathbf 1, \\qquad \\textstyle\\sum\\Delta = 0,

    as far as the box allows; a point that meets its bound leaves F, and so on until a whole step was made.
    Pairs find out which points are at which bound, and are slow to place the others where C is large or K
    nearly singular, as for unscaled features; Newton steps place all of them together.

    With the ε-insensitive loss the y are targets and the objective has the term
    :math:`\\varepsilon\\sum_i|\\beta_i|`. A point at zero is as one at a bound then: on its own side of zero the
    objective is as smooth as without it.

    A round costs O(n) arithmetic for each pair step and O(|F|³ + n|F|) for each Newton step. All n² kernel
    values are computed, once. Members of a batch, `KernelBatch` or one of ν-SVMs, are solved one after the
    other in one compiled call; an iteration is a round of one member.

    Parameters
    ----------
    tol : float
        `advance` ends when the gap, for a batch the gap of every member, is at most this.

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
    tol: float = 0.0

    tubes = True
    joint = True
    ends_itself = True
    exact_estimate = True
    finished = Status.STALLED
    constraints = Constraints(tol=number(least=0))

    def rejects(self, problem: Problem) -> str | None:
        if isinstance(problem, LevelBatch) and not problem.certifiable:
            return "ActiveSet solves ν-SVMs with positive semidefinite kernels only; use LevelBlocks."
        if isinstance(problem, PackedBatch):
            return None
        if not isinstance(problem, KernelRegularized):
            return f"ActiveSet solves KernelRegularized problems, not {type(problem).__name__}; use SBP."
        if problem.n > LARGEST:
            return f"ActiveSet works on the whole Gram matrix, and {problem.n} points are many; use BlockDual."
        return None

    def init(
        self, problem: KernelRegularized | PackedBatch, seed: int = 0, start: Expansion | BatchExpansion | None = None
    ) -> ActiveState | BatchState:
        if isinstance(problem, PackedBatch):
            return begin_batch(problem, cast(BatchExpansion | None, start))
        beta, r = np.zeros((2, problem.n))
        if start is not None:
            beta = problem.feasible(start.beta)
            used = np.flatnonzero(beta)
            r = problem.gram.host(problem.gram.pass_over(used, beta[used], np.arange(problem.n)))
        return ActiveState(beta, r - problem.aims, FIRST, np.inf, 0.0, -np.inf, 0.0, 0.0, 0)

    def restart(
        self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState
    ) -> ActiveState | BatchState:
        """At the best multiple of each answer, without computing its responses again."""
        answer = self.solution(problem, state)
        if isinstance(problem, KernelBatch):
            return begin_batch(problem, problem.best_multiple(cast(BatchExpansion, answer)))
        if isinstance(problem, PackedBatch):
            return super().restart(problem, state)
        return at_answer(problem, problem.best_multiple(cast(Expansion, answer)))

    def advance(
        self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState, n_iter: int
    ) -> ActiveState | BatchState:
        if n_iter == 0:
            return state
        if isinstance(problem, PackedBatch):
            return advance_batch(problem, cast(BatchState, state), n_iter, self.tol)
        K, (lo, hi) = problem.gram.whole(), problem.limits
        beta, e, level, gap, b, dual, still, work, t = cast(ActiveState, state)
        free, convex = problem.bias == "free", problem.certifiable
        unbiased, indefinite = None if free else True, None if convex else True
        boxes = problem.boxes
        zeros, own = np.zeros(problem.n), np.sqrt(np.maximum(np.diagonal(K), 0.0)).copy()
        aims, unit, epsilon = problem.aims, problem.unit, problem.epsilon
        for _ in range(n_iter):
            before, advance = work, advance_round if problem.n <= MOST else advance_many
            work += advance(K, beta, e, lo, hi, level * problem.spread, free, convex, epsilon)
            if still >= STILL - 1:
                work = np.inf  # the last attempt, at any price
            if is_due(before, work) and (better := improve_problem(problem, beta, work)) is not None:
                beta[:], e[:] = better[0], better[1] - aims
            level = max(SHARPER * level, FINEST)
            b, gap, value, primal = measured(
                aims, boxes, problem.lam, unit, beta, e, lo, hi, own, zeros, unbiased, indefinite, epsilon
            )
            missing = min(primal, problem.spread) - value if convex else 0.0
            still = float(count_idle(still, value, dual, abs(value), missing, PASSES, problem.n))
            dual, t = max(value, dual), t + 1
            if gap <= self.tol:
                break
        return ActiveState(beta, e, level, gap, b, dual, still, work, t)

    def solution(
        self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState
    ) -> Expansion | BatchExpansion:
        """Responses are computed again from β, so that rounding does not add up over the run."""
        if isinstance(problem, PackedBatch):
            return solution_of(problem, cast(BatchState, state))
        state, r = cast(ActiveState, state), np.zeros(problem.n)
        if state.beta.any():
            r = state.beta @ problem.gram.whole().astype(np.float64, copy=False)
        return Expansion(state.beta, state.b, r, None, problem.n)

    def estimate(
        self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState
    ) -> float | Certificate:
        if isinstance(problem, PackedBatch):
            return certify_batch(problem, cast(BatchState, state), self.tol)
        return cast(ActiveState, state).gap

    def pause(self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState) -> int:
        if isinstance(problem, PackedBatch):
            return 0 if is_done(cast(BatchState, state), self.tol).all() else len(problem.lam)
        state = cast(ActiveState, state)
        if problem.gram.dtype == np.float32 and state.gap <= SINGLE:
            return 0
        return 0 if state.still >= STILL and state.level <= FINEST else 1

    def cost(self, problem: KernelRegularized | PackedBatch, state: ActiveState | BatchState | None = None) -> Cost:
        every = problem.n**2
        if isinstance(problem, PackedBatch):
            return Cost(kernel_values=0 if problem.kernel_evals else every, a_pass=len(problem.lam))
        if problem.gram.capacity < problem.n:
            return Cost(kernel_values=2 * every)
        known = problem.gram.evals >= problem.n * (problem.n + 1) // 2
        return Cost(kernel_values=0 if known else every)


def at_answer(problem: KernelRegularized, answer: Expansion) -> ActiveState:
    """The state of a run that continues from a feasible answer of the same Gram, whose responses are known."""
    return ActiveState(answer.beta.copy(), answer.responses - problem.aims, FIRST, np.inf, 0.0, -np.inf, 0.0, 0.0, 0)
