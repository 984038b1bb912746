"""Features of landmarks: independent ones are kept, their inner products are kernel values, and they are shared."""

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Laplacian, Linear
from hinge.solvers.kernel.features import coefficients, features_of


def gram_of(X, kernel, exact=True):
    return Gram(as_points(X, kernel, exact=exact))


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((60, 3))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)], ids=str)
def test_inner_products_are_kernel_values_with_landmarks(points, kernel):
    gram, asked = gram_of(points, kernel), np.arange(0, 60, 3)
    found = features_of(gram, asked)
    Z, K = np.asarray(found.matrix.whole()), kernel(points, points)
    kept = found.landmarks
    np.testing.assert_allclose(Z @ Z[kept].T, K[:, kept], atol=1e-9)
    np.testing.assert_allclose(found.rest, np.diag(K) - (Z**2).sum(1), atol=1e-12)
    assert np.array_equal(np.sort(kept), asked) and found.rest.min() >= 0.0
    u = np.random.default_rng(1).standard_normal(len(kept))
    np.testing.assert_allclose(K[:, kept] @ coefficients(gram, found.factor, u), Z @ u, atol=1e-9)


def test_points_that_occur_twice_are_kept_once(points):
    X = np.concatenate([points] * 3)
    kept = features_of(gram_of(X, Gaussian(2.0)), np.arange(180)).landmarks
    assert len(kept) == 60 == len(np.unique(X[kept], axis=0))


def test_a_kernel_of_low_rank_keeps_as_many_landmarks(points):
    found = features_of(gram_of(points, Linear()), np.arange(50))
    assert len(found.landmarks) == 3 and found.rest.max() < 1e-12


def test_features_are_kept_with_the_gram(points):
    gram = gram_of(points, Gaussian(1.0))
    found = features_of(gram, np.arange(9))
    spent = gram.evals
    assert features_of(gram, np.arange(9)) is found and gram.evals == spent
    assert features_of(gram, np.arange(8)) is not found and gram.evals > spent


def test_a_device_has_the_same_inner_products(points):
    pytest.importorskip("torch")
    from hinge.access.gram.device import DeviceGram

    X, asked = points.astype(np.float32), np.arange(0, 60, 3)
    there = features_of(DeviceGram(X, Gaussian(0.5), "cpu"), asked)
    w = np.random.default_rng(1).standard_normal(len(asked))
    sums = np.zeros(len(asked))
    there.matrix.combine(np.ones(60), 0, 60, sums)
    Z = np.stack([there.matrix.responses(one, 0, 60) for one in np.eye(len(asked))], 1)
    np.testing.assert_allclose(Z @ Z[asked].T, Gaussian(0.5)(X, X)[:, asked], atol=1e-4)
    np.testing.assert_allclose(sums, Z.sum(0), atol=1e-4)
    np.testing.assert_allclose(there.matrix.responses(w, 10, 20), (Z @ w)[10:20], atol=1e-4)
    assert there.matrix.largest_norm() == pytest.approx(np.sqrt((Z**2).sum(1).max()), rel=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(points, value):
    bad = Function(lambda A, B: np.where(A @ B.T > 0.5, value, 1.0), on="blocks")
    with pytest.raises(ValueError, match="finite"):
        features_of(gram_of(points, bad), np.arange(60))
