"""scikit-learn's own checks of NuSVC and NuSVR, counted: none may be skipped without being seen."""

import pytest
from exact_kernels import ExactNuSVC, ExactNuSVR
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import NuSVC

ESTIMATORS = {
    "classes": ExactNuSVC(nu=0.3, gamma=0.5, tol=1e-12),
    "linear": ExactNuSVC(nu=0.3, kernel="linear", tol=1e-12),
    "targets": ExactNuSVR(gamma=0.5, tol=1e-9),
    "linear targets": ExactNuSVR(kernel="linear", tol=1e-9),
    "landmarks": NuSVC(nu=0.3, gamma=0.5, n_components=100, tol=1e-6),
}


def expected_failures(estimator):
    ignored = "there is no C that class weights could multiply: they are ignored, as in scikit-learn"
    return {"check_class_weight_classifiers": ignored} if isinstance(estimator, NuSVC) else {}


# So small a gap is more than float64 can prove of some of these data, which is said.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.filterwarnings("ignore:The fit ended because the method made all")  # checks take one or two landmarks
@parametrize_with_checks(list(ESTIMATORS.values()), expected_failed_checks=expected_failures)
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_number_of_checks(name):
    assert len(list(estimator_checks_generator(ESTIMATORS[name]))) >= 45
