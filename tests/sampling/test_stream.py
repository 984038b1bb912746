import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from hinge.sampling import draw_index, draw_unit, key_of, stream_of
from hinge.sampling.stream import pick, pick_square


def units(key, counters):
    return np.array([draw_unit(key, c) for c in counters])


def test_a_draw_is_a_function_of_key_and_counter():
    key = key_of(3)
    forwards = units(key, range(50))
    backwards = units(key, range(49, -1, -1))
    assert forwards.tolist() == backwards[::-1].tolist()
    assert key_of(3) == key
    assert isinstance(key, np.uint64)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (1, 0), (0, 1), (12345, 7)])
def test_units_are_uniform(seed, stream):
    u = units(key_of(seed, stream), range(20_000))
    assert u.min() >= 0
    assert u.max() < 1
    assert kstest(u, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("stride", [1, 2, 7, 64])
def test_neighbouring_draws_are_independent(stride):
    # Solvers use counters that are a few apart: pairs fill the square evenly.
    key = key_of(0)
    u = units(key, range(0, 20_001 * stride, stride))
    cells = (8 * u[:-1]).astype(int) * 8 + (8 * u[1:]).astype(int)
    assert chisquare(np.bincount(cells[::2], minlength=64)).pvalue > 1e-3
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("n", [1, 2, 3, 10, 97, 1000])
def test_indices_are_uniform_and_in_range(n):
    key = key_of(4)
    draws = np.array([draw_index(key, c, n) for c in range(20 * max(n, 100))])
    assert draws.min() >= 0
    assert draws.max() < n
    if n > 1:
        assert chisquare(np.bincount(draws, minlength=n)).pvalue > 1e-3


def test_an_index_stays_in_range_at_the_largest_sizes():
    key = key_of(9)
    n = 2**31 + 11
    draws = np.array([draw_index(key, c, n) for c in range(2000)])
    assert draws.max() < n
    assert draws.min() >= 0
    assert draws.max() > 0.99 * n
    assert len(np.unique(draws)) == 2000


def test_streams_are_distinct():
    keys = {int(key_of(seed, stream)) for seed in range(40) for stream in range(5)}
    assert len(keys) == 200
    u, v = units(key_of(0), range(5000)), units(key_of(1), range(5000))
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.06
    # nor is one stream another one shifted
    assert len(np.intersect1d(u, v)) == 0


def test_every_number_has_a_stream_of_its_own():
    key = key_of(1)
    keys = [np.uint64(stream_of(key, number)) for number in range(200)]
    assert len(set(keys)) == 200
    assert kstest([draw_unit(k, 0) for k in keys], "uniform").pvalue > 1e-3


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
