"""The inner loop of dual coordinate ascent, and the gap after an epoch.

`visit` is the loop of `SDCA`, `CoCoA` and `BlockAscent`, over some rows or all of them. On a part of the rows
it solves the subproblem of CoCoA+ (`local_ascent`).

With :math:`v = \\sum_i s_i\\alpha_i y_i x_i` and :math:`\\Lambda = \\lambda\\sum_i s_i`, part k changes the α of its
own rows, and so v by :math:`\\Delta_k`, to maximise

.. math:: \\sum_i s_i\\big(t_i\\alpha_i - \\ell^*(\\alpha_i)\\big)
          - \\frac1\\Lambda\\langle v, \\Delta_k\\rangle - \\frac{\\sigma'}{2\\Lambda}\\|\\Delta_k\\|^2 .

What the K parts find together raises the dual by what they all expect, or by more, where
:math:`\\|\\sum_k\\Delta_k\\|^2 \\le \\sigma'\\sum_k\\|\\Delta_k\\|^2`, which :math:`\\sigma' = K` makes sure of. In
terms of :math:`v/\\sigma' + \\Delta_k` and :math:`\\Lambda/\\sigma'` the subproblem is the dual itself, and it is
solved by the steps of SDCA.

A part sees values alone, and says what it changed. It does not matter where it runs.
"""

import math
from typing import NamedTuple

import numpy as np

from hinge.access import CSRRows, DenseRows, add_row, are_far, dot, fetch, frozen, read_row, sq_norm
from hinge.access.rows import prefetch
from hinge.compiled import Scalars, compiled, copied
from hinge.problems import Regularized
from hinge.problems.svm.losses import Loss, ascents, best_weight, conjugate, gap_share
from hinge.sampling import stream_of
from hinge.solvers.ascent.active_rows import SHRUNK, counted, first_epoch, shuffle, unmarked
from hinge.solvers.ascent.subspace_step import products

SAMPLE = 2048  # rows by which the gap is estimated after a long epoch
AHEAD = 2  # blocks, by which rows are asked for before they are visited


class AscentRows(NamedTuple):
    """The examples of a part: rows and their counter, labels, targets, weights (one where all are equal), loss, λ."""

    A: DenseRows | CSRRows
    y: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    loss: Loss
    lam: float

    @classmethod
    def from_problem(
        cls, problem: Regularized, A: DenseRows | CSRRows | None = None, at: np.ndarray | None = None
    ) -> "AscentRows":
        """All examples of a problem, or those at some places, read through A, which may have a counter of its own."""
        y, target, weight = problem.y, problem.target, problem.weight
        if at is not None:
            y, target = y[at], target if len(target) == 1 else frozen(target[at])
            weight = weight if len(weight) == 1 else frozen(weight[at])
        return cls(problem.matrix.rows if A is None else A, y, target, weight, problem.loss, problem.lam)


class Share(NamedTuple):
    """Which rows a part visits in a round: blocks `first` to `stop` of `deal`, each of `size` neighbours on a list.

    They are visited in groups of `group` neighbours, in an order that the seeds of `key` and `number` draw. Of the list
    the first `listed` entries count; rows that need no visit for some time are marked on it.
    """

    active: np.ndarray
    listed: int
    deal: np.ndarray
    first: int
    stop: int
    size: int
    group: int
    key: np.uint64
    number: int


class Change(NamedTuple):
    """The changes of a part: Δv, Δu, the growth of Λ; its share of the gap, and extreme derivatives of the dual."""

    dv: np.ndarray
    du: float
    grown: float
    gap: float
    highest: float
    lowest: float
    rows: int


