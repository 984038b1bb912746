import numpy as np
import pytest

from hinge.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from hinge.kernels.base import namespace


def test_a_kernel_of_inner_products_needs_no_more():
    class Square(Kernel):
        def of_dots(self, G, sq_x, sq_z):
            return G * G

    X, Z = np.random.default_rng(0).standard_normal((2, 5, 3))
    np.testing.assert_allclose(Square()(X, Z), (X @ Z.T) ** 2)
    np.testing.assert_allclose(Square().diag((X**2).sum(1)), (X**2).sum(1) ** 2)
    assert not Square().indefinite and not Square.shifts and not Square.needs_points
    assert Square().sum_errors(None, None, None, None, None) is None
    with pytest.raises(NotImplementedError):
        Square().errors(np.ones(2), 0.0, 0.0, np.zeros(2))


def test_the_module_of_an_array():
    assert namespace(np.ones(2)) is np and namespace(np.float64(1.0)) is np
    torch = pytest.importorskip("torch")
    assert namespace(torch.ones(2)) is torch


def test_settings_are_values():
    assert Linear() == Linear() and hash(Linear()) == hash(Linear())


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Polynomial, Sigmoid])
def test_whole_numbers_of_any_size_are_settings(kernel):
    X = np.array([[0.0, 1e-11], [2e-11, 0.0]])
    assert kernel(gamma=1) == kernel(gamma=1.0)
    np.testing.assert_array_equal(kernel(gamma=10**21)(X, X), kernel(gamma=1e21)(X, X))
