import numpy as np
import pytest
import scipy.sparse as sp
from access.gram.point_kinds import ONEHOT, PIXELS, REAL, block, gaussian, needs_instruction

from hinge.access import Gram, as_points
from hinge.access.gram import as_points as module
from hinge.access.gram.as_points import (
    BitPoints,
    BytePoints,
    DensePoints,
    DifferencePoints,
    FunctionPoints,
    GivenPoints,
    SparsePoints,
)
from hinge.kernels import Function, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid


@pytest.mark.slow
def test_storage_by_data():
    assert type(as_points(REAL, Gaussian(1.0))) is DifferencePoints
    assert type(as_points(REAL, Gaussian(1.0), exact=True)) is DensePoints
    assert type(as_points(REAL, Gaussian(1.0), most_bytes=100)) is DensePoints
    assert type(as_points(np.tile(REAL, 2), Gaussian(1.0))) is DensePoints
    assert type(as_points(sp.csr_array(REAL), Gaussian(1.0))) is DifferencePoints  # as for the same numbers in full
    assert type(as_points(sp.csr_array(np.tile(REAL, 2)), Gaussian(1.0))) is SparsePoints
    assert type(as_points(ONEHOT, Gaussian(1.0))) is BitPoints
    assert type(as_points(sp.csr_matrix(ONEHOT), Polynomial(2))) is BitPoints
    assert type(as_points(ONEHOT * 0.3 + 0.1 * (ONEHOT == 0), Gaussian(1.0), exact=True)) is DensePoints
    assert type(as_points(ONEHOT, Laplacian(1.0))) is DensePoints
    assert type(as_points(np.eye(4), Precomputed())) is GivenPoints
    assert type(as_points(["a", "b"], Function(lambda x, z: 1.0))) is FunctionPoints
    points = as_points(REAL, Linear())
    assert as_points(points, Linear()) is points


@pytest.mark.parametrize("data", [ONEHOT, sp.csr_array(ONEHOT), PIXELS, PIXELS * 0.25])
def test_exact_values_of_whole_multiples_are_counted(data):
    """As exact as those of the numbers themselves, which take ten times as long."""
    points, dense = as_points(data, Gaussian(0.001), exact=True), data.toarray() if sp.issparse(data) else data
    if type(points) is DensePoints:
        pytest.skip("this processor has no dot product of bytes")
    assert points.dtype == np.float64
    assert np.abs(block(points, range(50), range(50)) - gaussian(dense, 0.001)).max() < 1e-14
    rounded = as_points((dense / 3).astype(np.float32), Gaussian(0.001), exact=True)
    assert type(rounded) is DensePoints or rounded._off == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.02), Polynomial(2, 0.5, 1.0), Sigmoid(0.01, 0.2)])
@pytest.mark.parametrize(
    "data", [REAL, REAL.astype(np.float32), sp.csr_array(REAL), PIXELS / 255, PIXELS.astype(np.uint8), ONEHOT]
)
def test_fill_and_fill_rows_agree(kernel, data):
    points = as_points(data, kernel)
    K = block(as_points(data, kernel, exact=True), range(50), range(50))
    rows, columns = np.array([4, 0, 17, 3, 49]), np.array([1, 30, 2, 4, 4, 9, 8])
    tile = block(points, rows, columns)
    np.testing.assert_allclose(tile, K[np.ix_(rows, columns)], rtol=3e-5, atol=3e-6 * np.abs(K).max())
    slab = np.full((9, 20), -7, points.dtype)
    slots = np.array([8, 1, 0, 5, 3])
    points.fill_rows(rows, columns, np.empty_like(tile), slab, slots, 6)
    np.testing.assert_array_equal(slab[slots, 6:13], tile)
    slab[slots, 6:13] = -7
    assert (slab == -7).all()
    np.testing.assert_allclose(points.diag(), np.diag(K), rtol=3e-5)


# --- given matrices ---------------------------------------------------------------------------


def test_given_matrices():
    K = gaussian(REAL, 0.1)
    for given in (K, K.astype(np.float32), np.rint(K).astype(int)):
        points = as_points(given, Precomputed())
        np.testing.assert_array_equal(block(points, [3, 1], [2, 9, 4]), given[np.ix_([3, 1], [2, 9, 4])])
        np.testing.assert_array_equal(points.diag(), np.diag(given))
    assert as_points(K.astype(np.float32), Precomputed()).dtype == np.float32


@pytest.mark.parametrize("given", [np.ones((3, 4)), np.ones(3), np.array([["a"]]), np.array([[1j]])])
def test_matrices_of_no_kernel(given):
    with pytest.raises(ValueError, match="square matrix of numbers"):
        as_points(given, Precomputed())


def test_given_matrices_are_symmetric():
    K = gaussian(REAL, 0.1)
    K[np.triu_indices(50, 1)] += 1e-4
    with pytest.raises(ValueError, match=r"not symmetric: K\[(\d+), (\d+)\] is [\d.]+ and K\[\2, \1\] is [\d.]+"):
        as_points(K, Precomputed())
    A = np.random.default_rng(1).standard_normal((50, 40)).astype(np.float32)
    as_points(np.array([[x @ z for z in A] for x in A]), Precomputed())  # but for rounding
    as_points(np.zeros((3, 3)), Precomputed())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_given_values_are_finite_where_they_are_used(bad):
    K = gaussian(REAL, 0.1)
    K[7, 9] = K[9, 7] = bad
    gram = Gram(as_points(K, Precomputed()))
    gram.rows(np.arange(7))
    with pytest.raises(ValueError, match=rf"gave {bad} for the points of rows 7 and 9"):
        gram.rows(np.array([6, 7, 8]))
    np.testing.assert_array_equal(gram.rows(np.array([6, 8])).combine(np.ones(2)), K[6] + K[8])


# --- functions --------------------------------------------------------------------------------


def test_items_of_any_kind():
    words = ["one", "two", "three", "four"]
    points = as_points(words, Function(lambda x, z: len(set(x) & set(z))))
    assert block(points, [0, 2], [0, 1]).tolist() == [[3, 1], [1, 1]]
    blocks = Function(lambda xs, zs: [[len(set(x) & set(z)) for z in zs] for x in xs], on="blocks")
    assert block(as_points(words, blocks), [0, 2], [0, 1]).tolist() == [[3, 1], [1, 1]]
    rows = as_points(sp.csr_array(REAL), Function(lambda x, z: (x @ z.T).toarray(), on="blocks"))
    assert rows.n == 50
    np.testing.assert_allclose(block(rows, [1, 2], [5]), REAL[[1, 2]] @ REAL[[5]].T)
    assert rows.diag() == pytest.approx((REAL**2).sum(1))


def test_blocks_of_the_wrong_shape():
    points = as_points(REAL, Function(lambda x, z: 1.0, on="blocks"))
    with pytest.raises(ValueError, match=r"block of 2 x 3 values and gave shape \(\)"):
        block(points, [0, 1], [0, 1, 2])


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
