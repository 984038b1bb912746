"""Distances as sums of squared differences."""

import numpy as np
import pytest
from access.gram.point_kinds import block, gaussian

from hinge.access import Gram, as_points
from hinge.access.gram.as_points import DifferencePoints
from hinge.access.gram.inner_points import DensePoints
from hinge.kernels import Gaussian


def made(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("d", [1, 2, 5, 8])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_values_are_those_of_the_kernel_wherever_the_points_lie(d, shift):
    X = made(70, d) + shift
    points = DifferencePoints(X, Gaussian(0.7))
    rows = np.array([3, 69, 0, 3])
    np.testing.assert_allclose(block(points, rows, np.arange(70)), gaussian(X, 0.7)[rows], atol=1e-6)
    assert (block(points, rows, rows).diagonal() == 1.0).all()
    assert points.dtype == np.float32 and points.finer.dtype == np.float64


def test_other_columns_are_not_taken_for_the_last_ones():
    X = made(40, 3)
    points, whole = DifferencePoints(X, Gaussian(0.7)), gaussian(X, 0.7)
    for columns in (np.arange(10), np.arange(10, 20), np.arange(5)):
        np.testing.assert_allclose(block(points, [1, 2], columns), whole[1:3, columns], atol=1e-6)


def test_bounds_are_much_tighter_than_those_of_inner_products():
    """Of points far from the others: what is rounded of an inner product is relative to the norms."""
    X, beta = made(80, 2) + 30.0 * (np.arange(80) % 2)[:, None], np.random.default_rng(1).standard_normal(80)
    every, truth = np.arange(80), beta @ gaussian(X, 0.5)
    bounds = []
    for points in (DifferencePoints(X, Gaussian(0.5)), DensePoints(X, Gaussian(0.5), np.float32)):
        sums, bound = Gram(points).again(every, beta, every)
        assert (np.abs(sums - truth) <= bound).all()
        bounds.append(bound.max())
    assert bounds[0] < 0.1 * bounds[1]


def test_values_too_small_for_single_precision_are_zero_but_for_rounding():
    X = np.array([[0.0, 0.0], [1e3, 0.0], [-5e3, 0.0]])
    values = block(DifferencePoints(X, Gaussian(1.0)), range(3), range(3))
    assert (values[~np.eye(3, dtype=bool)] < 1e-37).all() and np.isfinite(values).all()


def test_a_point_too_far_away_is_told_and_left_to_double_precision():
    """The others are not to be told apart in single precision, less a centre that it has drawn away."""
    X = np.array([[0.0, 0.0], [1e3, 0.0], [1e9, 0.0]])
    assert DifferencePoints(X, Gaussian(1.0)).off_by > 1.0
    assert DifferencePoints(X[:2], Gaussian(1.0)).off_by < 1e-3
    points = as_points(X, Gaussian(1.0))
    assert not isinstance(points, DifferencePoints)
    assert block(points, [0], [1])[0, 0] < 1e-30
