import numpy as np
import pytest
from kernel_errors import within_errors

from hinge.kernels import Polynomial

X, Z = np.random.default_rng(0).standard_normal((2, 12, 4))


def literal(X, Z, degree, gamma, coef0):
    return (gamma * X @ Z.T + coef0) ** degree


@pytest.mark.parametrize("settings", [(2, 0.5, 1.0), (3, 0.2, 0.0)])
def test_it_is_the_formula(settings):
    kernel = Polynomial(*settings)
    expected = literal(X, Z, *settings)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag((X**2).sum(axis=1)), np.diag(literal(X, X, *settings)), rtol=1e-12)


@pytest.mark.parametrize("settings", [(2, 0.5, 1.0), (3, 0.2, 0.0)])
def test_values_in_float32_are_within_their_errors(settings):
    within_errors(Polynomial(*settings), X, literal(*(X.astype(np.float32).astype(float),) * 2, *settings))


def test_where_it_is_positive():
    assert not Polynomial(3, 1.0, 1.0).indefinite
    assert Polynomial(3, 1.0, -0.1).indefinite and Polynomial(3, -1.0, 1.0).indefinite
    assert np.linalg.eigvalsh(Polynomial(2, 1.0, -5.0)(X, X))[0] < -1e-6  # as it says
