import numpy as np
import pytest

from hinge.solvers.saddle.multiplicative_weights import FLOOR, even, factor, reweigh


def test_definition_1():
    rng = np.random.default_rng(0)
    p, v, eta = rng.dirichlet(np.ones(20)), 0.8 * rng.standard_normal(20), 0.3
    expected = p * (1 - eta * v + eta**2 * v**2)
    clipped = reweigh(p, v, eta)
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-14)
    assert clipped == 0.0


def test_estimates_are_clipped_at_one_over_eta():
    assert factor(5.0) == factor(1.0) == 1.0
    assert factor(-5.0) == factor(-1.0) == 3.0
    assert factor(0.5) == 0.75 == min(factor(z) for z in np.linspace(-2, 2, 401))
    p = np.array([0.2, 0.3, 0.5])
    clipped = reweigh(p, np.array([100.0, -100.0, 0.0]), 0.1)
    assert clipped == pytest.approx(0.5)  # the mass of the two
    np.testing.assert_allclose(p, np.array([0.2, 0.9, 0.5]) / 1.6)


def test_no_weight_falls_to_nothing():
    p = np.array([1.0, 0.0])
    reweigh(p, np.zeros(2), 0.5)
    assert p[1] == FLOOR


def test_even():
    assert even(4).tolist() == [0.25] * 4
