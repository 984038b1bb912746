"""Algorithm 1 of Hazan, Koren, Srebro, *Beating SGD: Learning SVMs in Sublinear Time*, NIPS 2011.

With the errata: line 11 has η, not ν; u starts at u_0 = 0 and p_1 is uniform; section 6 has √(log n / t).
"""

import numpy as np


def simba(X, y, nu, n_iter, unit, *, bias=False, T=None, eta_scale=1.0, cap=None):
    """The means of w, b and p, the last w, and the mean ξ, for rows in the unit ball.

    `unit(k)` is the k-th uniform draw: 2t chooses the point of iteration t, 2t + 1 its coordinate. With `T`
    the rates are the fixed ones of Algorithm 1. With `cap` there is no ξ, but p_i ≤ 1/(cap n).
    """
    X = y[:, None] * X  # the labels are in the rows
    n, d = X.shape
    u, p = np.zeros(d), np.full(n, 1 / n)
    w_sum, b_sum, p_sum, xi_sum = np.zeros(d), 0.0, np.zeros(n), np.zeros(n)
    for t in range(1, n_iter + 1):
        eta = eta_scale * np.sqrt(np.log(n) / (T or t))
        i = inverse(p, unit(2 * t))  # 4
        u = u + X[i] / np.sqrt(2 * (T or t))  # 5
        xi = greedy(p, nu) if cap is None else np.zeros(n)
        b = np.sign(np.round(p @ y, 9)) if bias else 0.0
        w = u / max(1, np.linalg.norm(u))  # 6
        w_sum, b_sum, p_sum, xi_sum = w_sum + w, b_sum + b, p_sum + p, xi_sum + xi
        if not w.any():
            continue
        j = inverse(w**2 / (w @ w), unit(2 * t + 1))  # 7
        v = X[:, j] * (w @ w) / w[j] + xi + b * y  # 9
        v = np.clip(v, -1 / eta, 1 / eta)  # 10
        q = p * (1 - eta * v + eta**2 * v**2)  # 11
        p = q / q.sum()  # 13
        if cap is not None:
            p = capped(p, 1 / (cap * n))
    return w_sum / n_iter, b_sum / n_iter, p_sum / n_iter, w, xi_sum / n_iter


def simba_of_classes(X, y, k, nu, n_iter, unit):
    """The means of W and p over pairs of a row and a wrong class, the same lines for several classes."""
    n, d = X.shape
    pairs = [(i, c) for i in range(n) for c in range(k) if c != y[i]]
    psi = np.zeros((len(pairs), d, k))
    for at, (i, c) in enumerate(pairs):
        psi[at, :, y[i]], psi[at, :, c] = X[i] / np.sqrt(2), -X[i] / np.sqrt(2)
    row = np.array([i for i, _ in pairs])
    U, p = np.zeros((d, k)), np.full(len(pairs), 1 / len(pairs))
    W_sum, p_sum = np.zeros((d, k)), np.zeros(len(pairs))
    for t in range(1, n_iter + 1):
        eta = np.sqrt(np.log(len(pairs)) / t)
        U = U + psi[inverse(p, unit(2 * t))] / np.sqrt(2 * t)  # 4, 5
        xi = greedy(np.bincount(row, p), nu)
        W = U / max(1, np.linalg.norm(U))  # 6
        W_sum, p_sum = W_sum + W, p_sum + p
        if not W.any():
            continue
        j = inverse((W**2).sum(axis=1), unit(2 * t + 1))  # 7
        v = psi[:, j] @ W[j] * (W**2).sum() / (W[j] @ W[j]) + xi[row]  # 9
        v = np.clip(v, -1 / eta, 1 / eta)  # 10
        q = p * (1 - eta * v + eta**2 * v**2)  # 11
        p = q / q.sum()  # 13
    mean = np.zeros((n, k))
    mean[row, [c for _, c in pairs]] = p_sum / n_iter
    return W_sum / n_iter, mean


def inverse(p, unit):
    """The inverse of the cumulative sum."""
    return int(np.searchsorted(np.cumsum(p), unit * p.sum(), side="right"))


def greedy(p, nu):
    """The ξ of [0, 2]ⁿ with sum νn that has the largest pᵀξ; points of equal p share alike."""
    xi, left = np.zeros(len(p)), nu * len(p)
    rest = np.ones(len(p), bool)
    while left > 0 and rest.any():
        ties = rest & (p >= p[rest].max() * (1 - 1e-9))
        xi[ties] = min(2.0, left / ties.sum())
        left -= xi[ties].sum()
        rest &= ~ties
    return xi


def capped(p, most):
    """The distribution nearest to p in relative entropy with p_i ≤ most: the largest at the cap, the others
    in proportion."""
    if most >= 1:
        return p
    order = np.argsort(-p)
    for m in range(len(p)):
        rest = order[m:]
        scale = (1 - m * most) / p[rest].sum()
        if scale * p[rest].max() <= most:
            break
    out = np.full(len(p), most)
    out[rest] = scale * p[rest]
    return out
