"""The sums over a list of rows that Newton's method needs: margins, dual weights, slopes, Hessians.

Compiled functions compute them over a stretch of the list; the others cut the list into stretches, one for each thread.
How many stretches there are follows from sizes alone, and their sums are added in order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hinge.access import CSRRows, DenseRows, add_outer, add_row, cell, dot, read_row, span
from hinge.compiled import compiled
from hinge.problems import Regularized
from hinge.problems.svm.losses import gap_share
from hinge.threads import each, stretches

REORDERED = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity keep their meaning
SHARE = 1 << 17  # cells that make a stretch worth a thread: several times what starting and ending it takes
A_ROW = 4  # reading one entry of a vector for each row costs as much as this many cells


@compiled(inline="always")
def slope_of(loss, z, sharpness, spared):
    """The dual weight where the loss is smoothed: z moved towards 0 by ε, in units of the parabola, and clipped.

    Unlike min and max, which check for NaN, this compiles to vector selects.
    """
    a = z * sharpness
    near = a if a > -spared else -spared
    a -= near if near < spared else spared
    a = a if a > loss.low else loss.low
    return a if a < loss.high else loss.high


@compiled
def along(A, rows, y, p, lo, hi, q):
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    b = p[len(p) - 1]
    for k in range(lo, hi):
        i = np.uint64(rows[k])
        q[k] = y[i] * (dot(A, read_row(A, i), p) + b)


@compiled
def slopes(A, rows, y, target, weight, loss, m, center, mu, alpha, z, curved):
    """The dual at margins m, and which rows are on the parabola; z follows the rows whose α changed."""
    d = len(z) - 1
    mass = gap = linear = 0.0
    sharpness = 1.0 / (mu + loss.curvature)
    spared = loss.epsilon * sharpness
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        s = weight[i] if len(weight) > 1 else weight[0]
        t = target[i] if len(target) > 1 else target[0]
        e = t - m[k]
        a = slope_of(loss, e + mu * np.float64(center[k]), sharpness, spared)
        mass += s
        linear += s * (t * a - loss.epsilon * abs(a) - 0.5 * loss.curvature * a * a)
        curved[k] = loss.low < a < loss.high and a != 0.0
        if a != alpha[i]:
            row = read_row(A, i)
            step = s * (a - alpha[i]) * y[i]
            add_row(A, row, step, z)
            z[d] += step
            alpha[i] = a
        if mu > 0.0:
            gap += s * gap_share(loss, e, a)
    return mass, gap, linear


@compiled
def add_outers(A, rows, weight, sign, H):
    """Lower triangle of H ← H ± Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ over the rows of the list."""
    d = len(H) - 1
    last = H[d]
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row = read_row(A, i)
        s = sign * (weight[i] if len(weight) > 1 else weight[0])
        add_outer(A, row, s, H)
        add_row(A, row, s, last)
        last[d] += s


class Trial(NamedTuple):
    """A trial of a line search: the step, a bracket, the slope at 0, its number, and whether it is the last."""

    tau: float
    low: float
    high: float
    start: float
    number: int
    over: bool


FIRST = Trial(0.0, 0.0, np.inf, 0.0, 0, False)
SLOPE = 0.05  # a line search ends where the slope is this share of the slope at its start
MOST_TRIALS = 60  # bisections down to rounding; a line search takes two or three trials


def search(sums: Callable[[float], tuple[float, float]], first: float, second: float) -> float:
    """The minimum of F along a direction, by Newton's method on its slope within a bracket.

    `sums` has the losses' slope and curvature after a step τ. The penalty's, at 0, are `first` and `second`. It is no
    compiled function: to compile one takes longer than it saves in thousands of fits.
    """
    trial = FIRST
    while not trial.over:
        trial = next_trial(trial, *sums(trial.tau), first, second)
    return trial.tau


@compiled(fastmath=REORDERED)
def slope_at(rows, target, weight, loss, m, q, center, mu, tau):
    """Sums over rows after a step τ along the direction: of the losses' slopes, and of squares on the parabola."""
    slope = curvature = 0.0
    weighted, sharpness = len(weight) > 1, 1.0 / (mu + loss.curvature)
    spared, targets = loss.epsilon * sharpness, len(target) > 1
    for k in range(len(rows)):
        s = weight[rows[k]] if weighted else weight[0]
        t = target[rows[k]] if targets else target[0]
        c = slope_of(loss, t - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, spared)
        slope -= s * c * q[k]
        curvature += s * q[k] * q[k] if loss.low < c < loss.high and c != 0.0 else 0.0
    return slope, curvature


