"""`l1_min_c`: the largest C at which all weights are zero."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from hinge import LinearSVC, l1_min_c


@pytest.mark.sampled
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"intercept_scaling": 20.0}])
@pytest.mark.parametrize("labels", ["two", "three", "many"])
def test_it_is_scikit_learns(make, loss, options, labels, request):
    X, y = request.getfixturevalue(labels)
    ours = l1_min_c(make(X), y, loss=loss, **options)
    assert ours == pytest.approx(svm.l1_min_c(X, y, loss=loss, **options), rel=1e-12)
    assert isinstance(ours, float)


@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"intercept_scaling": 10.0}, {}])
@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.filterwarnings("ignore::hinge.ConstantPredictionWarning")
def test_all_weights_are_zero_up_to_it_and_not_beyond(options, labels, request):
    X, y = request.getfixturevalue(labels)
    C = l1_min_c(X, y, **options)
    model = LinearSVC("l1", dual=False, C=C, **options).fit(X, y)
    assert not model.coef_.any() and not model.intercept_.any()
    assert model.gap_ < 1e-11
    assert model.stop_reason_ == "converged"
    model.set_params(C=1.01 * C).fit(X, y)
    assert model.coef_.any() or model.intercept_.any()


def test_wrong_arguments_are_named():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="There is no such C"):
        l1_min_c([[0, 0], [0, 0]], y)
    for options, words in (
        ({"loss": "hinge"}, "loss must be"),
        ({"fit_intercept": "no"}, "fit_intercept must be"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be"),
    ):
        with pytest.raises(ValueError, match=words):
            l1_min_c(X, y, **options)
    with pytest.raises(ValueError, match="one class only"):
        l1_min_c(X, [1, 1])
