"""Several classes at once: gaps of solvers, of answers made up, and of `LinearSVC(multi_class="crammer_singer")`."""

import numpy as np

from hinge import LinearSVC, Stop, solve
from hinge.problems import Multiclass, Solution
from hinge.solvers import MulticlassPegasos, MulticlassSDCA
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program and our finished run, evaluated in long double"


def case(rng):
    """One problem, solved to some accuracy or cut off, judged at random answers, or fitted by C."""
    X, full, y, weight = examples(rng, largest=20)
    n, d = full.shape
    k = int(rng.integers(2, 7))
    y = rng.integers(0, k, n) if rng.random() < 0.4 else ((y > 0) + np.arange(n) % (k - 1)).astype(int)
    c, s = exact.shares(weight, n), references.size(full)
    lam = 10.0 ** rng.uniform(-7, 2) * (s * s if rng.random() < 0.7 else 1.0)
    if not 0 < lam < 1e300:
        lam = 1.0
    scale = float(10.0 ** rng.uniform(-1, 1)) if rng.random() < 0.5 else 0.0
    problem = Multiclass(X, y, lam, n_classes=k, weight=weight, bias_scale=scale)
    chance = rng.random()
    stop = Stop(10.0 ** rng.uniform(-13, -1), max_iter=max(1, int(n * 10 ** rng.uniform(0, 2))), **cut(rng, n * d))
    if chance < 0.25:
        p = rng.dirichlet(np.full(k, 10.0 ** rng.uniform(-2, 1)), n) * rng.uniform(0, 3)
        W = problem.combination(p)[0] / lam if rng.random() < 0.5 else rng.standard_normal((d + 1, k)) / s
        W[d] *= scale > 0
        name, found = "made up", problem.certificate(Solution(W, 0.0, p))
        objective, gap = found.objective, found.gap
    elif chance < 0.5 and len(np.unique(y)) == k and weight is None:
        options = {"fit_intercept": scale > 0, "intercept_scaling": scale or 1.0, "tol": stop.tol, "max_iter": 100}
        model = LinearSVC(multi_class="crammer_singer", lam=lam, max_reads=stop.max_reads, **options).fit(X, y)
        coef, intercept = model.coef_, model.intercept_ / (scale or 1.0)
        if k == 2:  # the difference, of which each class has half: of all such W the shortest
            coef, intercept = np.vstack([-coef, coef]) / 2, np.r_[-intercept, intercept] / 2
        name, W, objective, gap = "LinearSVC", np.vstack([coef.T, intercept]), model.objective_, model.gap_
    else:
        solver = MulticlassSDCA() if rng.random() < 0.7 else MulticlassPegasos()
        result = solve(problem, solver, stop=stop, seed=int(rng.integers(100)))
        name, W = type(solver).__name__, result.solution.w
        objective, gap, found = result.certificate.objective, result.certificate.gap, result.certificate
    value, error = exact.multiclass(full, y, c, lam, W, scale)
    points = [np.zeros((d + 1, k)), W, references.multiclass(full, y, c, lam, k, scale)]
    if n * d <= 200 and rng.random() < 0.3:
        points.append(solve(problem, MulticlassSDCA(), stop=Stop(1e-12, max_iter=2000 * n)).solution.w)
    best, slack = min(exact.multiclass(full, y, c, lam, point, scale) for point in points)
    what = f"{name}, n={n} d={d} k={k} lam={lam:.3g} size={s:.3g} scale={scale:.3g}"
    claims = [
        Claim(f"objective of {what}", value, objective, error),
        Claim(f"gap of {what}", (value - best) / best, gap, (error + slack) / best, gap=True),
    ]
    return claims if name == "LinearSVC" else [*claims, Claim(f"bound of {what}", found.bound, best, slack)]
