"""Algorithm 1 with WSS 3 of Fan, Chen, Lin 2005, in the paper's letters; and single coordinates."""

import numpy as np

TAU = 1e-12


def smo(K, y, lam, n_iter, *, free=True, weight=None):
    """β after `n_iter` steps, fewer if no pair violates."""
    s = np.ones(len(y)) if weight is None else weight
    C = s / s.sum() / lam
    alpha = np.zeros(len(y))
    for _ in range(n_iter):
        G = y * (K @ (y * alpha)) - 1  # ∇f(α) = Qα - e
        if free:
            B = select_working_set(K, y, C, alpha, G)
            if B is None:
                break
            i, j = B
            a, b = max(K[i, i] + K[j, j] - 2 * K[i, j], TAU), -y[i] * G[i] + y[j] * G[j]
            room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
            room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
            d = min(b / a, room_i, room_j)
            alpha[i] += y[i] * d
            alpha[j] -= y[j] * d
            for k, room in ((i, room_i), (j, room_j)):  # what rounding leaves of a bound
                if d == room:
                    alpha[k] = C[k] if alpha[k] > C[k] / 2 else 0.0
        else:
            moves = ((alpha < C) & (G < 0)) | ((alpha > 0) & (G > 0))
            if not moves.any():
                break
            i = int(np.argmax(np.where(moves, G**2 / np.diagonal(K), -np.inf)))
            alpha[i] = max(0.0, min(C[i], alpha[i] - G[i] / K[i, i]))
    return alpha * y


def select_working_set(K, y, C, alpha, G):
    """WSS 3: i by first order, j by second order; None where no pair violates."""
    up = ((alpha < C) & (y > 0)) | ((alpha > 0) & (y < 0))
    low = ((alpha < C) & (y < 0)) | ((alpha > 0) & (y > 0))
    if not up.any():
        return None
    i = int(np.argmax(np.where(up, -y * G, -np.inf)))
    b = -y[i] * G[i] + y * G
    a = np.maximum(K[i, i] + np.diagonal(K) - 2 * K[i], TAU)
    if not (low & (b > 0)).any():
        return None
    return i, int(np.argmax(np.where(low & (b > 0), b**2 / a, -np.inf)))
