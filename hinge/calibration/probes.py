"""The span of a linear classifier with many rows and features, estimated from random signs.

With M as in `span`, which is not formed, and a vector e of random signs,

.. math:: \\mathrm E\\,e_i(M^{-1}e)_i = (M^{-1})_{ii} = \\frac1{S_i^2 + \\rho_i}

(Bekas, Kokiopoulou and Saad, *An estimator for the diagonal of a matrix*, 2007). :math:`Mu = e` is solved by conjugate
gradients; a step takes two products of the rows on the margin with a vector. A single product :math:`e_iu_i` has a
standard deviation as large as half of it, but its mean or median over rows with about the same first guess (`guess`)
estimates their spans. Rows that are not on the margin get the span of those on it with the same guess.

The mean of the diagonal is :math:`e^\\top M^{-1}e/|F|`, to which the partial sums of conjugate gradients converge from
below, long before the system is solved (Golub and Meurant, *Matrices, Moments and Quadrature*, 1993). It bounds the
factor c by which all guesses must be multiplied to have this mean. As soon as the bound is small, the guesses times its
root are returned; this may take five steps.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.compiled import compiled

STEPS, FEW_STEPS = 40, 8
NEAR = 0.1
"""Relative residual at which conjugate gradients end."""
ALIKE = 1.25
"""Bound on c below which the guesses, times its root, are accurate to an eighth if c is at least 1."""
BINS, BIN_ROWS = 32, 64
"""Most groups of rows with about the same guess, and the fewest rows of a group."""
LEAST = 1e-4
"""Lower limit of :math:`\\rho_i(M^{-1})_{ii}`, one minus the leverage of row i."""


class Guesses(NamedTuple):
    """:math:`S_i^2` of the rows on the margin, and of the rows that are asked for, by `first_guess`."""

    free: np.ndarray
    judged: np.ndarray


def spans_by_probes(
    rows: Features, asked: Asked, guesses: Guesses, steps: int = STEPS, far: float = np.inf, *, counted: bool = False
) -> np.ndarray | None:
    """Estimates of :math:`S_i^2`; None if the residual after so many steps is more than `far`, relative to e.

    If leave-one-out errors are `counted`, typical rows matter: medians are taken in place of means, which the few rows
    that occur twice, and so have hardly any leverage, would increase.
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
        if step <= FEW_STEPS:
            c = _factor(guesses.free, rho, energy / len(free))
            if c <= ALIKE:
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


@compiled
def _factor(guess, rho, mean):
    """The c for which the mean of :math:`1/(c S^2 + \\rho)` is `mean`; at most twice :data:`ALIKE`."""
    low, high = 0.0, 2.0 * ALIKE
    for _ in range(12):
        c = 0.5 * (low + high)
        total = 0.0
        for i in range(len(guess)):
            total += 1.0 / (c * guess[i] + rho[i])
        if total > mean * len(guess):
            low = c
        else:
            high = c
    return high


def _smoothed(
    values: np.ndarray, at: np.ndarray, where: np.ndarray, level: Callable[[np.ndarray], np.floating]
) -> np.ndarray:
    """Means or medians of values in groups of similar `at`, clipped to [`LEAST`, 1], and interpolated to `where`."""
    order = np.argsort(at, kind="stable")
    bins = np.array_split(order, max(1, min(BINS, len(at) // BIN_ROWS)))
    levels = np.clip([level(values[rows]) for rows in bins], LEAST, 1.0)
    return np.interp(where, [at[rows].mean() for rows in bins], levels)
