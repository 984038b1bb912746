"""The problem with the 1-norm, and `LinearSVC(penalty="l1")`."""

import numpy as np

from hinge import L1Regularized, LinearSVC, Stop, solve
from hinge.problems import Solution
from hinge.solvers import CDN
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program and our finished run, evaluated in long double"


def case(rng):
    """One problem, solved to some accuracy or cut off, or judged at random answers."""
    X, full, y, weight = examples(rng, decades=15.0)
    n, d = full.shape
    if len(np.unique(y)) < 2:
        return []
    c, s = exact.shares(weight, n), references.size(full)
    bias = ("none", "free", "penalized")[rng.integers(3)]
    scale = float(10.0 ** rng.uniform(-1, 1)) if bias == "penalized" else None
    lam = float(10.0 ** rng.uniform(-5, 1) * s)
    problem = L1Regularized(X, y, lam, weight=weight, bias=bias, bias_scale=scale or 1.0)
    name, answer, certificate = _answer(rng, problem, X, y, weight, s)
    value, error = exact.of_1_norm(full, y, c, lam, answer.w, certificate.b, scale)
    points = [(np.zeros(d), 0.0), (answer.w, certificate.b)]
    points.append(references.of_1_norm(full, y, c, lam, scale or ("free" if bias == "free" else None)))
    if n * d <= 400 and rng.random() < 0.5:
        finished = solve(problem, CDN(), stop=Stop(1e-13, max_iter=200))
        points.append((finished.solution.w, finished.certificate.b))
    found = [exact.of_1_norm(full, y, c, lam, w, b, scale) for w, b in points if np.isfinite(w).all()]
    best, slack = min(found)
    what = f"{name}, n={n} d={d} lam={lam:.3g} size={s:.3g} bias={bias}"
    return [
        Claim(f"objective of {what}", value, certificate.objective, error),
        Claim(f"bound of {what}", certificate.bound, best, slack),
        Claim(f"gap of {what}", (value - best) / best, certificate.gap, (error + slack) / best, gap=True),
    ]


def _answer(rng, problem, X, y, weight, size):
    """An answer of this problem, by whom, and the certificate it came with."""
    n, d, how = problem.n, problem.d, rng.random()
    if how < 0.25:
        w = rng.standard_normal(d) / size * (rng.random(d) < 0.5)
        b = float(rng.standard_normal() if problem.bias != "none" else 0.0)
        r = problem.responses(w) + b
        alpha = 2 * np.maximum(0, 1 - y * r) if rng.random() < 0.5 else np.maximum(0, rng.normal(1, 1, n))
        answer = Solution(w, b, alpha)
        return "made up", answer, problem.certificate(answer)
    tol = 10.0 ** rng.uniform(-12, -1)
    if how < 0.5:
        model = LinearSVC(
            "l1",
            dual=False,
            lam=problem.lam,
            tol=tol,
            fit_intercept=problem.bias != "none",
            intercept=problem.bias if problem.bias != "none" else "free",
            intercept_scaling=problem.bias_scale,
            max_iter=int(10 ** rng.uniform(0, 2)),
        ).fit(X, y, weight)
        answer = Solution(model.coef_.ravel(), float(model.intercept_[0]))
        bound = np.nan if not np.isfinite(model.gap_) else -np.inf
        certificate = problem.certificate(answer)
        return (
            "LinearSVC",
            answer,
            certificate._replace(objective=model.objective_, gap=model.gap_, bound=bound, b=answer.b),
        )
    solver = CDN(first=int(rng.integers(1, 40)), epochs=int(rng.integers(1, 20)))
    stop = Stop(tol, max_iter=max(1, int(10 ** rng.uniform(0, 2))), **cut(rng, n * d))
    result = solve(problem, solver, stop=stop)
    return "CDN", result.solution, result.certificate
