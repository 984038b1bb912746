"""Pair steps that are conjugate to one another."""

import numpy as np
import pytest

from hinge.solvers.kernel.conjugate_steps import conjugate_steps
from hinge.solvers.kernel.two_point import pair_steps

N = 60


def problem(C, epsilon, cut, dtype, seed=0):
    """K, a feasible β with its pulls, c and bounds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2)).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(N) > 0, 1.0, -1.0)
    lo, hi, beta = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), np.zeros(N)
    if epsilon > 0:
        y, lo, hi = np.sin(3 * X[:, 0]), np.full(N, -C), np.full(N, C)
    if cut >= 0:
        side = np.where(np.arange(N) < cut, 1.0, -1.0)
        y, lo, hi, beta = np.zeros(N), np.minimum(C * side, 0.0), np.maximum(C * side, 0.0), 0.3 * C * side
    return K, beta, -y, lo, hi


@pytest.mark.parametrize(("C", "epsilon", "cut"), [(1.0, 0.0, -1), (1000.0, 0.0, -1), (100.0, 0.1, -1), (5.0, 0.0, 20)])
def test_the_same_least_value_in_fewer_steps(C, epsilon, cut):
    K, beta, c, lo, hi = problem(C, epsilon, cut, np.float64)
    sums = beta[: max(cut, 0)].sum(), beta[max(cut, 0) :].sum()
    values, steps = [], []
    for move in (pair_steps, conjugate_steps):
        b = beta.copy()
        e = K @ b + c
        none = (epsilon or None, None if cut < 0 else cut) if move is pair_steps else (epsilon, cut)
        steps.append(move(K, b, e, lo, hi, 1e-5, 20_000, *none))
        np.testing.assert_allclose(e, K @ b + c, atol=1e-9 * C)
        assert ((lo <= b) & (b <= hi)).all()
        assert (b[: max(cut, 0)].sum(), b[max(cut, 0) :].sum()) == pytest.approx(sums, abs=1e-9 * C)
        values.append(0.5 * b @ K @ b + c @ b + epsilon * np.abs(b).sum())
    assert values[1] == pytest.approx(values[0], abs=1e-5 * (1 + abs(values[0])))
    assert steps[1] < (1.2 if C == 1.0 else 0.6) * steps[0]


def test_single_precision_values_and_a_limit():
    K, beta, c, lo, hi = problem(100.0, 0.0, -1, np.float32)
    e = c.copy()
    assert conjugate_steps(K, beta, e, lo, hi, 0.0, 25) == 25
    exact = K.astype(np.float64) @ beta + c
    np.testing.assert_allclose(e, exact, atol=1e-10)
    left = float((exact[beta > lo]).max() - (exact[beta < hi]).min())
    assert conjugate_steps(K, beta, e, lo, hi, 2.0 * left, 25) == 0  # good enough as it is
