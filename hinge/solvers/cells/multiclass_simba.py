"""SIMBA for several classes, which section 7 of Hazan, Koren and Srebro 2011 announces.

Algorithm 1 of the paper, over pairs (i, k) of a row and a wrong class of it, k ≠ y_i::

    input: ε > 0, 0 ≤ ν ≤ 1, S = {(x_i, y_i)} with ‖x_i‖ ≤ 1                                    # 0
    u_0 ← 0, p_1 ← uniform over all pairs                                                       # 1, 2
    for t = 1, ..., T:                                                                          # 3
        choose (i_t, k_t) ~ p_t                                                                 # 4
        u_t ← u_{t-1}, with x_{i_t}/√(4t) added for class y_{i_t}, and taken away for k_t       # 5
        ξ_t ← argmax_{ξ ∈ Ξ_ν} Σ p_t(i, k) ξ(i)
        w_t ← u_t / max{1, ‖u_t‖}                                                               # 6
        choose j_t ← j with probability ‖w_t(j)‖²/‖w_t‖², w_t(j) being its weights in all classes  # 7
        for all pairs (i, k):                                                                   # 8
            ṽ ← x_i(j_t) (w_t(j_t, y_i) - w_t(j_t, k))/√2 · ‖w_t‖²/‖w_t(j_t)‖² + ξ_t(i)         # 9
            v ← clip(ṽ, 1/η)                                                                    # 10
            q(i, k) ← p_t(i, k) (1 - ηv + η²v²)                                                 # 11
        p_{t+1} ← q / Σ q                                                                       # 13
    return the mean of all w_t                                                                  # 15
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.constraints import Constraints, choice, number
from hinge.problems import Certificate, MulticlassSlackConstrained, Solution
from hinge.problems.base import ROUNDING_32, Cost
from hinge.sampling import draw_unit, key_of, pick
from hinge.solvers.base import Paper, Solver
from hinge.solvers.cells.simba_exact import greedy_slack, sq_length, whole
from hinge.solvers.saddle.primal_dual import FIRST_CHECK, FLOOR, factor


class MulticlassSimbaState(NamedTuple):
    """u, p, and the sums of all w and p so far, for rows divided by `radius`."""

    u: np.ndarray
    w_sum: np.ndarray
    p: np.ndarray
    p_sum: np.ndarray
    radius: float
    t: int
    key: np.uint64


@dataclass(frozen=True)
class MulticlassSimba(Solver[MulticlassSlackConstrained, MulticlassSimbaState]):
    """Primal-dual ascent for `MulticlassSlackConstrained` that reads one row and one column an iteration.

    The players are W and a distribution p over pairs of a row and a wrong class of it. With
    :math:`\\eta_t = \\sqrt{\\log(n(K - 1))/t}`, a pair that is drawn moves W as a row moves w in `Simba`. A column j is
    drawn with probability :math:`\\|w_t(j)\\|^2/\\|w_t\\|^2`, and estimates the margins of all pairs,

    .. math:: v_t(i, k) = x_i(j)\\,\\frac{w_t(j, y_i) - w_t(j, k)}{\\sqrt2}\\,\\frac{\\|w_t\\|^2}{\\|w_t(j)\\|^2}
              + \\xi_t(i),

    which is unbiased, since the probability cancels. So an iteration reads n + d cells, whatever the number of classes,
    and costs O((n + d)K). The slack of a row goes to the rows of the largest :math:`\\sum_k p_t(i, k)`. For two classes
    it is `Simba` without a bias.

    Parameters
    ----------
    output : {"average", "last"}
        The mean of all W, or the last.
    radius : float, optional
        A bound on the norms of the rows, by which they are divided. By default the largest norm if the data is in
        memory, and else 1.

    Notes
    -----
    *Differs* from the paper, which announces several classes without details, in what `Simba` differs; it has the rates
    of section 6. Another estimate would draw one weight w(j, k) in place of one column: it tells nothing of the pairs
    without class k, and reads as much.

    References
    ----------
    E. Hazan, T. Koren, N. Srebro, *Beating SGD: Learning SVMs in Sublinear Time*, NIPS 2011, section 7.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hinge import Stop, solve
    >>> from hinge.problems import MulticlassSlackConstrained
    >>> from hinge.solvers import MulticlassSimba
    >>> X, y = load_digits(return_X_y=True)
    >>> problem = MulticlassSlackConstrained(X, y, nu=0.01)
    >>> result = solve(problem, MulticlassSimba(), stop=Stop(tol=0, max_iter=3000))
    >>> bool(((X @ result.solution.w[:-1]).argmax(axis=1) == y).mean() > 0.9)
    True
    """

    output: Literal["average", "last"] = "average"
    radius: float | None = None

    paper = Paper("Beating SGD: Learning SVMs in Sublinear Time", "Hazan, Koren, Srebro", 2011, "section 7")
    reads = "cells"
    constraints = Constraints(output=choice("average", "last"), radius=number(above=0) | None)
    solves, instead = MulticlassSlackConstrained, "Simba"

    def init(
        self, problem: MulticlassSlackConstrained, seed: int = 0, start: Solution | None = None
    ) -> MulticlassSimbaState:
        n, d, K = problem.n, problem.d, problem.k
        p = np.full((n, K), 1.0 / (n * (K - 1)))
        p[np.arange(n), problem.labels] = 0.0
        radius = self.radius or (problem.largest_norm() if problem.table.in_memory else 1.0) or 1.0
        return MulticlassSimbaState(np.zeros((d, K)), np.zeros((d, K)), p, np.zeros((n, K)), radius, 0, key_of(seed))

    def advance(
        self, problem: MulticlassSlackConstrained, state: MulticlassSimbaState, n_iter: int
    ) -> MulticlassSimbaState:
        u, w_sum, p, p_sum, R, begun, key = state
        n, K, labels, table = problem.n, problem.k, problem.labels, problem.table
        amount, log_pairs = n * problem.nu / (2.0 * R), math.log(n * (K - 1))
        for t in range(begun + 1, begun + n_iter + 1):  # 3
            eta = math.sqrt(log_pairs / t)
            p_sum += p
            i, k = divmod(pick(p.ravel(), draw_unit(key, 2 * t)), K)  # 4
            at, x = table.row(i)
            if np.linalg.norm(x) > R * (1.0 + ROUNDING_32):
                raise ValueError(
                    f"Row {i} has norm {np.linalg.norm(x):.6g}, and the rows were to lie in the ball of radius {R:g}: "
                    "give radius=, a bound on the norms of all rows, as in solver=MulticlassSimba(radius=...)."
                )
            w, j = _add_pair(u, w_sum, at, x, labels[i], k, 1.0 / (math.sqrt(4 * t) * R), draw_unit(key, 2 * t + 1))
            if j >= 0:  # else w = 0, which tells nothing of the pairs
                at, x = table.column(j)
                _reweigh(p, labels, at, x, w[j], sq_length(w.ravel()) / (math.sqrt(2.0) * R), eta, amount)
        return state._replace(t=begun + n_iter)

    def solution(self, problem: MulticlassSlackConstrained, state: MulticlassSimbaState) -> Solution:
        w = state.u / max(1.0, float(np.linalg.norm(state.u))) if self.output == "last" else state.w_sum
        p = state.p_sum if state.t else state.p
        # As in `Simba`: p is cut off where the greedy slack ends, so that νn max p is near the greedy pᵀξ.
        mass = p.sum(axis=1)
        top = int(min(problem.n - 1.0, problem.nu / state.radius * problem.n / 2))
        cut = np.partition(mass, problem.n - 1 - top)[problem.n - 1 - top]
        p = p * np.minimum(1.0, cut / np.maximum(mass, FLOOR))[:, None]
        return Solution(np.vstack([w, np.zeros(problem.k)]) / max(1, state.t), 0.0, p / p.max())

    def cost(self, problem: MulticlassSlackConstrained, state: MulticlassSimbaState | None = None) -> Cost:
        step = problem.table.max_row_cells + problem.table.max_column_cells
        certificate = None if problem.table.in_memory else 0
        return Cost(1, 1, certificate=certificate, a_pass=max(1, problem.table.n_cells // max(1, step)))

    def pause(self, problem: MulticlassSlackConstrained, state: MulticlassSimbaState) -> int:
        """To the next power of two."""
        return max(FIRST_CHECK, 1 << state.t.bit_length()) - state.t

    def estimate(self, problem: MulticlassSlackConstrained, state: MulticlassSimbaState) -> float | Certificate:
        """0, so that a certificate is computed, once as much was read as it reads; unknown for data elsewhere."""
        if not problem.table.in_memory:
            return Certificate.unknown()
        return 0.0 if state.t >= self.cost(problem).a_pass else np.inf


@compiled
def _add_pair(u, w_sum, at, x, y, k, step, unit):
    """Lines 5 to 7: w and j, which is -1 where w = 0."""
    for c in range(len(x)):
        j = at[c] if len(at) else c
        u[j, y] += step * x[c]  # 5
        u[j, k] -= step * x[c]
    w = u / max(1.0, np.sqrt(sq_length(u.ravel())))  # 6
    w_sum += w
    return w, pick((w * w).sum(axis=1), unit)  # 7


@compiled
def _reweigh(p, labels, at, x, w, size, eta, amount):
    """The ξ of line 5, and lines 8 to 13; `w` has the weights of the column, `size` is ‖w‖²/√2."""
    xi = greedy_slack(p.sum(axis=1), amount)  # 5: ξ
    ratio, total = size / sq_length(w), 0.0
    column = whole(at, x, len(p))
    for i in range(len(p)):  # 8
        y = labels[i]
        for k in range(p.shape[1]):
            if k != y:
                v = column[i] * (w[y] - w[k]) * ratio + xi[i]  # 9
                p[i, k] = max(p[i, k] * factor(eta * v), FLOOR)  # 10 and 11
                total += p[i, k]
    p /= total  # 13
