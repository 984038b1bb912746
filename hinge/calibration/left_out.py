"""Leave-one-out decision values, computed from the solution without another fit.

With dual weights :math:`0 \\le a_i \\le C_i` and :math:`w = \\sum_i a_iy_i\\phi(x_i)`, the decision value of row i
after training without it is

.. math:: y_i f_i^{(-i)} = y_if_i - a_i S_i^2,

exactly if :math:`a_i = 0`, and otherwise as long as the set of rows on the margin stays the same. :math:`S_i`, the span
(Vapnik and Chapelle, *Bounds on Error Expectation for Support Vector Machines*, 2000), is the distance of
:math:`\\phi(x_i)` from the span of the other rows on the margin. From kernel values it is as follows; `leverage`
computes the same from rows. With :math:`M = K_{FF} + \\operatorname{diag}(\\rho)` over the rows F on the margin,

.. math:: S_i^2 = 1/(M^{-1})_{ii} - \\rho_i \\;(i \\in F), \\qquad
          S_i^2 = K_{ii} - k_i^\\top M^{-1}k_i \\;(i \\notin F),

and with a free bias M is bordered by ones, so that the coefficients of combinations of rows sum to one:
:math:`M^{-1}` becomes :math:`M^{-1} - uu^\\top/\\mathbf 1^\\top u` with :math:`u = M^{-1}\\mathbf 1`, and
:math:`S_i^2` of rows outside F grows by :math:`(1 - k_i^\\top u)^2/\\mathbf 1^\\top u`. This costs
:math:`|F|(|F| + m)` kernel values and :math:`O(|F|^3 + |F|^2m)` operations for m rows outside F.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import get_lapack_funcs
from scipy.special import ndtri

BAND = 0.1
"""Rows whose margin differs from 1 by at most this count as on the margin."""
FULL = 1e-6
"""A dual weight within this fraction of its bound's size of 0, or of the bound, counts as at it."""
MOST_FREE = 4096
"""Most rows on the margin that are used, so that their kernel values take at most 128 MB."""
FAINT = {"f": 1e-4, "d": 1e-9}
"""Least amount added to the diagonal, relative to the mean of K(x, x), by dtype: two equal rows make K singular."""


class SolvedProblem(NamedTuple):
    """A binary problem with its solution.

    Attributes
    ----------
    f, y : ndarray of shape (n,)
        Decision values and labels, -1 and +1.
    a : ndarray of shape (n,)
        Dual weights, not negative.
    bound : ndarray of shape (n,)
        C times the weight of each row.
    curvature : float
        0 for the hinge, whose dual weights are at most `bound`; ½ for the squared hinge, whose weights are not bounded.
    """

    f: np.ndarray
    y: np.ndarray
    a: np.ndarray
    bound: np.ndarray
    curvature: float = 0.0


class LeftOut(NamedTuple):
    """Rows, their leave-one-out decision values, and the number of rows that each represents."""

    rows: np.ndarray
    f: np.ndarray
    stands_for: np.ndarray


class SpanRequest(NamedTuple):
    """The rows whose spans are wanted, and the rows on the margin.

    Attributes
    ----------
    free : ndarray of int
        The rows on the margin.
    rho : ndarray of shape (len(free),)
        ρ of the rows on the margin: the second derivative, in the dual weight, of the loss's conjugate.
    judged : ndarray of int
        The rows whose span is wanted.
    place : ndarray of int
        The position of each of these in `free`; -1 if it is not on the margin.
    """

    free: np.ndarray
    rho: np.ndarray
    judged: np.ndarray
    place: np.ndarray


Spans: TypeAlias = Callable[[SpanRequest], np.ndarray]
"""A function that returns :math:`S_i^2` of the rows `SpanRequest.judged`."""


def left_out(
    solved: SolvedProblem,
    spans: Spans,
    *,
    every: bool = False,
    room: np.ndarray | None = None,
    most_judged: int = 2048,
    most_idle: int = 512,
) -> LeftOut:
    """Leave-one-out decision values of all rows; of a sample if there are many, unless `every` is set.

    A sample has at most `most_judged` rows of each label with a dual weight, and `most_idle` without; each then
    represents its neighbours. Only the first take time, and a sigmoid fitted to this number of rows is as accurate.

    If a row is the only one of its label, the classifier without it is the constant -y. The change of any other row is
    limited to the range of the decision values, or to `room`: beyond that, other rows would have come to the margin.
    """
    f, y, a, bound, curvature = solved
    moves = a > (0.0 if curvature else FULL * bound)
    rows, stands_for = (np.arange(len(f)), np.ones(len(f))) if every else _some(f, y, moves, most_judged, most_idle)
    values = f[rows].astype(np.float64)
    moving = np.flatnonzero(moves[rows])
    if len(moving):
        judged = rows[moving]
        drop = np.nan_to_num(a[judged] * spans(_request_spans(solved, judged)), nan=0.0, posinf=np.inf)
        most = y[judged] * f[judged] + float(np.abs(f).max()) + 1.0 if room is None else room[judged]
        values[moving] -= y[judged] * np.clip(drop, 0.0, np.maximum(most, 0.0))
    for label in (-1, 1):
        if np.count_nonzero(y == label) == 1:
            values[y[rows] == label] = -label
    return LeftOut(rows, values, stands_for)


