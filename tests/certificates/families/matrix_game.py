"""Games of two players: intervals of the value."""

import numpy as np

import hinge
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.linear import MatrixGame
from tests.certificates import exact, references
from tests.certificates.draws import cut, rows
from tests.certificates.engine import Claim

REFERENCE = "HiGHS, both strategies evaluated in long double; and our own strategies"

METHODS = ("auto", "pdhg", "sublinear")


def case(rng):
    """A matrix of payoffs."""
    A, full = rows(rng, largest=25, decades=12.0)
    n, d = full.shape
    if rng.random() < 0.3:
        x, p = rng.dirichlet(np.ones(d)), rng.dirichlet(np.full(n, 0.3))
        name, (lower, upper, gap) = "made up", MatrixGame(A).certificate(Strategies(x, p))[:3]
    else:
        name, eps = METHODS[rng.integers(3)], 10.0 ** rng.uniform(-13, -1)
        limits = dict(max_iter=int(10 ** rng.uniform(0, 2.7)), **cut(rng, n * d))
        found = hinge.solve_game(A, eps, method=name, random_state=int(rng.integers(9)), **limits)
        x, p, lower, upper, gap = found.x, found.p, found.lower, found.upper, found.gap
    what, size = f"{name}, n={n} d={d} {type(A).__name__}", references.size(full)
    off = 8 * (n + d) * exact.EPS * size
    columns, weights = references.game(full)
    own, proof = (full @ _sure(x)).min(), (_sure(p) @ full).max()
    best, above = max(own, (full @ _sure(columns)).min()), min(proof, (_sure(weights) @ full).max())
    return [
        Claim(f"lower, own strategy, {what}", lower, own, off),
        Claim(f"lower, {what}", lower, above, off),
        Claim(f"upper, own strategy, {what}", proof, upper, off),
        Claim(f"upper, {what}", best, upper, off),
        Claim(f"gap, {what}", (best - own) / size, gap, 2 * off / size, gap=True),
    ]


def _sure(p):
    p = exact.long(p)
    return p / p.sum()
