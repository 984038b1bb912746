"""Steps in one coordinate: the optimum of a small dual problem without a bias."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.problems.svm.kernel_duality import ONE_SIDED, width_of
from hinge.solvers.kernel.conjugate_steps import pair_steps, single_steps


def steps(balanced, K, beta, e, lo, hi, tol, most, epsilon):
    """Steps of one coordinate or, where the sum is to stay, of pairs that move alone."""
    if balanced:
        return pair_steps(K, beta, e, lo, hi, tol, most, epsilon or 0.0, len(beta), False)
    return single_steps(K, beta, e, lo, hi, tol, most, width_of(epsilon))


def small_problem(seed, n=12):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 2 * n))
    K = A @ A.T / n + 0.01 * np.eye(n)
    lo, hi = -rng.random(n), rng.random(n)
    beta = rng.uniform(lo, hi)
    e = rng.standard_normal(n)
    return K, beta, e, lo, hi


def minimum(K, beta, e, lo, hi, balanced):
    """The smallest ½Δ'KΔ + e'Δ by a general solver."""
    constraints = [{"type": "eq", "fun": np.sum, "jac": np.ones_like}] if balanced else []
    found = minimize(
        lambda x: 0.5 * x @ K @ x + e @ x,
        np.zeros(len(e)),
        jac=lambda x: K @ x + e,
        bounds=list(zip(lo - beta, hi - beta, strict=True)),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("balanced", [True, False])
def test_steps_reach_the_minimum(seed, balanced):
    K, beta, e, lo, hi = small_problem(seed)
    new, pull = beta.copy(), e.copy()
    taken = steps(balanced, K, new, pull, lo, hi, 1e-10, 100_000, None)
    assert 0 < taken < 100_000
    change = new - beta
    assert ((new >= lo) & (new <= hi)).all()
    if balanced:
        assert change.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(pull, e + K @ change, atol=1e-9)  # the gradient is kept up
    value = 0.5 * change @ K @ change + e @ change
    assert value == pytest.approx(minimum(K, beta, e, lo, hi, balanced), abs=1e-7)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("balanced", [True, False])
def test_steps_with_epsilon_reach_the_minimum(seed, balanced):
    """The problem of twice as many variables, β = up - down, has no kinks."""
    K, beta, e, lo, hi = small_problem(seed)
    epsilon = (0.0, 0.1, 0.5, 3.0)[seed]
    new, pull = beta.copy(), e.copy()
    taken = steps(balanced, K, new, pull, lo, hi, 1e-10, 100_000, epsilon)
    assert 0 < taken < 100_000
    assert ((new >= lo) & (new <= hi)).all()
    np.testing.assert_allclose(pull, e + K @ (new - beta), atol=1e-9)
    n, start = len(e), e - K @ beta

    def value(x):
        return 0.5 * x @ K @ x + start @ x

    constraints = [{"type": "eq", "fun": lambda z: z[:n].sum() - z[n:].sum() - beta.sum()}] if balanced else []
    found = minimize(
        lambda z: value(z[:n] - z[n:]) + epsilon * z.sum(),
        np.maximum(np.r_[beta, -beta], 0),
        bounds=[(0, high) for high in np.r_[hi, -lo]],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert value(new) + epsilon * np.abs(new).sum() == pytest.approx(found.fun, abs=1e-6)
    assert epsilon < 3.0 or (new == 0).sum() > n // 2


def test_a_step_goes_on_beyond_zero():
    beta, e = np.array([-0.1, 0.1]), np.array([-2.0, 2.0])
    assert 1 < steps(True, np.eye(2), beta, e, -np.ones(2), np.ones(2), 1e-12, 10, 0.5) < 10  # one to zero at least
    np.testing.assert_allclose(beta, [1.0, -1.0])
    beta, e = np.array([-0.4]), np.array([-1.0])
    single_steps(np.eye(1), beta, e, -np.ones(1), np.ones(1), 1e-12, 10, 0.25)
    np.testing.assert_allclose(beta, [0.35])
    beta, e = np.array([-0.4]), np.array([-0.5])
    single_steps(np.eye(1), beta, e, -np.ones(1), np.ones(1), 1e-12, 10, 0.25)
    assert beta[0] == 0.0


@pytest.mark.parametrize("balanced", [True, False])
def test_every_step_gains_and_the_limit_is_kept(balanced):
    K, beta, e, lo, hi = small_problem(1)
    values = [0.0]
    for most in range(1, 8):
        new, pull = beta.copy(), e.copy()
        assert steps(balanced, K, new, pull, lo, hi, 0.0, most, None) == most
        change = new - beta
        values.append(0.5 * change @ K @ change + e @ change)
    assert (np.diff(values) < 0).all()


def test_bounds_are_met_exactly():
    K, e = np.eye(3), np.array([-5.0, 5.0, 0.0])
    beta = np.zeros(3)
    steps(True, K, beta, e, np.full(3, -0.3), np.full(3, 0.3), 1e-12, 100, None)
    assert beta.tolist()[:2] == [0.3, -0.3]
    beta, e = np.zeros(2), np.array([-5.0, 5.0])
    single_steps(np.eye(2), beta, e, np.full(2, -0.1), np.full(2, 0.7), 1e-12, 100, ONE_SIDED)
    assert beta.tolist() == [0.7, -0.1]


def test_nothing_to_do():
    beta, e = np.zeros(2), np.array([0.5, 0.5])
    assert steps(True, np.eye(2), beta, e, -np.ones(2), np.ones(2), 1e-12, 10, None) == 0
    assert single_steps(np.eye(2), beta, np.zeros(2), -np.ones(2), np.ones(2), 1e-12, 10, ONE_SIDED) == 0
    # where no coordinate can grow there is no pair
    assert steps(True, np.eye(2), np.ones(2), np.array([-1.0, 1.0]), -np.ones(2), np.ones(2), 1e-12, 10, None) == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_keeps_the_sums_of_both_sides(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 4))
    K, cut = A @ A.T + 0.1 * np.eye(12), 5
    lo, hi = np.zeros(12), np.ones(12)
    beta, e = np.full(12, 0.4), rng.standard_normal(12)
    start = e - K @ beta
    pair_steps(K, beta, e, lo, hi, 1e-10, 100_000, 0.0, cut, False)
    np.testing.assert_allclose(e, start + K @ beta, atol=1e-9)
    for side in (slice(0, cut), slice(cut, 12)):
        assert beta[side].sum() == pytest.approx(0.4 * len(beta[side]))
        grows, falls = beta[side] < 1, beta[side] > 0
        assert e[side][falls].max() - e[side][grows].min() <= 1e-9  # so that the sides have a level each
    assert ((beta >= 0) & (beta <= 1)).all()
