import numpy as np
import pytest
from kernel_errors import within_errors

from hinge.kernels import Laplacian

X, Z = np.random.default_rng(0).standard_normal((2, 12, 4))


def literal(X, Z, gamma):
    return np.exp(-gamma * np.abs(X[:, None] - Z).sum(2))


@pytest.mark.parametrize("settings", [(0.1,), (2.0,)])
def test_it_is_the_formula(settings):
    kernel = Laplacian(*settings)
    expected = literal(X, Z, *settings)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag((X**2).sum(axis=1)), np.diag(literal(X, X, *settings)), rtol=1e-12)


@pytest.mark.parametrize("settings", [(0.1,), (2.0,)])
def test_values_in_float32_are_within_their_errors(settings):
    within_errors(Laplacian(*settings), X, literal(*(X.astype(np.float32).astype(float),) * 2, *settings))


def test_it_needs_the_points_themselves():
    assert Laplacian.needs_points and Laplacian.shifts
    assert np.linalg.eigvalsh(Laplacian(0.5)(X, X))[0] > 0
