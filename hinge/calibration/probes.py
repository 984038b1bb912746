"""The span of a linear machine of many rows and features, estimated by random signs.

With M as in `span`, which is never made, and random signs e,

.. math:: \\mathrm E\\,e_i(M^{-1}e)_i = (M^{-1})_{ii} = \\frac1{S_i^2 + \\rho_i}

(Bekas, Kokiopoulou and Saad, *An estimator for the diagonal of a matrix*, 2007). :math:`Mu = e` is solved by conjugate
gradients; a step takes the rows on the margin forth and back. A single product is noise as large as half of it, but the
mean or median over rows of about the same first guess (`guess`) says what their spans are. Rows that are not on the
margin are as far from what it spans as those on it of the same guess, whose own share is out of theirs.

The mean of the whole diagonal is :math:`e^\\top M^{-1}e/|F|`, which conjugate gradients sum up from below much sooner
than they solve the system (Golub and Meurant, *Matrices, Moments and Quadrature*, 1993): it bounds the factor c by
which all guesses must grow to have this mean. Once the bound is small, guesses times its root are near enough.

Cost: two products of the rows on the margin with a vector for a step, of which five may do.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.compiled import compiled

STEPS, FEW_STEPS = 40, 8
NEAR = 0.1
"""Share of e at which residuals end."""
ALIKE = 1.25
"""A bound on c with which guesses times its root are within an eighth of what they should be, if c is 1 or more."""
BINS, BIN_ROWS = 32, 64
"""Groups of rows of about the same guess, at most, and rows that one has, at least."""
LEAST = 1e-4
""":math:`\\rho_i(M^{-1})_{ii}`, the share of its loss that a row does not take back, is taken for no less."""


class Guesses(NamedTuple):
    """:math:`S_i^2` of the rows on the margin, and of those that are judged, by `first_guess`."""

    free: np.ndarray
    judged: np.ndarray


def spans_by_probes(
    rows: Features, asked: Asked, guesses: Guesses, steps: int = STEPS, far: float = np.inf, *, counted: bool = False
) -> np.ndarray | None:
    """:math:`S_i^2` of the rows that are judged, about; None if so many steps leave a larger share of e than `far`.

    Where errors are `counted`, it is typical rows that matter: medians are taken, and not means, which the few rows
    that are there twice, and take back next to nothing, pull up.
    """
    free, rho, _, place = asked
    free_bias = bool(rows.constant) and rows.penalty[-1] == 0.0
    e = np.random.default_rng(0).choice((-1.0, 1.0), len(free))  # the same call gives the same bits
    e -= e.mean() if free_bias else 0.0

    def times(p: np.ndarray) -> np.ndarray:
        Mp = rows.there(free, rows.back(free, p)) + rho * p
        return Mp - Mp.mean() if free_bias else Mp  # of combinations whose coefficients sum to zero

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
    """Bring u, which is zero, to M⁻¹e; after every step the residual's share of e, and eᵀu, which rises to eᵀM⁻¹e."""
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
    """c with which the mean of :math:`1/(c S^2 + \\rho)` is this, or twice :data:`ALIKE` if it is more."""
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
    """The level of values by what they are at, as a function of that; at least :data:`LEAST`, and at most 1."""
    order = np.argsort(at, kind="stable")
    bins = np.array_split(order, max(1, min(BINS, len(at) // BIN_ROWS)))
    levels = np.clip([level(values[rows]) for rows in bins], LEAST, 1.0)
    return np.interp(where, [at[rows].mean() for rows in bins], levels)
