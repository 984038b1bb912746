import numpy as np
import pytest

from hinge.problems.svm.quantiles import quantile


@pytest.mark.parametrize("seed", range(20))
def test_the_mass_up_to_it_is_the_target(seed):
    rng = np.random.default_rng(seed)
    values, mass = rng.standard_normal(37), rng.uniform(0.1, 2.0, 37)
    target = float(rng.uniform(0, mass.sum()))
    low, high = quantile(values.copy(), mass.copy(), target)
    assert low == high
    assert mass[values < low].sum() < target <= mass[values <= low].sum()


def test_between_two_values_both_are_given():
    values, mass = np.array([3.0, 1.0, 2.0, 9.0]), np.array([0.5, 1.0, 1.0, 4.0])
    assert quantile(values.copy(), mass.copy(), 2.0) == (2.0, 3.0)
    assert quantile(values.copy(), mass.copy(), 2.1) == (3.0, 3.0)
    assert quantile(values, mass, 100.0) == (9.0, 9.0)
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0, 9.0])
    np.testing.assert_array_equal(mass, [1.0, 1.0, 0.5, 4.0])
