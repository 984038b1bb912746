"""`SVC` and `SVR` with landmarks, and `Nystroem` on grams of either precision: gaps and bounds of the exact kernel."""

import numpy as np

from hinge import SVC, SVR, Stop, solve
from hinge.access import Gram, as_points
from hinge.problems import KernelRegularized
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.losses import HINGE, epsilon_insensitive
from hinge.solvers import ActiveSet, Nystroem
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long, shares
from tests.certificates.families import kernel_svm, kernel_svr

REFERENCE = "Clarabel on the dual of the exact kernel, primal values in extended precision"


def case(rng):
    """One classification or regression with any number of landmarks."""
    data = draws.examples(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 10.0])))
    used, regression = np.ones(len(data.y), bool) if data.weight is None else data.weight > 0, bool(rng.integers(2))
    if np.abs(data.exact).max() == 0 or (not regression and len(set(data.y[used])) < 2):
        return []
    full = data.exact.astype(float)
    kernel = kernels.kernel(rng, full)
    K, n = kernels.values(kernel, data.exact), len(data.y)
    c, scale = shares(data.weight, n), float(np.abs(np.diagonal(K)).max()) or 1.0
    t, size, epsilon = data.y.astype(float), 1.0, 0.0
    if regression:
        size = 10.0 ** rng.uniform(-3, 3)
        t = full @ rng.standard_normal(full.shape[1]) / (np.abs(full).max() or 1.0) + rng.standard_normal(n)
        t, epsilon = size * (t + 3.0 * rng.integers(0, 2)), float(size * rng.choice([0.0, 0.1, 1.0]))
    C, tol = float(10.0 ** rng.uniform(-2, 3) / scale * size), float(rng.choice([1e-1, 1e-3, 1e-6]))
    free, m = bool(rng.integers(2)), None if rng.random() < 0.3 else int(rng.integers(1, n + 5))
    what = f"{kernel}, C={C!r}, epsilon={epsilon!r}, tol={tol}, free={free}, n={n}, m={m}, {data.X.dtype}"
    loss, bias = epsilon_insensitive(epsilon) if regression else HINGE, "free" if free else "none"
    if rng.random() < 0.4:
        options = dict(C=C, kernel=kernel, tol=tol, fit_intercept=free, n_components=m or "auto")
        model = SVR(epsilon=epsilon, **options) if regression else SVC(**options)
        model.fit(data.X, t, sample_weight=data.weight)
        beta = np.zeros(n)
        beta[model.support_] = model._dense_dual[0]
        b, gap, lam = model.intercept_[0], model.gap_, model.lam_
        above, below = model.objective_, -np.inf
    else:
        gram = Gram(as_points(data.X, kernel, exact=bool(rng.integers(2))))
        problem = KernelRegularized.from_C(gram, t, C, weight=data.weight, bias=bias, loss=loss)
        result = solve(problem, Nystroem(m), stop=Stop(tol=tol))
        beta, b, gap = result.solution.beta, result.solution.b, result.certificate.gap
        lam, above, below = problem.lam, result.certificate.objective, result.certificate.bound
    if regression:
        exact = Gram(as_points(data.X, kernel, exact=True))
        finished = KernelRegularized.from_C(exact, t, C, weight=data.weight, bias=bias, loss=loss)
        other = solve(finished, ActiveSet(), stop=Stop(1e-12, max_iter=100, max_time=3.0)).solution.beta
        ours = kernel_svr.objective(K, long(t), c, lam, long(beta), LONG(b), epsilon)
        best = min(ours, kernel_svr.reference(K, long(t), c, lam, free, epsilon, [long(other)]))
    else:
        ours = kernels.objective(K, data.y, c, lam, long(beta), LONG(b))
        best = min(ours, kernel_svm.reference(K, data.y, c, lam, free))
    unit = max(best, LONG(FAINT) * (c @ np.abs(long(t)))) if regression else best
    spread = float(LONG(lam) * (np.abs(long(beta)) @ np.abs(K) @ np.abs(long(beta))))
    slack = 64 * (n + full.shape[1]) * EPS * LONG(spread + float(np.abs(t).max()) + abs(float(b)) + epsilon)
    if unit == 0:
        return []
    return [
        Claim(f"gap of {what}", (ours - best) / unit, gap, slack / unit, gap=True),
        Claim(f"objective of {what}", ours, above, slack),
        Claim(f"bound of {what}", below, best, slack),
    ]
