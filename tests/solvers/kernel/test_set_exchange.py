import numpy as np
import pytest

from hinge.problems.svm.kernel_duality import width_of
from hinge.solvers.kernel.conjugate_steps import pair_steps, single_steps
from hinge.solvers.kernel.set_exchange import MOST_FREE, exchange_sets


def steps(free, K, beta, e, lo, hi, tol, most, epsilon):
    """Pairs that move alone or, without a bias, single coordinates."""
    if free:
        return pair_steps(K, beta, e, lo, hi, tol, most, epsilon or 0.0, len(beta), False)
    return single_steps(K, beta, e, lo, hi, tol, most, width_of(epsilon))


def problem_of(n=160, C=20.0, seed=0, labels=False, d=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    t = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))
    if labels:
        y = np.where(t > 0, 1.0, -1.0)
        return K, -y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    return K, -t, np.full(n, -C), np.full(n, C)


def value(K, c, beta, epsilon):
    return 0.5 * beta @ K @ beta + c @ beta + epsilon * np.abs(beta).sum()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(("labels", "epsilon"), [(False, 0.1), (False, 0.0), (True, None)])
@pytest.mark.parametrize("C", [2.0, 20.0, 1000.0])
def test_it_ends_at_the_optimum(free, labels, epsilon, C):
    K, c, lo, hi = problem_of(C=C, labels=labels)
    beta, e = np.zeros(len(c)), c.copy()
    steps(free, K, beta, e, lo, hi, 0.0, 600, epsilon)
    before = value(K, c, beta, epsilon or 0.0)
    assert exchange_sets(K, beta, e, lo, hi, free, epsilon)
    assert value(K, c, beta, epsilon or 0.0) < before
    np.testing.assert_allclose(e, K @ beta + c, atol=1e-9 * max(1.0, C))
    assert ((beta >= lo) & (beta <= hi)).all()
    if free:
        assert beta.sum() == pytest.approx(0.0, abs=1e-8 * C)
    assert steps(free, K, beta, e, lo, hi, 1e-3, 100, epsilon) < 100  # next to nothing is left to do


def test_values_in_single_precision_will_do():
    K, c, lo, hi = problem_of()
    single, beta, e = K.astype(np.float32), np.zeros(len(c)), c.copy()
    steps(True, single, beta, e, lo, hi, 0.0, 300, 0.05)
    assert exchange_sets(single, beta, e, lo, hi, True, 0.05)
    assert steps(True, single, beta, e, lo, hi, 1e-3, 100, 0.05) < 100
    assert beta.dtype == e.dtype == np.float64


def test_the_sum_that_is_there_stays():
    K, c, lo, hi = problem_of()
    beta = np.zeros(len(c))
    beta[:10] = 3.0
    e = K @ beta + c
    assert exchange_sets(K, beta, e, lo, hi, True, 0.1)
    assert beta.sum() == pytest.approx(30.0)


def test_it_takes_on_so_many_points_and_no_more():
    n = MOST_FREE + 1
    beta, e = np.full(n, 0.5), np.ones(n)
    many = np.broadcast_to(np.zeros(1), (n, n))
    assert not exchange_sets(many, beta, e, np.zeros(n), np.ones(n), False)
    assert (beta == 0.5).all() and (e == 1.0).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("single", [False, True])
def test_where_it_goes_round_in_circles_the_objective_falls_all_the_same(d, C, single):
    K, c, lo, hi = problem_of(C=C, d=d)
    K = K.astype(np.float32) if single else K
    beta, e = np.zeros(len(c)), c.copy()
    steps(True, K, beta, e, lo, hi, 0.0, 300, 0.05)
    for _ in range(3):
        before = value(K.astype(float), c, beta, 0.05)
        exchange_sets(K, beta, e, lo, hi, True, 0.05)
        assert value(K.astype(float), c, beta, 0.05) <= before + (1e-6 if single else 1e-9) * abs(before)
        # Pair steps in single precision leave e as exact as that.
        np.testing.assert_allclose(e, K.astype(float) @ beta + c, atol=(1e-5 if single else 1e-9) * max(1.0, C))
        assert ((beta >= lo) & (beta <= hi)).all() and beta.sum() == pytest.approx(0.0, abs=1e-7 * C)


def test_a_singular_matrix_does_no_harm():
    X = np.random.default_rng(3).standard_normal((80, 2))
    K, t = X @ X.T, X[:, 0] + 0.1 * X[:, 1] ** 2
    lo, hi, beta, e = np.full(80, -5.0), np.full(80, 5.0), np.zeros(80), -t
    steps(True, K, beta, e, lo, hi, 0.0, 50, 0.01)
    before = value(K, -t, beta, 0.01)
    exchange_sets(K, beta, e, lo, hi, True, 0.01)
    assert value(K, -t, beta, 0.01) <= before
    np.testing.assert_allclose(e, K @ beta - t, atol=1e-9)
