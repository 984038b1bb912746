"""A point in a box that moves along a direction which every step turns."""

import numpy as np
import pytest

from hinge.solvers.kernel.conjugate_steps import LARGEST, go, new_line, place, point, reach, settle, turn

N = 12


def places(line):
    return np.array([place(line, k) for k in range(N)])


@pytest.mark.parametrize("size", [0.5, 5.0])  # of ln θ, which is often beyond what s may be
def test_it_moves_as_whole_vectors_would(size):
    rng = np.random.default_rng(0)
    low, high = np.full(N, -3.0), np.full(N, 2.0)
    beta, p = rng.uniform(-1, 1, N), np.zeros(N)
    line, met, blocked = new_line(beta), 0, 0
    for _ in range(300):
        i, j = rng.choice(N, 2, replace=False)
        d = np.zeros(N)
        d[i], d[j] = 1.0, -1.0
        theta = rng.choice([-1.0, 1.0]) * np.exp(size * rng.standard_normal())
        theta = theta if blocked < 0 else 0.0
        p = theta * p + d
        t = 0.5 * rng.exponential() / np.abs(p).max()
        if blocked >= 0:
            point(line, i, j)
        else:
            turn(line, theta, i, j, t, low, high)
        with np.errstate(divide="ignore"):
            room = np.where(p > 0, high - beta, np.where(p < 0, beta - low, np.inf)) / np.abs(np.where(p == 0, 1, p))
        far, blocked = reach(line, t, low, high)
        assert far == pytest.approx(min(t, max(room.min(), 0.0)), rel=1e-6, abs=1e-12)
        assert blocked == (room.argmin() if room.min() < t else -1)
        go(line, far, blocked, low, high)
        beta = beta + far * p
        np.testing.assert_allclose(places(line), beta, atol=1e-10)
        if blocked >= 0:
            met += 1
            beta[blocked] = high[blocked] if p[blocked] > 0 else low[blocked]
            assert place(line, blocked) == beta[blocked]  # to the last bit
    assert met > 3
    assert places(line).sum() == pytest.approx(beta.sum(), abs=1e-10)


def test_a_step_inside_the_known_ends_looks_at_no_other_point():
    low, high = np.full(N, -1.0), np.full(N, 1.0)
    line = new_line(np.zeros(N))
    point(line, 0, 1)
    assert reach(line, 0.5, low, high) == (0.5, -1)
    high[0] = 0.1  # which nobody is told
    assert reach(line, 0.9, low, high) == (0.9, -1)
    line.at[3] = 0.2
    assert reach(line, 0.9, low, high) == (0.1, 0)


def test_scales_stay_within_bounds_and_the_ends_with_them():
    low, high = np.full(N, -1.0), np.full(N, 1.0)
    line = new_line(np.zeros(N))
    point(line, 0, 1)
    reach(line, 0.5, low, high)
    go(line, 0.5, -1, low, high)
    before = places(line)
    turn(line, -2.0 * LARGEST, 2, 3, 1.0, low, high)
    assert line.at[1] == 1.0
    np.testing.assert_array_equal(places(line), before)
    far, blocked = reach(line, 1.0, low, high)  # p is -2,000 times what it was, so point 1 meets its end
    assert blocked in (0, 1)
    assert far == pytest.approx(1.5 / (2.0 * LARGEST))
    settle(line)
    np.testing.assert_array_equal(places(line), before)
