import numpy as np

from hinge.access import DenseTable, as_matrix
from hinge.problems import Regularized
from hinge.problems.on_data import OnData


def test_a_matrix_is_counted_by_itself_until_there_is_a_table(tiny):
    X, _ = tiny
    data = OnData(as_matrix(X), X)
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
