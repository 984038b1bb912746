"""`OneClassSVM`, by landmarks too: the relative error of w, and the objective."""

import clarabel
import numpy as np
import scipy.sparse as sp

from hinge import OneClassSVM
from hinge.kernels import Kernel, Linear
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long
from tests.certificates.references import conic

REFERENCE = "Clarabel on the dual, with its own gap in extended precision"


def slack(K, alpha, s, nu):
    """P - D at the best ρ, which is one of the responses."""
    r = K @ alpha
    over = r - r[:, None]
    terms = alpha * np.maximum(over, 0) + (s - alpha) * np.maximum(-over, 0)
    return terms.sum(axis=1).min()


def case(rng, kernel: Kernel | None = None):
    X, exact = draws.rows(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 20.0])))
    n = len(exact)
    if np.abs(exact).max() == 0:
        return []
    if rng.random() < 0.3:  # so that the best w may be zero
        X = exact.astype(float) - exact.astype(float).mean(axis=0)
        exact = X.astype(LONG)
        if np.abs(exact).max() == 0:
            return []
    kernel = kernel or kernels.kernel(rng, exact.astype(float))
    K = kernels.values(kernel, exact)
    s = np.ones(n) if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 1, n)
    nu = float(rng.choice([0.01, 0.1, 0.5, 0.9, 1.0]))
    tol = float(rng.choice([1e-1, 1e-3, 1e-5, 1e-6]))
    max_iter = -1 if rng.random() < 0.8 else int(rng.integers(1, 10))
    # A number, or "auto", or None for the exact answer.
    m = [None, "auto", int(rng.integers(1, n + 5))][0 if isinstance(kernel, Linear) else int(rng.integers(3))]
    model = OneClassSVM(kernel=kernel, nu=nu, tol=tol, max_iter=max_iter, n_components=m).fit(X, sample_weight=s)
    alpha = np.zeros(n, LONG)
    alpha[model.support_] = np.ravel(model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_)
    total = LONG(nu) * long(s).sum()
    scale, unit = float(np.abs(np.diagonal(K)).max()) or 1.0, float(total)
    G = np.vstack([np.ones((1, n)), np.eye(n), -np.eye(n)])
    z, _ = conic(
        (K / scale).astype(float),
        np.zeros(n),
        G,
        np.r_[1.0, s / unit, np.zeros(n)],
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)],
    )
    best = np.clip(long(z) * total, 0, long(s))
    for _ in range(3):
        room = long(s) - best if best.sum() < total else best
        best = np.clip(best + (total - best.sum()) * room / (room.sum() or 1), 0, long(s))
    apart = alpha - best
    rounding = 64 * n * EPS * (np.abs(alpha) @ np.abs(K) @ np.abs(alpha))
    known = np.sqrt(slack(K, best, long(s), nu) + rounding)  # how far from the best w the reference may be
    lacks = abs(best.sum() - total) * np.sqrt(np.abs(np.diagonal(K)).max())
    far = np.sqrt(max(apart @ K @ apart, LONG(0))) - known - lacks
    norm = np.sqrt(max(alpha @ K @ alpha, LONG(0)) + rounding)
    what = f"{kernel}, nu={nu}, tol={tol}, n={n}, m={m}, {X.dtype}, max_iter={max_iter}"
    claims = [Claim(what, max(far, LONG(0)) / norm if norm > 0 else LONG(0), model.gap_, gap=True)]
    if m is not None:
        r, rho = K @ alpha, LONG(model.offset_[0])
        primal = alpha @ r / 2 - total * rho + long(s) @ np.maximum(rho - r, 0)
        allowed = rounding + 64 * n * EPS * abs(total * rho)
        claims.append(Claim(f"objective of {what}", primal, LONG(model.objective_), allowed))
    if isinstance(kernel, Linear) and norm > 0:  # w itself, as it is given out
        w = long(np.ravel(model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_))
        off = w - best @ exact
        far, own = np.sqrt(off @ off) - known - lacks, np.sqrt(w @ w)
        claims.append(Claim(f"coef_, {what}", max(far, LONG(0)) / own if own > 0 else LONG(0), model.gap_, gap=True))
    return claims
