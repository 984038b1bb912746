"""What `SVCCV` and `SVRCV` find, and scikit-learn's own checks of them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import SVCCV, SVRCV

WEIGHTS = "folds are of rows, and a row of weight two is not two rows"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
ESTIMATORS = [SVCCV(Cs=[0.1, 1.0], gammas=2, cv=3), SVRCV(Cs=[0.1, 1.0], gammas=2, cv=3)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because")
@pytest.mark.filterwarnings("ignore:Class .* has one row")
@pytest.mark.filterwarnings("ignore::hinge.ConstantPredictionWarning")  # labels at random
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_sklearn_compatible(estimator, check):
    check(estimator)


def test_number_of_checks():
    assert all(len(list(estimator_checks_generator(estimator))) >= 45 for estimator in ESTIMATORS)


def test_what_no_linear_machine_can_tell():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (900, 2))
    y = X[:, 0] * X[:, 1] > 0
    model = SVCCV(Cs=4, gammas=3).fit(X[:150], y[:150])
    assert model.scores_.shape == (4, 3, 5) and model.mean_scores_.shape == (4, 3)
    error = 1.0 - model.score(X[150:], y[150:])
    assert error < 0.12 and abs(error - model.error_) <= 2.5 * model.error_std_
    assert model.gamma_ == model.kernel_.gamma and model.gamma_ in model.gammas_


def test_a_kernel_without_gamma(two):
    model = SVCCV(Cs=[0.1, 1.0], kernel="linear", cv=3).fit(*two)
    assert model.gamma_ is None and model.scores_.shape == (2, 1, 3)
    assert model.coef_.shape == (1, 4)


def test_regression(targets):
    model = SVRCV(Cs=3, gammas=3, cv=4).fit(*targets)
    assert model.best_score_ > 0.5
    assert np.mean(np.abs(model.predict(targets[0]) - targets[1])) < model.error_
