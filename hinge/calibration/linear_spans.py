"""The spans of a linear classifier by the cheapest method that is accurate enough."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hinge.access import cell, held_row, span
from hinge.calibration.left_out import FAINT, MOST_FREE, SpanRequest, spans_by_kernel
from hinge.calibration.leverage import MOST_LEVERAGE, SIGNS, LinearRows, Squares, spans_by_features
from hinge.compiled import compiled

STEPS = 40
"""Most steps of conjugate gradients."""
NEAR = 0.1
"""Relative residual at which conjugate gradients end: a tenth of the standard deviation of a single product."""


def linear_spans(
    rows: LinearRows,
    asked: SpanRequest,
    kept: Squares | None = None,
    *,
    counted: bool = False,
    little: float = 0.03,
    no_work: float = 1e6,
    most_wide: int = 2048,
    flops: float = 16.0,
    guess_passes: float = 12.0,
    probe_passes: float = 40.0,
    few_free: int = 1024,
    patience: int = 16,
    far: float = 0.3,
) -> np.ndarray:
    """Spans by the first guess where leverages are small; else exact, or by random signs or probes if these cost less.

    The leverages of the rows on the margin sum up to at most the number of features d. If d is small compared with the
    number of rows, each row gets the mean, and no data is read. This, and the first guess, is accurate enough for
    probabilities. If `kept` is given, leave-one-out errors will be counted, which depend on single rows: then spans are
    computed by random signs if there are few enough features for a d × d sum. `kept` holds the last such sum. If rows
    beyond a limit are `counted`, so that a common error of all spans matters but not that of single rows, the same is
    done, except that each row gets the mean where d is small.

    Parameters
    ----------
    rows : LinearRows
    asked : SpanRequest
    kept : Squares, optional
    counted : bool
    little : float
        Mean leverage up to which all rows are given the same span.
    no_work : float
        Operations below which the exact method is always used.
    most_wide : int
        Most features for which a d × d sum is made where errors are counted.
    flops : float
        Operations of a matrix product in the time of reading one cell of a row.
    guess_passes, probe_passes : float
        Cost of a first guess, and of probes, in passes over the rows on the margin.
    few_free, patience, far : int, int and float
        If `patience` steps of conjugate gradients do not solve a system of at most `few_free` rows, it is factored
        instead; where errors are counted, only if all steps leave a residual of more than `far`.
    """
    asked = asked._replace(rho=np.maximum(asked.rho, FAINT["d"] * rows.typical_sq_norm()))
    free, rho, judged, place = asked
    m, d, more = float(len(free)), float(rows.width), float(np.count_nonzero(place < 0))
    ridge, free_bias = bool(rows.penalty[:-1].all()), bool(rows.constant) and rows.penalty[-1] == 0.0
    by_features = (m + len(judged)) * d * d + d**3
    by_products = m * (m + more) * (m + rows.cells_per_product) if ridge and m <= MOST_FREE else np.inf
    work = min(by_features, by_products)
    if kept is None and work > no_work and d < little * m:
        return np.full(len(judged), d / (m - d) * float(np.median(rho)))
    passes, counted = work / (flops * max(1.0, m) * rows.cells_per_row), counted or kept is not None
    if counted and passes > guess_passes and d <= most_wide and by_features < by_products:
        return spans_by_features(rows, asked, kept, SIGNS)
    if ridge and work > no_work and passes > guess_passes:
        guesses = Guesses(*first_guess(rows, asked))
        if float(np.mean(guesses.free / (guesses.free + rho))) < MOST_LEVERAGE:
            return guesses.judged
        if passes > probe_passes:
            few = m <= few_free
            steps, most = (patience, NEAR) if few and not counted else (STEPS, far if few else np.inf)
            found = spans_by_probes(rows, asked, guesses, steps, most, counted=counted)
            if found is not None:
                return found
    if by_features < by_products:
        return spans_by_features(rows, asked, kept)
    return spans_by_kernel(rows.products, rows.sq_norms, free_bias, asked)


def first_guess(rows: LinearRows, asked: SpanRequest) -> tuple[np.ndarray, np.ndarray]:
    """:math:`S_i^2` of the rows on the margin, and of the rows that are asked for, as if features were uncorrelated.

    With the diagonal of H (see `leverage`) in place of H,

    .. math:: S_i^2 \\approx \\sum_j \\frac{x_{ij}^2}{H_{jj} - x_{ij}^2/\\rho_i},

    where the contribution of row i itself is subtracted from H if it is on the margin. Costs two passes over the rows.
    """
    free, rho, judged, place = asked
    A, penalty = rows.matrix.unbilled, rows.penalty[:-1]
    diagonal = penalty.copy()
    _add_squares(A, free, 1.0 / rho, diagonal)
    inside = place >= 0
    others = judged[~inside]
    guess = np.empty(len(free) + len(others))
    own = np.concatenate([1.0 / rho, np.zeros(len(others))])
    _sum_shares(A, np.concatenate([free, others]), own, diagonal, penalty + np.finfo(float).tiny, guess)
    if rows.constant:
        guess += rows.constant**2 / (rows.penalty[-1] + rows.constant**2 * float((1.0 / rho).sum()))
    found = np.empty(len(judged))
    found[inside], found[~inside] = guess[place[inside]], guess[len(free) :]
    return guess[: len(free)], found


@compiled
def _add_squares(A, rows, scale, out):
    for k in range(len(rows)):
        row = held_row(A, rows[k])
        start, stop = span(A, row)
        for p in range(start, stop):
            j, x = cell(A, row, p)
            out[j] += scale[k] * np.float64(x) * np.float64(x)


@compiled
def _sum_shares(A, rows, own, diagonal, least, out):
    for k in range(len(rows)):
        row = held_row(A, rows[k])
        start, stop = span(A, row)
        total = 0.0
        for p in range(start, stop):
            j, x = cell(A, row, p)
            square = np.float64(x) * np.float64(x)
            if square > 0.0:
                total += square / max(diagonal[j] - own[k] * square, least[j])
        out[k] = total


class Guesses(NamedTuple):
    """:math:`S_i^2` of the rows on the margin, and of the rows that are asked for, by `first_guess`."""

    free: np.ndarray
    judged: np.ndarray


def spans_by_probes(
    rows: LinearRows,
    asked: SpanRequest,
    guesses: Guesses,
    steps: int = STEPS,
    far: float = np.inf,
    *,
    counted: bool = False,
    few_steps: int = 8,
    alike: float = 1.25,
) -> np.ndarray | None:
    """Estimates of :math:`S_i^2`; None if the residual after `steps` steps is more than `far`, relative to e.

    If leave-one-out errors are `counted`, typical rows matter: medians are taken in place of means, which the few rows
    that occur twice, and so have hardly any leverage, would increase; and the system is solved.

    With M as in `left_out`, which is not formed, and a vector e of random signs,

    .. math:: \\mathrm E\\,e_i(M^{-1}e)_i = (M^{-1})_{ii} = \\frac1{S_i^2 + \\rho_i}

    (Bekas, Kokiopoulou and Saad, *An estimator for the diagonal of a matrix*, 2007). :math:`Mu = e` is solved by
    conjugate gradients; a step takes two products of the rows on the margin with a vector. A single product
    :math:`e_iu_i` has a standard deviation as large as half of it, but its mean or median over rows with about the same
    first guess estimates their spans. Rows that are not on the margin get the span of those on it with the same guess.

    The mean of the diagonal is :math:`e^\\top M^{-1}e/|F|`, to which the partial sums of conjugate gradients converge
    from below, long before the system is solved (Golub and Meurant, *Matrices, Moments and Quadrature*, 1993). It
    bounds the factor c by which all guesses must be multiplied to have this mean. If the bound is at most `alike`
    within the first `few_steps` steps, the guesses times its root are returned, accurate to an eighth if c is at least
    1: enough for probabilities, but an eighth of the span can be a twentieth of the rows on the wrong side of a limit.
    """
    free, rho, _, place = asked
    free_bias = bool(rows.constant) and rows.penalty[-1] == 0.0
    e = np.random.default_rng(0).choice((-1.0, 1.0), len(free))  # a fixed seed: results are reproducible
    e -= e.mean() if free_bias else 0.0

    def times(p: np.ndarray) -> np.ndarray:
        Mp = rows.responses(free, rows.combination(free, p)) + rho * p
        return Mp - Mp.mean() if free_bias else Mp  # with a free bias, on vectors whose entries sum to zero

    u = np.zeros_like(e)
    for step, (left, energy) in enumerate(_descent(times, e, u), 1):
        if step <= few_steps and not counted:
            c = _factor(guesses.free, rho, energy / len(free), 2.0 * alike)
            if c <= alike:
                return guesses.judged * np.sqrt(c)
        if left <= NEAR or step == steps:
            break
    if left > far:
        return None
    level = np.median if counted else np.mean
    kept = _smoothed(rho * e * u, guesses.free, guesses.judged, level)
    own = np.where(place >= 0, rho[place], np.median(rho))
    return own / kept - own


def _descent(times: Callable[[np.ndarray], np.ndarray], e: np.ndarray, u: np.ndarray) -> Iterator[tuple[float, float]]:
    """Conjugate gradients for Mu = e from u = 0, in place; yields the relative residual, and eᵀu, after each step."""
    r = e.copy()
    p, rr, energy, tiny = r.copy(), float(r @ r), 0.0, np.finfo(float).tiny
    whole = max(rr, tiny)
    while True:
        Mp = times(p)
        step = rr / max(float(p @ Mp), tiny)
        u += step * p
        energy += step * rr
        r -= step * Mp
        rr, before = float(r @ r), rr
        yield float(np.sqrt(rr / whole)), energy
        p = r + rr / max(before, tiny) * p


def _factor(guess: np.ndarray, rho: np.ndarray, mean: float, high: float) -> float:
    """The c for which the mean of :math:`1/(c S^2 + \\rho)` is `mean`; at most `high`."""
    low = 0.0
    for _ in range(12):
        c = 0.5 * (low + high)
        low, high = (c, high) if float(np.mean(1.0 / (c * guess + rho))) > mean else (low, c)
    return high


def _smoothed(
    values: np.ndarray,
    at: np.ndarray,
    where: np.ndarray,
    level: Callable[[np.ndarray], np.floating],
    *,
    most_bins: int = 32,
    bin_rows: int = 64,
    least: float = 1e-4,
) -> np.ndarray:
    """Means or medians of values in groups of similar `at`, of at least `bin_rows` rows, interpolated to `where`.

    They are one minus the leverage of a row, and clipped to [`least`, 1].
    """
    order = np.argsort(at, kind="stable")
    bins = np.array_split(order, max(1, min(most_bins, len(at) // bin_rows)))
    levels = np.clip([level(values[rows]) for rows in bins], least, 1.0)
    return np.interp(where, [at[rows].mean() for rows in bins], levels)
