"""Algorithms 1, 3 and 4 of the survey, to the letter, on given draws."""

import numpy as np

from hinge.sampling import draw_unit, key_of


def pick(weights, unit):
    return int(np.searchsorted(np.cumsum(weights), unit * weights.sum(), side="right"))


def clip(v, limit):
    return np.clip(v, -limit, limit)


def perceptron(A, T, seed, T_of=None, rate=1.0):
    """Algorithm 1; with `T_of` a function, the rates of iteration t are those of T = T_of(t). `rate` multiplies η."""
    n, d = A.shape
    key, T_of = key_of(seed), T_of or (lambda t: T)
    y, w, x_sum, draws = np.zeros(d), np.ones(n), np.zeros(d), []
    for t in range(1, T + 1):
        eta = rate * np.sqrt(np.log(n) / T_of(t))
        p, x = w / w.sum(), y / max(1.0, np.linalg.norm(y))  # 4
        x_sum += x
        i = pick(p, draw_unit(key, 2 * t))  # 5
        draws.append(i)
        if x.any():  # x_1 = 0 gives no j
            j = pick(x**2, draw_unit(key, 2 * t + 1))  # 7
            v = clip(A[:, j] * (x @ x) / x[j], 1 / eta)  # 9, 10
            w = p * (1 - eta * v + eta**2 * v**2)  # 11
        y = y + A[i] / np.sqrt(2 * T_of(t))  # 6
    return x_sum / T, np.array(draws)


def generic(A, T, seed):
    """Algorithm 2 as printed, on the rows of A over the simplex: the low-regret algorithm is multiplicative weights."""
    n, d = A.shape
    key, eta = key_of(seed), np.sqrt(np.log(n) / T) / 100  # 1
    x, w, x_sum = np.full(d, 1 / d), np.ones(n), np.zeros(d)
    for t in range(1, T + 1):
        p = w / w.sum()  # 8
        x_sum += x
        i = pick(p, draw_unit(key, 2 * t))  # 9
        j = pick(x, draw_unit(key, 2 * t + 1))
        v = clip(A[:, j], 1 / eta)  # 4, 5
        w = p * (1 - eta * v + eta**2 * v**2)  # 6
        z = clip(-np.sqrt(np.log(d) / T) * A[i], 1)
        x = x * (1 - z + z**2)  # 10
        x = x / x.sum()
    return x_sum / T


def project_spectrahedron(Y):
    """The nearest X ⪰ 0 of trace at most 1."""
    values, vectors = np.linalg.eigh(Y)
    kept = np.maximum(values, 0.0)
    if kept.sum() > 1.0:
        lo, hi = 0.0, values.max()
        for _ in range(200):
            theta = (lo + hi) / 2
            lo, hi = (theta, hi) if np.maximum(values - theta, 0).sum() > 1.0 else (lo, theta)
        kept = np.maximum(values - lo, 0.0)
    return (vectors * kept) @ vectors.T


def semidefinite(A, T, seed, project=project_spectrahedron):
    """Algorithm 3, its projections exact or as given; a pair (j, l) is drawn among j ≤ l, both orders at once."""
    m, n, _ = A.shape
    key, eta = key_of(seed), np.sqrt(np.log(m) / T)
    upper = np.triu_indices(n)
    twice = np.where(upper[0] == upper[1], 1.0, 2.0)
    Y, w, X_sum = np.zeros((n, n)), np.ones(m), np.zeros((n, n))
    for t in range(1, T + 1):
        p, X = w / w.sum(), project(Y)  # 4
        X_sum += X
        i = pick(p, draw_unit(key, 2 * t))  # 5
        if X.any():
            k = pick(twice * X[upper] ** 2, draw_unit(key, 2 * t + 1))  # 7
            j, l = upper[0][k], upper[1][k]
            v = clip(A[:, j, l] * (X**2).sum() / X[j, l], 1 / eta)  # 9, 10
            w = p * (1 - eta * v + eta**2 * v**2)  # 11
        Y = Y + A[i] / np.sqrt(2 * T)  # 6
    return X_sum / T


def simba(X, y, nu, T, seed):
    """Algorithm 4 with the bias."""
    n, d = X.shape
    key, eta = key_of(seed), np.sqrt(np.log(n) / T)
    u, q = np.zeros(d), np.ones(n)
    w_sum, b_sum, xi_sum = np.zeros(d), 0.0, np.zeros(n)
    for t in range(1, T + 1):
        p = q / q.sum()  # 13
        i = pick(p, draw_unit(key, 2 * t))  # 4
        xi = np.zeros(n)
        order = np.argsort(-p, kind="stable")
        whole = int(nu * n / 2)
        xi[order[:whole]] = 2.0
        if whole < n:
            xi[order[whole]] = nu * n - 2.0 * whole  # 5
        b = np.sign(p @ y)
        w = u / max(1.0, np.linalg.norm(u))  # 6
        w_sum, b_sum, xi_sum = w_sum + w, b_sum + b, xi_sum + xi
        v = xi + y * b
        if w.any():
            j = pick(w**2, draw_unit(key, 2 * t + 1))  # 7
            v = v + y * X[:, j] * (w @ w) / w[j]  # 9
        v = clip(v, 1 / eta)  # 10
        q = p * (1 - eta * v + eta**2 * v**2)  # 11
        u = u + y[i] * X[i] / np.sqrt(2 * T)  # 5
    return w_sum / T, b_sum / T, xi_sum / T
