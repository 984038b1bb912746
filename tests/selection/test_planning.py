import numpy as np
import pytest

import hinge
from hinge import LinearSVC
from hinge.access import DenseTable
from hinge.selection.planning import power_law

MODEL = LinearSVC(C=0.1)


def drawn(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    return X, np.where(X.sum(axis=1) + 1.5 * rng.standard_normal(n) > 0, "yes", "no")


def test_a_power_law_is_found():
    sizes = np.array([25, 50, 100, 200])
    a, b, c = power_law(sizes, 0.1 + 2.0 * sizes**-0.8)
    assert a == pytest.approx(0.1, abs=1e-6) and b == pytest.approx(2.0, rel=1e-4) and c == pytest.approx(0.8)


@pytest.mark.slow
def test_the_cost_that_is_told_buys_the_error():
    """Of the pilots of four draws, all but one at most tell an interval that has the true cost."""
    price, found = 3.0 * 20, []
    for seed in range(4):
        X, y = drawn(seed=seed)
        table = DenseTable(X, prices=np.full(20, 3.0))
        plan = hinge.plan_cost(MODEL, table, y, error=0.13, pilot_cost=300 * price, confidence=0.9, seed=seed)
        assert plan.pilot_cost == table.bill.cost == 300 * price
        assert plan.full_cost == 6000 * price
        assert plan.low <= plan.cost <= plan.high
        errors = []
        for rows in (plan.low, plan.high):
            some = np.random.default_rng(1).permutation(3000)[: max(20, int(min(3000, rows / price)))]
            errors.append(np.mean(LinearSVC(C=0.1).fit(X[some], y[some]).predict(X[3000:]) != y[3000:]))
        found.append(errors[0] > 0.13 - 0.01 and errors[1] < 0.13 + 0.01)
    assert sum(found) >= 3


@pytest.mark.slow
def test_what_cannot_be_reached_costs_without_end():
    X, _ = drawn(400)
    y = np.random.default_rng(0).random(400) < 0.5
    plan = hinge.plan_cost(MODEL, X, y, error=0.05, pilot_cost=200 * 20)
    assert plan.cost == np.inf and plan.reachable < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": 0.0}, "error must be a number greater than 0 and less than 1"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"pilot_cost": 100.0}, "40 rows"),
        ({"pilot_cost": "much"}, "40 rows"),
    ],
)
def test_what_means_nothing_is_refused(options, message):
    X, y = drawn(200)
    with pytest.raises(ValueError, match=message):
        hinge.plan_cost(MODEL, X, y, **{"error": 0.2, "pilot_cost": 2000.0} | options)


def test_a_pilot_of_one_label_is_refused():
    X, _ = drawn(200)
    with pytest.raises(ValueError, match="same label"):
        hinge.plan_cost(MODEL, X, np.ones(200), error=0.1, pilot_cost=2000.0)
