"""Purchases: labels, scores and prices of rows that are read in part."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import as_table
from hinge.access.tables.oracle import Oracle
from hinge.prediction import ReadingOrder, buy

CLASSES = np.array(["no", "yes"])


class Seller:
    """Sells cells, and counts what it was asked for."""

    def __init__(self, X, prices=None):
        self.X, self.shape, self.sold = X, X.shape, 0
        self.prices = prices

    def row(self, i):
        self.sold += self.shape[1]
        return self.X[i]

    def column(self, j):
        self.sold += self.shape[0]
        return self.X[:, j]


class CellSeller(Seller):
    def cells(self, i, columns):
        self.sold += len(columns)
        return self.X[i, columns]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((1500, 15)) * np.geomspace(3.0, 0.1, 15), 3)
    w, b = rng.standard_normal((1, 15)), np.array([0.3])
    return X[:1000], X[1000:], w, b


def labels_of(X, w, b):
    return CLASSES[(X @ w[0] + b[0] > 0).astype(int)]


def test_most_rows_are_decided_by_few_cells(problem):
    known, X, w, b = problem
    order = ReadingOrder(w, b, known)
    bought = buy(order, as_table(X), CLASSES, 0.97)
    assert (bought.labels == labels_of(X, w, b)).mean() > 0.94
    assert bought.cells.mean() < 6 and bought.n_reads == bought.cells.sum() == bought.cost
    f = X @ w[0] + b[0]
    whole = bought.cells == 15
    np.testing.assert_allclose(bought.scores[whole], f[whole])
    assert ((bought.low <= f + 1e-9) & (f - 1e-9 <= bought.high)).mean() > 0.8
    assert (bought.certain == whole).all()


def test_with_ranges_it_is_certain(problem):
    known, X, w, b = problem
    both = np.vstack([known, X])
    order = ReadingOrder(w, b, known, ranges=(both.min(axis=0), both.max(axis=0)))
    for data in (X, sp.csr_array(X)):
        bought = buy(order, as_table(data), CLASSES)
        assert bought.certain.all() and bought.cells.mean() < 12
        assert (bought.labels == labels_of(X, w, b)).all()
        f = X @ w[0] + b[0]
        assert ((bought.low <= f + 1e-9) & (f - 1e-9 <= bought.high)).all()
    everything = buy(ReadingOrder(w, b, known), as_table(X), CLASSES)
    assert (everything.cells == 15).all() and (everything.labels == labels_of(X, w, b)).all()
    with pytest.raises(ValueError, match="outside its range"):
        buy(ReadingOrder(w, b, known, ranges=(-1.0, 1.0)), as_table(X), CLASSES)


def test_what_no_row_had_is_read_all_the_same():
    """A column that never moved among the rows that were learned from decides these."""
    rng = np.random.default_rng(0)
    known, X = rng.uniform(0.0, 1.0, (300, 4)), rng.uniform(0.0, 1.0, (50, 4))
    known[:, 3], X[:, 3] = 0.0, rng.integers(0, 2, 50)
    w, b = np.array([[0.1, 0.1, 0.1, 1.0]]), np.array([-0.5])
    for ranges in (None, (0.0, 1.0)):
        bought = buy(ReadingOrder(w, b, known, ranges=ranges), as_table(X), CLASSES)
        assert (bought.labels == labels_of(X, w, b)).all() and bought.certain.all()


@pytest.mark.slow
def test_the_seller_agrees(problem):
    known, X, w, b = problem
    seller = CellSeller(X)
    bought = buy(ReadingOrder(w, b, known), Oracle(seller), CLASSES, 0.97)
    assert seller.sold == bought.n_reads == bought.cells.sum()
    whole = Seller(X)
    bought = buy(ReadingOrder(w, b, known), Oracle(whole), CLASSES, 0.97)
    assert whole.sold == bought.n_reads  # rows that are not clear at once are bought whole
    assert set(np.unique(bought.cells)) <= {0, 15}


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [7.5, 200.0, 0.0, 1e6])
def test_a_budget_is_kept_and_spent_on_rows_that_are_least_sure(problem, limit):
    known, X, w, b = problem
    prices = np.linspace(0.5, 2.0, 15)
    seller = CellSeller(X, prices)
    order = ReadingOrder(w, b, known, prices)
    bought = buy(order, Oracle(seller), CLASSES, 0.97, limit)
    assert bought.cost <= limit * (1 + 1e-9)
    assert bought.cost == pytest.approx(sum(order.prices[:c].sum() for c in bought.cells))
    free = buy(order, Oracle(CellSeller(X, prices)), CLASSES, 0.97)
    if limit < free.cost:
        assert bought.cost > limit - 2.0 * 15
    else:
        assert bought.cost == free.cost


@pytest.mark.slow
def test_budgets_of_the_table_and_cells_that_it_has(problem):
    known, X, w, b = problem
    order = ReadingOrder(w, b, known)
    bought = buy(order, Oracle(CellSeller(X), max_reads=100), CLASSES, 0.97)
    assert 85 < bought.n_reads <= 100
    oracle = Oracle(CellSeller(X))
    oracle.block(np.arange(len(X)), order.columns[:3])
    again = buy(order, oracle, CLASSES, 0.97)
    assert again.n_reads == (np.maximum(again.cells - 3, 0)).sum()


def test_bad_input(problem):
    known, X, w, b = problem
    order = ReadingOrder(w, b, known)
    with pytest.raises(ValueError, match="has 14 features, and the model expects 15"):
        buy(order, as_table(X[:, :14]), CLASSES)
    for confidence in (1.5, 0.0, float("nan"), "high"):
        with pytest.raises(ValueError, match="confidence must be"):
            buy(order, as_table(X), CLASSES, confidence)
    with pytest.raises(ValueError, match="max_cost must be a number of at least 0, or infinite, or None"):
        buy(order, as_table(X), CLASSES, 0.9, "all")
    with pytest.raises(ValueError, match="max_cost must be a number of at least 0, or infinite, or None"):
        buy(order, as_table(X), CLASSES, 0.9, -1.0)
