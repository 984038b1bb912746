import numpy as np
import pytest
from kernel_errors import within_errors

from hinge.kernels import Linear

X, Z = np.random.default_rng(0).standard_normal((2, 12, 4))


def literal(X, Z):
    return X @ Z.T


@pytest.mark.parametrize("settings", [()])
def test_it_is_the_formula(settings):
    kernel = Linear(*settings)
    expected = literal(X, Z, *settings)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag((X**2).sum(axis=1)), np.diag(literal(X, X, *settings)), rtol=1e-12)


@pytest.mark.parametrize("settings", [()])
def test_values_in_float32_are_within_their_errors(settings):
    within_errors(Linear(*settings), X, literal(*(X.astype(np.float32).astype(float),) * 2, *settings))


def test_it_may_not_be_centred():
    assert not Linear.shifts and not Linear().indefinite
