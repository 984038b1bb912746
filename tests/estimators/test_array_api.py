"""scikit-learn's checks of the array API: same values, same kind, same device as the rows."""

from unittest import SkipTest

import pytest
from sklearn.utils import estimator_checks, get_tags

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

pytest.importorskip("array_api_strict")
if not hasattr(estimator_checks, "check_array_api_same_namespace"):
    pytest.skip("This scikit-learn does not have these checks yet.", allow_module_level=True)

ESTIMATORS = [SVC(probability=True), SVC(kernel="linear"), SVC(kernel="precomputed"), NuSVC(), SVR(), NuSVR()]
ESTIMATORS += [LinearSVC(), LinearSVC("l1", dual=False), LinearSVC(multi_class="crammer_singer"), LinearSVR()]
ESTIMATORS += [OneClassSVM()]
KINDS = [
    ("numpy", None, None),
    ("array_api_strict", "CPU_DEVICE", "float64"),
    ("array_api_strict", "device1", "float32"),
]
KINDS += [("torch", "cpu", "float64"), ("torch", "cpu", "float32"), ("torch", "cuda", "float32"), ("cupy", None, None)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_input_and_values(estimator, kind):
    namespace, device, dtype = kind
    try:
        for check in (estimator_checks.check_array_api_input, estimator_checks.check_array_api_input_and_values):
            check(type(estimator).__name__, estimator, namespace, device, dtype, check_sample_weight=True)
    except SkipTest as skipped:
        assert namespace in ("torch", "cupy"), "This library is there."
        pytest.skip(str(skipped))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_labels_of_another_kind(estimator):
    pytest.importorskip("torch")
    kinds = [estimator_checks.NamespaceAndDevice(*kind) for kind in (("torch", "cpu"), ("array_api_strict", "device1"))]
    estimator_checks.check_array_api_mixed_inputs(type(estimator).__name__, estimator, *kinds, check_values=True)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_rows_of_predictions_are_of_the_kind_of_the_fit(estimator):
    estimator_checks.check_array_api_same_namespace(type(estimator).__name__, estimator, "array_api_strict")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_tag(estimator):
    assert get_tags(estimator).array_api_support
