"""All values of C, folds and classes of a kernel machine jointly, by the splitting of Douglas and Rachford.

Every member of a `GramBatch` has the same quadratic function, so that one matrix

.. math:: P_\\rho = M - \\frac{gg^\\top}{\\mathbf 1^\\top g}, \\qquad M = (K + \\rho I)^{-1}, \\quad g = M\\mathbf 1,

serves all that have the same ρ (P = M without a bias), and a step of all of them is one product of matrices:

.. math:: V \\leftarrow V + \\tau\\big(B + P_\\rho(\\rho(2Z - V - B) - E) - Z\\big), \\qquad Z = \\Pi(V),

where Π shrinks by ε/ρ and cuts off at the bounds, B is a feasible point and E = KB + b - Y are its slopes; see
`douglas_rachford` for the method. After each round of steps Z is made feasible: the larger side of each column is
scaled to the sum of the other, and the column to its best multiple. This is the next B, with slopes in float64, so that
what rounding does to P is relative to how far a round moves. Columns whose certified gap is small enough rest; ρ of the
others follows the ratio of both residuals, on a grid, so that few matrices are factored.

A step costs n² multiplications a column, a matrix n³.

S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, *Distributed Optimization ... via ADMM*, 2011, 3.4 and 5.2.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hinge.access.arrays import to_host
from hinge.access.gram.device import import_torch, tf32
from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems.base import Cost
from hinge.problems.svm.gram_batch import GramAnswers, GramBatch
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.douglas_rachford import RELAXATION

if TYPE_CHECKING:
    import torch

FIRST, POWER = 3.0, -0.25
"""ρ of a member at the beginning, in units of the kernel's diagonal: 3 (Cκ)^(-1/4)."""
GRID = 4.0
"""Ratio of neighbouring values of ρ."""


class SplittingState(NamedTuple):
    """A column for each member.

    ============ =========================================================================
    `V`          the iterate, (n, p), in float32
    `rho`        ρ of each column, on the host
    `answers`    the feasible point of each column, its responses and bias
    `gap`        the gap of each column, on the host
    `t`          rounds so far
    ============ =========================================================================
    """

    V: "torch.Tensor"
    rho: np.ndarray
    answers: GramAnswers
    gap: np.ndarray
    t: int


