"""Stochastic dual coordinate ascent that seldom visits rows whose last margin says that they stay."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import add_row, dot, read_row, sq_norm
from hinge.compiled import compiled
from hinge.constraints import Constraints, count, number
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.sampling import draw_unit
from hinge.solvers.ascent.active_rows import begin, ends_epoch, next_rows
from hinge.solvers.ascent.local_ascent import AscentRows
from hinge.solvers.ascent.sdca import SDCA, SDCAState, answer_of, bias_constant, dual_step
from hinge.solvers.base import Solver


class StaleState(NamedTuple):
    """The state of the ascent, and each row's margin at its last visit: nan where that is no guide."""

    ascent: SDCAState
    margin: np.ndarray

    @property
    def t(self) -> int:
        """Rows visited so far."""
        return self.ascent.t


@dataclass(frozen=True)
class StaleSDCA(Solver[Regularized, StaleState]):
    """Dual coordinate ascent for `Regularized` where every read counts.

    It takes the steps of `SDCA`. The first pass visits all rows. From the second on an epoch visits row i
    with probability

    .. math:: \\pi_i = \\begin{cases}
              \\max\\big(\\pi_0,\\ e^{-|m_i - 1|/\\tau}\\big) & \\text{if } \\alpha_i = 0,\\ m_i > 1
              \\ \\text{ or }\\ \\alpha_i = 1,\\ m_i < 1, \\\\
              1 & \\text{otherwise,}\\end{cases}

    where :math:`m_i` is the row's margin when it was last visited. A row at its bound, on the side where it
    stays, is seldom read, and the sooner again the closer its margin was to one.

    An iteration visits and reads one row; to pass one over costs a draw and no read.

    Parameters
    ----------
    least : float
        π₀, the least probability of a visit.
    width : float
        τ.
    block_rows : int, optional
        As for `SDCA`: an epoch visits blocks of this many neighbours on its list in random order.

    Notes
    -----
    The guess of the gap weighs what a visited row adds by :math:`1/\\pi_i`, so that it stands for those that
    were passed over. A certificate that is not good enough brings all rows back for one epoch.

    *Differs* from shrinking, which leaves a row out altogether until then: here none is ever out, which
    spares the epochs that find out what shrinking got wrong. Bias and weights are as in `SDCA`; there is no
    stochastic gradient pass, for it often makes the error on new rows worse.

    A margin needs only the cells with :math:`w_j \\ne 0`, the other cells only a row whose α changes. That
    is not made use of: rows are handed out, and counted, whole.

    References
    ----------
    S. Shalev-Shwartz, *Large-Scale SVM Optimization: Taking a Machine Learning Perspective*, 2008, for the
    ascent; the probabilities are our own.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import StaleSDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, StaleSDCA(), stop=Stop(tol=1e-2, max_iter=10**6))
    >>> result.certificate.gap <= 1e-2
    True
    """

    least: float = 0.1
    width: float = 0.5
    block_rows: int | None = None

    any_loss = False
    free_level = False
    paper = SDCA.paper._replace(place="the ascent; whom it visits is our own")
    constraints = Constraints(least=number(above=0, most=1), width=number(above=0), block_rows=count() | None)

    @property
    def plain(self) -> SDCA:
        """The ascent that takes the same steps."""
        return SDCA("plain", shrinking=False, block_rows=self.block_rows)

    solves, instead = Regularized, "SGD for a norm bound"

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> StaleState:
        return StaleState(self.plain.init(problem, seed, start), np.full(problem.n, np.nan))

    def advance(self, problem: Regularized, state: StaleState, n_iter: int) -> StaleState:
        free = problem.bias == "free"
        if state.t == 0 and n_iter > 0:
            dual = state.ascent.dual
            dual.kappa, dual.beta = (bias_constant(problem), dual.beta) if free else (problem.constant_sq, 0.0)
        settings = free, self.least, self.width, self.plain.rows_a_block(problem), n_iter
        _visit(
            AscentRows.from_problem(problem), problem.lam * problem.total, *settings, state.margin, *state.ascent[:-2]
        )
        return state

    def solution(self, problem: Regularized, state: StaleState) -> Solution:
        return answer_of(state.ascent)

    def cost(self, problem: Regularized, state: StaleState | None = None) -> Cost:
        return self.plain.cost(problem)

    def pause(self, problem: Regularized, state: StaleState) -> int:
        """The end of the epoch, or later if an evaluation costs more than an epoch."""
        return self.plain.pause(problem, state.ascent)

    def estimate(self, problem: Regularized, state: StaleState) -> float:
        """The gap as the last epoch met it; visited rows are weighted to represent the rows that were passed over."""
        return self.plain.estimate(problem, state.ascent)

    def refresh(self, problem: Regularized, state: StaleState) -> StaleState:
        """Visit all rows in the next epoch."""
        return state._replace(ascent=self.plain.refresh(problem, state.ascent))


@compiled
def chance(alpha, m, least, width):
    """The probability to visit a row with this α and this margin at its last visit, nan if unknown."""
    stays = (alpha == 0.0 and m > 1.0) or (alpha == 1.0 and m < 1.0)
    return max(least, np.exp(-abs(m - 1.0) / width)) if stays else 1.0


@compiled
def _draw(active, weight, alpha, margin, least, width, key, draws):
    """List the rows of the next epoch; returns their number and the draws made so far."""
    kept = 0
    for i in range(len(alpha)):
        if len(weight) > 1 and weight[i] == 0.0:
            continue
        p = chance(alpha[i], margin[i], least, width)
        if p < 1.0:
            draws += 1
            if draw_unit(key, draws - 1) >= p:
                continue
        active[kept] = i
        kept += 1
    return kept, draws


@compiled
def _visit(rows, Lam, free, least, width, block_rows, n_iter, margin, alpha, v, sq, active, order, dual, epoch, key):
    A, y, _, weight, _, _ = rows
    u, beta, kappa, gap = dual.u, dual.beta, dual.kappa, dual.gap_so_far
    left = n_iter
    while left > 0:
        if epoch.visited == 0:
            if begin(epoch, active, order, weight, block_rows, key):
                margin[:] = np.nan
            gap = 0.0
        first, stop, last = next_rows(epoch, order[epoch.block], block_rows, left)
        for at in range(first, stop):
            i = np.uint64(active[at])
            row = read_row(A, i)
            s = weight[i] if len(weight) > 1 else weight[0]
            if np.isnan(sq[i]):
                sq[i] = sq_norm(A, row)
            yi = np.float64(y[i])
            old = alpha[i]
            m = yi * (beta + (dot(A, row, v) + kappa * u) / Lam)  # yᵢ(⟨w, xᵢ⟩ + b)
            g = 1.0 - m
            share = s * ((1.0 - old) * g if g > 0.0 else -old * g)
            gap += share / chance(old, margin[i], least, width)
            margin[i] = m
            new = dual_step(old, Lam * g / (s * (sq[i] + kappa)))
            if new != old:
                alpha[i] = new
                u += s * (new - old) * yi
                add_row(A, row, s * (new - old) * yi, v)
        left -= stop - first
        if ends_epoch(epoch, stop - first, stop == last):
            dual.gap = gap
            if free:
                beta += kappa * u / Lam
            epoch.active, epoch.draws = _draw(active, weight, alpha, margin, least, width, key, epoch.draws)
    dual.u, dual.beta, dual.gap_so_far = u, beta, gap
