"""Smallest balls: intervals of the squared radius, of solvers and of centres and weights made up."""

import numpy as np

import hinge
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from tests.certificates import exact, references
from tests.certificates.draws import cut, rows
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's quadratic program on centred points, evaluated in long double; and our own strategies"

METHODS = ("auto", "coreset", "sublinear")


def case(rng):
    """Points, perhaps nearly equal and far from zero."""
    X, full = rows(rng, largest=30, decades=12.0)
    if rng.random() < 0.3:
        full = full[:1] + (full - full[:1]) * exact.LONG(10.0 ** rng.uniform(-14, -2))
        X = full.astype(X.dtype)
        full = exact.long(X)
    n, d = full.shape
    if rng.random() < 0.3:
        p = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else np.eye(n)[rng.integers(n)]
        x = X.T @ p if rng.random() < 0.7 else X[[rng.integers(n)]].astype(float).sum(axis=0)
        lower, upper, gap = EnclosingBall(X).certificate(Strategies(np.asarray(x, float), p))[:3]
        name = "made up"
    else:
        name, eps = METHODS[rng.integers(3)], 10.0 ** rng.uniform(-13, -1)
        limits = dict(max_iter=int(10 ** rng.uniform(0, 2.7)), **cut(rng, n * d))
        found = hinge.enclosing_ball(X, eps, method=name, random_state=int(rng.integers(9)), **limits)
        x, p, lower, upper, gap = found.x, found.p, found.lower, found.upper, found.gap
    x, what = (exact.long(x), f"{name}, n={n} d={d} size={references.size(full):.3g} {X.dtype} {type(X).__name__}")
    far, far_off = _farthest(full, x)
    middle = full.mean(axis=0)
    spread = references.size(full - middle)
    centre, weights = references.ball((full - middle) / spread)
    above, above_off = min(_farthest(full, c) for c in (middle + centre * spread, x))
    below, below_off = max(_variance(full, q) for q in (weights, p))
    return [
        Claim(f"lower, own centre, {what}", lower, -far, far_off),
        Claim(f"lower, {what}", lower, -below, below_off),
        Claim(f"upper, own weights, {what}", -_variance(full, p)[0], upper, _variance(full, p)[1]),
        Claim(f"upper, {what}", -above, upper, above_off),
        Claim(f"gap, {what}", (far - above) / far if far > 0 else 0, gap, (far_off + above_off) / (far or 1), gap=True),
    ]


def _farthest(X, x):
    D = ((X - x) ** 2).sum(axis=1).max()
    return D, 8 * (X.shape[1] + 4) * exact.EPS * D


def _variance(X, p):
    """Of weighted points; about the first, so that points far from zero lose nothing."""
    p = exact.long(p)
    p, away = p / p.sum(), X - X[np.argmax(p)]
    square, mean = p @ (away**2).sum(axis=1), p @ away
    return square - mean @ mean, 8 * (len(X) + X.shape[1]) * exact.EPS * square
