"""The sublinear perceptron: Algorithm 1 of the survey (Clarkson, Hazan and Woodruff 2012).

::

    INPUT: ε > 0, A ∈ R^{n×d} with ‖A_i‖ ≤ 1 for i ∈ [n]                               # 1
    T ← 200² ε⁻² log n, y_1 ← 0, w_1 ← 1, η ← √(log(n)/T)                              # 2
    for t = 1 to T do                                                                  # 3
        p_t ← w_t/‖w_t‖₁, x_t ← y_t/max{1, ‖y_t‖}                                      # 4
        choose i_t ← i with probability p_t(i)                                         # 5
        y_{t+1} ← y_t + A_{i_t}/√(2T)                                                  # 6
        choose j_t ← j with probability x_t(j)²/‖x_t‖²                                 # 7
        for i ∈ [n] do                                                                 # 8
            ṽ_t(i) ← A_i(j_t)‖x_t‖²/x_t(j_t)                                           # 9
            v_t(i) ← clip(ṽ_t(i), 1/η)                                                 # 10
            w_{t+1}(i) ← w_t(i) (1 - η v_t(i) + η² v_t(i)²)                            # 11
    return x̄ = 1/T Σ x_t                                                               # 14
"""

import math
from dataclasses import dataclass

import numpy as np

from hinge.problems import Problem
from hinge.problems.max_min.base import MaxMin
from hinge.problems.max_min.max_margin import MaxMargin, SlackGame
from hinge.sampling import draw_unit, pick, pick_square
from hinge.solvers.base import Paper
from hinge.solvers.saddle.primal_dual import PrimalDual, PrimalDualState, reweigh


@dataclass(frozen=True)
class SublinearPerceptron(PrimalDual):
    """The widest margin of a hyperplane through zero by one row and one column an iteration.

    `PrimalDual` on `MaxMargin`. After :math:`T = 200^2\\varepsilon^{-2}\\log n` iterations the margin of the answer
    is within ε of the best with probability 1/2, for rows in the unit ball (Theorem 2.8). An iteration reads n + d
    entries.

    Parameters
    ----------
    steps, epsilon, constants, rate
        As for `PrimalDual`.

    Notes
    -----
    *Differs* from the survey: rows are divided by the largest norm; steps are by default those of every t in place of
    T, and η is half of that; and there is a certificate, as for `PrimalDual`. Where x = 0 no column is drawn.

    References
    ----------
    K. L. Clarkson, E. Hazan, D. P. Woodruff, *Sublinear Optimization for Machine Learning*, JACM 2012.
    A. Irpan, R. Kwan, *Sublinear Algorithms for Optimization and Machine Learning*, 2015.

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import SublinearPerceptron
    >>> made = make_separable(200, 20, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=0.1, method=SublinearPerceptron())
    >>> found.lower <= made.margin <= found.upper, bool(found.gap <= 0.1)
    (True, True)
    """

    paper = Paper(
        "Sublinear Optimization for Machine Learning", "Clarkson, Hazan, Woodruff", 2012, "Algorithm 1 of the survey"
    )

    def rejects(self, problem: Problem) -> str | None:
        if isinstance(problem, MaxMargin) and not isinstance(problem, SlackGame):
            return None
        return f"SublinearPerceptron solves MaxMargin problems, not {type(problem).__name__}; use PrimalDual."

    def advance(self, problem: MaxMin, state: PrimalDualState, n_iter: int) -> PrimalDualState:
        assert isinstance(problem, MaxMargin)
        y, x_sum, p, _, drawn, g_sum, _, _, s, begun, key = state
        T, rate = self.rates(problem)
        scale = problem.scale
        for t in range(begun + 1, begun + n_iter + 1):  # 3
            eta = rate / math.sqrt(T or t)
            x = y / max(1.0, float(np.linalg.norm(y)))  # 4
            x_sum += x
            i = pick(p, draw_unit(key, 2 * t))  # 5
            A_i = problem.grad_at(i)
            y += A_i / (scale * math.sqrt(2.0 * (T or t)))  # 6
            g_sum += A_i
            drawn[i] += 1
            j, sq_norm = pick_square(x, draw_unit(key, 2 * t + 1))  # 7
            if j >= 0:
                v = problem.column(j) * (sq_norm / x[j])  # 8 and 9
                s.clipped += reweigh(p, v, eta / scale)  # 10 and 11; p_{t+1} of 4
                s.expected += min(1.0, eta * eta)
        return state._replace(t=begun + n_iter)
