import numpy as np
import pytest
import scipy.sparse as sp
from access.tables.made_up import PRICES, Seller, X, dense, sparse

from hinge.access import DenseTable, SparseTable
from hinge.access.tables.memory import ProductTable
from hinge.access.tables.oracle import Oracle
from hinge.access.tables.table import PAGE


def test_a_table_in_memory_forks_with_an_empty_bill():
    for kind in (dense, sparse):
        keeps = kind(X, PRICES, keep=True)
        assert keeps.fork() is keeps  # what is kept serves both
        table = kind(X, PRICES, keep=False)
        table.row(3)
        other = table.fork()
        assert (other.reads, other.bill.distinct, other.bill.cost) == (0, 0, 0.0)
        other.column(2)
        assert table.bill.distinct == 70
    table = Oracle(Seller(X))
    assert table.fork() is table


def test_bytes_and_pages_of_arrays():
    A = np.zeros((30, 3000), np.float32)
    A = np.require(A, requirements="C")
    table = DenseTable(A)
    table.row(0)
    assert table.bill.bytes == 12000
    assert table.bill.pages in (3, 4)  # as it lies
    before = table.bill.pages
    table.column(5)
    assert (table.bill.bytes, table.bill.pages - before) == (12000 + 120, 30)
    both = DenseTable(A, np.ascontiguousarray(A.T))
    both.column(5)
    assert both.bill.bytes == 120 and both.bill.pages in (1, 2)
    table = DenseTable(A)
    table.block(np.array([1, 2]), np.array([0, 1, 2999]))
    assert (table.bill.bytes, table.bill.pages) == (24, 4)
    S = SparseTable(sp.csr_array(np.eye(5, dtype=np.float32)))
    S.row(2)
    assert (S.bill.bytes, S.bill.pages) == (8, 2)
    assert PAGE == 4096


def test_columns_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="columns has shape"):
        DenseTable(X, X)


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 2)), rng.standard_normal((2, 9))


def test_what_is_formed_is_the_product_and_is_billed(factors):
    A, B = factors
    X, table = A @ B, ProductTable(A, B)
    np.testing.assert_allclose(table.row(3).values, X[3])
    np.testing.assert_allclose(table.column(5).values, X[:, 5])
    np.testing.assert_allclose(table.block(np.array([0, 4]), np.array([1, 2, 8])), X[np.ix_([0, 4], [1, 2, 8])])
    assert (table.bill.cells, table.bill.distinct) == (9 + 6 + 6, 9 + 5 + 6)
    assert not table.in_memory  # so that no method looks through it unbilled
    other = table.fork()
    assert other.bill.cells == 0 and other.row(3).values.tolist() == table.row(3).values.tolist()


def test_factors_that_do_not_fit_are_refused(factors):
    A, B = factors
    with pytest.raises(ValueError, match=r"A is \(n, k\), B \(k, d\)"):
        ProductTable(A, B[:1])
