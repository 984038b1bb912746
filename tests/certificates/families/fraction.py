"""Bounds from a sample: at most a share ρ of the functions is below, but for a chance of one in a billion."""

import numpy as np

from hinge.problems.max_min.base import Fraction
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import MatrixGame
from hinge.problems.max_min.max_margin import MaxMargin
from tests.certificates import exact
from tests.certificates.draws import rows
from tests.certificates.engine import Claim

REFERENCE = "all functions, evaluated in long double and counted"


def case(rng):
    """A sample of the rows, and a point that was chosen without it."""
    A, full = rows(rng, largest=40, decades=12.0)
    n, d = full.shape
    repeat = int(rng.integers(1, 8))
    A, full = (A[np.tile(np.arange(n), repeat)], np.tile(full, (repeat, 1)))
    rho = float(rng.choice([0.02, 0.1, 0.5]))
    fraction = Fraction(rho, 1e-9, seed=int(rng.integers(1 << 30)))
    problem = (MaxMargin, MatrixGame, EnclosingBall)[rng.integers(3)](A, fraction=fraction)
    x = (
        rng.standard_normal(d) * np.abs(full).max().astype(float)
        if isinstance(problem, EnclosingBall)
        else rng.dirichlet(np.ones(d))
    )
    claims = []
    for _ in range(int(rng.integers(1, 4))):
        lower, point = problem.lower(x), exact.long(x)
        if isinstance(problem, EnclosingBall):
            values = -((full - point) ** 2).sum(axis=1)
        elif isinstance(problem, MaxMargin):
            values = np.maximum(0, full @ (point / exact.norm(point)))
        else:
            values = full @ (point / point.sum())
        off = 8 * (d + 4) * exact.EPS * np.abs(values).max()
        below = np.count_nonzero(values < lower - off) / len(values)
        claims.append(Claim(f"{type(problem).__name__}, n={len(values)} d={d} rho={rho}", below, rho, gap=True))
        x = x * rng.uniform(0.5, 2.0, d)
        x = x / x.sum() if isinstance(problem, MatrixGame) else x
    return claims
