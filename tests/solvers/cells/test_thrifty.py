import numpy as np
import pytest

from hinge import LinearSVC, Oracle
from hinge.access import DenseTable
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.solvers import SDCA, Frugal, Thrifty, solve

PRICES = np.concatenate([np.ones(19), [30.0], np.full(20, 10.0)])
ROW = float(PRICES.sum())


def drawn(n=3000, seed=0):
    """Nineteen cheap columns and a dear one decide, twenty others tell nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 3000, 40))
    score = X[:, :19].sum(axis=1) * 2 / np.sqrt(19) + 1.5 * X[:, 19] + 0.5 * rng.standard_normal(len(X))
    return X[:n], np.where(score > 0, 1, -1)[:n], X[n:], score[n:] > 0


def run(X, y, share, seed=0, **settings):
    table = DenseTable(X, prices=PRICES)
    problem, budget = Regularized.from_C(table, y, 0.1, bias="penalized"), share * len(y) * ROW
    return table, solve(problem, Thrifty(**{"budget": budget} | settings), stop=Stop(0, max_cost=budget), seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.03, 0.1])
def test_columns_that_are_not_worth_their_price_are_not_bought(share):
    accuracy, random = [], []
    for seed in range(4):
        X, y, X_new, y_new = drawn(seed=seed)
        table, result = run(X, y, share, seed)
        w, b = result.solution.w, result.solution.b
        assert (w[:19] != 0).sum() >= 17 and w[19] != 0 and (w[20:] != 0).sum() <= 2
        assert 0.9 * share * len(y) * ROW < table.bill.cost <= share * len(y) * ROW
        accuracy.append(np.mean((X_new @ w + b > 0) == y_new))
        k = int(share * len(y))
        whole = solve(Regularized.from_C(X[:k], y[:k], 0.1, bias="penalized"), SDCA(), stop=Stop(1e-3)).solution
        random.append(np.mean((X_new @ whole.w + whole.b > 0) == y_new))
    assert np.mean(accuracy) > (0.87 if share < 0.1 else 0.915)
    assert np.mean(accuracy) > np.mean(random) + (0.05 if share < 0.1 else 0.01)


def test_a_limit_on_cost_cuts_it_off_with_an_answer():
    X, y, X_new, y_new = drawn()
    for rows in (0.5, 3.0, 30.2, 70.9):
        table = DenseTable(X, prices=PRICES)
        problem = Regularized.from_C(table, y, 0.1, bias="penalized")
        result = solve(problem, Thrifty(budget=200 * ROW), stop=Stop(0, max_cost=rows * ROW))
        assert result.status is Status.MAX_COST
        assert table.bill.cost <= rows * ROW
        assert np.isfinite(result.solution.w).all()
    assert np.mean((X_new @ result.solution.w + result.solution.b > 0) == y_new) > 0.7


def test_rows_of_one_class_and_rows_without_weight():
    X, y, *_ = drawn(300)
    result = solve(Regularized(DenseTable(X), np.ones(300), 0.1), Thrifty(), stop=Stop(0))
    assert result.n_iter == 300
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    table = DenseTable(X)
    solve(Regularized(table, y, 0.1, weight=weight), Thrifty(), stop=Stop(0))
    assert not table.bill.whole_rows[200:].any() and table.bill.whole_rows[:200].any()


class Shop:
    """Sells cells at these prices."""

    def __init__(self, X, prices=PRICES):
        self.X, self.shape, self.prices = X, X.shape, prices

    def row(self, i):
        return self.X[i]

    def column(self, j):
        return self.X[:, j]

    def cells(self, i, columns):
        return self.X[i, columns]


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")
@pytest.mark.slow
def test_an_estimator_plans_for_the_budget_of_the_seller():
    X, y, *_ = drawn(800)
    model = LinearSVC(loss="hinge", C=0.1, solver="thrifty", random_state=0)
    model.fit(Oracle(Shop(X), max_cost=200 * ROW), y)
    assert (model.coef_ == 0).sum() > 10
    assert 190 * ROW < model.cost_ <= 200 * ROW


@pytest.mark.parametrize(
    ("settings", "message"), [({"pilot": 0.0}, "pilot"), ({"budget": -1.0}, "budget"), ({"tol": -1.0}, "tol")]
)
def test_settings_that_mean_nothing(settings, message):
    with pytest.raises(ValueError, match=message):
        Thrifty(**settings)


def test_other_problems_are_refused():
    from hinge.problems import NormConstrained

    with pytest.raises(ValueError, match="use Simba"):
        solve(NormConstrained(np.eye(3), np.array([1, -1, 1]), 1.0), Thrifty())
    assert Frugal.reads == Thrifty.reads
