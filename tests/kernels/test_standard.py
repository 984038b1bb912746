import numpy as np
import pytest
from kernel_errors import within_errors

from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid

X, Z = np.random.default_rng(0).standard_normal((2, 12, 4))

FORMULAS = {
    Linear: lambda X, Z: X @ Z.T,
    Gaussian: lambda X, Z, gamma: np.exp(-gamma * ((X[:, None] - Z) ** 2).sum(2)),
    Polynomial: lambda X, Z, degree, gamma, coef0: (gamma * X @ Z.T + coef0) ** degree,
    Sigmoid: lambda X, Z, gamma, coef0: np.tanh(gamma * X @ Z.T + coef0),
    Laplacian: lambda X, Z, gamma: np.exp(-gamma * np.abs(X[:, None] - Z).sum(2)),
}
KERNELS = [
    Linear(),
    *(kind(gamma) for kind in (Gaussian, Laplacian) for gamma in (0.1, 2.0)),
    *(Polynomial(2, 0.5, 1.0), Polynomial(3, 0.2, 0.0), Sigmoid(0.1, 0.3), Sigmoid(1.0, -0.5)),
]


def literal(kernel, X, Z):
    return FORMULAS[type(kernel)](X, Z, *vars(kernel).values())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_the_formula(kernel):
    np.testing.assert_allclose(kernel(X, Z), literal(kernel, X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag((X**2).sum(axis=1)), np.diag(literal(kernel, X, X)), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_in_float32_are_within_their_errors(kernel):
    rounded = X.astype(np.float32).astype(float)
    within_errors(kernel, X, literal(kernel, rounded, rounded))


def test_which_may_be_centred():
    assert not Linear.shifts and Gaussian.shifts and Laplacian.shifts
    np.testing.assert_allclose(Gaussian(0.3)(X + 5, Z + 5), Gaussian(0.3)(X, Z), rtol=1e-10)


def test_where_they_are_positive():
    assert not Linear().indefinite and not Gaussian(1.0).indefinite and not Polynomial(3, 1.0, 1.0).indefinite
    assert Polynomial(3, 1.0, -0.1).indefinite and Polynomial(3, -1.0, 1.0).indefinite
    assert np.linalg.eigvalsh(Polynomial(2, 1.0, -5.0)(X, X))[0] < -1e-6  # as it says
    assert Sigmoid().indefinite
    assert np.linalg.eigvalsh(Sigmoid(1.0, -0.5)(X, X))[0] < -1e-6
    assert Laplacian.needs_points
    assert np.linalg.eigvalsh(Laplacian(0.5)(X, X))[0] > 0


K = np.add.outer(np.arange(6.0), np.arange(6.0)) + 10 * np.eye(6)


@pytest.mark.parametrize(
    ("items", "kernel"),
    [
        (K, Precomputed()),
        (range(6), Function(lambda i, j: K[i, j], on="indices")),
        (list(range(6)), Function(lambda x, z: K[x, z])),
        (list(range(6)), Function(lambda xs, zs: K[np.ix_(xs, zs)], on="blocks")),
    ],
)
def test_values_are_those_that_are_given(items, kernel):
    gram = Gram(as_points(items, kernel))
    np.testing.assert_allclose(gram.rows(np.arange(6)).block(), K)
    np.testing.assert_allclose(gram.diag, np.diag(K))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="a name or a callable, got 3"):
        Function(3)
    for on in ("rows", None, ["pairs"]):
        with pytest.raises(ValueError, match="'pairs', 'blocks' or 'indices'"):
            Function(max, on)
