import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.calibration.sigmoid import PlattSigmoid, fit_sigmoid, probabilities

RNG = np.random.default_rng(0)
F = RNG.standard_normal(300) * 2.0
POSITIVE = RNG.random(300) < 1 / (1 + np.exp(-1.5 * F + 0.7))
ONES = np.ones(300)


def loss(sigmoid, f, positive, weight):
    """The loss with Platt's targets, written out."""
    n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
    t = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    z = sigmoid[0] * f + sigmoid[1]
    return float(weight @ (t * np.logaddexp(0, z) + (1 - t) * np.logaddexp(0, -z)))


@pytest.mark.parametrize("weight", [ONES, RNG.random(300) * 3], ids=["alike", "weighted"])
def test_no_other_sigmoid_has_less_loss(weight):
    found = fit_sigmoid(F, POSITIVE, weight)
    other = minimize(loss, [0.0, 0.0], (F, POSITIVE, weight), method="BFGS", options={"gtol": 1e-8})
    assert loss(found, F, POSITIVE, weight) <= other.fun + 1e-8
    np.testing.assert_allclose(found, other.x, rtol=1e-4)
    assert found.A < 0


def test_the_scale_and_the_place_of_the_scores_do_not_matter():
    found = fit_sigmoid(F, POSITIVE, ONES)
    for scale, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e4)):
        other = fit_sigmoid(F * scale + shift, POSITIVE, ONES)
        p, q = probabilities(F, found), probabilities(F * scale + shift, other)
        np.testing.assert_allclose(p, q, rtol=1e-5)


def test_two_rows_are_one_of_twice_the_weight():
    twice = fit_sigmoid(np.tile(F, 2), np.tile(POSITIVE, 2), np.tile(ONES, 2))
    np.testing.assert_allclose(fit_sigmoid(F, POSITIVE, 2 * ONES), twice, rtol=1e-6)
    some = ONES.copy()
    some[:100] = 0.0
    left = fit_sigmoid(F[100:], POSITIVE[100:], ONES[100:])
    np.testing.assert_array_equal(fit_sigmoid(F, POSITIVE, some), left)


def test_scores_that_tell_nothing_give_the_share_of_the_class():
    same = fit_sigmoid(np.full(300, 3.0), POSITIVE, ONES)
    turned = fit_sigmoid(-F, POSITIVE, ONES)  # they tell less than nothing
    share = POSITIVE.mean()
    for found in (same, turned):
        assert found.A == 0.0
        np.testing.assert_allclose(probabilities(F, found), share, atol=0.01)


def test_separated_scores_have_a_finite_sigmoid():
    found = fit_sigmoid(F, F > 0, ONES)
    assert np.isfinite(found).all() and found.A < 0
    p = probabilities(np.array([-4.0, 4.0]), found)
    assert 0 < p[0] < 0.02 and 0.98 < p[1] < 1


def test_no_decision_value_is_too_large():
    p = probabilities(np.array([-1e308, -1e3, 0.0, 1e3, 1e308]), PlattSigmoid(-1.0, 0.0))
    np.testing.assert_allclose(p, [0, 0, 0.5, 1, 1], atol=1e-300)
