import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from access.tables.made_up import PRICES, Seller, X, dense, sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from read_sequences import Mirror, reads

from hinge.access import DenseTable, SparseTable, as_table
from hinge.access.tables.memory import ProductTable
from hinge.access.tables.oracle import Oracle
from hinge.access.tables.table import Line


def both_dense(X, prices=None, *, keep):
    return DenseTable(X, np.ascontiguousarray(X.T), prices, keep=keep)


def both_sparse(X, prices=None, *, keep):
    return SparseTable(sp.csr_array(X), sp.csc_array(X), prices, keep=keep)


def product(X, prices=None, *, keep):
    return ProductTable(X, np.eye(X.shape[1]), prices, keep=keep)


class Nonzeros(ProductTable):
    """The same, with lines of nonzeros."""

    is_sparse = True

    def __init__(self, X, prices=None, *, keep):
        super().__init__(X, np.eye(X.shape[1]), prices, keep=keep)

    def _formed(self, values):
        at = np.flatnonzero(values)
        return Line(at, values[at])


KINDS = [dense, both_dense, sparse, both_sparse, product, Nonzeros]


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(sequence=reads(*X.shape), priced=st.booleans())
def test_every_cell_is_billed_as_it_should_be(kind, keep, sequence, priced):
    prices = PRICES if priced else None
    Mirror(kind(X, prices, keep=keep), X, prices).run(sequence)


@pytest.mark.slow
@settings(max_examples=25)
@given(sequence=reads(*X.shape))
def test_kept_cells_are_not_bought_again_for_rows_and_blocks(sequence):
    seller = Seller(X)
    table = Oracle(seller)
    for name, *arguments in sequence:
        getattr(table, name)(*(np.array(a, int) if isinstance(a, list) else a for a in arguments))
    columns = {a[0] for name, *a in sequence if name == "column"}
    others = [j for j in range(X.shape[1]) if j not in columns]
    assert (seller.sold[:, others] <= 1).all()  # a column is sold whole, whatever is held of it
    assert ((seller.sold > 0).sum()) == table.bill.distinct


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_nothing_beyond_the_edges(kind):
    table = kind(X, keep=True)
    for i in (-1, 9):
        with pytest.raises(IndexError, match=f"no row {i}: the matrix has 9"):
            table.row(i)
        with pytest.raises(IndexError, match=f"no row {i}"):
            table.block(np.array([3, i]), np.array([0]))
    for j in (-1, 70):
        with pytest.raises(IndexError, match=f"no column {j}: the matrix has 70"):
            table.column(j)
        with pytest.raises(IndexError, match=f"no column {j}"):
            table.block(np.array([3]), np.array([j, 0]))
    assert table.bill.cells == table.bill.distinct == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_products(kind):
    table = kind(X, keep=False)
    w, rows, columns = np.random.default_rng(1).standard_normal(70), np.array([7, 0, 4]), np.array([69, 3, 64])
    assert np.allclose(table.dot(rows, columns, w[columns]), X[np.ix_(rows, columns)] @ w[columns])
    assert len(table.dot(np.zeros(0, int), columns, w[columns])) == 0
    blocks = list(table.row_blocks())
    assert [i for lo, hi in blocks for i in range(lo, hi)] == list(range(9))
    assert np.allclose(np.concatenate([table.responses(w, *block) for block in blocks]), X @ w)
    assert np.allclose(table.responses_at(rows, w), X[rows] @ w)
    coef, out = np.where(np.arange(9) % 2, 0.0, 1.5), np.zeros(70)
    before = table.reads
    table.combine(coef, 0, 9, out)
    assert np.allclose(out, X.T @ coef)
    used = X[coef != 0]
    assert table.reads - before == (np.count_nonzero(used) if table.is_sparse else used.size)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind):
    table = kind(X, keep=False)
    assert table.shape == (9, 70)
    if isinstance(table, SparseTable):
        assert table.n_cells == np.count_nonzero(X)
        assert table.max_row_cells == np.count_nonzero(X, axis=1).max()
        assert table.max_column_cells == np.count_nonzero(X, axis=0).max()
    else:
        assert (table.n_cells, table.max_row_cells, table.max_column_cells) == (630, 70, 9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pickles(kind):
    table = kind(X, PRICES, keep=True)
    table.row(3)
    table.block(np.array([1, 2]), np.array([5, 69]))
    again = pickle.loads(pickle.dumps(table))
    assert again.reads == table.reads and again.bill.cost == table.bill.cost
    mirror = Mirror(again, X, PRICES)
    mirror.read[3] = True
    mirror.read[np.ix_([1, 2], [5, 69])] = True
    mirror.cells, mirror.nonzeros, mirror.cost = again.bill.cells, again.bill.nonzeros, again.bill.cost
    mirror.row(1)
    mirror.check()


def test_as_table():
    assert isinstance(as_table(X), DenseTable) and isinstance(as_table(sp.csr_array(X)), SparseTable)
    table = as_table(X, keep=True)
    assert table.keep and as_table(table) is table
    assert table.in_memory and not Oracle(Seller(X)).in_memory
