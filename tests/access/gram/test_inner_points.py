import numpy as np
import pytest
import scipy.sparse as sp
from access.gram.point_kinds import REAL, block, gaussian

from hinge.access import as_points
from hinge.access.gram.as_points import SparsePoints
from hinge.kernels import Gaussian, Laplacian, Linear, Polynomial


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_far_from_zero_are_centred(dtype):
    """As the raw features of covtype: metres and degrees, none of them scaled."""
    rng = np.random.default_rng(1)
    centres = np.array([2959.0, 155.0, 14.0, 269.0, 46.0, 2350.0, 212.0, 223.0, 142.0, 1980.0])
    spread = np.array([280.0, 112.0, 7.5, 213.0, 58.0, 1559.0, 27.0, 20.0, 38.0, 1324.0])
    A = np.rint(centres + spread * rng.standard_normal((300, 10))).astype(dtype)
    points = as_points(A, Gaussian(1e-4))
    assert points.work == np.float64 and points.dtype == np.float32
    assert np.abs(block(points, range(300), range(300)) - gaussian(A, 1e-4)).max() < 1e-6
    exact = as_points(A, Gaussian(1e-4), exact=True)
    assert np.abs(block(exact, range(300), range(300)) - gaussian(A, 1e-4)).max() < 1e-12
    far = (A * 0.01 + 1e4).astype(dtype)
    points = as_points(far, Gaussian(0.01))
    assert np.abs(block(points, range(300), range(300)) - gaussian(far, 0.01)).max() < 1e-4
    assert points.dtype == np.float32 and points.centre is not None


def test_sparse_points_that_float32_cannot_tell_apart():
    A = 1e3 + np.random.default_rng(3).standard_normal((40, 9))
    points = as_points(sp.csr_array(A), Gaussian(0.5))
    assert points.work == np.float64 and points.dtype == np.float32
    np.testing.assert_allclose(block(points, range(40), range(40)), gaussian(A, 0.5), rtol=1e-5, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.5), Gaussian(1e6), Polynomial(2), Laplacian(0.5)])
@pytest.mark.parametrize("exact", [False, True])
def test_thin_rows(kernel, exact):
    S = sp.random_array((60, 900), density=0.01, rng=np.random.default_rng(4), format="csr")
    points = as_points(S, kernel, exact=exact)
    assert type(points) is SparsePoints and points._thin
    expected = block(as_points(S.toarray(), kernel, exact=True), range(60), range(60))
    np.testing.assert_allclose(block(points, range(60), range(60)), expected, rtol=1e-5, atol=1e-5)


def test_values_too_large_for_float32():
    A = 1e4 * np.random.default_rng(1).standard_normal((20, 3))
    points = as_points(A, Polynomial(5))
    assert points.dtype == np.float64
    assert np.isfinite(block(points, range(20), range(20))).all()
    whole = np.rint(A).astype(np.float32)
    assert as_points(whole, Polynomial(5)).dtype == np.float64
    assert as_points(sp.csr_array(A), Polynomial(5)).dtype == np.float64
    assert as_points(1e25 * REAL, Linear()).dtype == np.float64


@pytest.mark.parametrize("data", [REAL, sp.csr_array(REAL)])
def test_values_too_large_for_any_type_are_refused(data):
    row = int((REAL**2).sum(1).argmax())
    with pytest.raises(ValueError, match=rf"overflow: the point of row {row} has the squared norm .*degree=400"):
        as_points(1e3 * data, Polynomial(400))
    with pytest.raises(ValueError, match="overflow"):
        as_points(1e160 * data, Linear())
