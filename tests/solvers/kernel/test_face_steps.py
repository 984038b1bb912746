import numpy as np
import pytest

from hinge.solvers.kernel.face_steps import MOST_FREE, face_steps


def problem_of(seed, n=20, condition=1e-6):
    """A nearly singular K, a point within wide bounds, and its gradient."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    K = (Q * np.geomspace(condition, 1, n)) @ Q.T
    K = (K + K.T) / 2
    beta = 0.1 * rng.standard_normal(n)
    beta -= beta.mean()
    target = rng.standard_normal(n)
    return K, beta, K @ (beta - (target - target.mean()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("free", [False, True])
def test_within_wide_bounds_one_step_solves_it(seed, free):
    K, beta, e = problem_of(seed)
    before, limit = beta.copy(), np.full(20, 1e6)
    work = face_steps(K, beta, e, -limit, limit, free, 20)
    assert work > 0
    np.testing.assert_allclose(e, (problem_of(seed)[2]) + K @ (beta - before), atol=1e-6)
    if free:
        assert beta.sum() == pytest.approx(before.sum(), abs=1e-8)
        assert np.ptp(e) < 1e-4 * np.ptp(problem_of(seed)[2])  # one gradient for all
    else:
        assert np.abs(e).max() < 1e-4 * np.abs(problem_of(seed)[2]).max()


@pytest.mark.parametrize("free", [False, True])
def test_bounds_are_kept_and_the_value_falls(free):
    K, beta, e = problem_of(5)
    before, gradient = beta.copy(), e.copy()
    lo, hi = np.full(20, -0.5), np.full(20, 0.5)
    face_steps(K, beta, e, lo, hi, free, 20)
    assert ((beta >= lo) & (beta <= hi)).all()
    assert ((beta == lo) | (beta == hi)).any()
    change = beta - before
    assert 0.5 * change @ K @ change + gradient @ change < 0
    if free:
        assert change.sum() == pytest.approx(0, abs=1e-8)


def test_points_at_their_bounds_stay_there():
    K, beta, e = problem_of(6)
    lo, hi = np.full(20, -1e6), np.full(20, 1e6)
    lo[:5] = beta[:5]
    before = beta.copy()
    face_steps(K, beta, e, lo, hi, False, 20)
    assert (beta[:5] == before[:5]).all()
    assert (beta[5:] != before[5:]).any()


def test_too_many_points_are_left_alone():
    n = MOST_FREE + 1
    beta, e = np.zeros(n), np.ones(n)
    assert face_steps(np.eye(n), beta, e, -np.ones(n), np.ones(n), False, n) == 0.0
    assert not beta.any()


@pytest.mark.parametrize("twice", [False, True])
def test_a_cut_gives_either_side_a_sum_of_its_own(twice):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 8))
    A = np.vstack([A, A[:3]]) if twice else A  # the same points on both sides, so that K is singular
    n, cut = len(A), 6
    K = A @ A.T
    beta, e = np.zeros(n), np.r_[A @ rng.standard_normal(8)]
    start = e.copy()
    face_steps(K, beta, e, np.full(n, -100.0), np.full(n, 100.0), True, cut)
    np.testing.assert_allclose(e, start + K @ beta, atol=1e-6)
    for side in (slice(0, cut), slice(cut, n)):
        assert beta[side].sum() == pytest.approx(0, abs=1e-7)
        assert np.ptp(e[side]) <= 1e-5 * np.ptp(start)


@pytest.mark.parametrize("free", [False, True])
def test_points_of_any_size_are_placed_by_one_step(free):
    """What keeps the equations regular is small beside the values of each point, not beside the largest."""
    size, y = np.repeat([1.0, 1e-6], 4), np.tile([1.0, -1.0], 4)
    K = size[:, None] * size * (np.eye(8) + 0.1)
    beta, limit = np.zeros(8), np.full(8, 1e20)
    e = -y
    face_steps(K, beta, e, -limit, limit, free, 8)
    assert np.ptp(e) < 1e-3
