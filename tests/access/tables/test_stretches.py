"""Tables that read ranges of consecutive rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.tables import fetched
from hinge.access.tables.fetched import Stretched
from hinge.access.tables.table import EVERYWHERE, Line

X = np.random.default_rng(0).standard_normal((30, 6)) * (np.random.default_rng(1).random((30, 6)) < 0.7)


class Shelf(Stretched):
    """Rows of an array that lies elsewhere, with a note of each stretch that was fetched."""

    def __init__(self, sparse=False, keep=False):
        super().__init__(X.shape, None)
        self.keep, self.sparse, self.fetched = keep, sparse, []

    @property
    def is_sparse(self):
        return self.sparse

    def _recipe(self):
        return {"sparse": self.sparse}

    def _fetch_rows(self, lo, hi):
        self.fetched.append((lo, hi))
        return sp.csr_array(X[lo:hi]) if self.sparse else X[lo:hi].copy()

    def _fetch_row(self, i):
        return Line(EVERYWHERE, X[i].copy())

    def _fetch_column(self, j):
        return Line(EVERYWHERE, X[:, j].copy())

    def _fetch_cells(self, i, columns):
        return X[i, columns]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_passes_are_products(sparse):
    table, w = Shelf(sparse), np.linspace(-1, 1, 6)
    np.testing.assert_allclose(table.responses(w, 4, 21), X[4:21] @ w)
    out, coef = np.ones(6), np.arange(17.0) - 3
    table.combine(coef, 4, 21, out)
    np.testing.assert_allclose(out, 1 + coef @ X[4:21])


def test_rows_without_weight_are_not_fetched():
    table, coef = Shelf(), np.zeros(30)
    coef[[3, 4, 20]] = 1.0
    table.combine(coef, 0, 30, np.zeros(6))
    assert table.fetched == [(3, 5), (20, 21)]
    assert table.bill.cells == 3 * 6


def test_long_passes_go_in_pieces(monkeypatch):
    monkeypatch.setattr(fetched, "ROW_BLOCK_CELLS", 60)
    table, w = Shelf(), np.ones(6)
    np.testing.assert_allclose(table.responses(w, 0, 30), X @ w)
    assert table.fetched == [(0, 10), (10, 20), (20, 30)]


def test_what_is_kept_is_not_fetched_again():
    table = Shelf(keep=True)
    table.responses(np.ones(6), 0, 30)
    first = list(table.fetched)
    np.testing.assert_allclose(table.responses(np.ones(6), 0, 30), X.sum(axis=1))
    assert table.fetched == first and table.bill.cells == X.size


def test_blocks_in_any_order():
    rows, columns = np.array([7, 2, 29]), np.array([5, 0])
    np.testing.assert_array_equal(Shelf().block(rows, columns), X[np.ix_(rows, columns)])
