"""Semidefinite feasibility: intervals of the largest smallest product."""

import numpy as np

import hinge
from hinge.problems.max_min.symmetric import Semidefinite
from tests.certificates import exact, references
from tests.certificates.engine import Claim

REFERENCE = "Clarabel's semidefinite program, its factors evaluated in long double; eigenvalues of its multipliers"


def case(rng):
    """A few symmetric matrices, dense or of low rank."""
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 25))
    A = rng.standard_normal((m, n, n))
    if rng.random() < 0.4:
        a, b = rng.standard_normal((2, m, n))
        A = np.einsum("mi,mj->mij", a, a) - rng.uniform(0, 2) * np.einsum("mi,mj->mij", b, b)
    A = A + A.transpose(0, 2, 1) + rng.choice([0.0, 0.3, -3.0]) * np.eye(n)
    if rng.random() < 0.2:
        A[rng.integers(0, m, m // 2)] = A[0]
    if rng.random() < 0.4:
        A *= 10.0 ** rng.uniform(-12, 12)
    A = A.astype(rng.choice([np.float32, np.float64]))
    problem, eps = Semidefinite(A), 10.0 ** rng.uniform(-12, -1)
    method = ("auto", "pdhg", "sublinear")[rng.integers(3)]
    limits = dict(max_iter=int(10 ** rng.uniform(0, 2.7)), random_state=int(rng.integers(9)))
    found = hinge.semidefinite(problem, eps, method=method, **limits)
    rows = exact.long(problem.matrix.rows[0])  # as they are stored
    i, j = np.triu_indices(n)
    full = np.empty((m, n, n), np.longdouble)
    full[:, i, j] = full[:, j, i] = rows / np.where(i == j, exact.LONG(1), np.sqrt(exact.LONG(2)))
    X, weights = references.semidefinite(full)
    best, own = _value(full, X), _value(full, found.x)
    what, size = f"{method}, n={n} m={m} {A.dtype}", references.size(full)
    off, eigen = 64 * n * n * exact.EPS * size, 16 * n * np.finfo(float).eps * n * size
    above = min(_top(full, p) for p in (weights, found.p))
    unit = problem.unit(found.lower, found.upper)
    return [
        Claim(f"lower, {what}", found.lower, above, eigen),
        Claim(f"lower, own matrix, {what}", found.lower, own, eigen),
        Claim(f"upper, {what}", best, found.upper, off),
        Claim(f"upper, own weights, {what}", _top(full, found.p), found.upper, eigen),
        Claim(f"gap, {what}", (best - own) / unit, found.gap, (off + eigen) / unit, gap=True),
    ]


def _value(A, X):
    """The smallest product with the positive part of X at trace 1; 0 by X = 0."""
    values, vectors = np.linalg.eigh(np.asarray(X, float))
    half = exact.long(vectors * np.sqrt(np.maximum(values, 0.0)))
    X = half @ half.T
    trace = np.trace(X)
    return max(exact.LONG(0), (A * X).sum(axis=(1, 2)).min() / trace) if trace > 0 else exact.LONG(0)


def _top(A, p):
    p = exact.long(p)
    M = np.tensordot(p / p.sum(), A, 1)
    size = references.size(M)
    return max(0.0, np.linalg.eigvalsh((M / size).astype(float))[-1]) * exact.LONG(size)
