import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.calibration.coupling import coupled


def pairs_of(P):
    """r of pairs that agree with these probabilities."""
    return np.stack([P[:, i] / (P[:, i] + P[:, j]) for i, j in itertools.combinations(range(P.shape[1]), 2)], axis=1)


@pytest.mark.parametrize("k", [3, 5, 12])
def test_pairs_that_agree_give_their_probabilities_back(k):
    P = np.random.default_rng(0).dirichlet(np.ones(k), 50)
    P = (P + 0.01) / (P + 0.01).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(coupled(pairs_of(P), k), P, atol=1e-8)


@pytest.mark.slow
def test_pairs_that_do_not_agree_give_the_nearest():
    pairs = np.random.default_rng(1).random((20, 6))
    found = coupled(pairs, 4)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    for r, p in zip(pairs, found, strict=True):

        def off(q, r=r):
            q = np.append(q, 1 - q.sum())
            both = zip(r, itertools.combinations(range(4), 2), strict=True)
            return sum(((1 - rij) * q[i] - rij * q[j]) ** 2 for rij, (i, j) in both)

        best = minimize(off, np.full(3, 0.25), method="BFGS", options={"gtol": 1e-10})
        np.testing.assert_allclose(p, np.append(best.x, 1 - best.x.sum()), atol=1e-5)


def test_certain_pairs_are_no_trouble():
    found = coupled(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]), 3)
    np.testing.assert_allclose(found[:2], [[1, 0, 0], [0, 0, 1]], atol=1e-5)
    np.testing.assert_allclose(found[2], np.full(3, 1 / 3), atol=1e-5)  # round in a circle


def test_rows_do_not_see_each_other():
    pairs = np.random.default_rng(2).random((70000, 3))  # more than one block
    np.testing.assert_allclose(coupled(pairs, 3)[-5:], coupled(pairs[-5:], 3), rtol=1e-12)
