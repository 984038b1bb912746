from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable, Gram, as_matrix, as_points, as_table
from hinge.access.tables.oracle import Oracle
from hinge.kernels import Linear
from hinge.monitoring import Stop
from hinge.problems import Certificate, KernelRegularized, NormConstrained, Regularized, SlackConstrained, Solution
from hinge.problems.base import Cost, OnData, rounded_gap, rounding
from hinge.solvers import SDCA, solve


def problems(X, y):
    gram = Gram(as_points(X, Linear(), exact=True))
    return [
        Regularized(X, y, 0.1),
        NormConstrained(X, y, 1.0),
        SlackConstrained(X, y, 0.1),
        KernelRegularized(gram, y, 0.1),
    ]


def test_the_defaults_of_an_answer_and_of_a_certificate():
    answer = Solution(np.ones(2))
    assert answer.b == 0.0 and answer.alpha is None
    certificate = Certificate(1.0, 0.5, 0.1)
    assert certificate.b == 0.0 and np.isnan(certificate.unrounded)


def test_an_objective_is_exact_and_not_billed_and_a_certificate_is(tiny):
    X, y = tiny
    w = np.linspace(-0.1, 0.2, 7)
    for problem in problems(X, y)[:2]:
        value = problem.objective(Solution(w))
        assert problem.reads == 0
        hinge = np.maximum(0, 1 - y * (X @ w)).mean()
        assert value == pytest.approx(hinge + (0.05 * w @ w if isinstance(problem, Regularized) else 0))
        problem.certificate(Solution(w, 0.0, np.full(60, 0.5)))
        assert 0 < problem.reads <= 2 * X.size


def test_the_objective_and_the_bound_are_on_either_side_of_the_optimum(tiny):
    X, y = tiny
    alpha = np.random.default_rng(0).random(60)
    for problem in problems(X, y)[:2]:
        certificate = problem.certificate(Solution(np.zeros(7), 0.0, alpha))
        assert certificate.bound <= certificate.objective
        assert certificate.gap >= 0


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


def exact_dot(a, b):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)), Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_sums_of_products_are_off_by_no_more(seed, n):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)
    b = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)
    size = float(np.abs(a) @ np.abs(b))
    for computed in (float(a @ b), float(sum((a * b).tolist())), float((a * b)[::-1].sum())):
        assert abs(Fraction(computed) - exact_dot(a, b)) <= Fraction(rounding(n, size))


def test_products_that_underflow_are_counted():
    a = np.full(100, 1e-170)
    assert float(a @ a) == 0.0
    assert exact_dot(a, a) <= Fraction(rounding(100, float(np.finfo(float).tiny)))
    assert rounding(100, 0.0) == 0.0


def test_more_terms_or_larger_ones_are_off_by_more():
    assert rounding(10, 1.0) < rounding(11, 1.0) < rounding(11, 1.1)
    assert 1e-16 < rounding(0, 1.0) < 1e-13


def test_gaps_are_rounded_up():
    rng = np.random.default_rng(0)
    for upper, lower, unit in rng.random((200, 3)) + np.array([1.0, 0.0, 0.1]):
        assert Fraction(rounded_gap(upper, lower, unit)) >= (Fraction(upper) - Fraction(lower)) / Fraction(unit)


def test_gaps_without_a_unit_or_a_number_are_infinite():
    assert rounded_gap(1.0, 0.5, 0.0) == rounded_gap(1.0, 0.5, -1.0) == np.inf
    assert rounded_gap(np.nan, 0.5, 1.0) == rounded_gap(np.inf, 0.5, 1.0) == np.inf
    assert rounded_gap(1.0, np.nan, 1.0) == rounded_gap(1.0, 0.5, np.nan) == np.inf
    assert rounded_gap(0.5, 1.0, 1.0) == 0.0
