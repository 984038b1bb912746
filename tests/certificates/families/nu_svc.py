"""`NuSVC`: the relative error of w, before it is divided by the margin."""

import clarabel
import numpy as np

from hinge import NuSVC
from hinge.solvers import LevelBlocks
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long
from tests.certificates.references import conic

REFERENCE = "Clarabel on the dual, with its own gap in extended precision"


def slack(K, y, alpha, s):
    """P - D at the best level of each class, which is one of its margins."""
    m = y * (K @ (y * alpha))
    total = LONG(0)
    for label in (1, -1):
        own = y == label
        over = m[own] - m[own][:, None]
        terms = alpha[own] * np.maximum(over, 0) + (s - alpha)[own] * np.maximum(-over, 0)
        total += terms.sum(axis=1).min()
    return total


def mended(alpha, y, s, mass):
    """α in its box, summing to the mass for each class."""
    alpha = np.clip(long(alpha), 0, s)
    for label in (1, -1):
        own = y == label
        for _ in range(3):
            room = s[own] - alpha[own] if alpha[own].sum() < mass else alpha[own]
            moved = alpha[own] + (mass - alpha[own].sum()) * room / (room.sum() or 1)
            alpha[own] = np.clip(moved, 0, s[own])
    return alpha


def case(rng):
    """Two classes, solved, or cut off."""
    data = draws.examples(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 20.0])))
    y, n = data.y, len(data.y)
    s = long(np.ones(n) if data.weight is None else data.weight)
    if np.abs(data.exact).max() == 0 or min(s[y > 0].sum(), s[y < 0].sum()) == 0:
        return []
    kernel = kernels.kernel(rng, data.exact.astype(float))
    K = kernels.values(kernel, data.exact)
    most = 2 * float(min(s[y > 0].sum(), s[y < 0].sum()) / s.sum())
    nu = float(most * rng.choice([0.01, 0.1, 0.5, 0.9, 1.0]))
    tol = float(rng.choice([1e-1, 1e-3, 1e-5, 1e-6]))
    max_iter = -1 if rng.random() < 0.8 else int(rng.integers(1, 10))
    solver = LevelBlocks() if rng.random() < 0.6 else LevelBlocks(first=4, block=8, growth=2)
    model = NuSVC(kernel=kernel, nu=nu, tol=tol, max_iter=max_iter, solver=solver, max_time=3.0)
    model.fit(data.X, y, sample_weight=data.weight)
    alpha = np.zeros(n, LONG)
    alpha[model.support_] = np.abs(model._dense_dual[0])
    mass = LONG(nu) * s.sum() / 2
    for label in (1, -1):
        own = y == label
        alpha[own] *= mass / (alpha[own].sum() or 1)
    scale, unit = float(np.abs(np.diagonal(K)).max()) or 1.0, float(mass)
    sums, box = np.stack([y > 0, y < 0]).astype(float), (s / unit).astype(float)
    z, _ = conic(
        (np.outer(y, y) * K / scale).astype(float),
        np.zeros(n),
        np.vstack([sums, np.eye(n), -np.eye(n)]),
        np.r_[1.0, 1.0, box, np.zeros(n)],
        [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(2 * n)],
    )
    best = mended(long(z) * mass, y, s, mass)
    apart = y * (alpha - best)
    rounding = 64 * n * EPS * (np.abs(alpha) @ np.abs(K) @ np.abs(alpha))
    known = np.sqrt(slack(K, y, best, s) + rounding)  # how far from the best w the reference may be
    sizes = np.sqrt(np.abs(np.diagonal(K)))
    lacks = sum(abs(best[y == label].sum() - mass) for label in (1, -1)) * sizes.max()
    stored = 4 * np.finfo(float).eps * (alpha @ sizes)  # coefficients are rounded once more, divided by the margin
    far = np.sqrt(max(apart @ K @ apart, LONG(0))) - known - lacks - stored
    w = y * alpha
    norm = np.sqrt(max(w @ K @ w, LONG(0)) + rounding)
    what = f"{kernel}, nu={nu!r}, tol={tol}, n={n}, {data.X.dtype}, max_iter={max_iter}, {solver}"
    return [Claim(what, max(far, LONG(0)) / norm if norm > 0 else LONG(0), model.gap_, gap=True)]
