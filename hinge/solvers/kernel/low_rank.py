"""A dual problem whose kernel matrix has few independent columns, by an interior-point method.

.. math:: \\min_\\beta\\ \\tfrac12\\|Z^\\top\\beta\\|^2 + c^\\top\\beta + \\varepsilon\\sum_i|\\beta_i|, \\qquad
          lo \\le \\beta \\le hi, \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

K = ZZᵀ: of a linear kernel the rows of Z are the points; of another one Z is found by a Cholesky factorisation with
pivots, which ends where no more of the diagonal is left than rounding. Where Z has few columns, of any scales, pair
steps are slow, and the equations of the many points between their bounds are singular. Here β = p - q, with p, q ≥ 0,
moves by Newton steps on the optimality conditions with complementarity μ, by Mehrotra's predictor and corrector, and
μ → 0. With θ the ratio of multipliers to slacks and W = diag(1/θ) a step solves

.. math:: \\begin{pmatrix}I + Z^\\top WZ & Z^\\top W\\mathbf 1\\\\
          \\mathbf 1^\\top WZ & \\mathbf 1^\\top W\\mathbf 1\\end{pmatrix}
          \\begin{pmatrix}\\Delta w\\\\ \\Delta b\\end{pmatrix} = \\ldots

with O(nr²) operations for r columns, and some 25 steps suffice, whatever C and the scales of the columns. At the end
β is put on its bounds where multipliers say so, and the others move such that Zᵀβ is the w that was found.

In the ν-SVMs ε is unknown too: it is the multiplier of :math:`\\sum_i p_i + q_i = kM`, where the weights of each of k
signs sum to M, and one more column of ones.

S. Fine, K. Scheinberg, *Efficient SVM Training Using Low-Rank Kernel Representations*, 2001;
S. Mehrotra, *On the Implementation of a Primal-Dual Interior Point Method*, 1992.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hinge.access.gram.base import LinearSums
from hinge.access.gram.inner_points import weight_vector
from hinge.problems import KernelRegularized, sorted_bias
from hinge.problems.svm.levels import KernelLevels, optimal_level
from hinge.solvers.ascent.subspace_step import TINY
from hinge.solvers.kernel.active_rounds import MOST
from hinge.types import Stored

STEPS = 25
"""Newton steps that are expected; twice as many are made at most."""
CALLS = 1e5
"""Multiplications in the time of the calls of a step, which count where points are few."""
LAST = float(1 << 30)
"""Multiplications of a step, nr², up to which a run that would be given up is worth it: all take some seconds."""
ACCURACY = 1e-10
"""Complementarity, as a share of the objective, that the steps go down to: bounds are told from it."""
BACK = 0.99
"""Share of the way to the nearest bound."""
POLISHED = 3
"""Corrections of the points between their bounds."""
VECTORS = 20
"""Vectors of a number for each point that a step needs."""


class DualBox(NamedTuple):
    """The problem but for Z; see the top of the file."""

    c: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    free: bool
    epsilon: float
    total: float | None = None
    """What the weights of all points sum to, where ε is unknown."""


def affordable_rank(work: float, n: int) -> int:
    """The largest r for which all steps cost no more than `work` operations for each of n points.

    If these are infinite, the attempt is the last one, and is limited by itself.
    """
    each = LAST / n if work == np.inf else max(work / STEPS - CALLS / n, 0.0)
    return int(min(np.sqrt(each), n + 1)) - 1


def is_due(before: float, after: float) -> bool:
    """Whether the work done has doubled, so that all attempts cost a small share of it; or is said to be infinite."""
    return before < np.inf and (after == np.inf or np.frexp(after)[1] > np.frexp(before)[1])


def find_factor(
    row: Callable[[int], np.ndarray], diag: np.ndarray, most: int, dtype: np.dtype | type = np.float64
) -> np.ndarray | None:
    """Z of shape (n, r), r at most `most`, whose ZZᵀ is K to its rounding; None where it takes more columns.

    Parameters
    ----------
    row : callable
        Row i of K.
    diag : ndarray of shape (n,)
    most : int
    dtype : dtype
        Precision of the values.
    """
    Z, _, left = pivoted_cholesky(row, diag, most, least := 64.0 * float(np.finfo(dtype).eps * diag.max(initial=0.0)))
    return Z if left.max(initial=0.0) <= least else None


def pivoted_cholesky(
    row: Callable[[int], np.ndarray], diag: np.ndarray, most: int, least: float, sides: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns Z of a Cholesky factor of K, their pivots, and what ZZᵀ leaves of the diagonal.

    Each pivot is the largest that is left; there are at most `most`, and none of `least` or less. With right-hand
    sides H each is the one that reduces :math:`\\min_\\gamma\\ \\tfrac12\\gamma^TK\\gamma - h^T\\gamma`, over the
    coefficients of the pivots alone, most, for all columns h of H together.
    """
    n, left = len(diag), diag.astype(np.float64)
    rest = None if sides is None else sides.astype(np.float64)
    Z, pivots = np.empty((n, max(0, min(most, n))), order="F"), list[int]()
    for r in range(Z.shape[1]):
        gains = left if rest is None else np.where(left > least, (rest**2).sum(axis=1) / np.maximum(left, least), 0.0)
        i = int(gains.argmax())
        if left[i] <= least:
            break
        Z[:, r] = (row(i) - Z[:, :r] @ Z[i, :r]) / np.sqrt(left[i])
        if rest is not None:
            rest -= np.outer(Z[:, r], rest[i] / np.sqrt(left[i]))
        left -= Z[:, r] ** 2
        left[i] = 0.0
        pivots.append(i)
    return Z[:, : len(pivots)], np.array(pivots, np.int64), left


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # in units of any size: steps that overflow lead nowhere
def solve_low_rank(Z: Stored, box: DualBox) -> np.ndarray | None:
    """β at the optimum, but for rounding; None where the steps do not lead there."""
    points = _Points(Z, box)
    found = _follow_path(points, box)
    return None if found is None else _put_on_bounds(points, Z, box, *found)


