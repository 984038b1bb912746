"""Widest margins in a space known by its kernel: intervals of the kernelised perceptron."""

import numpy as np

from hinge import Stop, solve
from hinge.kernels import Gaussian, Linear, Polynomial
from hinge.problems.max_min.max_margin import KernelMaxMargin
from hinge.solvers import PrimalDual
from tests.certificates import exact, references
from tests.certificates.draws import examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program; kernel values, responses and norms in long double"


def case(rng):
    """A kernel on points that are separable, or not; early and late."""
    X, full, y, _ = examples(rng, largest=20, decades=3.0)
    n, d = full.shape
    s = references.size(full)
    kind, gamma, degree, coef0 = (
        rng.integers(3),
        float(10.0 ** rng.uniform(-2, 1) / s**2),
        int(rng.integers(1, 4)),
        1.0,
    )
    if kind == 0:
        kernel, K = Linear(), full @ full.T
    elif kind == 1:
        sq = ((full[:, None] - full[None]) ** 2).sum(axis=2)
        kernel, K = Gaussian(gamma), np.exp(-exact.LONG(gamma) * sq)
    else:
        kernel, K = Polynomial(degree, gamma, coef0), (exact.LONG(gamma) * (full @ full.T) + coef0) ** degree
    problem = KernelMaxMargin(X, y, kernel)
    stop = Stop(10.0 ** rng.uniform(-4, -0.5), max_iter=int(10 ** rng.uniform(0.5, 3)))
    result = solve(problem, PrimalDual(), stop=stop, seed=int(rng.integers(99)))
    lower, upper, gap = result.certificate[:3]
    beta, p = result.solution.x[:n], result.solution.p
    weights = references.weights((y[:, None] * (K / np.abs(K).max()) * y).astype(float), np.zeros(n))
    own, proof, above = (
        _margin(K, y, beta),
        _norm(K, y * exact.long(p) / exact.long(p).sum()),
        _norm(K, y * weights / weights.sum()),
    )
    best = max(own, _margin(K, y, y * weights))
    off = 1e4 * n * exact.EPS * np.sqrt(np.abs(K).max())
    what, unit = f"{type(kernel).__name__}, n={n} d={d} size={s:.3g} {X.dtype}", problem.unit(lower, upper)
    return [
        Claim(f"lower, own direction, {what}", lower, own, off),
        Claim(f"lower, {what}", lower, min(above, proof), off),
        Claim(f"upper, own weights, {what}", proof, upper, off),
        Claim(f"upper, {what}", best, upper, off),
        Claim(f"gap, {what}", (best - own) / unit, gap, 2 * off / unit, gap=True),
    ]


def _norm(K, beta):
    beta = exact.long(beta)
    return np.sqrt(max(exact.LONG(0), beta @ K @ beta))


def _margin(K, y, beta):
    size = _norm(K, beta)
    return max(exact.LONG(0), (y * (K @ exact.long(beta))).min() / size) if size > 0 else exact.LONG(0)
