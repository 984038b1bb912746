import numpy as np
import pytest
from scipy.optimize import linprog

from hinge.access.tables.table import EVERYWHERE
from hinge.sampling import draw_unit, key_of
from hinge.solvers.cells import simba_exact as exact


@pytest.mark.parametrize("count", [0.0, 0.5, 3.0, 7.25, 12.0, 1e30])
def test_the_greedy_slack_is_the_best_one(count):
    p = np.random.default_rng(0).dirichlet(np.ones(12))
    xi = exact.greedy_slack(p, count)
    best = linprog(-p, np.ones((1, 12)), [2 * min(count, 12)], bounds=[(0, 2)] * 12)
    assert p @ xi == pytest.approx(-best.fun)
    assert xi.sum() == pytest.approx(2 * min(count, 12.0))


def test_ties_share_what_is_left():
    p = np.array([0.4, 0.2, 0.2, 0.2])
    assert exact.greedy_slack(p, 2.0).tolist() == pytest.approx([2.0, 2 / 3, 2 / 3, 2 / 3])
    assert exact.cut_of(p, 4.0) == (0.0, 1.0)


@pytest.mark.slow
def test_lines_5_to_7():
    state = exact.start(5, 4)
    row, key = np.array([0.3, 0.0, -0.4, 0.0]), key_of(1)
    j, ratio = exact.add_point(exact.bare(state), EVERYWHERE, row, 2.0, 1, key, np.inf)
    np.testing.assert_allclose(state.u, 2 * row)
    np.testing.assert_allclose(state.w_sum, 2 * row / max(1.0, 1.0))
    chance = row**2 / (row @ row)
    assert j == np.flatnonzero(np.cumsum(chance) > draw_unit(key, 3))[0]
    assert ratio == pytest.approx(4 * row @ row / (2 * row[j]))
    # a compressed row is the same row
    other = exact.start(5, 4)
    exact.add_point(exact.bare(other), np.array([0, 2]), row[[0, 2]], 2.0, 1, key, np.inf)
    np.testing.assert_array_equal(other.u, state.u)


def test_rows_outside_of_the_ball_and_rows_of_zeros():
    state, key = exact.start(5, 4), key_of(1)
    assert exact.add_point(exact.bare(state), EVERYWHERE, np.full(4, 0.9), 1.0, 1, key, 1.0)[0] == exact.OUTSIDE
    assert not state.u.any()
    assert exact.add_point(exact.bare(state), EVERYWHERE, np.zeros(4), 1.0, 1, key, 1.0) == (-1, 0.0)


@pytest.mark.slow
def test_lines_8_to_13():
    rng = np.random.default_rng(2)
    state, y = exact.start(6, 3), np.array([1.0, -1, 1, 1, -1, -1])
    state.p[:] = rng.dirichlet(np.ones(6))
    p, column, eta = state.p.copy(), rng.standard_normal(6), 0.2
    state.numbers["b"] = 0.5
    exact.reweigh(exact.bare(state), y, EVERYWHERE, column, 1.5, eta, 1, 1.0, 1)
    xi = np.zeros(6)
    xi[np.argmax(p)] = 2.0
    z = np.clip(eta * (y * column * 1.5 + xi + y * 0.5), -1, 1)
    expected = p * (1 - z + z**2)
    np.testing.assert_allclose(state.p, expected / expected.sum(), rtol=1e-12)


@pytest.mark.slow
def test_the_point_is_drawn_by_p_and_the_sums_grow():
    state, y, key = exact.start(4, 2), np.array([1.0, 1, -1, -1]), key_of(5)
    state.p[:] = [0.1, 0.2, 0.3, 0.4]
    i = exact.choose_point(exact.bare(state), y, 3, key, True, 1.0, 1)
    assert i == np.flatnonzero(np.cumsum(state.p) > draw_unit(key, 6))[0]
    w, p, b = exact.sums(state)
    assert not w.any() and p.tolist() == [0.1, 0.2, 0.3, 0.4] and b == -1.0
    assert exact.sign_of(1e-12) == 0.0
