"""scikit-learn's own checks of OneClassSVM, counted: none may be skipped without being seen."""

import pytest
from exact_kernels import ExactOneClassSVM
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from hinge import OneClassSVM

ESTIMATORS = {
    "plain": ExactOneClassSVM(gamma=0.5, tol=1e-7),
    "linear": ExactOneClassSVM(kernel="linear", tol=1e-5),
    "landmarks": OneClassSVM(gamma=0.5, n_components=20, tol=1e-3),
}


def expected_failures(estimator):
    on_it = "points on the boundary have the decision value zero, and its sign is that of a rounding error"
    if estimator.n_components is not None:  # whose answer has few points on the boundary
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": on_it for kind in ("dense", "sparse")}


# So small a gap is more than float64 can prove of some of these data, which is said.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because")
@parametrize_with_checks(list(ESTIMATORS.values()), expected_failed_checks=expected_failures)
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_number_of_checks(name):
    assert len(list(estimator_checks_generator(ESTIMATORS[name]))) >= 45
