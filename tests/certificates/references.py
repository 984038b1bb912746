"""Good feasible points by other people's solvers: Clarabel (interior point) and HiGHS."""

import clarabel
import numpy as np
import scipy.sparse as sp
from clarabel import NonnegativeConeT, PSDTriangleConeT, SecondOrderConeT, ZeroConeT
from scipy.optimize import linprog


def conic(P, q, G, h, cones):
    """min ½zᵀPz + qᵀz with h - Gz in the cones: z and the multipliers, however far Clarabel came."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_iter = 100
    P, q, h = np.zeros((len(q),) * 2) if P is None else P, np.asarray(q, float), np.asarray(h, float)
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), q, sp.csc_matrix(G), h, cones, settings)
    found = solver.solve()
    return np.nan_to_num(found.x), np.nan_to_num(found.z)


def size(X):
    """The largest entry, by which data is divided before another solver sees it."""
    return float(np.abs(X).max(initial=0)) or 1.0


def of_loss(X, y, c, lam, bias, loss):
    """w and b of the regularised problem with any loss; `bias` as for `svm`.

    The variables are w, b and what each row is beyond its tube, on either side for regression.
    """
    s, unit = size(X), size(y) if loss.two_sided else 1.0  # targets of order one
    n, d = X.shape
    sides = 2 if loss.two_sided else 1
    lam = float(lam) * (unit if not loss.curvature else 1.0)  # the objective over unit, or over its square
    P, q = np.zeros((d + 1 + sides * n,) * 2), np.zeros(d + 1 + sides * n)
    P[:d, :d] = np.eye(d) * lam / s / s
    if isinstance(bias, float):
        P[d, d] = lam / bias**2
    weights = np.tile(c.astype(float), sides)
    if loss.curvature:
        P[d + 1 :, d + 1 :] = np.diag(2.0 * weights)
    else:
        q[d + 1 :] = weights
    along = np.c_[X.astype(float) / s, np.full(n, float(bias is not None))]
    if loss.two_sided:
        t, off = y / unit, loss.epsilon / unit
        rows, right = np.vstack([along, -along]), np.r_[t - off, -t - off]
    else:
        rows, right = y[:, None] * along, np.ones(n)
    G = np.block([[-rows, -np.eye(sides * n)], [np.zeros((sides * n, d + 1)), -np.eye(sides * n)]])
    z = conic(P, q, G, np.r_[-right, np.zeros(sides * n)], [NonnegativeConeT(2 * sides * n)])[0]
    return unit * z[:d] / s, unit * float(z[d]) if bias is not None else 0.0


def multiclass(X, y, c, lam, k, scale):
    """W of Crammer and Singer's problem, with a last row for a constant feature; its variables are W and the losses."""
    s = size(X)
    n, d = X.shape
    paid = float(lam / s / s)
    unit = min(paid, 1.0) or 1.0  # the objective in units of the smaller term
    rows = np.c_[X.astype(float) / s, np.full(n, float(scale))]
    P, q = np.zeros(((d + 1) * k + n,) * 2), np.r_[np.zeros((d + 1) * k), c.astype(float) / unit]
    paid = np.r_[np.full(d, paid / unit), float(lam) / unit] if np.isfinite(paid / unit) else np.full(d + 1, np.inf)
    if paid.max() > 1e12:  # W is nearly 0
        return np.zeros((d + 1, k))
    P[: (d + 1) * k, : (d + 1) * k] = np.diag(np.repeat(paid, k))
    G, h = [], []
    for i in range(n):
        for j in range(k):  # ξ ≥ [j ≠ y] + ⟨w_j - w_y, x⟩
            apart = np.zeros(k)
            apart[j] += 1.0
            apart[y[i]] -= 1.0
            G.append(np.r_[np.outer(rows[i], apart).ravel(), -np.eye(1, n, i)[0]])
            h.append(-float(j != y[i]))
    z = conic(P, q, np.array(G), h, [NonnegativeConeT(n * k)])[0]
    W = z[: (d + 1) * k].reshape(d + 1, k)
    return np.vstack([W[:d] / s, W[d:] * (scale > 0)])


