import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import Data, Matrix, as_matrix, as_table
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair


@pytest.fixture(params=["matrix", "table", "disk"])
def place(request, tmp_path):
    """A function that puts a matrix in one of the places that data can be in."""

    def put(X):
        if request.param == "disk":
            write_pair(X, tmp_path / "pair")
            return open_pair(tmp_path / "pair")
        return as_matrix(X) if request.param == "matrix" else as_table(X)

    return put


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_all_data_answers_alike(place, kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9, 4)).astype(np.float32) * (rng.random((9, 4)) < 0.6)
    w, rows = rng.normal(size=4), np.array([1, 5])
    data = place(kind(X))
    assert isinstance(data, Data)
    assert (data.n, data.d) == data.shape == X.shape
    assert data.dtype == np.float32 and data.is_sparse == sp.issparse(kind(X))
    assert data.n_cells == (np.count_nonzero(X) if data.is_sparse else X.size)
    assert np.allclose(data.responses(w, 2, 7), X[2:7] @ w)
    assert np.allclose(data.responses_at(rows, w), X[rows] @ w)
    total = np.zeros(4)
    data.combine(w[:3], 4, 7, total)
    assert np.allclose(total, X[4:7].T @ w[:3])
    assert as_matrix(data.gather(rows)).shape == (2, 4)
    assert [lo for lo, _ in data.row_blocks()] == [0]
    assert data.reads > 0


def test_the_rows_of_a_table_in_memory_are_a_matrix():
    table = as_table(np.eye(3))
    assert isinstance(table.by_rows, Matrix)
    table.by_rows.responses(np.ones(3), 0, 3)
    assert table.reads == 9  # on the same count
    matrix = as_matrix(np.eye(3))
    assert matrix.by_rows is matrix


def test_data_on_disk_has_no_rows_for_compiled_code(tmp_path):
    write_pair(np.eye(3), tmp_path / "pair")
    table = open_pair(tmp_path / "pair")
    assert not table.in_memory and table.by_rows is table
