"""scikit-learn's own checks, counted: none may be skipped without being seen."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import LinearSVC

ESTIMATORS = [
    LinearSVC(tol=1e-10),
    LinearSVC(intercept="penalized", tol=1e-10),
    LinearSVC("l1", dual=False, tol=1e-10),
    LinearSVC(multi_class="crammer_singer", tol=1e-10),
]


# So small a gap is more than float64 can prove of some of these data, which is said.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because")
@parametrize_with_checks(ESTIMATORS)
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{e.penalty}-{e.intercept}")
def test_number_of_checks(estimator):
    assert len(list(estimator_checks_generator(estimator))) >= 60
