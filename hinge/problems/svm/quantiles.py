"""Order statistics of weighted numbers, for compiled loops over few of them."""

from hinge.compiled import compiled


@compiled
def quantile(values, mass, target):
    """Where the mass of the sorted values reaches the target: the least such place and the largest; both are sorted.

    They differ where the target is met between two values, but for rounding.
    """
    n = len(values)
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort, which takes a tenth of the compilation of NumPy's
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