def _request_spans(solved: SolvedProblem, judged: np.ndarray, *, most: int = 200, more: float = 0.25) -> SpanRequest:
    """The rows on the margin, with ρ.

    Beside the rows whose dual weight is between its bounds, these are at most `most` others, plus `more` times their
    number: so that few are added where many determine w already.

    For the squared hinge these are all rows with a loss. The hinge has a kink at the margin, where no more rows lie
    than w has dimensions; without one of them, others would come to the margin and take its place. So the kink is
    replaced by a parabola as wide as the band δ of rows near the margin: :math:`\\rho_i = 2\\delta/C_i`.
    """
    f, y, a, bound, curvature = solved
    place = np.full(len(f), -1)
    if curvature:
        free = np.flatnonzero(a > 0.0)
        rho = curvature / bound[free]
    else:
        between = (a > FULL * bound) & (a < (1.0 - FULL) * bound)
        off = np.where(bound > 0.0, np.abs(1.0 - y * f), np.inf)
        off[between] = np.inf
        beside = min(most + int(more * np.count_nonzero(between)), len(f) - 1)
        band = min(BAND, float(np.partition(off, beside)[beside]))
        free = np.flatnonzero(between | (off <= band))
        rho = 2.0 * band / bound[free]
    place[free] = np.arange(len(free))
    return SpanRequest(free, rho, judged, place[judged])


