import numpy as np
import pytest
import scipy.sparse as sp
from access.gram.points.made_up import PIXELS, block, gaussian, needs_instruction

from hinge.access import as_points
from hinge.access.gram.points import as_points as module
from hinge.access.gram.points.as_points import BitPoints, BytePoints, DensePoints, SparsePoints
from hinge.kernels import Gaussian, Linear


@pytest.mark.slow
@needs_instruction
def test_bytes_where_they_fit(monkeypatch):
    pixels = np.tile(PIXELS, 6)
    assert type(as_points(pixels / 255, Gaussian(1.0))) is BytePoints
    assert type(as_points(sp.csr_array(pixels), Linear())) is BytePoints
    assert type(as_points(pixels / 255, Gaussian(1.0), most_bytes=1000)) is DensePoints
    assert type(as_points(pixels / 255, Gaussian(1.0), exact=True)) is DensePoints
    wide = sp.csr_array((2.0 * np.ones(300), (np.arange(300) % 3, np.arange(300))), (3, 40_000))
    wide.data[0] = 1.0
    assert type(as_points(wide, Linear())) is SparsePoints  # sums would not fit 32 bits
    wide.data[:] = 2.0
    assert type(as_points(wide, Linear())) is BitPoints
    monkeypatch.setattr(module, "FEWEST", 145)
    assert type(as_points(pixels / 255, Gaussian(1.0))) is DensePoints


def test_rows_with_many_ones_are_no_bits():
    dense = np.ones((3, 400))
    dense[0, :200] = 0
    assert type(as_points(dense, Linear())) is not BitPoints
    np.testing.assert_array_equal(block(as_points(dense, Linear()), range(3), range(3)), dense @ dense.T)


def test_whole_numbers_are_centred_without_wrapping():
    A = np.random.default_rng(2).integers(100, 250, (60, 5)).astype(np.uint8)
    points = as_points(A, Gaussian(0.01), most_bytes=0)
    assert type(points) is DensePoints and points.centre is not None
    np.testing.assert_allclose(block(points, range(60), range(60)), gaussian(A, 0.01), atol=1e-5)


@needs_instruction
@pytest.mark.parametrize(("largest", "exact"), [(40, True), (255, False)])
def test_distances_that_single_precision_does_not_hold_can_be_had_more_exactly(largest, exact):
    X = np.random.default_rng(0).integers(0, largest + 1, (5, 784)).astype(np.uint8)
    double = as_points(X, Gaussian(1e-6)).finer
    assert type(double) is BytePoints and double.dtype == np.float64
    assert (double.finer is None) == exact
    if not exact:
        distances = ((X[:, None].astype(float) - X) ** 2).sum(2)
        np.testing.assert_allclose(block(double.finer, range(5), range(5)), np.exp(-1e-6 * distances), rtol=1e-14)
