"""Bounds on what floating point loses: certificates hold for exact numbers."""

EPS = 2.0**-52
TINY = 2.0**-1074  # what a product may lose by underflow
FEW = 32
"""Roundings that nobody counts: of weights and their total, of a norm's root, of a last sum."""


def rounding(terms: float, size: float) -> float:
    """A sum of so many products, made in float64 in any order, is off by no more.

    .. math:: \\Big|\\mathrm{fl}\\Big(\\sum_{k \\le K} a_k b_k\\Big) - \\sum_{k \\le K} a_k b_k\\Big| \\le
              \\frac{Ku}{1 - Ku}\\sum_{k \\le K}|a_k b_k|, \\qquad u = 2^{-53},

    of which this is twice, so that the size may be rounded as well. Factors that are off themselves, by k
    roundings each, are as k terms more.

    Parameters
    ----------
    terms : float
        K: how many numbers are added up, one after the other at worst.
    size : float
        What their absolute values add up to, or a bound on it.
    """
    return (terms + FEW) * EPS * size + terms * TINY if size != 0.0 else 0.0


def gap_of(upper: float, lower: float, unit: float) -> float:
    """(upper - lower)/unit, rounded up; infinite where the unit is not positive, or a bound no number."""
    gap = (upper - lower) / unit * (1.0 + 4.0 * EPS) if unit > 0.0 else float("inf")
    return max(0.0, gap) if gap < float("inf") else float("inf")  # nan is not within any tolerance
