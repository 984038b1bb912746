"""`NuSVC`: relative duality gaps, of w before it is divided by the margin."""

from importlib.util import find_spec

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


def optimum(K, y, s, mass):
    """α by Clarabel, feasible."""
    scale, unit, n = float(np.abs(np.diagonal(K)).max()) or 1.0, float(mass), len(y)
    sums, box = np.stack([y > 0, y < 0]).astype(float), (s / unit).astype(float)
    z, _ = conic(
        (np.outer(y, y) * K / scale).astype(float),
        np.zeros(n),
        np.vstack([sums, np.eye(n), -np.eye(n)]),
        np.r_[1.0, 1.0, box, np.zeros(n)],
        [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(2 * n)],
    )
    return mended(long(z) * mass, y, s, mass)


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
    solver = "auto" if rng.random() < 0.5 else solver  # all in one compiled call, where nothing else is asked for
    device = "cpu:0" if find_spec("torch") and not callable(kernel) and rng.random() < 0.2 else "cpu"
    solver = solver if device == "cpu" else "auto"
    model = NuSVC(kernel=kernel, nu=nu, tol=tol, max_iter=max_iter, solver=solver, device=device, max_time=3.0)
    model.fit(data.X, y, sample_weight=data.weight)
    alpha = np.zeros(n, LONG)
    alpha[model.support_] = np.abs(model._dense_dual[0])
    mass = LONG(nu) * s.sum() / 2
    for label in (1, -1):
        own = y == label
        alpha[own] *= mass / (alpha[own].sum() or 1)
    best = optimum(K, y, s, mass)
    sizes = np.sqrt(np.abs(np.diagonal(K)))
    w, other = y * alpha, y * best
    sq, least = w @ K @ w, other @ K @ other
    ours, theirs = slack(K, y, alpha, s) - sq / 2, slack(K, y, best, s) - least / 2
    lacks = sum(abs(best[y == label].sum() - mass) for label in (1, -1)) * sizes.max()
    largest = (np.sqrt(max(least, LONG(0))) + lacks) ** 2 / 2  # the optimum is no farther from zero
    # Coefficients are rounded once more, when they are divided by the margin.
    stored = 8 * np.finfo(float).eps * np.sqrt(max(sq, LONG(0))) * (alpha @ sizes)
    off = stored + 64 * n * EPS * (alpha @ np.abs(K) @ alpha + best @ np.abs(K) @ best)
    what = f"{kernel}, nu={nu!r}, tol={tol}, n={n}, {data.X.dtype}, max_iter={max_iter}, {solver}, {device}"
    if not largest > 0:
        return [Claim(what, np.inf, model.gap_)]
    return [Claim(what, max(ours - theirs, LONG(0)) / largest, model.gap_, off / largest, gap=True)]
