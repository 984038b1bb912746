"""`SVC`, and kernel solvers on grams of either precision: relative duality gaps."""

import clarabel
import numpy as np

from hinge import SVC, Stop, solve
from hinge.access import Gram, as_points
from hinge.problems import KernelRegularized
from hinge.solvers import SMO, ActiveSet, BlockDual, KernelPegasos, KernelSDCA
from tests.certificates import draws, kernels
from tests.certificates.engine import Claim
from tests.certificates.exact import EPS, LONG, long, shares
from tests.certificates.references import conic

REFERENCE = "Clarabel on the dual, primal values in extended precision"


def reference(K, y, c, lam, free):
    """A good β, and the best b for it."""
    s = float(np.abs(np.diagonal(K)).max()) or 1.0
    A, hi = (K / s).astype(float), (c / LONG(lam) * s).astype(float)
    unit = float(hi.max()) or 1.0  # β in units of the largest box
    n = len(y)
    rows = [np.diag(y.astype(float)), -np.diag(y.astype(float))]
    h, cones = [hi / unit, np.zeros(n)], [clarabel.NonnegativeConeT(2 * n)]
    if free:
        rows, h, cones = [np.ones((1, n)), *rows], [np.zeros(1), *h], [clarabel.ZeroConeT(1), *cones]
    size = max(1.0, unit)
    z, _ = conic(A * (unit / size), -y.astype(float) / size, np.vstack(rows), np.concatenate(h), cones)
    best = None
    for scale in (1.0, 0.999, 0.0):
        beta = long(z) * LONG(unit) / LONG(s) * LONG(scale)
        b = kernels.best_bias(K @ beta, y, c) if free else LONG(0)
        value = kernels.objective(K, y, c, lam, beta, b)
        best = value if best is None else min(best, value)
    return best


def case(rng):
    data = draws.examples(rng, largest=int(rng.choice([12, 40])), decades=float(rng.choice([0.0, 20.0])))
    used = np.ones(len(data.y), bool) if data.weight is None else data.weight > 0
    if np.abs(data.exact).max() == 0 or len(set(data.y[used])) < 2:
        return []
    kernel = kernels.kernel(rng, data.exact.astype(float))
    K = kernels.values(kernel, data.exact)
    c, n = shares(data.weight, len(data.y)), len(data.y)
    scale = float(np.abs(np.diagonal(K)).max()) or 1.0
    C = float(10.0 ** rng.uniform(-2, 4) / scale)
    tol = float(rng.choice([1e-1, 1e-3, 1.01e-5, 1e-6, 1e-9]))
    free, how = bool(rng.integers(2)), int(rng.integers(8))
    max_iter = None if rng.random() < 0.7 else int(rng.integers(1, 40))
    what = f"{kernel}, C={C!r}, tol={tol}, free={free}, n={n}, {data.X.dtype}, how={how}, max_iter={max_iter}"
    if how <= 3:
        model = SVC(C, kernel=kernel, tol=tol, fit_intercept=free, max_iter=max_iter or -1)
        model.set_params(solver="blockdual" if how == 0 else "auto")
        model.fit(data.X, data.y, sample_weight=data.weight)
        beta = np.zeros(n)
        beta[model.support_] = model._dense_dual[0]
        b, gap, lam = model.intercept_[0], model.gap_, model.lam_
    else:
        gram = Gram(as_points(data.X, kernel, exact=bool(rng.integers(2))))
        problem = KernelRegularized.from_C(gram, data.y, C, weight=data.weight, bias="free" if free else "none")
        solver = (BlockDual(block=8, first=2), SMO(), ActiveSet(), KernelSDCA())[how - 4]
        if how == 7 and data.weight is None and rng.random() < 0.5:
            solver = KernelPegasos()
        result = solve(problem, solver, stop=Stop(tol=tol, max_iter=max_iter or 3000))
        beta, b, gap = result.solution.beta, result.solution.b, result.certificate.gap
        lam = problem.lam
    ours = kernels.objective(K, data.y, c, lam, long(beta), LONG(b))
    best = reference(K, data.y, c, lam, free)
    size = float(LONG(lam) * (np.abs(long(beta)) @ np.abs(K) @ np.abs(long(beta)))) + 1.0
    slack = 64 * (n + data.exact.shape[1]) * EPS * LONG(size)
    return [Claim(what, (ours - best) / best, gap, slack / best, gap=True)]
