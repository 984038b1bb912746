"""`LinearSVC` on oracles, tables and files: what it accepts, what it reports, what it refuses."""

import contextlib
import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from papers_svc import papers_svc
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hinge import solvers
from hinge.access import DenseTable
from hinge.access.tables.oracle import Oracle, OracleError
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.monitoring import Stop
from hinge.problems import MaxMargin
from hinge.solvers import Frugal, Simba, registry

pytestmark = pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")  # of some cells

N, D = 2400, 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.3)
    y = np.where(X[:, :6].sum(axis=1) + 0.3 * rng.normal(size=N) > 0, 1, -1)
    return X / np.linalg.norm(X, axis=1, keepdims=True).clip(1e-9), y


class Seller:
    """A feature oracle over an array."""

    def __init__(self, X, prices=None):
        self.X, self.shape = X, X.shape
        if prices is not None:
            self.prices = prices

    def row(self, i):
        return self.X[i]

    def column(self, j):
        return self.X[:, j]

    def cells(self, i, columns):
        return self.X[i, columns]


@pytest.fixture(scope="module")
def bought(data):
    """A table, the machine that bought some of its cells, what the table had sold by then, and the fit's warnings."""
    X, y = data
    table = Oracle(Seller(X))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = papers_svc(random_state=0).fit(table, y)
    return table, model, table.bill.cells, said


@pytest.mark.slow
def test_a_fit_of_some_cells_warns_that_it_has_no_certificate(data, bought):
    X, y = data
    _, model, _, said = bought
    assert [warning.category for warning in said] == [ConvergenceWarning]
    assert "with no certificate (gap_=inf" in str(said[0].message)
    assert model.gap_ == np.inf
    with pytest.warns(ConvergenceWarning, match=r"with no certificate \(gap_=inf"):
        model = papers_svc(random_state=0, max_reads=5_000).fit(X, y)
    assert model.gap_ == np.inf


@pytest.mark.slow
def test_an_oracle_is_fitted_as_an_array_is(data, bought):
    X, y = data
    _, model, _, _ = bought
    assert isinstance(model.solver_, Frugal)
    assert model.n_features_in_ == D and model.coef_.shape == (1, D)
    assert model.n_feature_reads_ == model.n_distinct_reads_ == model.cost_ <= N * D
    same = papers_svc(random_state=0, solver="frugal").fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-12)
    assert (same.n_feature_reads_, same.n_distinct_reads_) == (model.n_feature_reads_, model.n_distinct_reads_)
    assert model.score(X, y) > papers_svc().fit(X, y).score(X, y) - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("budget", [D, 500, 5000, 30_000])
def test_budgets_of_either_side(data, budget):
    X, y = data
    ours = papers_svc(random_state=0, max_reads=budget).fit(Seller(X), y)
    theirs = papers_svc(random_state=0).fit(Oracle(Seller(X), max_reads=budget), y)
    assert ours.n_feature_reads_ <= budget and theirs.n_feature_reads_ <= budget
    assert ours.coef_.tobytes() == theirs.coef_.tobytes()
    assert ours.stop_reason_ == theirs.stop_reason_ == "max_reads"


@pytest.mark.slow
def test_prices(data):
    X, y = data
    prices = np.where(np.arange(D) < 30, 1.0, 50.0)
    for solver, reason in (("thrifty", "finished"), ("auto", "max_cost")):
        model = papers_svc(random_state=0, solver=solver).fit(Oracle(Seller(X, prices), max_cost=20_000), y)
        assert model.stop_reason_ == reason and 10_000 < model.cost_ <= 20_000
        name = "Frugal" if solver == "auto" else "Thrifty"
        with pytest.raises(ValueError, match=rf"too small: one iteration of {name} costs up to 1530"):
            papers_svc(solver=solver).fit(Oracle(Seller(X, prices), max_cost=100), y)


@pytest.mark.slow
def test_classes_share_what_is_paid_for(data):
    X, y = data
    three = np.where(X[:, 0] > 0.1, 2, y)
    model = papers_svc(random_state=0, max_reads=40_000).fit(Seller(X), three)
    assert model.coef_.shape == (3, D) and model.n_feature_reads_ == model.n_distinct_reads_ <= 40_000
    assert len(model.history_) == 3


