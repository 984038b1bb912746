"""The linear systems of Newton steps: general ones, and the Hessians of `Regularized` in the form that costs least.

A Hessian is :math:`\\nabla^2F = P + B^TSB` with the penalties P on the diagonal, the rows (xᵢ, 1) on the parabola in
B, and their weights in S.

The unit costs by which a form, and a solver, is chosen are here, too.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.lapack import dposv

from hinge.access.matrix import MOST_UNPACKED
from hinge.problems import Regularized
from hinge.problems.base import EPS
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.solvers.newton.row_sums import add_products, add_squares, diagonal
from hinge.threads import one_blas_thread

OWN = 10.0 ** np.arange(6)  # ridges that are shares of their own entries, in units of the rounding of a factor
COMMON = 1e-12 * 10.0 ** np.arange(20)  # ridges after these, as shares of the trace
DIRECT = 256  # features up to which the Hessian is always formed and factored
MOST_DIRECT = 2048  # features beyond which it never is; and rows beyond which their inner products are not
FACTOR_PAYS = 2400  # a factorisation costs as much as conjugate gradients where d³ is this many times the cells
MOST_MOVES = 8  # H is made anew once this many rows were added or removed for each row in it
CANCELLED = 1e-6  # after rows are removed, H is kept only if this share of its largest trace remains

ROW = 110.0  # a visit to a row of a matrix in memory, besides its cells
CELL = 0.7  # a cell of a dense row: read, multiplied, added
NONZERO = 2.2  # a nonzero of a sparse row
FLOP = 0.045  # a multiplication and an addition within a matrix product
SPARSE_FLOP = 0.5  # the same, added to a random place of a matrix
STEP = 3e5  # what a step of Newton's method takes besides: calls, small arrays
"""What parts of the work of linear solvers cost: nanoseconds of one processor, of which only ratios decide.

``python benchmarks/costs.py`` prints them for the machine it runs on, as loops over data that suits them. On an x86
server it printed 0.45, 1.9, 0.017, 0.54 and 2.9e5 for CELL, NONZERO, FLOP, SPARSE_FLOP and STEP, and 12 for ROW with
rows that stay in its caches. The stored ones are larger where a solver does more than the loop (it waits for memory,
shrinks, copies rows): with them estimates were right in the median of 40 random shapes (``benchmarks/regret.py``).
"""

Form = Literal["features", "rows", "products"]


def solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g from the lower triangle; a ridge where rounding or an idle bias made H singular, g where H is no use.

    The first ridges are shares of each entry of the diagonal: columns may be of any scale, and a share of the trace
    would keep the weights of small ones where they are.
    """
    # The lower triangle of rows is the upper one of columns, which LAPACK expects: nothing is transposed.
    with one_blas_thread() if len(g) <= DIRECT else nullcontext():
        _, x, failed = dposv(H.T, g)
    if not failed:
        return x.reshape(g.shape)
    own, size = np.diagonal(H), float(np.abs(np.diagonal(H)).sum())
    own = np.where(own > 0.0, own, size)
    for ridge in [*np.outer(len(g) * EPS * OWN, own), *np.outer(COMMON, np.full(len(own), size))]:
        _, x, failed = dposv((H + np.diag(ridge)).T, g)
        if not failed:
            return x.reshape(g.shape)
    return g / size if 0.0 < size < np.inf else g


def conjugate_gradient(
    times: Callable[[np.ndarray], np.ndarray], g: np.ndarray, steps: int, diagonal: np.ndarray | float = 1.0
) -> tuple[np.ndarray, bool]:
    """H⁻¹g to a tenth of g in the norm of the preconditioner, and whether the given number of products came so near.

    The preconditioner is the `diagonal` of H: columns of different scales cost no more products than equal ones.
    """
    x, residual = np.zeros_like(g), g.copy()
    p = residual / diagonal
    rr = float(residual @ p)
    target = 0.01 * rr
    for _ in range(steps):
        if rr <= target:
            return x, True
        Hp = times(p)
        step = rr / float(p @ Hp)
        x += step * p
        residual -= step * Hp
        scaled = residual / diagonal
        rr, before = float(residual @ scaled), rr
        p = scaled + rr / before * p
    return x, rr <= target


class Outline(NamedTuple):
    """A problem without its rows; `keep` is the share of these that may be held in memory between passes."""

    d: int
    lam: float
    loss: Loss
    bias: Bias
    bias_scale: float
    keep: float = 0.0


Penalised: TypeAlias = Regularized | Outline


def form_of(problem: Regularized) -> Form:
    """The form in which the system is solved.

    By a factorisation of the Hessian, or of the inner products of fewer rows than features, where that costs less
    than the products which would do without; rows have to be full for it, so that their inner products are cheap.
    """
    n, d, cells = problem.n, problem.d, problem.matrix.n_cells
    if d <= DIRECT:
        return "features"
    if n <= min(d, MOST_DIRECT) and cells <= MOST_UNPACKED and is_full(problem):
        return "rows"
    return "features" if d <= MOST_DIRECT and d**3 <= FACTOR_PAYS * cells else "products"


def is_full(problem: Regularized) -> bool:
    """Whether so few cells are zero that dense matrix products are faster."""
    return 3 * problem.matrix.n_cells > problem.n * problem.d


def allocate_hessian(problem: Regularized, n: int) -> np.ndarray:
    """Zeros for the Hessian of the features, or for the inner products of the n rows in use."""
    form = form_of(problem)
    size = problem.d + 1 if form == "features" else n if form == "rows" else 0
    return np.zeros((size, size))


