"""Widest margins through zero: intervals of solvers, and of directions and weights made up."""

import numpy as np

import hinge
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.max_margin import MaxMargin
from tests.certificates import exact, references
from tests.certificates.draws import cut, examples
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program, both sides evaluated in long double; and our own strategies"

METHODS = ("auto", "workingset", "pdhg", "sublinear")


def case(rng):
    """Rows that are separable, or not."""
    X, full, y, _ = examples(rng, largest=30, decades=12.0)
    n, d = full.shape
    if rng.random() < 0.3:
        p = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.eye(n)[rng.integers(n)]
        x = X.T @ (y * p) if rng.random() < 0.7 else rng.standard_normal(d)
        lower, upper, gap = MaxMargin(X, y).certificate(Strategies(np.asarray(x, float), p))[:3]
        name = "made up"
    else:
        name, eps = METHODS[rng.integers(4)], 10.0 ** rng.uniform(-13, -1)
        limits = dict(max_iter=int(10 ** rng.uniform(0, 2.7)), **cut(rng, n * d))
        found = hinge.max_margin(X, y, eps, method=name, random_state=int(rng.integers(9)), **limits)
        x, p, lower, upper, gap = found.x, found.p, found.lower, found.upper, found.gap
    what = f"{name}, n={n} d={d} size={references.size(full):.3g} {type(X).__name__}"
    direction, weights = references.margin(full, y)
    own, own_off = _least(full, y, x)
    best, best_off = max((own, own_off), _least(full, y, direction))
    above, above_off = min(_bound(full, y, q) for q in (weights, p))
    proof, proof_off = _bound(full, y, p)
    unit = MaxMargin(X, y).unit(lower, upper)
    return [
        Claim(f"lower, own direction, {what}", lower, own, own_off),
        Claim(f"lower, {what}", lower, above, above_off),
        Claim(f"upper, own weights, {what}", proof, upper, proof_off),
        Claim(f"upper, {what}", best, upper, best_off),
        Claim(f"gap, {what}", (best - own) / unit, gap, (best_off + own_off) / unit, gap=True),
    ]


def _least(X, y, x):
    """The margin of a direction, or 0 by staying at zero."""
    size = exact.norm(x)
    if size == 0:
        return exact.LONG(0), exact.LONG(0)
    x = exact.long(x) / size
    return max(exact.LONG(0), (y * (X @ x)).min()), exact.off(X, x)


def _bound(X, y, p):
    """‖Σ pᵢyᵢaᵢ‖ of weights that sum to one."""
    p = exact.long(p)
    p = p / p.sum()
    return exact.norm((p * y) @ X), 8 * (len(X) + X.shape[1]) * exact.EPS * references.size(X) * X.shape[1]