@pytest.mark.slow
def test_simba(data):
    X, y = data
    for given in (X, sp.csr_array(X), Seller(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = papers_svc(solver="simba", max_iter=20, random_state=0).fit(given, y)
        assert isinstance(model.solver_, Simba)
        assert model.score(X, y) > 0.75
        assert model.n_distinct_reads_ <= N * D and model.bytes_read_ > 0
        assert not hasattr(model, "dual_coef_")


@pytest.mark.slow
def test_files(data, tmp_path):
    X, y = data
    write_pair(sp.csr_array(X), tmp_path / "pair")
    model = papers_svc(random_state=0, max_reads=10_000).fit(open_pair(tmp_path / "pair"), y)
    same = papers_svc(random_state=0, max_reads=10_000).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-9)
    assert model.n_distinct_reads_ == same.n_distinct_reads_


@pytest.mark.slow
def test_a_table_goes_into_the_next_fit_with_what_it_has(data, bought):
    _, y = data
    table, _, paid, _ = bought
    again = papers_svc(random_state=0).fit(table, y)
    assert paid <= table.bill.cells < 1.2 * paid and again.n_distinct_reads_ == table.bill.cells


def test_what_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="There are 2400 rows and 2399 labels"):
        papers_svc().fit(Seller(X), y[1:])
    with pytest.raises(ValueError, match="SDCA takes rows of arrays in memory, not those of Oracle"):
        papers_svc(solver="sdca").fit(Seller(X), y)
    with pytest.raises(ValueError, match="target_error needs held-out rows, which would have to be bought"):
        papers_svc(target_error=0.1).fit(Seller(X), y)
    with pytest.raises(ValueError, match="one class only"):
        papers_svc().fit(Seller(X), np.ones(N))
    with pytest.raises(ValueError, match="Simba takes no weights"):
        papers_svc(solver="simba", class_weight="balanced").fit(X, y)


@pytest.mark.slow
def test_an_oracle_that_fails(data):
    X, y = data
    bad = X[:800].copy()
    bad[700] = np.nan
    oracle = Oracle(Seller(bad), retries=1, wait=0.0)
    with pytest.raises(OracleError, match=re.escape("700")):
        papers_svc(random_state=0).fit(oracle, y[:800])
    assert oracle.bill.cells > 0  # what was paid for is kept


def test_a_fitted_model_forgets_the_oracle(data):
    X, y = data
    model = papers_svc(random_state=0, max_reads=5000).fit(Oracle(Seller(X)), y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all() and again.cost_ == model.cost_
    assert clone(model).get_params() == model.get_params()
    model.set_params(max_reads=None, solver="sdca").fit(X, y)
    assert not hasattr(model, "cost_")


@pytest.mark.slow
def test_a_copy_by_columns(data):
    X, y = data
    table = DenseTable(X, np.ascontiguousarray(X.T))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = papers_svc(solver="simba", max_iter=5, random_state=0).fit(table, y)
        same = papers_svc(solver="simba", max_iter=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-9)


class CountingLines:
    """Sells rows and columns, and writes down what it sold."""

    def __init__(self, X):
        self.X, self.shape, self.sold = X, X.shape, 0

    def row(self, i):
        self.sold += self.shape[1]
        return self.X[i]

    def column(self, j):
        self.sold += self.shape[0]
        return self.X[:, j]


class CountingCells(CountingLines):
    """Sells single cells too."""

    def cells(self, i, columns):
        self.sold += len(columns)
        return self.X[i, columns]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [CountingLines, CountingCells])
@pytest.mark.parametrize("solver", [name for name, one in registry.BY_NAME.items() if one.solves == "cells"])
@pytest.mark.parametrize("budget", [31_000, pytest.param(None, marks=pytest.mark.slow)])
def test_the_seller_counts_what_we_count(data, kind, solver, budget):
    X, y = data
    seller = kind(X)
    options = {} if budget is None else {"max_reads": budget}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = papers_svc(solver=solver, max_iter=60, random_state=0).fit(Oracle(seller, **options), y)
    assert model.n_feature_reads_ == seller.sold > 0
    assert budget is None or seller.sold <= budget


@pytest.mark.parametrize(
    "solver", ["cdn", *(name for name, one in registry.BY_NAME.items() if one.solves == "linear" and not one.needs)]
)
def test_who_takes_arrays_in_memory_buys_nothing(data, solver):
    X, y = data
    seller = CountingCells(X)
    with pytest.raises(ValueError, match=r"\buse "):
        papers_svc(solver=solver).fit(Oracle(seller), y)
    assert seller.sold == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [CountingLines, CountingCells])
@pytest.mark.parametrize("solver", [solvers.PrimalDual(), solvers.PDHG()], ids=["PrimalDual", "PDHG"])
def test_the_seller_counts_what_max_min_solvers_count(data, kind, solver):
    X, y = data
    seller = kind(X)
    problem = MaxMargin(Oracle(seller), y)
    result = solvers.solve(problem, solver, stop=Stop(max_iter=5))
    assert result.history[-1].feature_reads == problem.table.bill.cells == seller.sold > 0


@pytest.mark.slow
def test_what_was_paid_for_serves_again(data, tmp_path):
    X, y = data
    settings = {"max_reads": 20_000, "cache": tmp_path}
    with closing_oracle(CountingCells(X), **settings) as table:
        first = papers_svc(random_state=0).fit(table, y)
    seller = CountingCells(X)
    with closing_oracle(seller, **settings) as table:
        assert table.recovered > 19_000
        again = papers_svc(random_state=0).fit(table, y)
    assert seller.sold <= 20_000 - table.recovered
    assert again.score(X, y) >= first.score(X, y) - 0.005


def closing_oracle(seller, **settings):
    return contextlib.closing(Oracle(seller, **settings))
