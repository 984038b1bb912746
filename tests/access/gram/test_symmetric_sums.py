"""Sums over kernel values, most of which serve two points."""

import numpy as np
import pytest

from hinge.access import as_points
from hinge.access.gram.symmetric_sums import symmetric_sums
from hinge.kernels import Gaussian


def one_after_the_other(span, m, step):
    for lo in range(0, m, step):
        span(lo, min(lo + step, m))


@pytest.mark.parametrize(
    ("size", "width", "shared"), [(700, 900, 600), (300, 40, 0), (530, 530, 530), (5, 3, 2), (0, 4, 0)]
)
def test_the_sums_are_those_of_all_values(size, width, shared):
    """Rows and columns in any order, of which some are the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 6))
    points = as_points(X, Gaussian(0.1), exact=True)
    numbers = rng.permutation(1200)
    i = rng.permutation(numbers[:size])
    columns = rng.permutation(np.concatenate([numbers[:shared], numbers[size : size + width - shared]]))
    coef = rng.standard_normal((size, 3))
    sums, values = symmetric_sums(points, one_after_the_other, i, coef, columns)
    K = np.exp(-0.1 * ((X[columns, None] - X[None, i]) ** 2).sum(axis=2))
    np.testing.assert_allclose(sums, K @ coef, atol=1e-11)
    assert values <= size * width
    if shared > 512:
        assert values < 0.85 * size * width


def test_groups_may_be_shared_in_any_way():
    """The bits do not depend on how threads share the groups."""
    rng = np.random.default_rng(1)
    points = as_points(rng.standard_normal((600, 4)), Gaussian(0.5), exact=True)
    every, coef = np.arange(600), rng.standard_normal((600, 2))
    one, _ = symmetric_sums(points, lambda span, m, step: span(0, m), every, coef, every)
    other, _ = symmetric_sums(points, one_after_the_other, every, coef, every)
    np.testing.assert_array_equal(one, other)