def of_1_norm(X, y, c, lam, bias):
    """w and b of the problem with the 1-norm and the squared hinge; `bias` as for `svm`.

    The variables are w, its size, b, its size, and what each row is short of.
    """
    s = size(X)
    n, d = X.shape
    paid = np.r_[np.full(d, float(lam / s)), float(lam / bias) if isinstance(bias, float) else 0.0]
    unit = min(1.0, float(paid[:d].max())) or 1.0  # the objective in units of the smaller term
    P, q = np.zeros((2 * d + 2 + n,) * 2), np.r_[np.zeros(d + 1), paid / unit, np.zeros(n)]
    P[2 * d + 2 :, 2 * d + 2 :] = np.diag(2.0 * c.astype(float) / unit)
    if paid[0] > 1e6 or not (np.isfinite(P).all() and np.isfinite(q).all()):  # w is zero
        return np.zeros(d), 0.0
    along = y[:, None] * np.c_[X.astype(float) / s, np.full(n, float(bias is not None))]
    none, one = np.zeros((d + 1, n)), np.eye(d + 1)
    G = np.block(
        [
            [-along, np.zeros((n, d + 1)), -np.eye(n)],
            [np.zeros((n, 2 * d + 2)), -np.eye(n)],
            [one, -one, none],
            [-one, -one, none],
        ]
    )
    h = np.r_[-np.ones(n), np.zeros(n + 2 * d + 2)]
    z = conic(P, q, G, h, [NonnegativeConeT(len(h))])[0]
    w = np.where(np.abs(z[:d]) > 1e-9 * np.abs(z[:d]).max(initial=0.0), z[:d], 0.0)
    return w / s, float(z[d]) if bias is not None else 0.0


def svm(X, y, c, lam, bias):
    """w and b of the regularised problem; `bias` is None, "free" or the value of a penalised feature."""
    s = size(X)
    n, d = X.shape
    paid = float(lam / s / s)
    unit = min(paid, 1.0) or 1.0  # the objective in units of the smaller term
    P = np.zeros((d + 1 + n,) * 2)
    P[:d, :d] = np.eye(d) * (paid / unit)
    if isinstance(bias, float):
        P[d, d] = float(lam / bias**2) / unit
    if paid > 1e3 or not np.isfinite(P).all():  # w is nearly 0
        return np.zeros(d), 0.0
    G = _margins(X / s, y, bias is not None)
    q, h = np.r_[np.zeros(d + 1), c.astype(float) / unit], np.r_[-np.ones(n), np.zeros(n)]
    z = conic(P, q, G, h, [NonnegativeConeT(2 * n)])[0]
    return z[:d] / s, float(z[d]) if bias is not None else 0.0


def ball_constrained(X, y, c, B, free):
    """w and b of the least mean hinge loss with ‖w‖ ≤ B."""
    s = size(X)
    n, d = X.shape
    G = np.vstack([_margins(X / s, y, free), -np.eye(d + 1, d + 1 + n, -1)])
    h = np.r_[-np.ones(n), np.zeros(n), B * s, np.zeros(d)]
    q = np.r_[np.zeros(d + 1), c.astype(float)]
    z = conic(None, q, G, h, [NonnegativeConeT(2 * n), SecondOrderConeT(d + 1)])[0]
    return z[:d] / s, float(z[d]) if free else 0.0


def slack_constrained(X, y, c, nu, free):
    """w and b of the highest water level in the unit ball."""
    s = size(X)
    n, d = X.shape
    margins = np.c_[_margins(X / s, y, free), np.r_[np.ones(n), np.zeros(n)]]
    volume = np.r_[np.zeros(d + 1), c.astype(float), 0.0]
    G = np.vstack([margins, volume, -np.eye(d + 1, d + 2 + n, -1)])
    h = np.r_[np.zeros(2 * n), nu / s, 1.0, np.zeros(d)]
    q = np.r_[np.zeros(d + 1 + n), -1.0]
    z = conic(None, q, G, h, [NonnegativeConeT(2 * n + 1), SecondOrderConeT(d + 1)])[0]
    return z[:d], float(z[d]) * s if free else 0.0


