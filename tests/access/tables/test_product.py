import numpy as np
import pytest

from hinge.access.tables.product import ProductTable


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
