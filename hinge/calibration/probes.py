"""The span of a linear machine of many rows and features, estimated by random signs.

With M as in `span`, which is never made, and random signs e,

.. math:: \\mathrm E\\,e_i(M^{-1}e)_i = (M^{-1})_{ii} = \\frac1{S_i^2 + \\rho_i}

(Bekas, Kokiopoulou and Saad, *An estimator for the diagonal of a matrix*, 2007). :math:`Mu = e` is solved by conjugate
gradients; a step takes the rows on the margin forth and back. A single product is noisy, so that

* rows of about the same first guess (`guess`) have their mean, which says by which factor a guess like theirs is off;
* a single row is drawn from there to its own products, by as much as their spread is more than that of probes;
* other rows are as far from what the margin spans as rows on it of the same guess, whose own share is out of theirs.

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

PROBES, STEPS, FEW_STEPS = 2, 60, 8
NEAR = 0.1
"""Share of e at which residuals end."""
ALIKE = 1.25
"""A bound on c with which guesses times its root are within an eighth of what they should be, if c is 1 or more."""
BINS = 32
LEAST = 1e-4
"""Share of a dual weight that a row is left with, at least: it has no more than 1/ρ of these times its loss."""


class Guesses(NamedTuple):
    """:math:`S_i^2` of the rows on the margin, and of those that are judged, by `first_guess`."""

    free: np.ndarray
    judged: np.ndarray


def spans_by_probes(rows: Features, asked: Asked, guesses: Guesses, patience: int = STEPS) -> np.ndarray | None:
    """:math:`S_i^2` of the rows that are judged, about; None if M is too bad for so many steps of patience."""
    free, rho, judged, place = asked
    free_bias = bool(rows.constant) and rows.penalty[-1] == 0.0
    rng = np.random.default_rng(0)  # the same call gives the same bits

    def times(p: np.ndarray) -> np.ndarray:
        Mp = rows.there(free, rows.back(free, p)) + rho * p
        return Mp - Mp.mean() if free_bias else Mp  # of combinations whose coefficients sum to zero

    products = np.empty((PROBES, len(free)))
    for k in range(PROBES):
        e = rng.choice((-1.0, 1.0), len(free))
        e -= e.mean() if free_bias else 0.0
        u = np.zeros_like(e)
        for step, (left, energy) in enumerate(_descent(times, e, u), 1):
            if k == 0 and step <= FEW_STEPS:
                c = _factor(guesses.free, rho, energy / len(free))
                if c <= ALIKE:
                    return guesses.judged * np.sqrt(c)
            if left <= NEAR or step == STEPS:
                break
            if step >= patience:
                return None
        products[k] = rho * e * u
    kept, curve = _kept(products, guesses.free)
    found = np.empty(len(judged))
    inside = place >= 0
    found[inside] = (rho / kept - rho)[place[inside]]
    found[~inside] = curve(guesses.judged[~inside], float(np.median(rho)))
    return found


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


def _factor(guess: np.ndarray, rho: np.ndarray, mean: float) -> float:
    """c with which the mean of :math:`1/(c S^2 + \\rho)` is this, or twice :data:`ALIKE` if it is more."""
    low, high = 0.0, 2.0 * ALIKE
    for _ in range(12):
        c = 0.5 * (low + high)
        if float(np.mean(1.0 / (c * guess + rho))) > mean:
            low = c
        else:
            high = c
    return high


def _kept(products: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray, float], np.ndarray]]:
    """:math:`\\rho_i(M^{-1})_{ii}` of each row, from what probes say; and S² as a function of guess and ρ."""
    estimate = products.mean(axis=0)
    order = np.argsort(guess, kind="stable")
    cuts = np.unique(np.linspace(0, len(guess), BINS + 1).astype(int))[:-1]
    sizes = np.diff(np.append(cuts, len(guess)))
    levels = np.clip(np.add.reduceat(estimate[order], cuts) / sizes, LEAST, 1.0)
    places = np.add.reduceat(guess[order], cuts) / sizes
    first = np.interp(guess, places, levels)
    noise = float(np.mean(products.var(axis=0, ddof=1) / first**2)) / len(products)
    spread = float(np.mean((estimate / first - 1.0) ** 2))
    share = max(0.0, spread - noise) / spread if spread > 0.0 else 0.0
    kept = np.clip(first + share * (estimate - first), LEAST, 1.0)
    return kept, lambda other, rho: rho / np.interp(other, places, levels) - rho