def local_ascent(
    rows: AscentRows, share: Share, alpha: np.ndarray, sq: np.ndarray, v: np.ndarray, dual: Scalars, sigma: float
) -> Change:
    """Visit the rows of a share once; their α, and their squared norms where these are new, are written in place.

    `dual` has the numbers of :class:`hinge.solvers.ascent.sdca.SDCAState`. It and v are only read. It costs a read of
    the rows, and O(d).
    """
    dv, scale, own, epoch = np.empty_like(v), 1.0 / sigma, copied(dual), first_epoch()
    own.u, own.Lam = u, Lam = float(dual.u * scale), float(dual.Lam * scale)
    own.gap_so_far, own.highest, own.lowest = 0.0, -np.inf, np.inf
    _ascend(rows, share, alpha, sq, v, scale, dv, own, epoch)
    return Change(
        dv,
        float(own.u) - u,
        float(own.Lam) - Lam,
        float(own.gap_so_far),
        float(own.highest),
        float(own.lowest),
        int(epoch.t),
    )


@compiled
def visit(A, y, target, weight, loss, lam, block_rows, n_iter, alpha, v, sq, active, order, dual, epoch):
    """Visit up to `n_iter` rows in the order of an epoch; returns the visits left, and whether the epoch is over.

    Of `dual` it moves u, Λ where it grows, and what the epoch has met and `moved`.
    """
    # What a row changes is held in variables: fields of `dual` would be written to memory for every row. And nothing
    # is handed on row by row: to count who holds an array takes as long as a short row, and threads share the count.
    u, beta, kappa, Lam, gap = dual.u, dual.beta, dual.kappa, dual.Lam, dual.gap_so_far
    highest, lowest, upper, lower, growing = dual.highest, dual.lowest, dual.upper, dual.lower, dual.growing
    moved = dual.moved
    block, offset, visited, listed, left = epoch.block, epoch.offset, epoch.visited, epoch.active, n_iter
    blocks = -(-listed // block_rows) if are_far(A) else 0  # those that are worth asking for in advance
    while left > 0 and visited < listed:
        begin = np.int64(order[block]) * block_rows
        first, last = begin + offset, begin + block_rows if begin + block_rows < listed else listed
        stop = first + left if first + left < last else last
        if block + 2 * AHEAD < blocks:
            prefetch(active, np.uint64(order[block + 2 * AHEAD]) * np.uint64(block_rows))
        if block + AHEAD < blocks:
            soon = np.int64(order[block + AHEAD]) * block_rows
            for at in range(soon, soon + block_rows if soon + block_rows < listed else listed):
                i = np.uint64(active[at])
                fetch(A, i)
                prefetch(y, i)
                prefetch(alpha, i)
                prefetch(sq, i)
        for at in range(first, stop):
            i = np.uint64(active[at])
            row = read_row(A, i)
            s = weight[i] if len(weight) > 1 else weight[0]
            if growing:
                Lam += lam * s
            if np.isnan(sq[i]):
                sq[i] = sq_norm(A, row)
            yi, t = np.float64(y[i]), target[i] if len(target) > 1 else target[0]
            old = alpha[i]
            g = t - yi * (beta + (dot(A, row, v) + kappa * u) / Lam)  # tᵢ - yᵢ(⟨w, xᵢ⟩ + b)
            gap += s * gap_share(loss, g, old)
            rise, fall = ascents(loss, old, g)
            if rise < lower and fall > upper:
                active[at] |= SHRUNK
            elif rise > 0.0 or fall < 0.0:
                highest, lowest = rise if rise > highest else highest, fall if fall < lowest else lowest
                new = best_weight(loss, old, g, s * (sq[i] + kappa) / Lam)
                alpha[i] = new
                step = s * (new - old) * yi
                u += step
                moved += abs(step)
                add_row(A, row, step, v)
        left, visited = left - (stop - first), visited + (stop - first)
        block, offset = (block + 1, 0) if stop == last else (block, stop - begin)
    dual.u, dual.Lam, dual.gap_so_far, dual.highest, dual.lowest, dual.moved = u, Lam, gap, highest, lowest, moved
    epoch.block, epoch.offset = block, offset
    return left, counted(epoch, visited - epoch.visited)


@compiled(inline="always")
def end_epoch(dual, epoch, active, full, moves, shrinking):
    """End an epoch: the bias multiplier moves if `moves`, and marked rows leave the list."""
    growing, highest, lowest = dual.growing, dual.highest, dual.lowest
    dual.gap_before, dual.gap = dual.gap, dual.gap_so_far if not growing else np.inf
    dual.max_violation_before = dual.max_violation
    dual.max_violation = np.inf if growing else highest if highest > 0.0 else 0.0
    dual.Lam = full
    if moves and not growing:
        dual.beta = dual.keep * (dual.beta + dual.kappa * dual.u / full) - dual.pull
    dual.epochs_without_shrinking -= 1 if dual.epochs_without_shrinking > 0 else 0
    leave = shrinking and not growing and dual.epochs_without_shrinking == 0
    dual.upper = highest if leave and highest > 0.0 else np.inf
    dual.lower = lowest if leave and lowest < 0.0 else -np.inf
    dual.ended, dual.growing = True, False
    epoch.active = unmarked(active, epoch.active)
    dual.visits_since_halved += epoch.rows
    if highest < lowest and epoch.active < len(active):  # no row on the list moved, but a free bias may yet
        epoch.stale = True
    if dual.gap <= 0.5 * dual.reference_gap:
        dual.reference_gap, dual.visits_since_halved = dual.gap, 0
    elif dual.visits_since_halved > 16 * len(active) and epoch.active < len(active):  # rows that left may be needed
        epoch.stale, dual.reference_gap, dual.visits_since_halved = True, dual.gap, 0
    # A certificate that is not good enough costs more than some visits to what is left on the list: a quarter of a pass
    # more, if that lowers the gap to no less than a third.
    dual.gap_safety = 1.0
    if dual.gap < dual.gap_before < np.inf and epoch.active > 0:
        dual.gap_safety = min(3.0, (dual.gap_before / dual.gap) ** (0.25 * len(active) / epoch.active))


@compiled
def target_reached(rows, goal, alpha, v, dual, epoch, r):
    """Whether the gap is small enough after an epoch; it is measured once it is predicted to be.

    If it is not, rows that left the list come back.
    """
    ended, dual.ended, dual.rows_gap = dual.ended, False, np.nan
    if not (ended and goal.tol > 0.0):
        return False
    target, weight, loss = rows.target, rows.weight, rows.loss
    rows_gap = sampled_gap(rows, goal.Lam, alpha, v, dual) if epoch.rows > 16 * SAMPLE else np.nan
    gap, value, _ = predict_gap(target, weight, loss, goal, rows_gap, alpha, v, dual)
    if gap > goal.tol * (value if value > goal.unit else goal.unit):
        return False
    rows_gap = _measure_gap(rows, goal.Lam, alpha, v, dual, r)
    gap, value, _ = predict_gap(target, weight, loss, goal, rows_gap, alpha, v, dual)
    if gap <= goal.tol * (value if value > goal.unit else goal.unit):
        dual.rows_gap = rows_gap
        return True
    epoch.stale, dual.gap_inflation = True, 2.0 * dual.gap_inflation
    return False


@compiled
def sampled_gap(rows, Lam, alpha, v, dual):
    """The rows' part of the gap, estimated by rows at equal distances; plus two standard errors."""
    A, y, target, weight, loss, _ = rows
    total, squares, count, every = 0.0, 0.0, 0, len(y) // SAMPLE
    for i in range(every // 2, len(y), every):
        s = weight[i] if len(weight) > 1 else weight[0]
        t = target[i] if len(target) > 1 else target[0]
        vx = dot(A, read_row(A, i), v)
        g = t - y[i] * (dual.beta + (vx + dual.kappa * dual.u) / Lam)
        share = s * gap_share(loss, g, alpha[i])
        total += share
        squares += share * share
        count += 1
    mean = total / count
    return dual.gap_inflation * len(y) * (mean + 2.0 * np.sqrt(max(0.0, squares / count - mean * mean) / count))


@compiled
def _measure_gap(rows, Lam, alpha, v, dual, r):
    """The rows' part of the gap at w = v/Λ by a pass over all rows; sets the largest violation of a margin, too."""
    A, y, target, weight, loss, _ = rows
    w, b, total, violation = v / Lam, dual.beta + dual.kappa * dual.u / Lam, 0.0, 0.0
    for i in range(len(alpha)):
        r[i] = dot(A, read_row(A, i), w)
        s = weight[i] if len(weight) > 1 else weight[0]
        if s > 0.0:
            t = target[i] if len(target) > 1 else target[0]
            g = t - y[i] * (r[i] + b)
            total += s * gap_share(loss, g, alpha[i])
            violation = g if g > violation else violation
    dual.max_violation = dual.max_violation_before = violation
    return total


@compiled
def predict_gap(target, weight, loss, goal, gap, alpha, v, dual):
    """The gap, the dual objective, and ‖v‖². `gap` is the rows' part; if it is nan, it is predicted by the last epochs.

    If the data is separable, the gap of the least multiple of w at which every row attains its margin may be smaller
    (as for the certificate, see `Regularized.sharpened`): a slightly violated margin may cost far more than w.
    """
    # The larger of two epochs: the second of two equal rows has its margin once the first has been visited.
    violation = dual.max_violation if dual.max_violation > dual.max_violation_before else dual.max_violation_before
    value, separable = 0.0, loss.low == 0.0 == loss.curvature and len(target) == 1 and target[0] > violation
    for i in range(len(alpha)):  # Σ sᵢ(tᵢαᵢ - ℓ*(αᵢ)), what the dual has besides its norm
        a = alpha[i]
        if a != 0.0:
            t = target[i] if len(target) > 1 else target[0]
            s = weight[i] if len(weight) > 1 else weight[0]
            value += s * (t * a - conjugate(loss, a))
            if a >= loss.high:
                separable = False
    sq, c, u, Lam = products(v, v)[1], goal.constant_sq, dual.u, goal.Lam
    if gap != gap:
        gap = dual.gap * dual.gap_safety
        if dual.gap < dual.gap_before < np.inf:
            # Rows were met from the beginning of the epoch, when the gap was larger, to its end. On text 0.2 to 0.5 of
            # the gap as the epoch met it was left at its end.
            gap *= min(1.0, dual.gap_inflation * max(0.25, math.sqrt(dual.gap / dual.gap_before)))
    half = (sq + c * u * u) / (2.0 * Lam)
    if separable:
        s = target[0] / (target[0] - violation)
        other = half * s * s - (value - half)
        gap = other if other < gap else gap
    gap += abs(u - goal.u) * goal.spread  # of a free bias, by how much its constraint is missed
    if c > 0.0:  # b may not have followed α yet
        b = dual.beta + dual.kappa * u / Lam
        off = b - c * u / Lam
        gap += 0.5 * Lam * off * off / c
    return gap, value - half, sq


@compiled
def _ascend(rows, share, alpha, sq, v, scale, dv, dual, epoch):
    A, y, target, weight, loss, lam = rows
    active, listed, deal, first, stop, size, group, key, number = share
    # The part's own list and v: nothing that others write lies beside what it writes, row by row.
    mine, count = np.empty((stop - first) * size, np.uint32), np.int64(0)  # 0 is a type: `visit` would be compiled anew
    for k in range(first, stop):
        begin = np.int64(deal[k]) * size
        for at in range(begin, min(begin + size, listed)):
            mine[count] = active[at]
            count += 1
    epoch.active = count
    order = np.empty(-(-count // group), np.uint32)
    shuffle(order, len(order), stream_of(key, number), 0)
    for j in range(len(v)):
        dv[j] = v[j] * scale
    visit(A, y, target, weight, loss, lam, group, count, alpha, dv, sq, mine, order, dual, epoch)
    for j in range(len(v)):
        dv[j] -= v[j] * scale
    count = np.int64(0)
    for k in range(first, stop):
        begin = np.int64(deal[k]) * size
        for at in range(begin, min(begin + size, listed)):
            active[at] = mine[count]
            count += 1
