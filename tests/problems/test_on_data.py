import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable, as_matrix, as_table
from hinge.access.tables.oracle import Oracle
from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.problems.on_data import OnData
from hinge.solvers import SDCA, solve


def test_a_matrix_is_counted_by_itself_until_there_is_a_table(tiny):
    X, _ = tiny
    data = OnData(as_matrix(X))
    assert data.in_memory and data.reads == 0 and data.cost == 0.0
    assert data.budget == (None, None) and data.pass_cells == X.size
    assert data.read_through is data.matrix
    data.matrix.responses(np.ones(7), 0, 60)
    assert data.reads == X.size
    table = data.table
    assert table is data.table and data.read_through is table
    assert data.reads == X.size  # on the same bill
    table.row(3)
    assert data.reads == X.size + 7
    assert data.cost == 7.0


def test_a_table_keeps_its_own_bill_and_its_owners_budget(tiny):
    X, y = tiny
    table = DenseTable(X, np.ascontiguousarray(X.T))
    problem = Regularized(table, y, 0.1)
    assert problem.table is table
    table.column(0)
    assert problem.reads == 60 == table.reads
    assert problem.cost == table.bill.cost == 60.0
    table.max_reads, table.max_cost = 500, 7.5
    assert problem.budget == (500, 7.5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_rows_of_a_table_in_memory_are_those_of_its_array(tiny, kind):
    X, y = tiny
    table = as_table(kind(X))
    near, through = Regularized(kind(X), y, lam=0.1), Regularized(table, y, lam=0.1)
    assert through.in_memory and through.table is table
    stop = Stop(tol=1e-6)
    expected, found = (solve(problem, SDCA(), stop=stop, seed=3) for problem in (near, through))
    assert np.array_equal(found.solution.w, expected.solution.w)
    assert np.array_equal(found.solution.alpha, expected.solution.alpha)
    assert found.certificate == expected.certificate
    assert through.reads == near.reads == table.reads  # on the table's bill


class Seller:
    def __init__(self, X):
        self.X, self.shape = X, X.shape

    def row(self, i):
        return self.X[i]

    def column(self, j):
        return self.X[:, j]


def test_rows_that_are_not_in_memory_are_refused_with_who_can_read_them(tiny):
    X, y = tiny
    problem = Regularized(Oracle(Seller(X)), y, lam=0.1)
    assert not problem.in_memory
    with pytest.raises(ValueError, match="not those of Oracle: use Frugal, Probe or Simba, or read it into an array"):
        solve(problem, SDCA())


def test_cells_with_prices_are_read_through_their_table_only(tiny):
    X, y = tiny
    problem = Regularized(DenseTable(X, prices=np.ones(7)), y, lam=0.1)
    with pytest.raises(ValueError, match=r"without adding up prices.*use Frugal, Probe or Simba"):
        solve(problem, SDCA())
