"""What a pass of Newton's method sums up: all that a step and its certificate need of the rows, which then may go.

Nothing is kept of a row between passes, neither its margin nor its dual weight, so that a sum over some rows is a
function of the rows and of a question: over a block of a stream, or over a part that lies with a worker.

Where a Newton step would be far too long, a pass makes a small problem in place of the Hessian, which lies below the
whole one: it copies the rows within reach of a step, and sums up the others by groups.

A loss with kinks is a broken line for rows that stay on their side of it, so that a step needs to know one by one only
the rows that may change sides. The others go by groups, for by Jensen's inequality

.. math:: \\sum_{i\\in g}s_i\\,\\ell\\big(t_i - y_g\\langle u, (x_i, 1)\\rangle\\big) \\;\\ge\\;
          s_g\\,\\ell\\big(\\bar t_g - y_g\\langle u, (\\bar x_g, 1)\\rangle\\big), \\qquad s_g = \\sum_{i\\in g}s_i ,

with equality as long as all of a group are on one side. So the optimum of the small problem
is a lower bound on the whole one, and so is its dual objective: it is the dual of the whole with one weight a group.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access import Data, add_row, cell, dot, read_row, span, sq_norm
from hinge.access.structure import cells_and_counts
from hinge.compiled import Scalars, compiled, copied, scalars
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.problems.base import EPS, FEW, TINY, rounding
from hinge.problems.svm.examples import FAINT, balance
from hinge.problems.svm.losses import Loss, gap_share
from hinge.problems.svm.regularized import DualShare, dual_value
from hinge.solvers.driver import solve
from hinge.solvers.newton.newton import Newton
from hinge.solvers.newton.row_sums import add_squares, slope_of
from hinge.solvers.newton.systems import Penalised, is_full

THIN = 2048  # rows per feature of which H is made where a relative error of about 1/√2048 is acceptable
SIDE, COSTS = ("mass", "length", "linear", "extent", "square"), ("loss", "gap", "unit")
"""Names of the numbers in `PassSums` that are added over rows."""
KINDS = 4  # groups for each feature: rows of both signs on both sides of the kink
MOST_MEANS = 1 << 22  # numbers that the means may have; if they would be more, features do not separate groups


class PassQuery(NamedTuple):
    """What a pass is to sum up, at `u`, whose last entry is the bias, and along `p` from there.

    ========= ======================================================================================
    `u`       where the dual weights, H and the certificate are evaluated
    `p`       the direction of the line search
    `offsets` the smoothed loss is evaluated at u + δp for each δ of these
    `line`    width of the smoothing along the line
    `mu`      width of the smoothing for the dual weights and H
    `share`   if positive, this share of the rows is copied, and the others are summed by groups, in
              place of H
    `squares` Σ s x² of each feature, which that needs; computed if zero, and not needed if empty
    `thin`    whether H may be made of evenly spread rows of the parabola, if rows are dense
    ========= ======================================================================================
    """

    u: np.ndarray
    p: np.ndarray
    offsets: np.ndarray
    line: float
    mu: float
    share: float = 0.0
    squares: np.ndarray = np.zeros(0)
    thin: bool = False


class Near(NamedTuple):
    """Copies of rows as the arrays of a CSR matrix, with the `lengths` of rows in place of its `indptr`."""

    values: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray
    y: np.ndarray
    target: np.ndarray
    weight: np.ndarray


class Split(NamedTuple):
    """The rows of some part: those that are `near`, and sums over groups of the `far` ones.

    A row of `far` has Σ s x, Σ s t and Σ s over a group; `sizes` are Σ s‖x‖ and Σ s|t| over all of them.
    """

    near: Near
    far: np.ndarray
    sizes: np.ndarray


class PassSums(NamedTuple):
    """Sums over some rows, with the shares :math:`c_i` for weights.

    ================ ==============================================================================
    `along`          smoothed losses at the offsets
    `z`              :math:`\\sum c_i\\alpha_iy_i(x_i, 1)`, separately for each sign of :math:`\\alpha_iy_i`
    `H`              lower triangle of :math:`\\sum c_i(x_i, 1)(x_i, 1)^T` over rows on the parabola
    `up`, `down`     for each sign of :math:`\\alpha_iy_i`: `mass` :math:`\\sum c_i|\\alpha_i|`, `length`
                     :math:`\\sum c_i|\\alpha_i|\\|x_i\\|`, and the sums of `Regularized.conjugates`
    `costs.loss`     upper bound on the loss at u
    `costs.gap`      what smoothing adds to the gap
    `costs.unit`     unit of the problem's gap
    `costs.largest`  largest :math:`|\\alpha_i|`
    `costs.terms`    how many numbers were added one after the other, for rounding errors
    `squares`        :math:`\\sum s_ix_i^2` of each feature, if the question needs it
    `rows`           the near rows and groups of the others, if the question has a `share`
    ================ ==============================================================================
    """

    along: np.ndarray
    z: np.ndarray
    H: np.ndarray
    up: Scalars
    down: Scalars
    costs: Scalars
    squares: np.ndarray
    rows: Split


class Way(NamedTuple):
    """A query as compiled code takes it, with ‖w‖ and the relative rounding error of an inner product."""

    u: np.ndarray
    p: np.ndarray
    offsets: np.ndarray
    line: float
    mu: float
    center: float
    norm: float
    lost: float
    least: float


def center_of(loss: Loss) -> float:
    """The first centre of the smoothing: ½ for the hinge, halfway between the bounds of its dual weights; else 0."""
    return 0.0 if loss.two_sided or loss.curvature else 0.5


def no_sums(d: int, steps: int, curved: bool = True) -> PassSums:
    """The sums over no rows; with H only if `curved`."""
    size = d + 1 if curved else 0
    up, down = (scalars(**dict.fromkeys(SIDE, 0.0)) for _ in range(2))
    costs = scalars(**dict.fromkeys(COSTS, 0.0), largest=0.0, terms=0)
    along, z, H, squares = np.zeros(steps), np.zeros((2, d + 1)), np.zeros((size, size)), np.zeros(d)
    return PassSums(along, z, H, up, down, costs, squares, no_split(d))


def sums_of(problem: Regularized, question: PassQuery) -> PassSums:
    """The sums over the rows of a problem in memory, which may be a part of a larger one with the same `total`.

    It reads each row once, and those on the parabola again, or some of them, for d² operations each. They are three
    products with a row besides, and one more number a row for each offset.
    """
    matrix, u, d, loss = problem.matrix, question.u, problem.d, problem.loss
    cells = matrix.max_row_cells
    way = Way(*question[:5], center_of(loss), float(np.linalg.norm(u[:d])), (cells + FEW) * EPS, cells * TINY)
    curved, given = np.zeros(problem.n, bool), (problem.y, problem.target, problem.weight, loss)
    wanted = question.share > 0.0
    short = np.zeros(problem.n if wanted else 0)

    def part(data: Data, lo: int, hi: int) -> PassSums:
        found = no_sums(d, len(question.offsets), curved=False)
        rows = data.rows  # type: ignore[attr-defined]
        _sum_up(rows, lo, hi, *given, way, found.along, found.z, found.up, found.down, found.costs, curved, short)
        found.costs.terms = hi - lo
        return found

    found = add_sums(*matrix.each_block(part))
    H, squares, rows = np.zeros((d + 1, d + 1)), found.squares, found.rows
    if wanted:
        rows = split(problem, short, question.share, question.squares)
    else:
        full, chosen = is_full(problem), np.flatnonzero(curved).astype(np.uint32)
        every = _every(problem, len(chosen)) if question.thin and full else 1
        add_squares(problem, chosen[::every], float(every), H, full, 1)
    if len(question.squares) and not question.squares.any():
        squares = squares_of(problem)
    along, z, H = (a / problem.total for a in (found.along, found.z, H))
    for numbers, names in ((found.up, SIDE), (found.down, SIDE), (found.costs, COSTS)):
        for name in names:
            numbers[name] /= problem.total
    return PassSums(along, z, H, found.up, found.down, found.costs, squares, rows)


def _every(problem: Regularized, rows: int) -> int:
    """H is made of every k-th row on the parabola: k such that all parts together have `THIN` rows per feature."""
    weight = problem.weight
    share = float(weight.sum() if len(weight) > 1 else weight[0] * problem.n) / problem.total
    return max(1, int(rows / (THIN * (problem.d + 1) * share)))


def add_sums(*sums: PassSums) -> PassSums:
    """Sums over more rows, added in their order."""
    total, *others = sums
    for more in others:
        along, z, H = total.along + more.along, total.z + more.z, total.H + more.H
        up, down, costs = _add_numbers(total.up, more.up, SIDE), _add_numbers(total.down, more.down, SIDE), total.costs
        largest, terms = max(costs.largest, more.costs.largest), max(costs.terms, more.costs.terms)
        squares, rows = total.squares + more.squares, merge(total.rows, more.rows)
        total = PassSums(along, z, H, up, down, _add_numbers(costs, more.costs, COSTS), squares, rows)
        total.costs.largest, total.costs.terms = largest, terms
    costs = copied(total.costs)
    costs.terms += len(sums)
    return total._replace(costs=costs)


def _add_numbers(a: Scalars, b: Scalars, names: tuple[str, ...]) -> Scalars:
    """The sums of the named numbers of a and b."""
    total = copied(a)
    for name in names:
        total[name] = a[name] + b[name]
    return total


def dual_bound(sums: PassSums, lam: float, loss: Loss, constant_sq: float, free: bool) -> float:
    """A lower bound on D at the α of the pass."""
    sides = np.array([[side[name] for name in SIDE] for side in (sums.up, sums.down)])
    terms, largest = int(sums.costs.terms), float(sums.costs.largest)
    return bound_of_sides(sums.z[:, :-1], sides, largest, lam, loss, constant_sq, free, terms)


def bound_of_sides(
    z: np.ndarray, sides: np.ndarray, largest: float, lam: float, loss: Loss, constant_sq: float, free: bool, terms: int
) -> float:
    """A lower bound on D at an α from sums of `terms` terms over the rows with either sign of :math:`\\alpha_iy_i`.

    `z` are :math:`\\sum c_i\\alpha_iy_ix_i`, and `sides` the numbers of `SIDE`, a row each. If the bias is free, the
    heavier side of α is scaled down.
    """
    scale = np.ones(2)
    if free:
        side, ratio = balance(*sides[:, 0].tolist())
        scale[0 if side > 0 else 1] = ratio
    positive, negative = (scale * sides[:, 0]).tolist()
    length, linear, extent = (scale @ sides[:, 1:4]).tolist()
    # As in `combination_error`: of z, of two masses, of the weights.
    off, square = rounding(4 * terms, length), float(scale**2 @ sides[:, 4])
    share = DualShare(scale @ z, off, positive, negative, linear, extent, square, largest / loss.high)
    return dual_value(share, lam, loss, constant_sq, terms)


@compiled(inline="always")
def _smoothed(loss, e, mu, center):
    """max over a of a e - ℓ*(a) - μ/2 (a - centre)²."""
    sharpness = 1.0 / (mu + loss.curvature)
    a = slope_of(loss, e + mu * center, sharpness, loss.epsilon * sharpness)
    return a * e - loss.epsilon * abs(a) - 0.5 * loss.curvature * a * a - 0.5 * mu * (a - center) ** 2


@compiled(inline="always")
def _at_most(loss, e, error):
    """An upper bound on ℓ(e), where e may be larger by an error."""
    beyond = max(0.0, (abs(e) if loss.low < 0.0 else e) + error - loss.epsilon)
    return beyond * beyond / (2.0 * loss.curvature) if loss.curvature > 0.0 else beyond


@compiled
def _sum_up(A, lo, hi, y, target, weight, loss, way, along, z, up, down, costs, curved, short):
    """Add the sums over rows lo to hi, weighted by s; their residuals go to `short`, if it is not empty."""
    d = len(way.u) - 1
    w, b, p, beta = way.u[:d], way.u[d], way.p[:d], way.p[d]
    sharpness = 1.0 / (way.mu + loss.curvature)
    for i in range(lo, hi):
        s = weight[i] if len(weight) > 1 else weight[0]
        t = target[i] if len(target) > 1 else target[0]
        if s == 0.0:
            continue
        row = read_row(A, i)
        e, norm = t - y[i] * (dot(A, row, w) + b), np.sqrt(sq_norm(A, row))
        q = y[i] * (dot(A, row, p) + beta)
        if len(short):
            short[i] = e
        for k in range(len(along)):
            along[k] += s * _smoothed(loss, e - way.offsets[k] * q, way.line, way.center)
        a = slope_of(loss, e + way.mu * way.center, sharpness, loss.epsilon * sharpness)
        costs.loss += s * _at_most(loss, e, way.lost * (norm * way.norm + abs(b) + abs(t)) + way.least)
        costs.gap += s * gap_share(loss, e, a)
        if loss.low < 0.0:
            costs.unit += FAINT * s * (t * t / (2.0 * loss.curvature) if loss.curvature > 0.0 else abs(t))
        curved[i] = loss.low < a < loss.high and a != 0.0
        if a != 0.0:
            side = z[0] if a * y[i] > 0.0 else z[1]
            add_row(A, row, s * a * y[i], side)
            side[d] += s * a * y[i]
            own, size = up if a * y[i] > 0.0 else down, s * abs(a)
            own.mass += size
            own.length += size * norm
            own.linear += s * t * a - loss.epsilon * size
            own.extent += size * (abs(t) + loss.epsilon)
            own.square += s * a * a
            costs.largest = max(costs.largest, abs(a))


def no_split(d: int) -> Split:
    """The split of no rows."""
    empty = np.zeros(0)
    near = Near(empty, np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int8), empty, empty)
    return Split(near, np.zeros((0, d + 2)), np.zeros(2))


def merge(a: Split, b: Split) -> Split:
    """The split of the rows of both."""
    if not len(a.far) or not len(b.far):
        return a if len(a.far) else b
    near = Near(*map(np.concatenate, zip(a.near, b.near, strict=True)))
    return Split(near, a.far + b.far, a.sizes + b.sizes)


def squares_of(problem: Regularized) -> np.ndarray:
    """Σ s x² over all rows, of each feature. It reads every row once."""
    out = np.zeros(problem.d)
    _add_cells(problem.matrix.rows, problem.n, problem.weight, out)
    return out


def split(problem: Regularized, e: np.ndarray, share: float, squares: np.ndarray) -> Split:
    """Copies of the rows nearest to their kink, a share of all, and sums of the others by groups; e are the residuals.

    With m for the mean `squares` of features, and as if these were independent, a step of one unit in all of them moves
    the margin of a row by :math:`r_i = (1 + \\sum_jx_{ij}^2/m_j)^{1/2}`: a row is the nearer the fewer times that it is
    from its kink. A group are rows on the same side of the kink for which the same feature is the most uncommon,
    :math:`x_{ij}^2/m_j` the largest: rows that have a rare feature are not lost among those that do not.

    It reads all rows twice.
    """
    d, n, loss, A = problem.d, problem.n, problem.loss, problem.matrix.rows
    kinds = d if KINDS * d * (d + 2) <= MOST_MEANS else 1
    reach, feature = np.empty(n), np.empty(n, np.int64)
    _measure(A, problem.total / np.maximum(squares, 1e-280), reach, feature)  # a feature may have no cells
    distance = (np.abs(np.abs(e) - loss.epsilon) if loss.two_sided else np.abs(e)) / reach
    weight = np.full(n, problem.weight)
    used = np.flatnonzero(weight > 0)
    count = min(len(used), int(np.ceil(share * n)))
    near = np.zeros(n, bool)
    near[used[np.argpartition(distance[used], count - 1)[:count]] if count else used[:0]] = True
    sign = e > 0.0 if loss.two_sided else problem.y > 0
    beyond = np.abs(e) > loss.epsilon if loss.two_sided else e > 0.0
    group = KINDS * (feature if kinds > 1 else 0) + 2 * sign + beyond
    target, rows = np.full(n, problem.target), np.flatnonzero(near)
    far, sizes = np.zeros((KINDS * kinds, d + 2)), np.zeros(2)
    _add_means(A, np.flatnonzero(~near & (weight > 0)), group, target, weight, far, sizes)
    taken = Near(
        *cells_and_counts(sp.csr_array(problem.matrix.gather(rows).whole())),
        problem.y[rows],
        target[rows],
        weight[rows],
    )
    return Split(taken, far, sizes)


def small_problem(form: Penalised, loss: Loss, near: Near, far: np.ndarray) -> Regularized:
    """The problem over the rows that are near and the means of the others."""
    d = form.d
    used = np.flatnonzero(far[:, -1] > 0.0)
    mass = far[used, -1]
    means = far[used, :-1] / mass[:, None]
    X = sp.csr_array((near.values, near.columns, np.append(0, np.cumsum(near.lengths))), shape=(len(near.y), d))
    cells, full = means[:, :-1], 3 * X.nnz > len(near.y) * d
    rows = np.vstack([X.toarray(), cells]) if full else sp.csr_array(sp.vstack([X, cells]))
    y = np.append(near.target, means[:, -1]) if loss.two_sided else np.append(near.y, 2 * (used // 2 % 2) - 1)
    weight = np.append(near.weight, mass)
    return Regularized(rows, y, form.lam, weight=weight, bias=form.bias, bias_scale=form.bias_scale, loss=loss)


def small_answer(
    form: Penalised, loss: Loss, found: Split, u: np.ndarray, gap: float, terms: int
) -> tuple[np.ndarray, float]:
    """w and b that are best for the near rows and the means, and a bound on the optimum of the whole problem.

    u is the start; sums over groups have the rounding error of `terms` terms. The small problem is solved to a
    fiftieth of the present gap, but not below 1e-6 nor above 1e-3; its rows are in memory, so that steps are cheap.
    """
    problem = small_problem(form, loss, found.near, found.far)
    stop = Stop(max(1e-6, min(1e-3, 0.02 * gap)), max_iter=200)
    answer = solve(problem, Newton(), stop=stop, start=Solution(u[:-1], float(u[-1]))).solution
    alpha = answer.alpha
    assert alpha is not None
    alpha = problem.balanced(alpha) if form.bias == "free" else alpha
    share = problem.dual_share(alpha, problem.combination(alpha))
    length, extent = (float(size) / problem.total for size in found.sizes)
    # Of means, of two masses, of the weights, as in `combination_error`; and of targets.
    share = share._replace(off=share.off + rounding(4 * terms, length), size=share.size + extent)
    return np.append(answer.w, answer.b), dual_value(share, form.lam, loss, problem.constant_sq, problem.terms + terms)


@compiled
def _add_cells(A, n, weight, out):
    """out ← Σ s x² over n rows, cell by cell."""
    for i in range(n):
        row = read_row(A, i)
        s = weight[i] if len(weight) > 1 else weight[0]
        first, stop = span(A, row)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            out[j] += s * np.float64(x) * np.float64(x)


@compiled
def _measure(A, inverse, reach, feature):
    """How far the margin of each row moves with a step, and its most uncommon feature."""
    for i in range(len(reach)):
        row = read_row(A, i)
        first, stop = span(A, row)
        total, largest, at = 1.0, 0.0, np.int64(0)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            size = np.float64(x) * np.float64(x) * inverse[j]
            total += size
            if size > largest:
                largest, at = size, np.int64(j)
        reach[i], feature[i] = np.sqrt(total), at


@compiled
def _add_means(A, rows, group, target, weight, far, sizes):
    """Sums over groups of rows, and over all of them."""
    d = far.shape[1] - 2
    for i in rows:
        row = read_row(A, i)
        out, s = far[group[i]], weight[i]
        add_row(A, row, s, out)
        out[d] += s * target[i]
        out[d + 1] += s
        sizes[0] += s * np.sqrt(sq_norm(A, row))
        sizes[1] += s * abs(target[i])
