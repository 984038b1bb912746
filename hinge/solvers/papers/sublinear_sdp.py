"""The sublinear semidefinite solver: Algorithm 3 of the survey (Garber and Hazan 2011).

::

    INPUT: ε > 0, A_i ∈ R^{n×n} for i ∈ [m]                                            # 1
    Y_1 ← 0, w_1 ← 1, η ← √(log(m)/T), ε_P ← ε/2                                       # 2
    for t = 1 to T do                                                                  # 3
        p_t ← w_t/‖w_t‖₁, X_t ← ApproxProject(Y_t, ε_P²)                               # 4
        choose i_t ← i with probability p_t(i)                                         # 5
        Y_{t+1} ← Y_t + A_{i_t}/√(2T)                                                  # 6
        choose (j_t, l_t) ← (j, l) with probability X_t(j, l)²/‖X_t‖²                  # 7
        for i ∈ [m] do                                                                 # 8
            ṽ_t(i) ← A_i(j_t, l_t)‖X_t‖²/X_t(j_t, l_t)                                 # 9
            v_t(i) ← clip(ṽ_t(i), 1/η)                                                 # 10
            w_{t+1}(i) ← w_t(i) (1 - η v_t(i) + η² v_t(i)²)                            # 11
    return X̄ = 1/T Σ X_t                                                               # 14

ApproxProject is Hazan's algorithm, `project_sparsely`. Matrices are kept as vectors with the same inner products, in
which an entry off the diagonal occurs once, times √2.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hinge.problems.max_min.base import MaxMin
from hinge.problems.max_min.symmetric import Semidefinite, svec, top_pair, with_row
from hinge.sampling import draw_unit, pick, pick_square
from hinge.solvers.base import Paper
from hinge.solvers.saddle.primal_dual import PrimalDual, PrimalDualState, reweigh


@dataclass(frozen=True)
class SublinearSDP(PrimalDual):
    """Feasibility of semidefinite programs by one matrix and one entry of all of them an iteration.

    `PrimalDual` on `Semidefinite`, with Hazan's projection in place of an eigendecomposition. After :math:`T = 60^2
    \\varepsilon^{-2}\\log m` iterations all :math:`A_i \\circ X` are within ε of the best smallest one, with high
    probability (Theorem 4.6). An iteration reads a matrix and an entry of each; the projection takes most of the time,
    :math:`\\tilde O(n^2/\\varepsilon_P^3)`.

    Parameters
    ----------
    steps, epsilon, constants, rate
        As for `PrimalDual`; by default the fixed steps of ε = 0.1. The projection is to :math:`\\varepsilon_P =
        \\varepsilon/2`, for matrices of norm 1, whatever the steps are.

    Notes
    -----
    *Differs* from the survey: matrices are divided by the largest norm, and T has the constant 2, as for `PrimalDual`.

    References
    ----------
    D. Garber, E. Hazan, *Approximating Semidefinite Programs in Sublinear Time*, NIPS 2011.
    A. Irpan, R. Kwan, *Sublinear Algorithms for Optimization and Machine Learning*, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.solvers import SublinearSDP
    >>> A = [np.diag([1.0, -1.0]), np.diag([-0.5, 1.0])]
    >>> found = hinge.semidefinite(A, eps=0.2, relative=False, method=SublinearSDP("fixed", 0.2))
    >>> bool(found.lower <= 1 / 7 <= found.upper)
    True
    """

    steps: Literal["adaptive", "fixed"] = "fixed"
    epsilon: float | None = 0.1

    paper = Paper(
        "Approximating Semidefinite Programs in Sublinear Time", "Garber, Hazan", 2011, "Algorithm 3 of the survey"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            raise ValueError("SublinearSDP needs epsilon: its projections are to half of that.")

    solves, instead = Semidefinite, "PrimalDual"

    def advance(self, problem: MaxMin, state: PrimalDualState, n_iter: int) -> PrimalDualState:
        assert isinstance(problem, Semidefinite) and self.epsilon is not None
        y, x_sum, p, _, drawn, g_sum, _, _, s, begun, key = state
        T, rate = self.rates(problem)
        scale = problem.scale
        eps_P = self.epsilon / (2.0 * scale)
        for t in range(begun + 1, begun + n_iter + 1):  # 3
            eta = rate / math.sqrt(T or t)
            x = svec(project_sparsely(problem.matrix_of(y), eps_P**2).matrix)  # 4
            x_sum += x
            i = pick(p, draw_unit(key, 2 * t))  # 5
            A_i = problem.grad_at(i)
            y += A_i / (scale * math.sqrt(2.0 * (T or t)))  # 6
            g_sum += A_i
            drawn[i] += 1
            jl, sq_norm = pick_square(x, draw_unit(key, 2 * t + 1))  # 7
            if jl >= 0:  # else X = 0, which tells nothing of the matrices
                v = problem.column(jl) * (sq_norm / x[jl])  # 8 and 9
                s.clipped += reweigh(p, v, eta / scale)  # 10 and 11; p_{t+1} of 4
                s.expected += min(1.0, eta * eta)
        return state._replace(t=begun + n_iter)


class SparseProjection(NamedTuple):
    """The result of Frank-Wolfe.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        X.
    gap : float
        The Frank-Wolfe gap: :math:`\\|Y - X\\|^2` exceeds its minimum over K by at most this, except for the small
        probability that Lanczos missed the largest eigenvalue.
    steps : int
        Steps taken; the rank of X is not larger.
    products : int
        Products of Y with a vector, O(n²) each, which dominate the time.
    """

    matrix: np.ndarray
    gap: float
    steps: int
    products: int


def project_sparsely(Y: np.ndarray, eps: float) -> SparseProjection:
    """A point of K = {X ⪰ 0, tr X ≤ 1} whose squared distance to Y is within eps of the smallest.

    Hazan's algorithm: Frank-Wolfe on :math:`f(X) = \\|Y - X\\|_F^2` from X = 0. With v a top eigenvector of
    :math:`G = Y - X` and λ its eigenvalue, the best vertex is :math:`V = vv^\\top`, or V = 0 where λ < 0;

    .. math:: X \\leftarrow X + \\gamma(V - X),\\qquad
              \\gamma = \\min\\Big(1, \\frac{\\langle G, V - X\\rangle}{\\|V - X\\|^2}\\Big),

    until the gap :math:`2\\langle G, V - X\\rangle \\le` eps. Each step increases the rank by at most one, and there
    are at most ⌈1/eps⌉ steps, as in Lemma 4.1 of the survey.

    Any vertex with a positive slope :math:`\\langle G, V - X\\rangle` makes a valid step, and a good one takes few
    products: Lanczos, from a random start, stops when its residual is half of the slope. Only when the gap seems small
    enough does it continue until the largest eigenvalue is known to eps/4, which takes some
    :math:`\\log n/\\sqrt{\\epsilon}` products. X is kept as :math:`\\sum_j c_j v_j v_j^\\top`, so that a product with G
    is one with Y plus O(n) for each v, and inner products with X are sums of numbers already known.

    Notes
    -----
    With exact vertices the squared distance falls as 8/(steps + 2) at worst: the lemma hides the 8 in its Õ. If the
    steps run out before the gap is small enough, `gap` is the one reached.
    """
    if not 0 < eps < np.inf:
        raise ValueError(f"eps must be a positive number, got {eps!r}.")
    n, most = len(Y), math.ceil(1.0 / eps)
    V, c = np.zeros((1, n)), np.zeros(1)
    YX = XX = 0.0  # the inner products of Y and X, and of X with itself
    rng, products = np.random.default_rng(0), 0  # fixed: the same matrix has the same projection
    for steps in range(most + 1):
        V, c = with_row(V, steps), with_row(c, steps)
        kept, weights = V[:steps], c[:steps]
        top = top_pair(
            lambda v, kept=kept, weights=weights: Y @ v - kept.T @ (weights * (kept @ v)),  # type: ignore[misc]
            rng.standard_normal(n),
            eps / 4,
            YX - XX if steps < most else np.inf,
        )
        products += top.products
        positive = top.value > 0.0
        XV = float(weights @ (kept @ top.vector) ** 2) if positive else 0.0
        YV = top.value + XV if positive else 0.0
        slope = (YV - XV) - (YX - XX)  # ⟨Y - X, V - X⟩
        above = slope + (top.error if positive else max(0.0, top.value + top.error))
        if 2.0 * above <= eps or steps == most:
            break
        gamma = min(1.0, max(0.0, slope) / ((1.0 if positive else 0.0) - 2.0 * XV + XX or 1.0))
        V[steps], c[:steps], c[steps] = top.vector, (1.0 - gamma) * weights, gamma if positive else 0.0
        YX += gamma * (YV - YX)
        XX = (1.0 - gamma) ** 2 * XX + 2.0 * gamma * (1.0 - gamma) * XV + (gamma**2 if positive else 0.0)
    return SparseProjection((V[:steps].T * c[:steps]) @ V[:steps], max(0.0, 2.0 * above), steps, products)