def improve_by_rank(
    K: np.ndarray | None, exact: LinearSums | None, at: np.ndarray, box: DualBox, beta: np.ndarray | None, most: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """A better β, or any where none is given, and its responses as they are computed; None where none is found.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        All kernel values; needed where sums are not `exact`.
    exact : LinearSums, optional
        The sums of a linear kernel.
    at : ndarray of int
        The points of the problem; in regression with ν each occurs twice.
    box : DualBox
    beta : ndarray, optional
    most : int
        The largest rank.
    """
    Z: Stored | None
    if exact is not None:
        Z = exact.rows[at] if exact.rows.shape[1] <= most else None
    else:
        assert K is not None
        Z = find_factor(lambda i: K[at[i], at], np.diagonal(K)[at], most, K.dtype)
    found = None if Z is None else solve_low_rank(Z, box)
    if found is None:
        return None

    def responses(beta: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(beta)
        if exact is None:
            assert K is not None
            return beta[used] @ K[np.ix_(at[used], at)].astype(np.float64, copy=False)
        return exact.again(at[used], beta[used], at)[0]

    r = responses(found)
    return (found, r) if beta is None or _gap(box, found, r) < _gap(box, beta, responses(beta)) else None


def _gap(box: DualBox, beta: np.ndarray, r: np.ndarray) -> float:
    """P - D at the best bias, or the best levels, as the sum of its complementarity terms."""
    at, sign, most, cost = _sides(box)
    slope, a = sign * r[at] + cost, np.maximum(sign * beta[at], 0.0)
    if box.total is not None:
        for one, (own, total) in zip((1.0, -1.0), _sums(box), strict=False):
            own = own[at]
            slope[own] -= optimal_level(slope[own], a[own], most[own], one * total / float(most[own].sum()))
    elif box.free:
        two_sided = bool((box.lo * box.hi < 0.0).any())
        slope += sign * float(sorted_bias(r, -box.c, box.hi - box.lo, box.epsilon if two_sided else None))
    return float(a @ np.maximum(slope, 0.0) + (most - a) @ np.maximum(-slope, 0.0))


def improve_problem(
    problem: KernelRegularized | KernelLevels, beta: np.ndarray, work: float, feasible: bool = True
) -> tuple[np.ndarray, np.ndarray] | None:
    """The same of a problem that has had so much work for each of its points, where that would have sufficed.

    In regression with ν the points occur twice, as in the problem. Any β is better than one that is not `feasible`.
    """
    gram, n = problem.gram, problem.n
    if gram.on_device or gram.by_value or not problem.certifiable:
        return None
    # The columns and their copy, beside vectors, take no more memory than the kernel rows that are kept, or those of a
    # small problem would.
    memory = max(gram.capacity * n * gram.dtype.itemsize, 8 * MOST**2) // (8 * len(beta))
    most = min(affordable_rank(work, len(beta)), (memory - VECTORS) // 2)
    exact, at = gram.weights, np.arange(len(beta)) % n
    K = gram.held() if exact is None and most > 0 else None  # no value is computed for it
    if K is None and exact is None:
        return None
    before = 0 if exact is None else exact.evals
    better = improve_by_rank(K, exact, at, _dual_box(problem), beta if feasible else None, most)
    gram.evals += 0 if exact is None else exact.evals - before
    return better


def _dual_box(problem: KernelRegularized | KernelLevels) -> DualBox:
    if isinstance(problem, KernelRegularized):
        free, epsilon = problem.bias == "free", problem.epsilon or 0.0
        return DualBox(-problem.aims.astype(np.float64), *problem.limits, free, epsilon)
    signs, copies = len(problem.signs), len(problem.sign)
    bound = (problem.sign * problem.boxes).ravel()
    c = np.tile(-problem.linear, copies)
    return DualBox(c, np.minimum(bound, 0.0), np.maximum(bound, 0.0), signs == 2, 0.0, problem.mass * signs)


class _Points:
    """The columns of Z, and one of ones for the bias, about their means and divided by their lengths.

    A column about its mean moves the bias alone. `own` is what ‖w‖² is in the units of these columns.
    """

    def __init__(self, Z: Stored, box: DualBox) -> None:
        dense = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, np.float64)
        if box.free:
            dense = np.hstack([dense - dense.mean(axis=0), np.ones((len(dense), 1))])
        size = np.sqrt((dense * dense).mean(axis=0))
        self.kept = size > 0.0
        self.size = size[self.kept]
        self.A = dense[:, self.kept] / self.size
        self.own = self.size**-2.0
        if box.free:
            self.own[-1] = 0.0


class _Sides(NamedTuple):
    """The variables p and q in one list: of which points, in which direction, up to where, and their costs."""

    at: np.ndarray
    sign: np.ndarray
    most: np.ndarray
    cost: np.ndarray


def _sides(box: DualBox) -> _Sides:
    up, down = np.flatnonzero(box.hi > 0.0), np.flatnonzero(box.lo < 0.0)
    at, sign = np.concatenate([up, down]), np.repeat([1.0, -1.0], [len(up), len(down)])
    return _Sides(at, sign, np.concatenate([box.hi[up], -box.lo[down]]), sign * box.c[at] + box.epsilon)


def _sums(box: DualBox) -> list[tuple[np.ndarray, float]]:
    """The points whose β have a given sum, and that sum."""
    if box.total is None:
        return [(np.ones(len(box.c), bool), 0.0)] if box.free else []
    each = box.total / (1 + box.free)
    return [(box.hi > 0.0, each), (box.lo < 0.0, -each)][: 1 + box.free]


def _follow_path(points: _Points, box: DualBox) -> tuple[_Sides, np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """The variables, their values, their multipliers at zero and at bounds, and x = (w, b, ε); None if it fails."""
    sides, A, n = _sides(box), points.A, len(box.c)
    at, sign, most, cost = sides
    level = int(box.total is not None)
    own, given = np.append(points.own, np.zeros(level)), np.zeros(len(points.own) + level)

    def spread(values: np.ndarray) -> np.ndarray:
        return np.append(A.T @ np.bincount(at, sign * values, n), values.sum(keepdims=True)[:level])

    def pull(x: np.ndarray) -> np.ndarray:
        return sign * (A @ x[: A.shape[1]])[at] + x[A.shape[1] :].sum()

    # In the middle of the box, and at w = 0: the w of these a, of columns of any scale, would be far away.
    a, x, unit = 0.5 * most, np.zeros(len(own)), float(np.abs(cost).max(initial=1e-300))
    if box.total is not None:  # at the w of equal shares, which is the only unit where there are no targets
        given[-1] = box.total
        for these, total in _sums(box):
            a[these[at]] *= min(1.0, abs(total) / float(a[these[at]].sum()))
        np.divide(spread(a), own, out=x, where=own > 0.0)
        unit = max(unit, float(np.abs(pull(x)).max()))
    room = most - a  # updated by itself: the difference would be rounded to zero at a bound
    v, t = (np.maximum(side * (pull(x) + cost), 0.0) + unit for side in (1.0, -1.0))
    for _ in range(2 * STEPS):
        slope, lack = pull(x) + cost - v + t, spread(a) - own * x - given
        apart = float(a @ v + room @ t)
        size = abs(float(cost @ a)) + 0.5 * float(own @ (x * x))
        if apart <= ACCURACY * size and np.abs(slope).max() <= ACCURACY * unit:
            return sides, a, v, t, x
        mu, W = apart / (2 * len(a)), 1.0 / (v / a + t / room)
        M = np.zeros((len(own), len(own)))
        M[: A.shape[1], : A.shape[1]] = (A * np.bincount(at, W, n)[:, None]).T @ A
        if level:
            M[-1] = M[:, -1] = spread(W)
        M.flat[:: len(M) + 1] += own
        scale = 1.0 / np.sqrt(M.diagonal())
        M *= scale * scale[:, None]
        M.flat[:: len(M) + 1] += len(M) * np.finfo(np.float64).eps
        try:
            factor = cho_factor(M, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None

        def step(at_zero, at_bound, factor=factor, scale=scale, W=W, slope=slope, lack=lack, a=a, room=room, v=v, t=t):
            """The change of x, a, v and t that makes a v and (most - a) t these, to first order."""
            wanted = (at_zero - a * v) / a - (at_bound - room * t) / room - slope
            dx = scale * cho_solve(factor, scale * (spread(W * wanted) + lack), check_finite=False)
            da = W * (wanted - pull(dx))
            return dx, da, (at_zero - a * v - v * da) / a, (at_bound - room * t + t * da) / room

        dx, da, dv, dt = step(0.0, 0.0)
        far = _length((a, room, v, t), (da, -da, dv, dt))
        after = float((a + far * da) @ (v + far * dv) + (room - far * da) @ (t + far * dt))
        mu *= (after / apart) ** 3
        dx, da, dv, dt = step(mu - da * dv, mu + da * dt)
        far = min(1.0, BACK * _length((a, room, v, t), (da, -da, dv, dt)))
        if not np.isfinite(far) or not np.isfinite(dx).all():
            return None
        a, room, x, v, t = a + far * da, room - far * da, x + far * dx, v + far * dv, t + far * dt
    return None


def _length(values: tuple[np.ndarray, ...], changes: tuple[np.ndarray, ...]) -> float:
    """How far one can go until a value is zero; at most a little beyond 1."""
    steepest = max(float((-change / value).max()) for value, change in zip(values, changes, strict=True))
    return 1.0 / max(steepest, BACK)


def _put_on_bounds(
    points: _Points, Z: Stored, box: DualBox, sides: _Sides, a: np.ndarray, v: np.ndarray, t: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """β with those on a bound whose multiplier is the larger of the two, in units of their own."""
    at, sign, most, cost = sides
    n, unit = len(box.c), float(np.abs(cost).max() or np.maximum(v, t).max())
    low, high = a * unit < v * most, (most - a) * unit < t * most
    beta = np.bincount(at, sign * np.where(low, 0.0, np.where(high, most, a)), n)
    # Each point that is left keeps its side of zero.
    moves, lo, hi = ~(low | high), np.zeros(n), np.zeros(n)
    lo[at[moves & (sign < 0)]], hi[at[moves & (sign > 0)]] = (
        box.lo[at[moves & (sign < 0)]],
        box.hi[at[moves & (sign > 0)]],
    )
    F = np.unique(at[moves])
    w = np.zeros(len(points.kept))
    w[points.kept] = x[: len(points.size)] / points.size
    columns = (points.A * points.size)[F, : len(points.size) - box.free]
    groups = _sums(box)
    for _ in range(POLISHED if len(F) else 0):
        used = np.flatnonzero(beta)
        lack = (w[: Z.shape[1]] - weight_vector(Z, used, beta[used]))[points.kept[: Z.shape[1]]]
        room = np.minimum(beta[F] - lo[F], hi[F] - beta[F])
        # First the sums, then what leaves them as they are.
        lines = np.stack([room * own[F] for own, _ in groups] or [np.zeros(len(F))])
        lines /= np.maximum(np.linalg.norm(lines, axis=1, keepdims=True), TINY)
        change = np.zeros(len(F))
        for line, (own, total) in zip(lines, groups, strict=False):
            change += (total - beta[own].sum()) / max(float(line @ room), TINY) * line
        ways = columns * room[:, None]
        lack -= change @ ways
        ways -= lines.T @ (lines @ ways)
        # Damped by what lacks, so that no direction is gone further than half of the room.
        left, values, right = np.linalg.svd(ways, full_matrices=False)
        more = left @ (values / (values**2 + float(lack @ lack) + TINY) * (right @ lack))
        change += more - lines.T @ (lines @ more)
        beta[F] = np.clip(beta[F] + room * change, lo[F], hi[F])
    return beta
