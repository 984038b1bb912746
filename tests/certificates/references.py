"""Good feasible points by other people's solvers: Clarabel (interior point) and HiGHS."""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog


def conic(P, q, G, h, cones):
    """min ½zᵀPz + qᵀz with h - Gz in the cones; its last iterate, whatever Clarabel says of it."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 100
    P, G = sp.csc_matrix(np.triu(P)), sp.csc_matrix(G)
    z = np.array(
        clarabel.DefaultSolver(P, np.asarray(q, float), G, np.asarray(h, float), cones, settings).solve().x
    )
    return z if np.isfinite(z).all() else np.zeros_like(z)


def size(X):
    """The largest entry, by which data is divided before another solver sees it."""
    return float(np.abs(X).max()) or 1.0


def svm(X, y, c, lam, bias):
    """w and b of the regularised problem; `bias` is None, "free" or the value of a penalised feature."""
    s = size(X)
    A, c = (X / s).astype(float), c.astype(float)
    n, d = A.shape
    q = np.r_[np.zeros(d + 1), c]
    share = float(lam / s / s)
    unit = share if 0 < share < 1 else 1.0  # the objective in units of either term
    P = np.zeros((d + 1 + n,) * 2)
    P[:d, :d] = np.eye(d) * (share / unit)
    if isinstance(bias, float):
        P[d, d] = float(lam / bias**2) / unit
    along = y[:, None] * np.c_[A, np.full(n, float(bias is not None))]
    G = np.block([[-along, -np.eye(n)], [np.zeros((n, d + 1)), -np.eye(n)]])
    h = np.r_[-np.ones(n), np.zeros(n)]
    if share / unit > 1e3 or not np.isfinite(P).all():  # w is nearly 0
        return np.zeros(d), 0.0
    z = conic(P, q / unit if unit == 1.0 else q / unit, G, h, [clarabel.NonnegativeConeT(2 * n)])
    return z[:d] / s, float(z[d]) if bias is not None else 0.0


def ball_constrained(X, y, c, B, free):
    """w and b of the least mean hinge loss with ‖w‖ ≤ B."""
    s = size(X)
    A, n, d = (X / s).astype(float), *X.shape
    q = np.r_[np.zeros(d + 1), c.astype(float)]
    along = y[:, None] * np.c_[A, np.full(n, float(free))]
    cone = np.zeros((d + 1, d + 1 + n))
    cone[1:, :d] = -np.eye(d)
    G = np.vstack([np.hstack([-along, -np.eye(n)]), np.hstack([np.zeros((n, d + 1)), -np.eye(n)]), cone])
    h = np.r_[-np.ones(n), np.zeros(n), B * s, np.zeros(d)]
    z = conic(
        np.zeros((len(q),) * 2), q, G, h, [clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(d + 1)]
    )
    return z[:d] / s, float(z[d]) if free else 0.0


def slack_constrained(X, y, c, nu, free):
    """w and b of the highest water level in the unit ball."""
    s = size(X)
    A, n, d = (X / s).astype(float), *X.shape
    along = y[:, None] * np.c_[A, np.full(n, float(free))]
    q = np.r_[np.zeros(d + 1 + n), -1.0]
    cone = np.zeros((d + 1, d + 2 + n))
    cone[1:, :d] = -np.eye(d)
    G = np.vstack([
        np.hstack([-along, -np.eye(n), np.ones((n, 1))]), np.hstack([np.zeros((n, d + 1)), -np.eye(n), np.zeros((n, 1))]),
        np.r_[np.zeros(d + 1), c.astype(float), 0.0][None], cone,
    ])  # fmt: skip
    h = np.r_[np.zeros(2 * n), nu / s, 1.0, np.zeros(d)]
    z = conic(
        np.zeros((len(q),) * 2),
        q,
        G,
        h,
        [clarabel.NonnegativeConeT(2 * n + 1), clarabel.SecondOrderConeT(d + 1)],
    )
    return z[:d], float(z[d]) * s if free else 0.0


def margin(X, y):
    """The direction of the widest margin through zero, and the weights of the rows that prove it."""
    s = size(X)
    A = y[:, None] * (X / s).astype(float)
    n, d = A.shape
    # min ½‖Aᵀp‖² over the simplex
    z = conic(A @ A.T, np.zeros(n), np.vstack([np.ones((1, n)), -np.eye(n)]), np.r_[1.0, np.zeros(n)],
              [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)])  # fmt: skip
    p = np.maximum(z, 0.0)
    p = p / p.sum() if p.sum() > 0 else np.full(n, 1.0 / n)
    return A.T @ p, p


def ball(X):
    """The centre of the smallest ball of rows, and the weights that prove it; X is centred and scaled first."""
    A = X.astype(float)
    n, d = A.shape
    sq = np.einsum("ij,ij->i", A, A)
    z = conic(2 * A @ A.T, -sq, np.vstack([np.ones((1, n)), -np.eye(n)]), np.r_[1.0, np.zeros(n)],
              [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)])  # fmt: skip
    p = np.maximum(z, 0.0)
    p = p / p.sum() if p.sum() > 0 else np.full(n, 1.0 / n)
    return A.T @ p, p


def game(A):
    """Both optimal strategies by HiGHS."""
    s = size(A)
    A = (A / s).astype(float)
    n, d = A.shape
    found = linprog(np.r_[np.zeros(d), -1.0], A_ub=np.c_[-A, np.ones(n)], b_ub=np.zeros(n), A_eq=[np.r_[np.ones(d), 0.0]],
                    b_eq=[1.0], bounds=[(0, None)] * d + [(None, None)], method="highs")  # fmt: skip
    if found.x is None:
        return np.full(d, 1.0 / d), np.full(n, 1.0 / n)
    x, p = np.maximum(found.x[:d], 0.0), np.maximum(-found.ineqlin.marginals, 0.0)
    return x / x.sum(), p / p.sum() if p.sum() > 0 else np.full(n, 1.0 / n)


def semidefinite(A):
    """X ⪰ 0 of trace at most 1 with the largest smallest A_i∘X, and the multipliers p."""
    m, n, _ = A.shape
    s = size(A)
    i, j = np.tril_indices(n)
    twice = np.where(i == j, 1.0, np.sqrt(2.0))
    packed = (A / s).astype(float)[:, i, j] * twice
    d = len(i)
    trace = np.r_[(i == j).astype(float), 0.0]
    G = np.vstack([np.c_[-packed, np.ones(m)], trace, np.c_[-np.eye(d), np.zeros(d)]])
    h = np.r_[np.zeros(m), 1.0, np.zeros(d)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(
        sp.csc_matrix((d + 1, d + 1)), np.r_[np.zeros(d), -1.0], sp.csc_matrix(G), h,
        [clarabel.NonnegativeConeT(m + 1), clarabel.PSDTriangleConeT(n)], settings,
    ).solve()  # fmt: skip
    X = np.zeros((n, n))
    X[i, j] = X[j, i] = np.nan_to_num(np.array(found.x)[:d]) / twice
    p = np.maximum(np.nan_to_num(np.array(found.z)[:m]), 0.0)
    return X, p / p.sum() if p.sum() > 0 else np.full(m, 1.0 / m)
