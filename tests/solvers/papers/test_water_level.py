"""Water levels, beside sorting and linear programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hinge.solvers.papers.water_level import lowest_level, one_basin, two_basins

values = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=30)


def level_by_sorting(c, volume):
    low = np.sort(c)
    counts = np.arange(1, len(c) + 1)
    m = int((counts * low - np.cumsum(low) <= volume).sum())
    return (volume + low[:m].sum()) / m


@pytest.mark.slow
@settings(max_examples=200)
@given(values, st.floats(0, 20), st.floats(-10, 10) | st.just(np.inf))
def test_newton_finds_the_level_from_any_guess(c, volume, guess):
    c = np.array(c)
    gamma, wet = lowest_level(c, volume, guess)
    assert gamma == pytest.approx(level_by_sorting(c, volume), abs=1e-9)
    assert np.maximum(gamma - c, 0).sum() == pytest.approx(volume, abs=1e-8)
    assert wet == np.count_nonzero(c <= gamma)


@pytest.mark.parametrize("volume", [0.0, 0.3, 2.0, 50.0])
def test_arrays_of_a_device_have_the_same_level(volume):
    torch = pytest.importorskip("torch")
    c, points = np.array([3.0, -1.0, 2.0, -9.0, -1.0, 0.5]), np.array([0, 1, 2, 4, 5])
    here, there = one_basin(c, points, volume), one_basin(torch.tensor(c), torch.tensor(points), volume)
    assert there.gamma == pytest.approx(here.gamma, rel=1e-14)
    assert there.wet[0].tolist() == here.wet[0].tolist()


def test_no_slack_is_the_lowest_response():
    c = np.array([3.0, -1.0, 2.0, -1.0])
    level = one_basin(c, np.arange(4), 0.0)
    assert level.gamma == -1.0
    assert level.wet[0].tolist() == [1, 3]


def test_one_basin_of_some_points():
    c = np.array([-9.0, 1.0, 2.0, 3.0])
    level = one_basin(c, np.array([1, 2, 3]), 1.0)
    assert level.gamma == pytest.approx(2.0)
    assert level.wet[0].tolist() == [1, 2]


def mean_level_by_lp(c, y, volume):
    """max γ over γ, b, ξ ≥ 0 with Σξ ≤ V and cᵢ + yᵢb + ξᵢ ≥ γ."""
    n = len(c)
    cost = np.r_[-1.0, 0.0, np.zeros(n)]
    A = np.column_stack([np.ones(n), -y, -np.eye(n)])
    A = np.vstack([A, np.r_[0.0, 0.0, np.ones(n)]])
    found = linprog(cost, A, np.r_[c, volume], bounds=[(None, None)] * 2 + [(0, None)] * n)
    assert found.success
    return found.x[0]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(0, 6))
def test_two_basins_are_the_linear_program(seed, volume):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    c = np.round(rng.standard_normal(n), int(rng.integers(0, 4)))  # ties among them
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    level = two_basins(c, positive, negative, volume)
    assert level.gamma == pytest.approx(mean_level_by_lp(c, y, volume), abs=1e-6)
    assert np.maximum(level.gamma - c - y * level.b, 0).sum() <= volume + 1e-9  # the bias has that level
    assert len(level.wet[0]) == len(level.wet[1])
    for wet, side in zip(level.wet, (positive, negative), strict=True):
        dry = np.setdiff1d(side, wet)
        assert len(np.unique(wet)) == len(wet)
        assert len(dry) == 0 or c[wet].max() <= c[dry].min()


def test_a_class_that_is_all_wet_floods():
    c = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    sides = np.array([0, 1]), np.array([2, 3, 4])
    assert not two_basins(c, *sides, 0.5).floods
    assert two_basins(c, *sides, 50.0).floods


def test_a_batch_gets_as_many_points_as_it_asks_for():
    c = np.arange(20.0)
    level = two_basins(c, np.arange(0, 20, 2), np.arange(1, 20, 2), 0.0, least=4)
    assert [part.tolist() for part in level.wet] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert level.gamma == pytest.approx(0.5)
