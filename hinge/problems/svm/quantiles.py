"""Weighted quantiles of short arrays, for compiled code."""

from hinge.compiled import compiled


@compiled
def quantile(values, mass, target):
    """The smallest and the largest weighted quantile: where the cumulative mass of the sorted values is the target.

    The two differ if the cumulative mass equals the target, up to rounding, between two values. Sorts `values` and
    `mass` in place.
    """
    n = len(values)
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell sort, which compiles in a tenth of the time of NumPy's sort
        for i in range(gap, n):
            value, own, j = values[i], mass[i], i
            while j >= gap and values[j - gap] > value:
                values[j], mass[j] = values[j - gap], mass[j - gap]
                j -= gap
            values[j], mass[j] = value, own
        gap //= 3
    below = 0.0
    for k in range(n):
        below += mass[k]
        if below >= target * (1.0 - 1e-12):
            flat = k + 1 < n and below <= target * (1.0 + 1e-12)
            return values[k], values[k + 1] if flat else values[k]
    return values[n - 1], values[n - 1]