@compiled(fastmath=REORDERED)
def even_slope_at(t, s, loss, m, q, center, mu, tau):
    """The same where all rows have the target t of a label and the weight s: vector instructions need no lookup."""
    slope = curvature = 0.0
    sharpness = 1.0 / (mu + loss.curvature)
    for k in range(len(q)):
        c = slope_of(loss, t - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, 0.0)
        slope -= c * q[k]
        curvature += q[k] * q[k] if 0.0 < c < loss.high else 0.0
    return s * slope, s * curvature


def next_trial(trial: Trial, slope: float, curvature: float, first: float, second: float) -> Trial:
    """The next trial, from the slope and curvature of the losses at this one, and of the penalty at 0."""
    tau, low, high, start, number, _ = trial
    slope, curvature = first + tau * second + slope, second + curvature
    if number == 0:
        start = slope
    if abs(slope) <= SLOPE * abs(start):
        return Trial(tau, low, high, start, number, True)
    low, high = (tau, high) if slope < 0.0 else (low, tau)
    tau -= slope / curvature if curvature > 0.0 else 0.0
    if not (low < tau < high) or (low == 0.0 and 0.1 * high < tau < np.inf and number > 1):
        # A step is cut fast if it is far too long because the curvature at its start was no guide.
        tau = 2.0 * low + 1.0 if high == np.inf else 0.1 * high if low == 0.0 else 0.5 * (low + high)
    if number + 1 == MOST_TRIALS:  # the slope is still negative at the lower end: the way there has been downhill
        return Trial(low, low, high, start, number + 1, True)
    return Trial(tau, low, high, start, number + 1, False)


@compiled
def copy_rows(A, rows, B):
    """The rows (xᵢ, 1) of a list, one below the other, in an array of zeros."""
    d = B.shape[1] - 1
    for k in range(len(rows)):
        row = read_row(A, np.uint64(rows[k]))
        first, stop = span(A, row)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            B[k, j] = x
        B[k, d] = 1.0


@compiled
def diagonal(A, rows, weight, out):
    """out ← the diagonal of Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ over the rows of the list."""
    d = len(out) - 1
    for j in range(d + 1):
        out[j] = 0.0
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row, s = read_row(A, i), weight[i] if len(weight) > 1 else weight[0]
        first, stop = span(A, row)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            out[j] += s * x * x
        out[d] += s


@compiled
def product(A, rows, weight, p, out):
    """out ← Σ sᵢ (xᵢ, 1)⟨(xᵢ, 1), p⟩ over the rows of the list."""
    d = len(p) - 1
    for j in range(d + 1):
        out[j] = 0.0
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row = read_row(A, i)
        c = (weight[i] if len(weight) > 1 else weight[0]) * (dot(A, row, p) + p[d])
        add_row(A, row, c, out)
        out[d] += c


def cut(rows: int, cells: float, parts: int) -> list[tuple[int, int]]:
    """A range of rows, of `cells` cells each, cut into at most `parts` stretches that are worth a thread each."""
    return stretches(rows, max(1, min(parts, int(rows * cells) // SHARE)))


def row_cells(problem: Regularized) -> float:
    """The cost of reading a row, in cells."""
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
    """Lower triangle of H ± Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ.

    If rows are `full`, by matrix products with copies of 1,024 rows; these are faster from 48 rows and features on,
    and do about 8 multiplications in the time of a cell. Threads share one sum if it would not fit into a cache for
    each of them, above 256 features.
    """
    if not len(rows):
        return
    by_blas, block = full and min(problem.d, len(rows)) >= 48, 1024
    cells = row_cells(problem)
    ends = cut(len(rows), cells * (problem.d / 8 if by_blas else cells), parts)
    with problem.matrix.shared(len(ends)) as A:
        if by_blas and problem.d > 256:
            for lo in range(0, len(rows), block):
                _add_square(problem, A, rows[lo : lo + block], sign, H)
            return
        own = [H] if len(ends) == 1 else [np.zeros_like(H) for _ in ends]

        def part(k: int) -> None:
            some = rows[slice(*ends[k])]
            if not by_blas:
                add_outers(A[k], some, problem.weight, sign, own[k])
                return
            for lo in range(0, len(some), block):
                _add_square(problem, [A[k]], some[lo : lo + block], sign, own[k])

        each(part, len(ends), parts)
    if len(ends) > 1:
        for more in own:
            H += more


def _add_square(
    problem: Regularized, A: list[DenseRows | CSRRows], rows: np.ndarray, sign: float, H: np.ndarray
) -> None:
    """The same for few rows, by a copy B of them: each part makes rows of the triangle of about equal work.

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
