import numpy as np
import scipy.sparse as sp

from hinge.access import DenseTable
from hinge.problems import Regularized
from hinge.problems.cost import Cost


def test_rows_and_columns_count_as_the_longest(tiny):
    X, y = tiny
    dense, compressed = Regularized(X, y, 0.1), Regularized(sp.csr_array(X), y, 0.1)
    cost = Cost(rows=2, columns=1, cells=5)
    assert dense.cells_of(cost) == 2 * 7 + 60 + 5
    in_rows, in_columns = (X != 0).sum(axis=1).max(), (X != 0).sum(axis=0).max()
    assert compressed.cells_of(cost) == 2 * in_rows + in_columns + 5


def test_prices_are_the_owners(tiny):
    X, y = tiny
    prices = np.arange(7.0)
    problem = Regularized(DenseTable(X, np.ascontiguousarray(X.T), prices=prices), y, 0.1)
    assert problem.price_of(Cost(rows=1)) == prices.sum()
    assert problem.price_of(Cost(columns=1)) == 6 * 60
    assert problem.price_of(Cost(cells=3)) == 6 * 3


def test_nothing_costs_nothing():
    assert Cost() == Cost(0, 0, 0, 0, 0, 0, None, 1)
