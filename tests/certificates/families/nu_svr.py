"""`NuSVR`: relative duality gaps."""

from importlib.util import find_spec

import clarabel
import numpy as np

from hinge import NuSVR, Stop, solve
from hinge.access import Gram, as_points
from hinge.problems import KernelNuRegression
from hinge.problems.svm.examples import FAINT
from hinge.solvers import LevelBlocks
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long
from tests.certificates.references import conic

REFERENCE = "Clarabel on the dual and our finished run, primal values in extended precision"


def losses(off, s, nu):
    """νSε + Σ s max(0, |off| - ε) at its best ε, one of the |off| or 0."""
    off = np.abs(off)
    kinks = np.r_[off, LONG(0)]
    beyond = (s * np.maximum(0, off - kinks[:, None])).sum(axis=1)
    return (LONG(nu) * s.sum() * kinks + beyond).min()


def objective(K, t, s, nu, C, beta, b):
    """½βᵀKβ and C times the losses, at w = Σ βφ and b."""
    r = K @ beta
    return (beta @ r) / 2 + LONG(C) * losses(t - r - b, s, nu)


def biases(K, t, beta):
    """Where the best b of a w is found: among these, the middles of pairs of kinks, up to a few too many."""
    kinks = np.sort(t - K @ beta)
    return np.unique(np.concatenate([(kinks + other) / 2 for other in kinks]))


def reference(K, t, s, nu, C, others):
    """The least objective that was found, by Clarabel or by others."""
    scale, size, n = float(np.abs(np.diagonal(K)).max()) or 1.0, float(np.abs(t).max()) or 1.0, len(t)
    hi = (LONG(C) * s * scale / size).astype(float)
    unit = float(hi.max()) or 1.0
    A = (K / scale).astype(float) * unit
    both, aim = np.block([[A, -A], [-A, A]]), (t / size).astype(float)
    rows = [np.r_[np.ones(n), -np.ones(n)][None], np.ones((1, 2 * n)), np.eye(2 * n), -np.eye(2 * n)]
    h = [np.zeros(1), [nu * hi.sum() / unit], np.tile(hi / unit, 2), np.zeros(2 * n)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * n + 1)]
    z, _ = conic(both, np.r_[-aim, aim], np.vstack(rows), np.concatenate(h), cones)
    found = long(z[:n] - z[n:]) * LONG(unit) / LONG(scale) * LONG(size)
    candidates = [beta for beta in [found, long(np.zeros(n)), *others] if np.isfinite(beta.astype(float)).all()]
    return min(objective(K, t, s, nu, C, beta, b) for beta in candidates for b in biases(K, t, beta))


def case(rng):
    """One regression with targets of any size, solved, or cut off."""
    data = draws.examples(rng, largest=int(rng.choice([8, 20])), decades=float(rng.choice([0.0, 20.0])))
    if np.abs(data.exact).max() == 0:
        return []
    full = data.exact.astype(float)
    kernel = kernels.kernel(rng, full)
    K, n = kernels.values(kernel, data.exact), len(full)
    s = long(np.ones(n) if data.weight is None else data.weight)
    scale, size = float(np.abs(np.diagonal(K)).max()) or 1.0, 10.0 ** rng.uniform(-6, 6)
    t = full @ rng.standard_normal(full.shape[1]) / (np.abs(full).max() or 1.0) * rng.integers(0, 2)
    t = size * (t + 3.0 * rng.integers(0, 2) + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(n))
    nu, C = float(rng.choice([0.01, 0.1, 0.5, 0.9, 1.0])), float(10.0 ** rng.uniform(-2, 3) / scale * size)
    tol = float(rng.choice([1e-1, 1e-3, 1.01e-5, 1e-6, 1e-9]))
    max_iter = -1 if rng.random() < 0.7 else int(rng.integers(1, 20))
    solver = LevelBlocks() if rng.random() < 0.6 else LevelBlocks(first=4, block=8, growth=2)
    solver = "auto" if rng.random() < 0.5 else solver  # all in one compiled call, where nothing else is asked for
    device = "cpu:0" if find_spec("torch") and not callable(kernel) and rng.random() < 0.2 else "cpu"
    solver = solver if device == "cpu" else "auto"
    model = NuSVR(kernel=kernel, C=C, nu=nu, tol=tol, max_iter=max_iter, solver=solver, device=device, max_time=3.0)
    model.fit(data.X, t, sample_weight=data.weight)
    beta = np.zeros(n)
    beta[model.support_] = model._dense_dual[0]
    used = np.flatnonzero(s)
    rows = data.X[used]
    weight = None if data.weight is None else data.weight[used]
    finished = KernelNuRegression(Gram(as_points(rows, kernel, exact=True)), t[used], nu, C, weight=weight)
    other = np.zeros(n)
    other[used] = solve(finished, LevelBlocks(), stop=Stop(1e-12, max_iter=100, max_time=3.0)).solution.beta
    targets = long(t)
    ours = objective(K, targets, s, nu, C, long(beta), LONG(model.intercept_[0]))
    best = min(ours, reference(K, targets, s, nu, C, [long(other), long(beta)]))
    unit = max(best, LONG(FAINT) * LONG(C) * (s @ np.abs(targets)))
    what = f"{kernel}, C={C!r}, nu={nu}, tol={tol}, n={n}, {data.X.dtype}, max_iter={max_iter}, {solver}, {device}"
    if unit == 0:
        return [] if np.isnan(model.gap_) else [Claim(what, ours, model.gap_, 0.0, gap=True)]
    spread = np.abs(long(beta)) @ np.abs(K) @ np.abs(long(beta))
    sizes = float(np.abs(t).max()) + abs(float(model.intercept_[0]))
    slack = 64 * (n + full.shape[1]) * EPS * (spread + LONG(C) * s.sum() * LONG(sizes))
    return [Claim(f"gap of {what}", (ours - best) / unit, model.gap_, slack / unit, gap=True)]
