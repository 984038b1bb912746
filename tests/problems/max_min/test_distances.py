"""Squared distances of rows from the centre of a ball."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable, as_matrix
from hinge.problems.max_min.enclosing_ball import inner_products, mean_offset, sq_distances, sq_distances_at

RNG = np.random.default_rng(0)
A = RNG.standard_normal((25, 6)) * (RNG.random((25, 6)) < 0.6)
Z = RNG.standard_normal(6)
LAYOUTS = {
    "dense": lambda: as_matrix(A),
    "float32": lambda: as_matrix(A.astype(np.float32)),
    "csr": lambda: as_matrix(sp.csr_array(A)),
    "table": lambda: DenseTable(A, np.ascontiguousarray(A.T)),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


@pytest.mark.slow
@every_layout
def test_squared_distances_of_a_stretch_and_of_some_rows(layout):
    expected = ((A - Z) ** 2).sum(axis=1)
    matrix = layout()
    np.testing.assert_allclose(sq_distances(matrix, Z, 3, 20), expected[3:20], rtol=1e-5)
    rows = np.array([7, 0, 24])
    np.testing.assert_allclose(sq_distances_at(matrix, rows, Z), expected[rows], rtol=1e-5)
    np.testing.assert_allclose(sq_distances(matrix, Z, 0, 25), expected, rtol=1e-5)


@every_layout
def test_rows_that_are_read_are_billed(layout):
    matrix = layout()
    sq_distances(matrix, Z, 0, 10)
    sq_distances_at(matrix, np.array([1, 2]), Z)
    cells = np.count_nonzero(A[:10]) + np.count_nonzero(A[1:3]) if matrix.is_sparse else 12 * 6
    assert matrix.reads == cells


def test_points_far_from_zero_lose_no_digits():
    far = as_matrix(1e8 + np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert sq_distances(far, np.full(2, 1e8), 0, 2).tolist() == [0.0, 25.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_inner_products_and_means_of_differences(layout, dtype):
    matrix = LAYOUTS[layout]()
    np.testing.assert_allclose(inner_products(matrix, Z, dtype), (A - Z) @ (A - Z).T, atol=1e-4)
    q = RNG.dirichlet(np.ones(25))
    np.testing.assert_allclose(mean_offset(matrix, q, Z), q @ A - Z, atol=1e-14)
    assert matrix.reads == 0
