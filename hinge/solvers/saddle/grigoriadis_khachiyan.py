"""Matrix games by reading one row and one column per iteration: Grigoriadis and Khachiyan 1995."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.constraints import Constraints, number
from hinge.problems import Certificate
from hinge.problems.base import Cost, rounding
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.linear import MatrixGame
from hinge.sampling import draw_unit, key_of, pick
from hinge.solvers.base import Paper, Solver
from hinge.solvers.saddle.primal_dual import FIRST_CHECK


class GameState(NamedTuple):
    """Sums of all columns and of all rows read, and how often each column (`x`) and row (`p`) was drawn."""

    columns: np.ndarray
    rows: np.ndarray
    x: np.ndarray
    p: np.ndarray
    t: int
    key: np.uint64


@dataclass(frozen=True)
class GrigoriadisKhachiyan(Solver[MatrixGame, GameState]):
    """Each player draws by exponential weights of the payoffs against the other's past draws.

    With :math:`U = \\sum_s A e_{j_s}` and :math:`V = \\sum_s A^\\top e_{i_s}`, the columns and rows read so
    far,

    .. math:: P(i_t = i) \\propto e^{-\\eta_t U_i}, \\qquad P(j_t = j) \\propto e^{\\eta_t V_j}, \\qquad
              \\eta_t = \\sqrt{\\log(\\max(n, d)) / t} \\,/ \\max|A_{ij}| .

    The answer is the frequencies of the draws. Then :math:`A\\bar x = U/t` and :math:`A^\\top\\bar p = V/t`,
    so the certificate :math:`[\\min_i U_i/t,\\ \\max_j V_j/t]` is exact and reads nothing. After
    :math:`O(\\varepsilon^{-2}\\log n)` iterations, each of n + d entries, its width is ε.

    Parameters
    ----------
    rate : float
        Multiplies η.

    References
    ----------
    M. D. Grigoriadis, L. G. Khachiyan, *A sublinear-time randomized approximation algorithm for matrix
    games*, 1995.

    Examples
    --------
    >>> import hinge
    >>> from hinge.solvers import GrigoriadisKhachiyan
    >>> game = hinge.solve_game([[1.0, -1.0], [-1.0, 1.0]], eps=0.1, method=GrigoriadisKhachiyan())
    >>> game.lower <= 0.0 <= game.upper, bool(game.gap <= 0.1)
    (True, True)
    """

    rate: float = 1.0

    paper = Paper(
        "A sublinear-time randomized approximation algorithm for matrix games",
        "Grigoriadis, Khachiyan",
        1995,
        "the algorithm; rates that fall with t",
    )
    reads, exact_estimate = "cells", True
    constraints = Constraints(rate=number(above=0))
    solves, instead = MatrixGame, "PrimalDual"

    def init(self, problem: MatrixGame, seed: int = 0, start: Strategies | None = None) -> GameState:
        n, d = problem.n, problem.d
        return GameState(np.zeros(n), np.zeros(d), np.zeros(d), np.zeros(n), 0, key_of(seed))

    def advance(self, problem: MatrixGame, state: GameState, n_iter: int) -> GameState:
        U, V, x, p, begun, key = state
        top = self.rate * math.sqrt(math.log(max(2, problem.n, problem.d))) / problem.scale
        for t in range(begun + 1, begun + n_iter + 1):
            eta = top / math.sqrt(t)
            i = draw_exponential(U, -eta, draw_unit(key, 2 * t))
            j = draw_exponential(V, eta, draw_unit(key, 2 * t + 1))
            V += problem.grad_at(i)
            U += problem.column(j)
            p[i] += 1.0
            x[j] += 1.0
        if not (np.isfinite(top) and np.isfinite(U).all() and np.isfinite(V).all()):
            raise ValueError("The matrix has entries that are not finite: remove or replace them.")
        return state._replace(t=begun + n_iter)

    def solution(self, problem: MatrixGame, state: GameState) -> Strategies:
        if state.t == 0:
            return Strategies(problem.start(), np.full(problem.n, 1.0 / problem.n))
        return Strategies(state.x / state.t, state.p / state.t)

    def estimate(self, problem: MatrixGame, state: GameState) -> Certificate:
        if state.t == 0:
            return Certificate(-np.inf, np.inf, np.inf)
        lower, upper = float(state.columns.min()) / state.t, float(state.rows.max()) / state.t
        error = rounding(state.t, max(problem.longest, abs(lower), abs(upper)))
        return problem.certified(lower - error, upper + error)

    # --- what the driver asks -------------------------------------------------------------

    def cost(self, problem: MatrixGame, state: GameState | None = None) -> Cost:
        a_pass = max(1, problem.pass_cells // max(1, problem.step_reads))
        return Cost(rows=1, columns=1, certificate=0, a_pass=a_pass)

    def pause(self, problem: MatrixGame, state: GameState) -> int:
        """An eighth of the iterations so far: evaluating the bounds takes O(n + d) and no read."""
        return max(FIRST_CHECK, state.t // 8)


@compiled
def draw_exponential(sums, eta, unit):
    """i with probability in proportion to exp(η sums(i))."""
    top = -np.inf
    for s in sums:
        top = max(top, eta * s)
    return max(0, pick(np.exp(eta * sums - top), unit))  # `advance` raises an error if sums are not finite
