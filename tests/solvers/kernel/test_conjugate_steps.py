"""Pair steps that are conjugate to one another."""

import numpy as np
import pytest

from hinge.solvers.kernel.conjugate_steps import pair_moves, pair_steps

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
    if cut < N:
        side = np.where(np.arange(N) < cut, 1.0, -1.0)
        y, lo, hi, beta = np.zeros(N), np.minimum(C * side, 0.0), np.maximum(C * side, 0.0), 0.3 * C * side
    return K, beta, -y, lo, hi


@pytest.mark.parametrize(("C", "epsilon", "cut"), [(1.0, 0.0, N), (1000.0, 0.0, N), (100.0, 0.1, N), (5.0, 0.0, 20)])
def test_the_same_least_value_in_fewer_steps(C, epsilon, cut):
    K, beta, c, lo, hi = problem(C, epsilon, cut, np.float64)
    sums = beta[:cut].sum(), beta[cut:].sum()
    values, steps = [], []
    for conjugate in (False, True):
        b = beta.copy()
        e = K @ b + c
        steps.append(pair_steps(K, b, e, lo, hi, 1e-5, 20_000, epsilon, cut, conjugate))
        np.testing.assert_allclose(e, K @ b + c, atol=1e-9 * C)
        assert ((lo <= b) & (b <= hi)).all()
        assert (b[:cut].sum(), b[cut:].sum()) == pytest.approx(sums, abs=1e-9 * C)
        values.append(0.5 * b @ K @ b + c @ b + epsilon * np.abs(b).sum())
    assert values[1] == pytest.approx(values[0], abs=1e-5 * (1 + abs(values[0])))
    assert steps[1] < (1.2 if C == 1.0 else 0.6) * steps[0]


def test_single_precision_values_and_a_limit():
    K, beta, c, lo, hi = problem(100.0, 0.0, N, np.float32)
    e = c.copy()
    assert pair_steps(K, beta, e, lo, hi, 0.0, 25, 0.0, N, True) == 25
    exact = K.astype(np.float64) @ beta + c
    np.testing.assert_allclose(e, exact, atol=1e-10)
    left = float((exact[beta > lo]).max() - (exact[beta < hi]).min())
    assert pair_steps(K, beta, e, lo, hi, 2.0 * left, 25, 0.0, N, True) == 0  # good enough as it is


def test_a_point_that_left_zero_does_not_pass_it_unseen():
    """Else it is put back to zero later, and the sum of the others is no longer zero."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(5, 60))
        X = rng.standard_normal((n, 3))
        K, t, bound = X @ X.T, X.sum(1) + 0.5 * rng.standard_normal(n), np.full(n, 3.0)
        beta, e = np.zeros(n), -t
        pair_steps(K, beta, e, -bound, bound, 1e-6, 2000, 0.1, n, True)
        assert abs(beta.sum()) < 1e-9


def test_rounding_of_kernel_values_does_not_choose_among_equal_points():
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((700, 2)), 1)  # most rows occur several times, and in two chunks
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0, 1.0, -1.0)
    lo, hi, answers = np.minimum(y, 0.0), np.maximum(y, 0.0), []
    for last_digit in (0.0, 2.2e-16):
        noise = rng.integers(-2, 3, (len(X), len(X)))
        K, beta, e = X @ X.T * (1.0 + last_digit * (np.triu(noise) + np.triu(noise, 1).T)), np.zeros(len(X)), -y
        pair_steps(K, beta, e, lo, hi, 1e-2, 150, 0.0, len(X), True)
        answers.append(beta)
    assert np.count_nonzero(answers[0]) > 100
    np.testing.assert_allclose(answers[1], answers[0], atol=1e-9)


def test_rows_where_they_lie_give_the_answer_of_a_block():
    K, beta, c, lo, hi = problem(100.0, 0.0, N, np.float32)
    some = np.arange(0, N, 2)
    there, mine = beta.copy(), beta[some].copy()
    lines, low, high = np.full(N, -1), beta.copy(), beta.copy()
    lines[some], low[some], high[some] = np.arange(len(some)), lo[some], hi[some]
    K_some = np.ascontiguousarray(K[np.ix_(some, some)])
    pair_moves(
        K_some, np.arange(len(some)), mine, c[some], lo[some], hi[some], 1e-4, 0, 1e-4, 5000, 0.0, len(some), True
    )
    pair_moves(np.ascontiguousarray(K[some]), lines, there, c, low, high, 1e-4, 0, 1e-4, 5000, 0.0, N, True)
    np.testing.assert_array_equal(there[some], mine)
    assert mine.any() and not there[1::2].any()


def test_slopes_far_from_zero_lose_nothing_in_single_precision():
    """What all slopes have in common is no violation, and may be large."""
    K, beta, c, lo, hi = problem(100.0, 0.0, N, np.float32)
    answers = []
    for shift in (0.0, 2.0**20):
        b = beta.copy()
        pair_steps(K, b, c + shift, lo, hi, 1e-3, 20_000, 0.0, N, True)
        answers.append(b)
    np.testing.assert_array_equal(*answers)


def test_fine_for_so_many_steps_then_rough():
    K, beta, c, lo, hi = problem(1000.0, 0.0, N, np.float64)
    rough, more, fine = (
        pair_moves(K, np.arange(N), beta.copy(), c, lo, hi, 1e-6, many, 0.5, 10_000, 0.0, N, True)
        for many in (0, 200, 10_000)
    )
    assert rough < 200 <= more < fine


@pytest.mark.parametrize("exponent", [-330, -70, 70, 330])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_kernel_values_of_any_size_have_the_same_steps(exponent, C):
    """Of values beyond the range of single precision the worst pair was not found: coefficients became nan."""
    K, beta, c, lo, hi = problem(C, 0.0, N, np.float64)
    e, other, unit = c.copy(), beta.copy(), 4.0**exponent
    steps = pair_steps(K, beta, e, lo, hi, 1e-5, 20_000, 0.0, N, True)
    assert pair_steps(unit * K, other, c, lo / unit, hi / unit, 1e-5, 20_000, 0.0, N, True) == steps
    np.testing.assert_array_equal(unit * other, beta)
    np.testing.assert_array_equal(c, e)


def test_points_near_zero_move_as_far_as_they_could_alone():
    """Beside values of 1 those of 1e-16 were taken for 1e-12, and moved ten thousand times less far than they could."""
    K, y = np.diag([1.0, 1.0, 1e-16, 1e-16]), np.array([1.0, -1.0, 1.0, -1.0])
    beta, e = np.zeros(4), -y
    steps = pair_steps(K, beta, e, np.minimum(1e18 * y, 0.0), np.maximum(1e18 * y, 0.0), 1e-9, 20, 0.0, 4, True)
    assert steps < 20
    np.testing.assert_allclose(beta, y / np.diag(K), rtol=1e-6)
