import numpy as np
import pytest

from hinge.sampling.categorical import pick, pick_square


def test_the_first_place_where_the_sum_exceeds_the_part():
    weights = np.array([0.0, 2.0, 0.0, 1.0, 1.0, 0.0])
    sums = np.cumsum(weights)
    for unit in np.arange(0, 1, 1 / 64):
        assert pick(weights, unit) == np.flatnonzero(sums > 4 * unit)[0]
    assert pick(weights, 1 - 2**-53) == 4  # never a place without weight


@pytest.mark.slow
def test_squares_are_drawn_and_summed():
    x = np.array([0.0, -1.0, 2.0, 0.0, 1.0], np.float32)
    for unit in np.arange(0, 1, 1 / 96):
        j, total = pick_square(x, unit)
        assert total == 6.0
        assert j == np.flatnonzero(np.cumsum(x**2) > 6 * unit)[0]


def test_nothing_to_draw_from():
    assert pick(np.zeros(3), 0.5) == -1
    assert pick_square(np.zeros(3), 0.5) == (-1, 0.0)


def test_frequencies_are_the_weights():
    weights = np.random.default_rng(0).dirichlet(np.ones(6))
    units = (np.arange(6000) + 0.5) / 6000
    found = np.bincount([pick(weights, u) for u in units], minlength=6) / 6000
    np.testing.assert_allclose(found, weights, atol=1 / 3000)


def test_rounding_of_the_sum_leads_nowhere_else():
    weights = np.full(10, 0.1)
    assert pick(weights, np.nextafter(1.0, 0)) == 9
    assert pick_square(np.sqrt(weights), np.nextafter(1.0, 0))[0] == 9
