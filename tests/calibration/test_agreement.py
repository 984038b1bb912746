"""Probabilities agree with predictions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.calibration.coupling import agreeing


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_largest_is_that_of_the_predicted_class(k):
    rng = np.random.default_rng(k)
    P = rng.dirichlet(np.ones(k), 2000)
    P[:100] = 1 / k
    P[100:200] = np.eye(k)[rng.integers(k, size=100)]
    predicted = rng.integers(k, size=2000)
    found = agreeing(P.copy(), predicted)
    np.testing.assert_array_equal(found.argmax(axis=1), predicted)
    others = found.copy()
    others[np.arange(2000), predicted] = -1
    assert (others.max(axis=1) < found.max(axis=1)).all()  # and no other is as large
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0).all()


def test_what_agrees_is_left_as_it_is():
    P = np.random.default_rng(0).dirichlet(np.ones(4), 100)
    np.testing.assert_array_equal(agreeing(P.copy(), P.argmax(axis=1)), P)


@pytest.mark.slow
def test_nothing_is_nearer_that_agrees():
    """By the Kullback-Leibler divergence from the probabilities as they were."""
    for p in np.random.default_rng(1).dirichlet(np.ones(4), 20):
        found = agreeing(p[None].copy(), np.array([2]))[0]
        best = minimize(
            lambda q, p=p: np.sum(p * np.log(p / np.maximum(q, 1e-12))),
            np.full(4, 0.25),
            method="SLSQP",
            bounds=[(1e-6, 1)] * 4,
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1},
                {"type": "ineq", "fun": lambda q: q[2] - q[[0, 1, 3]]},
            ],
        )
        np.testing.assert_allclose(found, best.x, atol=2e-3)
