"""Small kernel problems on their whole Gram matrix: pairs of points, and Newton steps on their face."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Certificate, Expansion, KernelRegularized, Problem
from hinge.problems.base import Cost
from hinge.problems.svm.kernel_batch import BatchExpansion, KernelBatch, LevelBatch, PackedBatch, SingleMember
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.active_batch import (
    BatchState,
    advance_batch,
    begin_batch,
    certify_batch,
    is_done,
    solution_of,
)
from hinge.solvers.kernel.active_rounds import MOST
from hinge.solvers.kernel.set_exchange import SINGLE

LARGEST = 5 * MOST
"""Points up to which the whole matrix can be worked on."""


@dataclass(frozen=True)
class ActiveSet(Solver[KernelRegularized | PackedBatch, BatchState]):
    """Dual ascent by pairs of points, in turn with Newton steps over all that are between their bounds.

    .. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta - y^\\top\\beta, \\qquad lo \\le \\beta \\le hi,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    A round makes at most 2n + 50 pair steps (`conjugate_steps`). If these do not end it, the points F strictly
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
    finer : float
        And at most this fraction of `tol`, but for rounding.

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
    finer: float = 1.0

    tubes = True
    joint = True
    ends_itself = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(tol=number(least=0), finer=number(above=0, most=1))

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
    ) -> BatchState:
        if isinstance(start, Expansion) and isinstance(problem, KernelRegularized):
            beta = problem.dual_point(start)
            used = np.flatnonzero(beta)
            r = problem.gram.host(problem.gram.pass_over(used, beta[used], np.arange(problem.n)))
            start = BatchExpansion(beta, r, np.zeros(1))
        return begin_batch(batch_of(problem), cast(BatchExpansion | None, start))

    def restart(self, problem: KernelRegularized | PackedBatch, state: BatchState) -> BatchState:
        """At the best multiple of each answer, without computing its responses again."""
        answer = self.solution(problem, state)
        if isinstance(answer, Expansion):
            answer = cast(KernelRegularized, problem).best_multiple(answer)
            answer = BatchExpansion(answer.beta, answer.responses, np.array([answer.b]))
        elif isinstance(problem, KernelBatch):
            answer = problem.best_multiple(answer)
        return begin_batch(batch_of(problem), answer)

    def advance(self, problem: KernelRegularized | PackedBatch, state: BatchState, n_iter: int) -> BatchState:
        return advance_batch(batch_of(problem), state, n_iter, self.tol, self.finer) if n_iter else state

    def solution(self, problem: KernelRegularized | PackedBatch, state: BatchState) -> Expansion | BatchExpansion:
        """The answers; of a single problem responses are computed again from β, without the rounding of the run."""
        if isinstance(problem, PackedBatch):
            return solution_of(problem, state)
        r = np.zeros(problem.n)
        if state.beta.any():
            r = state.beta @ problem.gram.whole().astype(np.float64, copy=False)
        return Expansion(state.beta, float(state.found["b"][0]), r, None, problem.n)

    def estimate(self, problem: KernelRegularized | PackedBatch, state: BatchState) -> float | Certificate:
        if isinstance(problem, PackedBatch):
            return certify_batch(problem, state, self.tol)
        gap = float(state.found["as_is"][0])
        return np.inf if np.isnan(gap) else gap

    def pause(self, problem: KernelRegularized | PackedBatch, state: BatchState) -> int:
        single = isinstance(problem, KernelRegularized) and problem.gram.dtype == np.float32
        fine = single and state.found["as_is"][0] <= SINGLE
        return 0 if fine or is_done(state, self.tol).all() else len(state.found)

    def cost(self, problem: KernelRegularized | PackedBatch, state: BatchState | None = None) -> Cost:
        every = problem.n**2
        if isinstance(problem, PackedBatch):
            return Cost(kernel_values=0 if problem.kernel_evals > every // 2 else every, a_pass=len(problem.lam))
        if problem.gram.capacity < problem.n:
            return Cost(kernel_values=2 * every)
        known = problem.gram.evals >= problem.n * (problem.n + 1) // 2
        return Cost(kernel_values=0 if known else every)


def batch_of(problem: KernelRegularized | PackedBatch) -> PackedBatch:
    """The problem itself, if it is a batch; else a batch of one."""
    return problem if isinstance(problem, PackedBatch) else SingleMember(problem)
