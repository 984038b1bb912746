"""scikit-learn's own checks of SVR, counted: none may be skipped without being seen."""

import pytest
from exact_kernels import ExactSVR
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

# A check compares weighted rows with repeated ones to seven digits: hence the tolerance, and a gamma that
# does not depend on how often a row is there.
ESTIMATORS = {
    "plain": ExactSVR(gamma=0.5, tol=1e-9),
    "blocks": ExactSVR(gamma=0.5, tol=1e-9, solver="blockdual"),
    "linear": ExactSVR(kernel="linear", tol=1e-9),
    "poly": ExactSVR(kernel="poly", degree=2, gamma=0.1, coef0=1.0, tol=1e-9),
    "precomputed": ExactSVR(kernel="precomputed", tol=1e-9),
}


# A gap of 1e-9 is more than float64 can prove of some, and some matrices are not positive; both are said.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.filterwarnings("ignore:The kernel is not positive semidefinite")
@parametrize_with_checks(list(ESTIMATORS.values()))
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_number_of_checks(name):
    assert len(list(estimator_checks_generator(ESTIMATORS[name]))) >= 45
