"""`SVR`, and kernel solvers with the epsilon-insensitive loss: relative duality gaps."""

import clarabel
import numpy as np

from hinge import SVR, Stop, solve
from hinge.access import Gram, as_points
from hinge.problems import KernelRegularized
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.solvers import ActiveSet, BlockDual
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long, shares
from tests.certificates.references import conic

REFERENCE = "Clarabel on the dual and our finished run, primal values in extended precision"


def best_bias(r, t, c, epsilon):
    """The b that is best for the mean loss, among all kinks."""
    kinks = np.concatenate([t - r - LONG(epsilon), t - r + LONG(epsilon)])
    losses = (c * np.maximum(0, np.abs(t - r - kinks[:, None]) - LONG(epsilon))).sum(axis=1)
    return kinks[losses.argmin()]


def objective(K, t, c, lam, beta, b, epsilon):
    """λ/2 βᵀKβ + mean loss at w = Σ βφ."""
    r = K @ beta
    return LONG(lam) / 2 * (beta @ r) + c @ np.maximum(0, np.abs(t - r - b) - LONG(epsilon))


def reference(K, t, c, lam, free, epsilon, others):
    """The least objective that was found, by Clarabel or by others."""
    s, size = float(np.abs(np.diagonal(K)).max()) or 1.0, float(np.abs(t).max()) or 1.0
    hi = (c / LONG(lam) * s / size).astype(float)
    unit, n = float(hi.max()) or 1.0, len(t)  # β in units of the largest box, as up - down
    A = (K / s).astype(float) * unit
    both = np.block([[A, -A], [-A, A]])
    aim = (long(t) / size).astype(float)
    q = np.r_[epsilon / size - aim, epsilon / size + aim]
    rows, h = [np.eye(2 * n), -np.eye(2 * n)], [np.tile(hi / unit, 2), np.zeros(2 * n)]
    cones = [clarabel.NonnegativeConeT(4 * n)]
    if free:
        rows, h, cones = (
            [np.r_[np.ones(n), -np.ones(n)][None], *rows],
            [np.zeros(1), *h],
            [clarabel.ZeroConeT(1), *cones],
        )
    z, _ = conic(both, q, np.vstack(rows), np.concatenate(h), cones)
    found = long(z[:n] - z[n:]) * LONG(unit) / LONG(s) * LONG(size)
    candidates = [found, found * LONG(0.999), long(np.zeros(n)), *others]
    candidates = [beta for beta in candidates if np.isfinite(beta.astype(float)).all()]
    biases = [best_bias(K @ beta, t, c, epsilon) if free else LONG(0) for beta in candidates]
    return min(objective(K, t, c, lam, *pair, epsilon) for pair in zip(candidates, biases, strict=True))


def case(rng):
    """One regression with targets of any size, solved, or cut off."""
    data = draws.examples(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 20.0])))
    if np.abs(data.exact).max() == 0:
        return []
    full = data.exact.astype(float)
    kernel = kernels.kernel(rng, full)
    K = kernels.values(kernel, data.exact)
    c, n = shares(data.weight, len(data.y)), len(data.y)
    scale, size = float(np.abs(np.diagonal(K)).max()) or 1.0, 10.0 ** rng.uniform(-6, 6)
    t = full @ rng.standard_normal(full.shape[1]) / (np.abs(full).max() or 1.0) * rng.integers(0, 2)
    t = size * (t + 3.0 * rng.integers(0, 2) + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(n))
    epsilon = float(size * rng.choice([0.0, 0.01, 0.1, 1.0, 5.0]))
    C = float(10.0 ** rng.uniform(-2, 3) / scale * size)
    tol = float(rng.choice([1e-1, 1e-3, 1.01e-5, 1e-6, 1e-9]))
    free, how = bool(rng.integers(2)), int(rng.integers(6))
    max_iter = None if rng.random() < 0.7 else int(rng.integers(1, 40))
    what = f"{kernel}, C={C!r}, epsilon={epsilon!r}, tol={tol}, free={free}, n={n}, {data.X.dtype}, how={how}"
    loss = epsilon_insensitive(epsilon)
    bias = "free" if free else "none"
    if how <= 2:
        model = SVR(kernel=kernel, C=C, epsilon=epsilon, tol=tol, fit_intercept=free, max_iter=max_iter or -1)
        model.set_params(solver="blockdual" if how == 0 else "auto", max_time=3.0)
        model.fit(data.X, t, sample_weight=data.weight)
        beta = np.zeros(n)
        beta[model.support_] = model._dense_dual[0]
        b, gap, lam, bound = model.intercept_[0], model.gap_, model.lam_, -np.inf
    else:
        gram = Gram(as_points(data.X, kernel, exact=bool(rng.integers(2))))
        problem = KernelRegularized.from_C(gram, t, C, weight=data.weight, bias=bias, loss=loss)
        solver = (BlockDual(block=8, first=2), BlockDual(), ActiveSet())[how - 3]
        result = solve(problem, solver, stop=Stop(tol=tol, max_iter=max_iter or 2000, max_time=3.0))
        beta, b, gap = result.solution.beta, result.solution.b, result.certificate.gap
        lam, bound = problem.lam, result.certificate.bound
    finished = KernelRegularized.from_C(
        Gram(as_points(data.X, kernel, exact=True)), t, C, weight=data.weight, bias=bias, loss=loss
    )
    other = solve(finished, ActiveSet(), stop=Stop(1e-12, max_iter=100, max_time=3.0)).solution.beta
    targets = long(t)
    ours = objective(K, targets, c, lam, long(beta), LONG(b), epsilon)
    best = min(ours, reference(K, targets, c, lam, free, epsilon, [long(other)]))
    unit = max(best, LONG(FAINT) * (c @ np.abs(targets)))
    if unit == 0:
        return [] if np.isnan(gap) else [Claim(what, ours, gap, 0.0, gap=True)]
    spread = float(LONG(lam) * (np.abs(long(beta)) @ np.abs(K) @ np.abs(long(beta))))
    slack = 64 * (n + full.shape[1]) * EPS * LONG(spread + float(np.abs(t).max()) + abs(float(b)) + epsilon)
    claims = [Claim(f"gap of {what}", (ours - best) / unit, gap, slack / unit, gap=True)]
    if np.isfinite(bound):
        claims.append(Claim(f"bound of {what}", bound, best, slack))
    return claims
