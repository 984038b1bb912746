"""The sums over rows that Newton's method needs, computed by several threads over stretches of a list of rows.

How many stretches there are follows from sizes alone, and their sums are added in order.
"""

import numpy as np

from hinge.access import CSRRows, DenseRows
from hinge.problems import Regularized
from hinge.solvers.newton.smoothing import (
    add_outers,
    along,
    copy_rows,
    even_slope_at,
    product,
    search,
    slope_at,
    slopes,
)
from hinge.threads import each, stretches

SHARE = 1 << 17
"""Cells that make a stretch worth a thread: some times what it takes to begin and to end."""
A_ROW = 4  # reading one entry of a vector for each row costs as much as this many cells
BLAS_PAYS = 48  # features and rows from which on matrix products make a sum of outer products sooner
GATHERED = 1024  # rows that are copied together for that
WIDE = 256  # features above which parts share one sum instead of having one each
FLOPS = 8  # of a matrix product, in the time of a cell


def cut(rows: int, cells: float, parts: int) -> list[tuple[int, int]]:
    """A range of rows, of `cells` cells each, cut into at most `parts` stretches that are worth a thread each."""
    return stretches(rows, max(1, min(parts, int(rows * cells) // SHARE)))


def row_cells(problem: Regularized) -> float:
    """What a row takes to read."""
    return problem.matrix.n_cells / problem.n + A_ROW


def margins_along(
    problem: Regularized, rows: np.ndarray, p: np.ndarray, lo: int, hi: int, q: np.ndarray, parts: int
) -> None:
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    ends = cut(hi - lo, row_cells(problem), parts)
    with problem.matrix.shared(len(ends)) as A:
        each(lambda k: along(A[k], rows, problem.y, p, lo + ends[k][0], lo + ends[k][1], q), len(ends), parts)


def dual_at(
    problem: Regularized,
    rows: np.ndarray,
    m: np.ndarray,
    center: np.ndarray,
    mu: float,
    alpha: np.ndarray,
    z: np.ndarray,
    curved: np.ndarray,
    parts: int,
) -> tuple[float, float, float]:
    """The dual at margins m, and which rows are on the parabola, as `slopes` has them; z follows."""
    ends = cut(len(rows), row_cells(problem), parts)
    own = [z] if len(ends) == 1 else [np.zeros_like(z) for _ in ends]
    with problem.matrix.shared(len(ends)) as A:

        def part(k: int) -> tuple[float, float, float]:
            at, given = slice(*ends[k]), (problem.y, problem.target, problem.weight, problem.loss)
            found: tuple[float, float, float] = slopes(
                A[k], rows[at], *given, m[at], center[at], mu, alpha, own[k], curved[at]
            )
            return found

        sums = each(part, len(ends), parts)
    if len(ends) > 1:
        for change in own:
            z += change
    mass, gap, linear = (sum(terms) for terms in zip(*sums, strict=True))
    return mass, gap, linear


def step_along(
    problem: Regularized,
    rows: np.ndarray,
    m: np.ndarray,
    q: np.ndarray,
    center: np.ndarray,
    mu: float,
    mass: float,
    first: float,
    second: float,
    parts: int,
) -> float:
    """The minimum of F along a direction, of which the penalty's slope and curvature are given; rows weigh `mass`."""
    target, weight, loss = problem.target, problem.weight, problem.loss
    ends, narrow = cut(len(rows), A_ROW, parts), 1.0 / (mass * (mu + loss.curvature))
    even, t, s = len(target) == 1 == len(weight) and not loss.two_sided, float(target[0]), float(weight[0])

    def part(lo: int, hi: int, tau: float) -> tuple[float, float]:
        own = (m, q, center) if len(ends) == 1 else (m[lo:hi], q[lo:hi], center[lo:hi])
        if even:
            found: tuple[float, float] = even_slope_at(t, s, loss, *own, mu, tau)
        else:
            found = slope_at(rows[lo:hi], target, weight, loss, *own, mu, tau)
        return found

    def sums(tau: float) -> tuple[float, float]:
        if len(ends) == 1:
            slope, curvature = part(*ends[0], tau)
        else:
            found = each(lambda k: part(*ends[k], tau), len(ends), parts)
            slope, curvature = (sum(terms) for terms in zip(*found, strict=True))
        return slope / mass, curvature * narrow

    return search(sums, first, second)


def add_products(problem: Regularized, rows: np.ndarray, v: np.ndarray, out: np.ndarray, parts: int) -> None:
    """out ← Σ sᵢ (xᵢ, 1)⟨(xᵢ, 1), v⟩ over the rows of the list."""
    ends = cut(len(rows), 2 * row_cells(problem), parts)
    own = [out] if len(ends) == 1 else [np.empty_like(out) for _ in ends]
    with problem.matrix.shared(len(ends)) as A:
        each(lambda k: product(A[k], rows[slice(*ends[k])], problem.weight, v, own[k]), len(ends), parts)
    if len(ends) > 1:
        out[:] = sum(own)


def add_squares(problem: Regularized, rows: np.ndarray, sign: float, H: np.ndarray, full: bool, parts: int) -> None:
    """Lower triangle of H ± Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ: by matrix products where rows are full and long enough to pay."""
    if not len(rows):
        return
    by_blas = full and problem.d >= BLAS_PAYS and len(rows) >= BLAS_PAYS
    cells = row_cells(problem)
    ends = cut(len(rows), cells * (problem.d / FLOPS if by_blas else cells), parts)
    with problem.matrix.shared(len(ends)) as A:
        if by_blas and problem.d > WIDE:
            for lo in range(0, len(rows), GATHERED):
                _add_square(problem, A, rows[lo : lo + GATHERED], sign, H)
            return
        own = [H] if len(ends) == 1 else [np.zeros_like(H) for _ in ends]

        def part(k: int) -> None:
            some = rows[slice(*ends[k])]
            if not by_blas:
                add_outers(A[k], some, problem.weight, sign, own[k])
                return
            for lo in range(0, len(some), GATHERED):
                _add_square(problem, [A[k]], some[lo : lo + GATHERED], sign, own[k])

        each(part, len(ends), parts)
    if len(ends) > 1:
        for more in own:
            H += more


def _add_square(
    problem: Regularized, A: list[DenseRows | CSRRows], rows: np.ndarray, sign: float, H: np.ndarray
) -> None:
    """The same for few rows, by a copy B of them: each part makes some rows of the triangle, as much work as others.

    Rows p to q of BᵀB have :math:`q^2 - p^2` cells on both sides of the diagonal together.
    """
    B, scale, parts = np.zeros((len(rows), len(H))), sign, len(A)
    ends = stretches(len(rows), parts)
    each(lambda k: copy_rows(A[k], rows[slice(*ends[k])], B[slice(*ends[k])]), parts, parts)
    if len(problem.weight) > 1:
        B *= np.sqrt(problem.weight[rows])[:, None]
    else:
        scale *= float(problem.weight[0])
    corners = [round(len(H) * (k / parts) ** 0.5) for k in range(parts + 1)]

    def part(k: int) -> None:
        p, q = corners[k], corners[k + 1]
        left, own = B[:, :p], B[:, p:q]
        H[p:q, :p] += scale * (own.T @ left)
        H[p:q, p:q] += scale * (own.T @ own)

    each(part, parts, parts)
