import numpy as np
import pytest

from hinge import SVR, LinearSVR
from hinge.estimators.mixins.fitted_rows import FittedRows


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + 0.5 * rng.standard_normal(n)


def without(model, X, t):
    """Predictions by machines that are fitted without the row."""
    rest = [np.arange(len(t)) != i for i in range(len(t))]
    return np.array([model.fit(X[keep], t[keep]).predict(X[~keep])[0] for keep in rest])


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_squared_losses_do_not_depend_on_the_unit_of_targets(unit):
    X, t = problem(40, 5)
    model = LinearSVR(loss="squared_epsilon_insensitive", tol=1e-9).fit(X, unit * t)
    found, truth = model._left_out_scores(FittedRows(X, unit * t), every=True)[0][:, 0], without(model, X, unit * t)
    np.testing.assert_allclose(found, truth, atol=1e-3 * unit)


def test_a_prediction_moves_as_far_as_targets_do_where_every_target_is_reached():
    """All residuals are ε, so that their size says nothing about how far a prediction moves without its row."""
    X, t = problem(60, 10)
    model = SVR(C=1e4, epsilon=1e-3, tol=1e-6).fit(X, t)
    assert np.abs(model.predict(X) - t).max() < 0.01
    found, truth = model._left_out_scores(FittedRows(X, t))[0][:, 0], without(model, X, t)
    assert np.abs(found - truth).mean() < 0.1 * np.abs(t - truth).mean()


def test_coefficients_of_targets_that_are_nearly_reached_are_not_taken_from_residuals():
    """With 40 times as many features as rows, residuals are as small as the error that the tolerance allows."""
    X, t = problem(40, 1600)
    model = LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1).fit(X, t)
    found = model._left_out_scores(FittedRows(X, t))[0][:, 0]
    truth = without(LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=1e-8), X, t)
    assert np.abs(found - truth).mean() < 0.05 * np.abs(t - truth).mean()