@dataclass(frozen=True)
class GramSplitting(Solver[GramBatch, SplittingState]):
    """Rounds of splitting steps for all members of a `GramBatch` jointly.

    Parameters
    ----------
    tol : float
        Members whose gap is below this rest.
    steps : int
        Steps of a round, after which gaps are evaluated.
    most : int
        Rounds after which the others are left to runs of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.solvers.kernel.gram_splitting import GramSplitting
    >>> GramSplitting(tol=0.01).steps
    50
    """

    tol: float = 1e-2
    steps: int = 50
    most: int = 24

    paper = Paper(
        "Distributed Optimization and Statistical Learning via the Alternating Direction Method of Multipliers",
        "Boyd, Parikh, Chu, Peleato, Eckstein",
        2011,
        "3.4 and 5.2",
    )
    joint = True
    tubes = True
    ends_itself = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(tol=number(least=0), steps=count(1), most=count(1))

    solves = GramBatch

    def init(self, problem: GramBatch, seed: int = 0, start: None = None) -> SplittingState:
        torch = import_torch(str(problem.K.device))
        size = float(problem.K.diagonal().mean())
        C = to_host(problem.boxes.amax(0))
        rho = FIRST * size * np.maximum(C * size, 1e-30) ** POWER
        zeros, none = torch.zeros_like(problem.boxes), torch.zeros_like(problem.boxes[0])
        answers = GramAnswers(zeros, zeros.clone(), none)
        return SplittingState(zeros.to(problem.K.dtype), rho, answers, np.full(len(C), np.inf), 0)

    def advance(self, problem: GramBatch, state: SplittingState, n_iter: int) -> SplittingState:
        torch = import_torch(str(problem.K.device))
        for _ in range(n_iter):
            if self.pause(problem, state) == 0:
                break
            left = np.flatnonzero(~(state.gap <= self.tol))
            level = np.round(np.log(state.rho[left]) / np.log(GRID))
            for one in np.unique(level):
                with tf32(torch, True):
                    self._move(torch, problem, state, left[level == one], GRID**one)
            self._measure(torch, problem, state, left)
            state = state._replace(t=state.t + 1)
        return state

    def _move(
        self, torch: ModuleType, problem: GramBatch, state: SplittingState, which: np.ndarray, rho: float
    ) -> None:
        """The steps of a round of the columns with this ρ, and their next ρ."""
        at = torch.as_tensor(which, device=problem.K.device)
        lo, hi = (one.to(state.V.dtype) for one in problem.limits(at))
        V, P, base = state.V[:, at], problem.inverse(rho), state.answers.beta[:, at]
        # With the bias, which P does not feel, so that what P is multiplied with vanishes at the optimum.
        e = (state.answers.responses[:, at] + state.answers.biases[at] - problem.aims[:, at]).to(V.dtype)
        base = base.to(V.dtype)
        last, shrink = torch.as_tensor(state.rho[which], device=V.device, dtype=V.dtype), problem.loss.epsilon / rho
        Z = project(V, lo, hi, problem.loss.epsilon / last)
        V = Z + (V - Z) * (last / rho)  # what is beyond the bounds is a slope divided by ρ
        Z = project(V, lo, hi, shrink)
        V_before, Z_before = V, Z
        for _ in range(self.steps):
            V_before, Z_before = V, Z
            V = V + RELAXATION * (base + P @ (rho * (2.0 * Z - V - base) - e) - Z)
            Z = project(V, lo, hi, shrink)
        # Both residuals in units of slopes, as of ADMM.
        off, moved = (V - V_before).norm(dim=0) / RELAXATION, (Z - Z_before).norm(dim=0)
        size = float(problem.K.diagonal().mean())
        balance = (off * size / (rho * moved).clamp(min=1e-30)).sqrt().nan_to_num(1.0).clamp(0.3, 3.0)
        state.V[:, at] = Z + (V - Z) / balance
        state.rho[which] = rho * to_host(balance)

    def _measure(self, torch: ModuleType, problem: GramBatch, state: SplittingState, which: np.ndarray) -> None:
        """Make the columns feasible, and evaluate their gaps; the best of each column is kept."""
        at = torch.as_tensor(which, device=problem.K.device)
        lo, hi = problem.limits(at)
        rho = torch.as_tensor(state.rho[which], device=lo.device)
        beta = project(state.V[:, at].double(), lo, hi, problem.loss.epsilon / rho)
        if problem.free:
            up, down = beta.clamp(min=0.0).sum(0), -beta.clamp(max=0.0).sum(0)
            least = torch.minimum(up, down)
            beta = torch.where(beta > 0.0, beta * (least / up), torch.where(beta < 0.0, beta * (least / down), beta))
        r, aims = problem.responses(beta), problem.aims[:, at]
        sq = (beta * r).sum(0)
        gain = (beta * aims).sum(0) - problem.loss.epsilon * beta.abs().sum(0)
        room = torch.where(beta != 0.0, problem.boxes[:, at] / beta.abs(), torch.inf).amin(0)
        multiple = torch.where(sq > 0.0, torch.minimum((gain / sq).clamp(min=0.0), room), 1.0)
        answers = GramAnswers(beta * multiple, r * multiple, state.answers.biases[at])
        b, primal, dual = problem.measured(answers, at)
        gap = to_host(torch.where(dual > 0.0, (primal - dual) / dual, torch.inf).nan_to_num(np.inf))
        better = gap < state.gap[which]
        kept, where = torch.as_tensor(better, device=at.device), at[torch.as_tensor(better, device=at.device)]
        state.answers.beta[:, where] = answers.beta[:, kept]
        state.answers.responses[:, where] = answers.responses[:, kept]
        state.answers.biases[where] = b[kept]
        state.gap[which[better]] = gap[better]

    def solution(self, problem: GramBatch, state: SplittingState) -> GramAnswers:
        """The feasible points of the rounds, with the smallest gap of each column."""
        return state.answers

    def cost(self, problem: GramBatch, state: SplittingState | None = None) -> Cost:
        return Cost()

    def pause(self, problem: GramBatch, state: SplittingState) -> int:
        return int(state.t < self.most and not (state.gap <= self.tol).all())

    def estimate(self, problem: GramBatch, state: SplittingState) -> float:
        return float(state.gap.max(initial=0.0))


def project(
    V: "torch.Tensor", lo: "torch.Tensor", hi: "torch.Tensor", shrink: "float | torch.Tensor"
) -> "torch.Tensor":
    """Π(V): towards zero by `shrink`, and within the bounds."""
    if isinstance(shrink, float) and shrink == 0.0:
        return V.clamp(lo, hi)
    return (V.sign() * (V.abs() - shrink).clamp(min=0.0)).clamp(lo, hi)
