"""Products of a matrix in every layout, in the precision of the storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable, SparseTable, as_matrix

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 12)) * (RNG.random((30, 12)) < 0.5)
STORED = {
    "dense": X,
    "dense, float32": X.astype(np.float32),
    "compressed": sp.csr_array(X),
    "compressed, float32": sp.csr_array(X.astype(np.float32)),
}
several = pytest.mark.parametrize("stored", STORED.values(), ids=STORED.keys())


@several
def test_products_are_those_of_the_array_and_counted(stored):
    matrix = as_matrix(stored)
    x, p = RNG.standard_normal(12), RNG.random(30)
    rtol = 1e-5 if matrix.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(matrix.times(x), X @ x, rtol, 1e-5)
    np.testing.assert_allclose(matrix.transposed_times(p), X.T @ p, rtol, 1e-5)
    assert matrix.times(x).dtype == matrix.dtype
    assert matrix.reads == 3 * matrix.n_cells


@several
def test_gathered_rows_are_a_matrix_of_their_own(stored):
    matrix, rows = as_matrix(stored), np.array([3, 7, 3, 29])
    copied = matrix.gather(rows)
    assert matrix.reads == copied.n_cells
    np.testing.assert_allclose(copied.times(np.ones(12)), X[rows].sum(axis=1), 1e-5, 1e-5)
    assert copied.reads == copied.n_cells
    assert matrix.reads == copied.n_cells


@several
def test_norms_and_entries_are_not_billed(stored):
    matrix = as_matrix(stored)
    assert matrix.largest_norm() == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-6)
    assert matrix.largest_entry() == pytest.approx(np.abs(X).max(), rel=1e-6)
    assert matrix.reads == 0


@pytest.mark.parametrize("table", [DenseTable(X), SparseTable(sp.csr_array(X))], ids=["dense", "compressed"])
def test_a_table_gathers_rows_and_bills_them(table):
    rows = np.array([2, 5, 11])
    gathered = table.gather(rows)
    gathered = gathered.toarray() if sp.issparse(gathered) else gathered
    np.testing.assert_array_equal(gathered, X[rows])
    assert table.bill.cells == 36
