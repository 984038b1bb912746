"""Bounds on rounding errors: certificates hold for exact arithmetic."""

EPS = 2.0**-52
TINY = 2.0**-1074  # the most that a product loses by underflow
FEW = 32
"""Allowance for roundings that are not counted: of weights and their total, of a square root, of a last sum."""


def rounding(terms: float, size: float) -> float:
    """Bound on the error of a sum of products, computed in float64 in any order.

    .. math:: \\Big|\\mathrm{fl}\\Big(\\sum_{k \\le K} a_k b_k\\Big) - \\sum_{k \\le K} a_k b_k\\Big| \\le
              \\frac{Ku}{1 - Ku}\\sum_{k \\le K}|a_k b_k|, \\qquad u = 2^{-53},

    doubled here, so that `size` may have been rounded too. If the factors have themselves gone through k roundings
    each, add k to `terms`.

    Parameters
    ----------
    terms : float
        K: the number of terms, or the longest chain of additions.
    size : float
        The sum of the absolute values of the terms, or an upper bound on it.
    """
    return (terms + FEW) * EPS * size + terms * TINY if size != 0.0 else 0.0


def gap_of(upper: float, lower: float, unit: float) -> float:
    """(upper - lower)/unit, rounded up; infinite if the unit is not positive or a bound is nan."""
    gap = (upper - lower) / unit * (1.0 + 4.0 * EPS) if unit > 0.0 else float("inf")
    return max(0.0, gap) if gap < float("inf") else float("inf")  # nan is not within any tolerance
