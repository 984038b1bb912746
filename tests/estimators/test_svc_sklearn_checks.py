"""scikit-learn's own checks of SVC, counted: none may be skipped without being seen."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import SVC

# A check compares weighted rows with repeated ones to seven digits: hence the tolerance.
ESTIMATORS = {
    "plain": SVC(tol=1e-12),
    "rest": SVC(multiclass="ovr", tol=1e-12),
    "linear": SVC(kernel="linear", tol=1e-12),
    "laplacian": SVC(kernel="laplacian", fit_intercept=False, tol=1e-12),
    "precomputed": SVC(kernel="precomputed", tol=1e-12),
    "pairs": SVC(decision_function_shape="ovo", tol=1e-12),
}


@parametrize_with_checks(list(ESTIMATORS.values()))
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_number_of_checks(name):
    assert len(list(estimator_checks_generator(ESTIMATORS[name]))) >= 55