def penalty_of(problem: Penalised) -> np.ndarray:
    """λ for each weight, and the penalty of the bias."""
    penalty = np.full(problem.d + 1, problem.lam)
    penalty[-1] = problem.lam / problem.bias_scale**2 if problem.bias == "penalized" else 0.0
    return penalty


def by_features(problem: Penalised, H: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
    """:math:`(P + sH)^{-1}g` from the sum H of the rows on the parabola, where s is the scale."""
    H = H * scale
    H[np.diag_indices(len(H))] += penalty_of(problem)
    if problem.bias == "none":
        H[-1, :], H[-1, -1] = 0.0, 1.0
    elif problem.bias == "free":
        H[-1, -1] += abs(g[-1])  # without a row on the parabola nothing else holds the bias
    return solved(H, g)


def by_rows(
    problem: Regularized, K: np.ndarray, rows: np.ndarray, curved: np.ndarray, g: np.ndarray, scale: float
) -> np.ndarray:
    """The same from the inner products K of the rows, by the identity of Woodbury.

    With the rows X on the parabola, :math:`\\tau = SBp` for the step p that is asked for, and β for what p adds to
    the bias,

    .. math:: (S^{-1} + XX^T/\\lambda)\\,\\tau = Xg/\\lambda + \\beta 1, \\qquad
              1^T\\tau + \\pi\\beta = g_b, \\qquad p = (g - X^T\\tau)/\\lambda,

    where π is the penalty of the bias. It costs :math:`m^3/3` and two reads of the m rows on the parabola.
    """
    lam, paid = problem.lam, float(penalty_of(problem)[-1])
    at = np.flatnonzero(curved)
    used = rows[at]
    N = K[np.ix_(at, at)] / lam
    N[np.diag_indices(len(at))] += 1.0 / (scale * (problem.weight[used] if len(problem.weight) > 1 else problem.weight))
    beta, tau = 0.0, np.zeros(len(at))
    if len(at):
        sides = np.column_stack([problem.matrix.responses_at(used, g[:-1]) / lam, np.ones(len(at))])
        first, ones = solved(N, sides).T
        tau = first
    if problem.bias != "none":
        held = float(ones.sum()) if len(at) else 0.0
        beta = (g[-1] - float(tau.sum())) / (held + paid or abs(g[-1]) or 1.0)
        tau = tau + beta * ones if len(at) else tau
    p = g / lam
    p[-1] = beta
    coef = np.zeros(problem.n)
    coef[used] = -tau / lam
    problem.matrix.combine(coef, 0, problem.n, p[:-1])
    return p


def by_products(problem: Regularized, curved: np.ndarray, g: np.ndarray, scale: float, parts: int = 1) -> np.ndarray:
    """The same by conjugate gradients, which multiply with the rows on the parabola.

    If they have not converged after `most_products` products, the Hessian is factored.
    """
    penalty, out = penalty_of(problem), np.empty_like(g)
    if problem.bias == "free":
        penalty[-1] += abs(g[-1])  # without a row on the parabola nothing else holds the bias

    def times(v: np.ndarray) -> np.ndarray:
        add_products(problem, curved, v, out, parts)
        if problem.bias == "none":
            out[-1] = 0.0
        return out * scale + penalty * v

    own = np.empty_like(g)
    diagonal(problem.matrix.rows, curved, problem.weight, own)
    own = own * scale + penalty
    own[own == 0.0] = 1.0  # a bias that is not penalised, where no row is on the parabola
    x, converged = conjugate_gradient(times, g, most_products(problem), own)
    if converged or problem.d > MOST_DIRECT:
        return x
    H = np.zeros((problem.d + 1, problem.d + 1))
    add_squares(problem, curved, 1.0, H, is_full(problem), parts)
    return by_features(problem, H, g, scale)


def most_products(problem: Regularized) -> int:
    """The largest number of products with the Hessian in a step: at least 20, and what a factorisation would cost."""
    return min(problem.d, max(20, 20 * problem.d**3 // (FACTOR_PAYS * max(1, problem.matrix.n_cells))))


def update_hessian(
    problem: Regularized,
    H: np.ndarray,
    rows: np.ndarray,
    before: np.ndarray,
    curved: np.ndarray,
    moved: int,
    parts: int = 1,
) -> int:
    """Update H for the rows that are on the parabola now; returns the number of updates since it was last summed up.

    Few rows enter or leave the parabola in a step, and each costs d². H is summed up from scratch if that is cheaper,
    or if the rounding errors of the updates would matter.
    """
    came, went, full = rows[curved > before], rows[curved < before], is_full(problem)
    changes = len(came) + len(went)
    held = int(np.count_nonzero(curved))
    moved += changes
    if changes <= held and moved <= MOST_MOVES * max(held, problem.d):
        add_squares(problem, came, 1.0, H, full, parts)
        most = np.trace(H)
        add_squares(problem, went, -1.0, H, full, parts)
        if np.trace(H) > CANCELLED * most:  # else the rounding of long rows that left is what remains
            return moved
    H[:] = 0.0
    add_squares(problem, rows[curved], 1.0, H, full, parts)
    return held


def pass_cost(problem: Regularized) -> float:
    """The cost of a visit to all rows."""
    matrix = problem.matrix
    return ROW * problem.n + (NONZERO if matrix.is_sparse else CELL) * matrix.n_cells


def factor_cost(size: float) -> float:
    """The cost of a Cholesky factorisation: size³/3 operations, at about a third of the rate of a matrix product."""
    return FLOP * size**3


def hessian_cost(problem: Regularized) -> float:
    """The cost of a Hessian of all rows: d² products for each, or the square of its nonzeros if that is less."""
    n, d, cells = float(problem.n), float(problem.d), problem.matrix.n_cells / problem.n
    return n * min(FLOP * d * d, SPARSE_FLOP * cells * cells)
