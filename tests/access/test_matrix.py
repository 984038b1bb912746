from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import hinge.access.matrix as module
from hinge.access import Matrix, as_matrix, dot, read_row
from hinge.threads import allowing


@pytest.fixture(params=["dense", "csr"])
def stored(request, tiny, tiny_csr):
    """The tiny rows as NumPy sees them, and as a matrix does."""
    X = tiny[0] if request.param == "dense" else tiny_csr[0]
    return tiny[0], as_matrix(X)


def test_shape_and_sizes(tiny, tiny_csr):
    (X, _), (S, _) = tiny, tiny_csr
    dense, csr = as_matrix(X), as_matrix(S)
    assert dense.shape == csr.shape == (60, 7)
    assert (dense.n_cells, dense.max_row_cells, dense.is_sparse, dense.dtype) == (420, 7, False, np.float64)
    assert (csr.n_cells, csr.is_sparse, csr.dtype) == (np.count_nonzero(X), True, np.float32)
    assert csr.max_row_cells == np.count_nonzero(X, axis=1).max()
    assert as_matrix(dense) is dense


@pytest.mark.slow
def test_responses(stored):
    X, matrix = stored
    w = np.linspace(-1, 1, 7)
    np.testing.assert_allclose(matrix.responses(w, 0, 60), X @ w, atol=1e-12)
    np.testing.assert_allclose(matrix.responses(w, 13, 20), X[13:20] @ w, atol=1e-12)
    rows = np.array([5, 5, 59, 0])
    np.testing.assert_allclose(matrix.responses_at(rows, w), X[rows] @ w, atol=1e-12)
    assert matrix.responses(w, 4, 4).shape == (0,)


def test_combine_adds(stored):
    X, matrix = stored
    coef = np.linspace(-2, 2, 20)
    out = np.ones(7)
    matrix.combine(coef, 10, 30, out)
    np.testing.assert_allclose(out, 1 + X[10:30].T @ coef, atol=1e-12)


def test_reads_are_counted_unless_unbilled(stored):
    X, matrix = stored
    cells = np.count_nonzero(X, axis=1) if matrix.is_sparse else np.full(60, 7)
    w, expected = np.ones(7), 0

    def counts(rows):
        nonlocal expected
        expected += int(cells[rows].sum())
        assert matrix.reads == expected

    matrix.responses(w, 5, 25)
    counts(slice(5, 25))
    matrix.responses_at(np.array([3, 3, 9]), w)
    counts([3, 3, 9])
    coef = np.zeros(10)
    coef[[2, 7]] = 1.0
    matrix.combine(coef, 20, 30, np.zeros(7))
    counts([22, 27])  # rows without a coefficient are not read
    matrix.responses(w, 0, 60, billed=False)
    matrix.responses_at(np.array([1]), w, billed=False)
    counts([])


def test_typical_squared_norm_of_a_sample(stored):
    X, matrix = stored
    assert matrix.typical_sq_norm() == pytest.approx(np.median((X**2).sum(axis=1)))
    assert matrix.reads == matrix.n_cells
    before = matrix.reads
    every_fifteenth = matrix.typical_sq_norm(sample=4)
    assert every_fifteenth == pytest.approx(np.median((X[::15] ** 2).sum(axis=1)))
    rows = X[::15]
    assert matrix.reads - before == (np.count_nonzero(rows) if matrix.is_sparse else rows.size)


def test_squared_norms_are_remembered_for_all(stored):
    _, matrix = stored
    assert np.isnan(matrix.sq_norms).all()
    assert matrix.sq_norms.shape == (60,)
    matrix.sq_norms[3] = 2.0
    assert matrix.sq_norms[3] == 2.0
    assert matrix.reads == 0


def test_a_fork_counts_for_itself(stored):
    X, matrix = stored
    matrix.responses(np.ones(7), 0, 60)
    fork = matrix.fork()
    assert fork.reads == 0
    np.testing.assert_allclose(fork.responses(np.ones(7), 0, 60), X.sum(axis=1), atol=1e-12)
    assert fork.reads == matrix.reads == matrix.n_cells
    fork.responses(np.ones(7), 0, 60)
    matrix.responses(np.ones(7), 0, 60, billed=False)
    assert (fork.reads, matrix.reads) == (2 * matrix.n_cells, matrix.n_cells)
    assert np.shares_memory(fork.rows[0], matrix.rows[0])
    assert fork.sq_norms is matrix.sq_norms


