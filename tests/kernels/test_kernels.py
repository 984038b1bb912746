import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from hinge.access import as_points
from hinge.kernels import Function, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, namespace

RNG = np.random.default_rng(0)


X, Z = RNG.standard_normal((31, 7)), RNG.standard_normal((18, 7))


KERNELS = [
    (Linear(), lambda X, Z: pairwise.linear_kernel(X, Z)),
    (Gaussian(0.2), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.2)),
    (Polynomial(3, 0.4, 1.5), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=1.5)),
    (Polynomial(2, 0.4), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=2, gamma=0.4, coef0=0)),
    (Sigmoid(0.1, 0.3), lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.1, coef0=0.3)),
    (Laplacian(0.2), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.2)),
]


names = [type(kernel).__name__ for kernel, _ in KERNELS]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "reference"), KERNELS, ids=names)
def test_values_of_arrays(kernel, reference, dtype):
    values = kernel(X.astype(dtype), Z.astype(dtype))
    np.testing.assert_allclose(values, reference(X, Z), rtol=2e-5 if dtype == np.float32 else 1e-12, atol=1e-5)
    assert values.dtype in (dtype, np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "reference"), KERNELS, ids=names)
def test_values_of_points(kernel, reference, dtype, sparse, exact):
    data = X.astype(dtype)
    points = as_points(sp.csr_matrix(data) if sparse else data, kernel, exact=exact)
    out = np.empty((31, 31), points.dtype)
    points.fill(np.arange(31), np.arange(31), out)
    K = reference(data.astype(float), data.astype(float))
    single = points.dtype == np.float32
    np.testing.assert_allclose(out, K, rtol=3e-5 if single else 1e-10, atol=1e-5 if single else 1e-10)
    np.testing.assert_allclose(points.diag(), np.diag(K), rtol=1e-5)
    assert points.dtype == (np.float64 if exact or isinstance(kernel, Laplacian) else np.float32)


@pytest.mark.parametrize(("kernel", "reference"), KERNELS, ids=names)
def test_values_of_tensors(kernel, reference):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    values = kernel(torch.from_numpy(X), torch.from_numpy(Z))
    np.testing.assert_allclose(values.numpy(), reference(X, Z), rtol=1e-9)
    own = kernel.diag(torch.from_numpy((X * X).sum(1)))
    np.testing.assert_allclose(own.numpy(), np.diag(reference(X, X)), rtol=1e-9)
    assert namespace(values) is torch


def test_only_shifts_may_be_centred():
    assert [kernel.shifts for kernel, _ in KERNELS] == [False, True, False, False, False, True]
    shifted = [np.allclose(kernel(X + 1, Z + 1), kernel(X, Z)) for kernel, _ in KERNELS]
    assert shifted == [kernel.shifts for kernel, _ in KERNELS]


# --- functions --------------------------------------------------------------------------------


def test_functions_are_checked():
    with pytest.raises(TypeError, match="a name or a callable, got 3"):
        Function(3)
    with pytest.raises(ValueError, match="'pairs', 'blocks' or 'indices', not 'rows'"):
        Function(min, on="rows")
    assert Precomputed() == Precomputed() and Gaussian(1.0) != Gaussian(2.0)
