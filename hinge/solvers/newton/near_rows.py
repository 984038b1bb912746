"""Rows within reach of a step, and means of all others: a small problem that lies below the whole one.

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

from hinge.access import add_row, cell, read_row, span, sq_norm
from hinge.access.structure import cells_and_counts
from hinge.compiled import compiled
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.problems.base import rounding
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.regularized import dual_value
from hinge.solvers.driver import solve
from hinge.solvers.newton.hessians import Penalised
from hinge.solvers.newton.newton import Newton

KINDS = 4
"""Groups for each feature: rows of both signs on both sides of the kink."""
MOST_MEANS = 1 << 22
"""Numbers that the means may be; where they would be more, features do not tell groups apart."""
LEAST = 1e-280
"""Squares of a feature that are not to be told from none."""
INNER, ROUGH, FINE = 0.02, 1e-3, 1e-6
"""Share of the gap to which the small problem is solved, and between which limits."""
MOST_STEPS = 200
"""Newton steps on it: memory has its rows, so that a step is no pass."""


class Near(NamedTuple):
    """Copies of rows, in the parts of a CSR matrix, with the `lengths` of rows for its last."""

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
    _measure(A, problem.total / np.maximum(squares, LEAST), reach, feature)
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

    u is the start; sums over groups have the rounding error of `terms` terms.
    """
    problem = small_problem(form, loss, found.near, found.far)
    stop = Stop(max(FINE, min(ROUGH, INNER * gap)), max_iter=MOST_STEPS)
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
    """How far a row's margin moves with a step, and which feature of it is the most uncommon."""
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
