"""Thresholds of decision values where errors differ in cost."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from hinge import SVC, LinearSVC, choose_threshold
from hinge.selection.without_rows import left_out_scores


@pytest.mark.parametrize("model", [LinearSVC(C=0.1), SVC(gamma=0.2)])
def test_no_other_threshold_costs_less(two, model):
    X, y = two
    model.fit(X, y)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 120)
    f, positive = left_out_scores(model, X, y)[:, 0], y == "yes"

    def cost(t):
        each = np.where(positive, 7.0 * (f <= t), 2.0 * (f > t))
        return float(each.mean())

    found = choose_threshold(model, X, y, cost_fp=2.0, cost_fn=7.0)
    assert found.cost == pytest.approx(cost(found.threshold))
    assert found.cost_at_zero == pytest.approx(cost(0.0))
    assert found.cost <= min(cost(t) for t in np.linspace(f.min() - 1, f.max() + 1, 999)) + 1e-12
    model.fit(X, y, sample_weight=weight)
    f = left_out_scores(model, X, y, weight)[:, 0]
    weighted = choose_threshold(model, X, y, cost_fn=7.0, sample_weight=weight)
    wrong = np.where(positive, 7.0 * (f <= weighted.threshold), 1.0 * (f > weighted.threshold))
    assert weighted.cost == pytest.approx(float(weight @ wrong) / weight.sum())


def test_extreme_costs_and_rows_held_out(two):
    X, y = two
    model = LinearSVC(C=0.1).fit(X[:80], y[:80])
    assert choose_threshold(model, X[:80], y[:80], cost_fn=0.0).cost == pytest.approx(0.0, abs=1e-12)
    every = choose_threshold(model, X[80:], y[80:], cost_fp=0.0, held_out=True)
    assert (
        every.cost == pytest.approx(0.0, abs=1e-12)
        and every.threshold < model.decision_function(X[80:][y[80:] == "yes"]).min()
    )


def test_more_than_two_classes(three):
    with pytest.raises(ValueError, match="separates two classes, and the model has 3"):
        choose_threshold(LinearSVC().fit(*three), *three)


@pytest.mark.sampled
@pytest.mark.parametrize("model", [LinearSVC(C=0.1), SVC(gamma=0.2)])
def test_those_of_scikit_learn_work_on_fitted_models(two, model):
    X, y = two
    model.fit(X, y)
    found = choose_threshold(model, X, y, cost_fn=5.0)
    fixed = FixedThresholdClassifier(
        FrozenEstimator(model), threshold=found.threshold, response_method="decision_function"
    ).fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X) == "yes", model.decision_function(X) > found.threshold)
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(model), cv="prefit", refit=False, response_method="decision_function"
    ).fit(X, y)
    assert tuned.best_score_ >= 0.5 and set(tuned.predict(X)) == {"yes", "no"}


def test_one_row_of_a_class_makes_a_guess(two):
    X, y = two
    rows = np.r_[np.flatnonzero(y == "no"), np.flatnonzero(y == "yes")[:1]]
    model = LinearSVC(C=1.0, class_weight="balanced").fit(X[rows], y[rows])
    with pytest.warns(UserWarning, match="Class 'yes' has one row.* is a guess"):
        choose_threshold(model, X[rows], y[rows])
