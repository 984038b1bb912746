"""`NuSVC` and `NuSVR` with landmarks, and `Nystroem` on grams of either precision: bounds of the exact kernel."""

import numpy as np

from hinge import NuSVC, NuSVR, Stop, solve
from hinge.access import Gram, as_points
from hinge.problems import KernelNuClassification, KernelNuRegression
from hinge.problems.svm.examples import FAINT
from hinge.solvers import LevelBlocks, Nystroem
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long
from tests.certificates.families import nu_svc, nu_svr

REFERENCE = "Clarabel on the dual of the exact kernel, primal values in extended precision"


def objective(K, y, s, mass, beta):
    """P of two classes at the best level of each, which is one of its margins."""
    r, total = K @ beta, LONG(0)
    for label in (1, -1):
        own = y == label
        m = label * r[own]
        short = np.maximum(0, m[:, None] - m)
        total += (short @ s[own] - mass * m).min()
    return (beta @ r) / 2 + total


def case(rng):
    """One classification or regression with any number of landmarks."""
    data = draws.examples(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 10.0])))
    regression = bool(rng.integers(2))
    y, n, full = data.y, len(data.y), data.exact.astype(float)
    s = long(np.ones(n) if data.weight is None else data.weight)
    lightest = min(float(s[y > 0].sum()), float(s[y < 0].sum()))
    if np.abs(data.exact).max() == 0 or (not regression and lightest == 0):
        return []
    kernel = kernels.kernel(rng, full)
    K = kernels.values(kernel, data.exact)
    scale, size, C = float(np.abs(np.diagonal(K)).max()) or 1.0, 10.0 ** rng.uniform(-3, 3), 1.0
    nu = float((1.0 if regression else 2 * lightest / float(s.sum())) * rng.choice([0.01, 0.1, 0.5, 0.9, 1.0]))
    t = full @ rng.standard_normal(full.shape[1]) / (np.abs(full).max() or 1.0) * rng.integers(0, 2)
    t = size * (t + 3.0 * rng.integers(0, 2) + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(n))
    t, C = (t, float(10.0 ** rng.uniform(-2, 3) / scale * size)) if regression else (y.astype(float), 1.0)
    tol, m = float(rng.choice([1e-1, 1e-3, 1e-6])), None if rng.random() < 0.3 else int(rng.integers(1, n + 5))
    what = f"{kernel}, C={C!r}, nu={nu!r}, tol={tol}, n={n}, m={m}, {data.X.dtype}, regression={regression}"
    if rng.random() < 0.4:
        options = dict(nu=nu, kernel=kernel, tol=tol, n_components=m or "auto")
        model = (NuSVR(C=C, **options) if regression else NuSVC(**options)).fit(data.X, t, sample_weight=data.weight)
        beta, b = np.zeros(n), model.intercept_[0]
        beta[model.support_] = model._dense_dual[0]
        gap, above, below = model.gap_, model.objective_, -np.inf
        beta = long(beta) * (1 if regression or model.lam_ == 0 else LONG(model.lam_) * s.sum())
    else:
        gram = Gram(as_points(data.X, kernel, exact=bool(rng.integers(2))))
        made = (gram, t, nu, C) if regression else (gram, t, nu)
        problem = (KernelNuRegression if regression else KernelNuClassification)(*made, weight=data.weight)
        result = solve(problem, Nystroem(m), stop=Stop(tol=tol))
        beta, b, gap = long(result.solution.beta), result.solution.b, result.certificate.gap
        above, below = result.certificate.objective, result.certificate.bound
    if regression:
        exact = Gram(as_points(data.X, kernel, exact=True))
        finished = KernelNuRegression(exact, t, nu, C, weight=data.weight)
        other = solve(finished, LevelBlocks(), stop=Stop(1e-12, max_iter=100, max_time=3.0)).solution.beta
        ours = nu_svr.objective(K, long(t), s, nu, C, beta, LONG(b))
        best = min(ours, nu_svr.reference(K, long(t), s, nu, C, [long(other)]))
        unit = max(best, LONG(FAINT) * LONG(C) * (s @ np.abs(long(t))))
    else:
        mass = LONG(nu) * s.sum() / 2
        ours, other = objective(K, y, s, mass, beta), y * nu_svc.optimum(K, y, s, mass)
        best = min(ours, LONG(0), objective(K, y, s, mass, other))
        # Nearly equal rows far from the origin: the reference itself loses what extended precision cannot tell apart.
        best += 4 * (n + full.shape[1]) * np.finfo(LONG).eps * (np.abs(other) @ np.abs(K) @ np.abs(other))
        unit = -ours
    spread = np.abs(beta) @ np.abs(K) @ np.abs(beta)
    stored = np.abs(K @ np.abs(beta)).max()  # the levels, as coefficients are divided by the margin
    slack = 64 * (n + full.shape[1]) * EPS * (spread + LONG(C) * s.sum() * (np.abs(t).max() + abs(LONG(b)) + stored))
    claims = [Claim(f"objective of {what}", ours, above, slack), Claim(f"bound of {what}", below, best, slack)]
    if unit > 0:
        claims.append(Claim(f"gap of {what}", (ours - best) / unit, gap, slack / unit, gap=True))
    return claims