def _some(
    f: np.ndarray, y: np.ndarray, moves: np.ndarray, most_judged: int, most_idle: int
) -> tuple[np.ndarray, np.ndarray]:
    """A sample of the rows, evenly along the decision values of each label; and how many rows each represents."""
    chosen, counts = [], []
    for label in (-1, 1):
        for kind, most in ((moves, most_judged), (~moves, most_idle)):
            own = np.flatnonzero((y == label) & kind)
            cuts = np.arange(len(own) + 1)
            if len(own) > most:
                cuts = len(own) * np.arange(most + 1) // most
                own = own[np.argsort(f[own])][(cuts[:-1] + cuts[1:] - 1) // 2]
            chosen.append(own)
            counts.append(np.diff(cuts).astype(np.float64))
    rows = np.concatenate(chosen)
    order = np.argsort(rows)
    return rows[order], np.concatenate(counts)[order]


def spread_over(f: np.ndarray, y: np.ndarray, rows: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Leave-one-out values of all rows, from the values of a sample.

    A row outside the sample changes by as much as the sampled row of its label with the nearest decision value.

    Parameters
    ----------
    f, y : ndarray of shape (n,)
        Decision values, and labels: -1 and +1.
    rows, without : ndarray
        The sampled rows, in ascending order, and their leave-one-out values.
    """
    values = f.astype(np.float64)
    values[rows] = without
    seen = np.zeros(len(f), bool)
    seen[rows] = True
    for label in (-1, 1):
        own, others = np.flatnonzero(seen & (y == label)), np.flatnonzero(~seen & (y == label))
        if not (len(own) and len(others)):
            continue
        own = own[np.argsort(f[own], kind="stable")]
        at = np.minimum(np.maximum(np.searchsorted(f[own], f[others]), 1), len(own) - 1)
        near = own[at - (f[others] - f[own[at - 1]] < f[own[at]] - f[others])]  # a single row is its own neighbour
        values[others] = f[others] + (values[near] - f[near])
    return values


Values: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function that returns K(x, z) for some rows and some others, given by their indices."""
OwnValues: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""A function that returns K(x, x) for some rows."""


def spans_by_kernel(
    values: Values, own_values: OwnValues, free_bias: bool, asked: SpanRequest, *, block_rows: int = 1024
) -> np.ndarray:
    """:math:`S_i^2` of the rows that are asked for; of very many rows on the margin, evenly spaced ones are used."""
    free, rho, judged, place = asked
    if len(free) > MOST_FREE:
        some = np.arange(MOST_FREE) * len(free) // MOST_FREE
        where = np.full(len(free) + 1, -1)  # the last entry is for rows that are not on the margin
        where[some] = np.arange(MOST_FREE)
        free, rho, place = free[some], rho[some], where[place]
    if len(free) == 0:
        return own_values(judged)
    K, inside = values(free, free), place >= 0
    theirs, own = np.diagonal(K).astype(np.float64), np.empty(len(judged))
    own[inside], own[~inside] = theirs[place[inside]], own_values(judged[~inside])
    inverse, added = _inverse_factor(K, rho, float(theirs.mean()))
    rho = rho + added
    diagonal = np.einsum("ij,ij->j", inverse, inverse, dtype=np.float64)
    u = (inverse.T @ inverse.sum(axis=1)).astype(np.float64)
    total = float(u.sum())
    if free_bias:
        diagonal = diagonal - u * u / total
    found = np.empty(len(judged))
    with np.errstate(divide="ignore"):
        found[inside] = (1.0 / np.maximum(diagonal, 0.0) - rho)[place[inside]]
    outside = np.flatnonzero(~inside)
    for lo in range(0, len(outside), block_rows):
        rows = outside[lo : lo + block_rows]
        k = values(judged[rows], free)
        v = inverse @ k.T
        found[rows] = own[rows] - np.einsum("ij,ij->j", v, v)
        if free_bias:
            found[rows] += (1.0 - k @ u) ** 2 / total
    return np.clip(found, 0.0, own + float(theirs.max()))


def _inverse_factor(K: np.ndarray, rho: np.ndarray, mean: float) -> tuple[np.ndarray, float]:
    """:math:`L^{-1}` with :math:`LL^\\top = K + \\operatorname{diag}(\\rho) + r`, and the smallest r that works."""
    added, diagonal = FAINT[K.dtype.char] * (mean or 1.0), np.diagonal(K).copy()
    for _ in range(12):  # up to a matrix that is all diagonal
        np.fill_diagonal(K, diagonal + rho + added)
        try:
            L = cholesky(K, lower=True, check_finite=False)
            return get_lapack_funcs("trtri", (L,))(L, lower=1, overwrite_c=1)[0], added
        except LinAlgError:  # a kernel that is not positive semidefinite
            added *= 10.0
    return np.diag(1.0 / np.sqrt(np.maximum(diagonal, 0.0) + rho + added)), added


def left_out_targets(
    f: np.ndarray, t: np.ndarray, beta: np.ndarray, bound: np.ndarray, epsilon: float, curvature: float, spans: Spans
) -> np.ndarray:
    """Leave-one-out predictions of a regression, for all rows.

    The prediction of row i without it is :math:`f_i - \\beta_iS_i^2`. The span is as in a classification whose label
    is the sign of :math:`\\beta_i`, and in which a row lacks its margin by as much as its residual exceeds ε, in units
    of the mean absolute residual. If ε is less than the band of rows near the edge of the tube, dual weights there
    range from -C to C instead of 0 to C, and ρ is half as large.

    Parameters
    ----------
    f, t : ndarray of shape (n,)
        Predictions and targets.
    beta : ndarray of shape (n,)
        Coefficients of the rows in w, with their signs.
    bound : ndarray of shape (n,)
        C times the weights of the rows.
    epsilon, curvature : float
        Of the loss: half the width of the tube, and ½ for the square.
    spans : callable
    """
    unit = float(np.abs(t - f).mean()) or 1.0
    side = np.where(beta != 0.0, np.sign(beta), np.where(t >= f, 1.0, -1.0))
    short = (side * (t - f) - epsilon) / unit
    as_label = side * (1.0 - short)
    narrow = not curvature and epsilon < BAND * unit

    def in_tube(asked: SpanRequest) -> np.ndarray:
        return spans(asked._replace(rho=0.5 * asked.rho) if narrow else asked)

    # Without a row, its prediction does not leave the range of all targets and predictions.
    room = np.where(side > 0.0, f - min(f.min(), t.min()), max(f.max(), t.max()) - f) / unit
    # ρ of a squared loss does not depend on the unit; that of a kink is relative to the band, which has it.
    solved = SolvedProblem(as_label, side, np.abs(beta) / unit, bound if curvature else bound / unit, curvature)
    found = left_out(solved, in_tube, room=room)
    moved = found.f - as_label[found.rows]
    for label in (-1.0, 1.0):
        if np.count_nonzero(side == label) == 1:  # the rule of `left_out` for a single row of a label does not apply
            moved[side[found.rows] == label] = 0.0
    return spread_over(f, side, found.rows, f[found.rows] + unit * moved)


Z = float(ndtri(0.975))
"""The 97.5% quantile of the normal distribution, for intervals of 95%: 1.96."""


def error_interval(error: float, std: float, most: float = float("inf")) -> tuple[float, float]:
    """Both ends of the 95% confidence interval of an error, within 0 and `most`.

    With the leave-one-out errors :math:`e_i` of n rows, :math:`\\bar e \\pm 1.96\\,s/\\sqrt n`. It takes them as
    independent; they are not quite, since the fits share all rows but two.

    Parameters
    ----------
    error, std : float
        The mean error, and its standard error.
    most : float
        1 for an error rate.
    """
    return max(0.0, error - Z * std), min(most, error + Z * std)


def error_in_words(error: float, std: float, is_rate: bool) -> str:
    """An error and its interval as text, in percent if it is a rate."""
    low, high = error_interval(error, std, 1.0 if is_rate else float("inf"))
    form = "{:.2%}" if is_rate else "{:.4g}"
    return f"{form.format(error)} (95% interval: {form.format(low)} to {form.format(high)})"
