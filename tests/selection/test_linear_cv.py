"""What `LinearSVCCV` and `LinearSVRCV` find, and scikit-learn's own checks of them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import LinearSVCCV, LinearSVRCV

ESTIMATORS = [LinearSVCCV(Cs=[0.1, 1.0], cv=3, tol=1e-10), LinearSVRCV(Cs=[0.1, 1.0], cv=3, tol=1e-10)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because")
@pytest.mark.filterwarnings("ignore:Class .* has one row")
@parametrize_with_checks(ESTIMATORS)
def test_sklearn_compatible(estimator, check):
    check(estimator)


def test_number_of_checks():
    assert all(len(list(estimator_checks_generator(estimator))) >= 45 for estimator in ESTIMATORS)


@pytest.mark.parametrize("cv", [5, "loo"])
def test_the_error_foretold(cv):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30))
    y = np.where(X @ rng.standard_normal(30) + 3.0 * rng.standard_normal(2000) > 0, 1, -1)
    model = LinearSVCCV(cv=cv).fit(X[:300], y[:300])
    error = 1.0 - model.score(X[300:], y[300:])
    assert abs(error - model.error_) <= 2 * model.error_std_
    assert model.Cs_.shape == model.mean_scores_.shape == (10,)
    assert model.best_score_ == np.nanmax(model.mean_scores_)


def test_regression(targets):
    model = LinearSVRCV(cv=4, epsilon=0.1).fit(*targets)
    assert model.best_score_ > 0.2 and model.coef_.shape == (3,)
    assert not hasattr(model, "partial_fit") and not hasattr(LinearSVCCV(), "partial_fit")
