"""Semidefinite programs with an objective: the interval of the optimum."""

import numpy as np

from hinge import maximize_semidefinite
from hinge.problems.max_min.symmetric import Semidefinite
from tests.certificates import exact, references
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's semidefinite program, its factors mixed until feasible, in long double"


def case(rng):
    """A goal and a few constraints."""
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 8))
    A, C = rng.standard_normal((m, n, n)), rng.standard_normal((n, n))
    A, C = A + A.transpose(0, 2, 1) + rng.choice([0.0, 2.0]) * np.eye(n), C + C.T
    if rng.random() < 0.3:
        A, C = A * 10.0 ** rng.uniform(-6, 6), C * 10.0 ** rng.uniform(-6, 6)
    found = maximize_semidefinite(C, A, 10.0 ** rng.uniform(-7, -1), max_steps=int(rng.integers(1, 12)))
    full, goal = exact.long(Semidefinite(A).matrix.rows[0]), exact.long(C)
    i, j = np.triu_indices(n)
    full = full / np.where(i == j, exact.LONG(1), np.sqrt(exact.LONG(2)))
    tensor = np.empty((m, n, n), np.longdouble)
    tensor[:, i, j] = tensor[:, j, i] = full
    X = _feasible(tensor, references.largest(tensor, goal))
    off, size = 16 * n * n * np.finfo(float).eps * exact.norm(goal), f"n={n} m={m}"
    claims = [Claim(f"upper, {size}", (goal * X).sum(), found.upper, 16 * n * n * exact.EPS * exact.norm(goal))]
    y = exact.long(found.y)
    M = goal + np.tensordot(y, tensor, 1)
    spread = exact.norm(goal) + y @ np.sqrt((tensor**2).sum(axis=(1, 2)))
    top = max(0.0, float(np.linalg.eigvalsh((M / spread).astype(float))[-1])) * spread
    claims.append(Claim(f"upper, own multipliers, {size}", top, found.upper, 16 * n * np.finfo(float).eps * spread))
    if found.violation == 0.0:
        claims.append(Claim(f"lower, {size}", found.lower, found.upper))
        claims.append(Claim(f"lower, own matrix, {size}", found.lower, (goal * exact.long(found.X)).sum(), off))
        scale = np.sqrt((tensor**2).sum(axis=(1, 2)))
        worst = -((tensor * exact.long(found.X)).sum(axis=(1, 2)) / scale).min()
        claims.append(Claim(f"feasible, {size}", worst, 0.0))
    return claims


def _feasible(A, X):
    """Positive, of trace at most 1, and within the constraints; 0 where X is not."""
    values, vectors = np.linalg.eigh(X)
    half = exact.long(vectors * np.sqrt(np.maximum(values, 0.0)))
    X = half @ half.T
    X = X / max(exact.LONG(1), np.trace(X))
    return X if (A * X).sum(axis=(1, 2)).min() >= 0 else np.zeros_like(X)