def _margins(X, y, biased):
    """y(⟨w, x⟩ + b) + ξ ≥ h and ξ ≥ 0, as rows for (w, b, ξ)."""
    n, d = X.shape
    along = y[:, None] * np.c_[X.astype(float), np.full(n, float(biased))]
    return np.block([[-along, -np.eye(n)], [np.zeros((n, d + 1)), -np.eye(n)]])


def weights(P, q):
    """The point of the simplex with the least ½pᵀPp + qᵀp."""
    n = len(q)
    G, h = np.vstack([np.ones(n), -np.eye(n)]), np.r_[1.0, np.zeros(n)]
    return simplex(conic(P, q, G, h, [ZeroConeT(1), NonnegativeConeT(n)])[0])


def simplex(p):
    """p without what is negative, summing to one."""
    p = np.maximum(p, 0.0)
    return p / p.sum() if p.sum() > 0 else np.full(len(p), 1.0 / len(p))


def margin(X, y):
    """The direction of the widest margin through zero, and the weights of the rows that prove it."""
    A = y[:, None] * (X / size(X)).astype(float)
    p = weights(A @ A.T, np.zeros(len(A)))
    return A.T @ p, p


def ball(X):
    """The centre of the smallest ball of rows, and the weights that prove it."""
    A = X.astype(float)
    p = weights(2 * A @ A.T, -np.einsum("ij,ij->i", A, A))
    return A.T @ p, p


def game(A):
    """Both optimal strategies by HiGHS."""
    A = (A / size(A)).astype(float)
    n, d = A.shape
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.c_[-A, np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=[np.r_[np.ones(d), 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
        method="highs",
    )
    if found.x is None:
        return simplex(np.ones(d)), simplex(np.ones(n))
    return simplex(found.x[:d]), simplex(-found.ineqlin.marginals)


def semidefinite(A):
    """X ⪰ 0 of trace at most 1 with the largest smallest A_i∘X, and the multipliers p."""
    m, n = A.shape[:2]
    rows = _packed(A / size(A))
    d = rows.shape[1]
    G = np.vstack([np.c_[-rows, np.ones(m)], np.r_[_packed(np.eye(n)), 0.0], np.c_[-np.eye(d), np.zeros(d)]])
    q, h = np.r_[np.zeros(d), -1.0], np.r_[np.zeros(m), 1.0, np.zeros(d)]
    z, multipliers = conic(None, q, G, h, [NonnegativeConeT(m + 1), PSDTriangleConeT(n)])
    return _unpacked(z[:d], n), simplex(multipliers[:m])


def largest(A, C):
    """X ⪰ 0 of trace at most 1 with A_i∘X ≥ 0, by a little, and the largest C∘X."""
    m, n = A.shape[:2]
    rows = _packed(A / np.abs(A).max(axis=(1, 2), keepdims=True))
    d = rows.shape[1]
    G = np.vstack([-rows, _packed(np.eye(n)), -np.eye(d)])
    h = np.r_[np.full(m, -1e-10), 1.0, np.zeros(d)]
    z = conic(None, -_packed(C / size(C)), G, h, [NonnegativeConeT(m + 1), PSDTriangleConeT(n)])[0]
    return _unpacked(z, n)


def _packed(A):
    """Lower triangles by rows, as Clarabel packs: off-diagonal entries times √2."""
    i, j = np.tril_indices(A.shape[-1])
    return A.astype(float)[..., i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def _unpacked(z, n):
    X, (i, j) = np.zeros((n, n)), np.tril_indices(n)
    X[i, j] = X[j, i] = z / np.where(i == j, 1.0, np.sqrt(2.0))
    return X
