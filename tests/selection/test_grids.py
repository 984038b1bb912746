"""The values of C and γ that are tried."""

import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, SVR, LinearSVC, LinearSVR, l1_min_c
from hinge.selection.scoring import bounds, grid_of_C, grid_of_gamma, training_of


@pytest.mark.parametrize("Cs", [[1.0, 0.0], [-1.0], [np.inf], [np.nan]])
def test_C_is_positive(two, Cs):
    data = training_of(LinearSVC(), *two, None)
    with pytest.raises(ValueError, match="Cs must be positive numbers"):
        grid_of_C(LinearSVC(), data, Cs, [None])


@pytest.mark.parametrize("Cs", [[], "many", [[1.0]], None, 0, True])
def test_what_is_no_grid(two, Cs):
    data = training_of(LinearSVC(), *two, None)
    with pytest.raises(ValueError, match="Cs must be"):
        grid_of_C(LinearSVC(), data, Cs, [None])


def test_gammas(two):
    model = SVC()
    data = training_of(model, *two, None)
    scale = 1.0 / (4 * two[0].var())
    np.testing.assert_allclose(grid_of_gamma(model, data, 3), [scale / 16, scale, 16 * scale])
    np.testing.assert_allclose(grid_of_gamma(model, data, ["scale", 0.5, "auto"]), [scale, 0.5, 0.25])
    assert grid_of_gamma(SVC(kernel="linear"), data, 5) == [None]
    with pytest.raises(ValueError, match="has no gamma to choose"):
        grid_of_gamma(SVC(kernel="linear"), data, [0.1])
    with pytest.raises(ValueError, match="gammas must be positive"):
        grid_of_gamma(model, data, [0.1, 0.0])


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"loss": "hinge", "fit_intercept": False}])
def test_below_the_smallest_C_nothing_is_learned(two, options):
    """As long as all rows pull, C changes the length of w alone."""
    model = LinearSVC(**{"loss": "hinge", "tol": 1e-9, **options})
    low, high = bounds(model, training_of(clone(model), *two, None), [None])
    first, second, third = (clone(model).set_params(C=C).fit(*two) for C in (low / 8, low / 2, 30 * low))
    np.testing.assert_allclose(4 * first.coef_, second.coef_, rtol=1e-5)
    turned = third.coef_ / np.linalg.norm(third.coef_) - second.coef_ / np.linalg.norm(second.coef_)
    assert np.abs(turned).max() > 1e-3
    assert high >= 1000 * low


@pytest.mark.filterwarnings("ignore::hinge.ConstantPredictionWarning")
def test_bounds_of_a_kernel_and_of_targets(two, targets):
    low, high = bounds(SVC(), training_of(SVC(), *two, None), [0.1, 1.0])
    a, b = (SVC(C=C, gamma=0.1).fit(*two).predict(two[0]) for C in (low / 2, low / 8))
    np.testing.assert_array_equal(a, b)
    assert high == pytest.approx(1000.0)
    data = training_of(SVR(), *targets, None)
    spread = np.abs(targets[1] - targets[1].mean()).mean()
    moved = np.ptp(SVR(C=bounds(SVR(), data, [0.3])[0], gamma=0.3, epsilon=0.0).fit(*targets).predict(targets[0]))
    assert 0.002 * spread < moved < 0.05 * spread
    low, high = bounds(LinearSVR(), training_of(LinearSVR(), *targets, None), [None])
    assert 0 < low < high


def test_the_1_norm_begins_where_weights_do(two):
    model = LinearSVC("l1")
    assert bounds(model, training_of(model, *two, None), [None])[0] == pytest.approx(l1_min_c(*two))