@pytest.mark.slow
@given(n=st.integers(1, 50), d=st.integers(0, 9), cells=st.integers(1, 60))
def test_row_blocks_cover_all_rows_once(n, d, cells):
    matrix = as_matrix(np.ones((n, d)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROW_BLOCK_CELLS", cells)
        blocks = list(matrix.row_blocks())
    assert [i for lo, hi in blocks for i in range(lo, hi)] == list(range(n))
    assert all((hi - lo) * d <= max(cells, d) for lo, hi in blocks)


# --- nothing is copied ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_is_used_where_it_lies(dtype, tmp_path):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    assert np.shares_memory(as_matrix(X).rows.X, X)
    X.flags.writeable = False
    assert np.shares_memory(as_matrix(X).rows.X, X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(as_matrix(mapped).rows.X, mapped)
    assert type(as_matrix(mapped).rows.X) is np.ndarray


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_csr_is_used_where_it_lies(dtype, index, kind):
    S = kind(np.eye(4, dtype=dtype))
    S = kind((S.data, S.indices.astype(index), S.indptr.astype(index)), shape=S.shape)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    rows = as_matrix(S).rows
    assert np.shares_memory(rows.data, S.data)
    assert np.shares_memory(rows.indices, S.indices)
    assert np.shares_memory(rows.indptr, S.indptr)
    assert rows.indices.dtype.kind == "u"
    assert rows.indices.dtype.itemsize == np.dtype(index).itemsize


def test_what_compiled_code_gets_cannot_be_written(stored):
    _, matrix = stored
    for part in matrix.rows[:-1] + matrix.unbilled[:-1]:
        assert not part.flags.writeable
    X = np.zeros((2, 2))
    as_matrix(X)
    X[0, 0] = 1.0  # the caller's own array stays writable


def test_one_compiled_type_for_plain_read_only_and_mapped(tmp_path):
    from numba import typeof

    X = np.ones((4, 3))
    np.save(tmp_path / "X.npy", X)
    frozen = X.copy()
    frozen.flags.writeable = False
    types = {typeof(as_matrix(A).rows) for A in (X, frozen, np.load(tmp_path / "X.npy", mmap_mode="r"))}
    assert len(types) == 1


# --- what is converted ----------------------------------------------------------------------


def test_fortran_order_and_slices():
    X = np.arange(24.0).reshape(4, 6)
    w = np.arange(6.0)
    np.testing.assert_array_equal(as_matrix(np.asfortranarray(X)).responses(w, 0, 4), X @ w)
    np.testing.assert_array_equal(as_matrix(X[::2, 1::2]).responses(w[:3], 0, 2), X[::2, 1::2] @ w[:3])


@pytest.mark.parametrize(
    ("values", "dtype", "becomes"),
    [
        ([0, 1], np.bool_, np.float32),
        ([-128, 127], np.int8, np.float32),
        ([-(2**24), 2**24], np.int32, np.float32),
        ([0, 2**24 + 1], np.int32, np.float64),
        ([-(2**24) - 1, 0], np.int64, np.float64),
        ([0, 2**53], np.uint64, np.float64),
        ([0.1, 1e300], ">f8", np.float64),
        ([0.5, 2.0], np.float16, np.float64),
    ],
)
def test_other_types_become_floats_without_loss(values, dtype, becomes):
    X = np.array([values, values[::-1]], dtype=dtype)
    for A in (X, sp.csr_array(X) if X.dtype.isnative and dtype != np.float16 else X):
        matrix = as_matrix(A)
        assert matrix.dtype == becomes
        for j, unit in enumerate(np.eye(2)):
            np.testing.assert_array_equal(matrix.responses(unit, 0, 2), X[:, j].astype(np.float64))


def test_long_integer_matrices_are_converted_in_blocks():
    X = np.arange(10_000)[:, None] % 251
    np.testing.assert_array_equal(as_matrix(X).responses(np.ones(1), 0, 10_000), X[:, 0])


@pytest.mark.parametrize("make", [sp.csc_array, sp.coo_array, sp.csc_matrix, sp.lil_array])
def test_other_sparse_formats(make, tiny):
    X, _ = tiny
    w = np.linspace(0, 1, 7)
    matrix = as_matrix(make(X))
    assert matrix.is_sparse
    np.testing.assert_allclose(matrix.responses(w, 0, 60), X @ w, atol=1e-12)


@pytest.mark.slow
def test_mixed_index_types():
    S = sp.csr_array(np.eye(3))
    S.indptr = S.indptr.astype(np.int64)
    S.indices = S.indices.astype(np.int32)
    np.testing.assert_array_equal(as_matrix(S).responses(np.arange(3.0), 0, 3), [0, 1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_inner_products(kind):
    X = np.round(16 * np.random.default_rng(0).standard_normal((5, 8))) / 16
    matrix = as_matrix(kind(X))
    np.testing.assert_allclose(matrix.inner_products(), X @ X.T, rtol=1e-14)
    np.testing.assert_allclose(matrix.inner_products(np.array([3, 1])), (X @ X.T)[np.ix_([3, 1], [3, 1])], rtol=1e-14)
    assert matrix.inner_products().dtype == np.float64
    assert 2 * matrix.n_cells < matrix.reads < 3 * matrix.n_cells


def test_an_array_of_many_zeros_is_compressed():
    X = np.zeros((5, 8))
    X[::2, ::3] = np.arange(9.0).reshape(3, 3) + 1
    matrix = as_matrix(X)
    assert matrix.compressed(0.2) is matrix
    other = matrix.compressed(0.25)
    assert other.is_sparse and other.n_cells == 9 and matrix.reads == other.reads == X.size
    np.testing.assert_array_equal(other.responses(np.ones(8), 0, 5), X.sum(axis=1))
    assert matrix.reads == other.reads == X.size + 9  # one bill
    assert other.compressed(1.0) is other


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_compressed_array_is_as_large_as_is_allowed_and_has_the_same_cells(dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((700, 30)) * (rng.random((700, 30)) < 0.15)).astype(dtype)
    X[5] = 0.0
    matrix = as_matrix(X)
    small = matrix.compressed(0.2)
    assert small.is_sparse and small.dtype == dtype and np.array_equal(small.whole().toarray(), X)
    room = np.count_nonzero(X) * (X.itemsize + 4)
    assert matrix.compressed(0.2, 1.2 * room).is_sparse
    before = matrix.reads
    assert matrix.compressed(0.2, 0.8 * room) is matrix and matrix.compressed(0.1) is matrix
    assert matrix.reads == before  # nothing is copied that would have to be given up
    X[1:141:2] = 1.0  # rows between those that are looked at first
    assert as_matrix(X).compressed(0.2).rows[0].shape == X.shape and as_matrix(X).compressed(0.3).is_sparse


def test_unsorted_and_duplicate_entries():
    data = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    indices = np.array([2, 0, 2, 1, 0], dtype=np.int32)
    indptr = np.array([0, 3, 3, 5], dtype=np.int32)
    before = data.copy(), indices.copy(), indptr.copy()
    S = sp.csr_array((data, indices, indptr), shape=(3, 3))
    for part in (data, indices, indptr):
        part.flags.writeable = False
    matrix, canonical = as_matrix(S), np.array([[2.0, 0, 5], [0, 0, 0], [16, 8, 0]])
    for unit, column in zip(np.eye(3), canonical.T, strict=True):
        np.testing.assert_array_equal(matrix.responses(unit, 0, 3), column)
    assert matrix.n_cells == 4
    for now, then in zip((S.data, S.indices, S.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2, 2)), 5.0])
def test_a_matrix_has_two_dimensions(X):
    with pytest.raises(ValueError, match="one row per example"):
        as_matrix(X)


def test_matrices_without_columns_or_entries():
    assert as_matrix(np.zeros((3, 0))).responses(np.zeros(0), 0, 3).tolist() == [0, 0, 0]
    empty = as_matrix(sp.csr_array((3, 4)))
    assert (empty.n_cells, empty.max_row_cells) == (0, 0)
    assert empty.responses(np.ones(4), 0, 3).tolist() == [0, 0, 0]
    assert list(empty.row_blocks()) == [(0, 3)]
    assert isinstance(empty, Matrix)


def test_columns_are_the_rows_of_the_transposed(stored):
    X, matrix = stored
    assert not matrix.has_columns
    other = matrix.fork()
    A, cells = matrix.columns, matrix.n_cells
    assert matrix.reads == cells  # the copy
    assert other.has_columns and other.reads == 0
    v, z = np.linspace(-1, 1, 60), np.empty(7)
    for j in range(7):
        z[j] = dot(A, read_row(A, j), v)
    np.testing.assert_allclose(z, v @ X, atol=1e-12)
    assert matrix.reads == 2 * cells
    assert matrix.columns[0] is A[0] and other.columns[0] is A[0]
    read_row(other.columns, 0)
    assert (matrix.reads, other.reads > 0) == (2 * cells, True)


def test_sums_in_twice_the_precision(stored):
    X, matrix = stored
    coef = np.tile([1e12, -1e12, 0.0], 20)
    coef[:3] += [0.5, 0.25, 0.0]
    out, rest = np.zeros((2, 8))
    for lo, hi in ((0, 25), (25, 60)):
        matrix.combine_finely(coef[lo:hi], lo, hi, out, rest)
    exact = [float(sum(Fraction(a) * Fraction(x) for a, x in zip(coef, column, strict=True))) for column in X.T]
    np.testing.assert_array_equal(out + rest, [*exact, 0.75])
    read = np.count_nonzero(X[coef != 0]) if matrix.is_sparse else 40 * 7
    assert matrix.reads == read


@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_columns(density, sparse, monkeypatch):
    monkeypatch.setattr(module, "ROW_BLOCK_CELLS", 30)  # several pieces
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((50, 12)) * (rng.random((50, 12)) < density)).astype(np.float32)
    weight = rng.integers(0, 3, 50) * 0.7
    matrix = as_matrix(sp.csr_array(X) if sparse else X)
    assert matrix.columns is not None
    before, some = matrix.reads, np.array([1, 4, 5, 11])
    part = X[:, some].astype(float)
    H = matrix.column_products(some, weight)
    np.testing.assert_allclose(np.tril(H), np.tril(part.T @ (weight[:, None] * part)), atol=1e-12)
    read = np.count_nonzero(part) if sparse else 4 * np.count_nonzero(weight)
    assert matrix.reads == before + read


@pytest.mark.parametrize("threads", [1, 3])
def test_work_on_row_blocks_comes_in_their_order_and_is_counted(stored, threads, monkeypatch):
    X, matrix = stored
    monkeypatch.setattr(module, "ROW_BLOCK_CELLS", 30)
    monkeypatch.setattr("hinge.threads.cores", lambda: 3)
    w = np.arange(7.0)
    with allowing(threads):
        found = matrix.each_block(lambda data, lo, hi: (lo, data.responses(w, lo, hi)))
    assert [lo for lo, _ in found] == [lo for lo, _ in matrix.row_blocks()]
    np.testing.assert_allclose(np.concatenate([r for _, r in found]), X @ w)
    assert matrix.reads == matrix.n_cells
    assert matrix.largest_norm() == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert matrix._measured[0] == 60  # on the way, not by another pass


def test_blocks_are_of_one_length(monkeypatch):
    monkeypatch.setattr(module, "ROW_BLOCK_CELLS", 50)
    lengths = [hi - lo for lo, hi in as_matrix(np.ones((31, 5))).row_blocks()]
    assert sum(lengths) == 31
    assert max(lengths) <= 10
    assert max(lengths) - min(lengths) <= len(lengths)


def test_parts_that_read_at_once_are_counted_together(stored):
    _, matrix = stored
    with matrix.shared(2) as apart:
        read_row(apart[0], 3)
        read_row(apart[1], 4)
        assert matrix.reads == 0
    assert matrix.reads == sum(int(rows.reads[0]) for rows in apart) > 0
