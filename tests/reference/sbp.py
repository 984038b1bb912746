"""Section 3.4 of Cotter, Shalev-Shwartz, Srebro, *The Kernelized Stochastic Batch Perceptron*, ICML 2012."""

import numpy as np


def sbp(K, y, nu, n_iter, choose, *, bias=False, eta=1.0, output="last"):
    """(β, b) after `n_iter` iterations from w = 0; b belongs to the last responses.

    `choose(t, p)` is step 2: the index j drawn in iteration t = 1, 2, … from the distribution p.
    `output`: the last w, or the mean of w^(2) … w^(T+1), "uniform" or "weighted" by t.
    """
    n = len(y)
    alpha, total, weights = np.zeros(n), np.zeros(n), 0.0
    for t in range(1, n_iter + 1):
        c = y * (K @ (alpha * y))  # (3.3)
        p = two_basins(c, y, n * nu)[0] if bias else one_basin(c, n * nu)[0]
        j = choose(t, p)
        alpha[j] += eta / np.sqrt(t)
        norm = np.sqrt((alpha * y) @ K @ (alpha * y))
        alpha *= min(1, 1 / norm)
        rho = {"last": 0, "uniform": 1, "weighted": t}[output]
        total, weights = total + rho * alpha, weights + rho
    b = two_basins(y * (K @ (alpha * y)), y, n * nu)[2] if bias else 0.0
    return (alpha if output == "last" else total / weights) * y, b


def one_basin(c, volume):
    """p* and γ of section 3.2: uniform on c_i <= γ, where Σ (γ - c_i)₊ is the volume."""
    low = np.sort(c)
    for m in range(1, len(c) + 1):
        gamma = (volume + low[:m].sum()) / m
        if m == len(c) or gamma < low[m]:
            break
    wet = c <= max(gamma, low[0])
    return wet / wet.sum(), gamma


def two_basins(c, y, volume):
    """p*, γ and b of section 3.6: in each class the m lowest points, as many as the volume covers.

    With m wet points in both, levels that rise to the m-th points take W_m; the rest of the volume lifts
    them on, by equal parts as far as the next points allow.
    """
    orders = [np.flatnonzero(y == side)[np.argsort(c[y == side], kind="stable")] for side in (1, -1)]
    for k in range(min(map(len, orders)), 0, -1):
        spent = sum((c[order[k - 1]] - c[order[:k]]).sum() for order in orders)
        if spent <= volume:
            m = k
            break
    rise = (volume - spent) / m
    room = [c[order[m]] - c[order[m - 1]] if m < len(order) else np.inf for order in orders]
    first = min(room[0], max(rise / 2, rise - room[1]))
    plus, minus = c[orders[0][m - 1]] + first, c[orders[1][m - 1]] + rise - first
    p = np.zeros(len(c))
    for order in orders:
        p[order[:m]] = 1 / (2 * m)
    return p, (plus + minus) / 2, (minus - plus) / 2
