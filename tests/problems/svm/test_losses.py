"""Losses by their conjugates, against what the definitions say on fine grids."""

import numpy as np
import pytest

from hinge.problems.svm.losses import (
    HINGE,
    SQUARED_HINGE,
    Loss,
    ascents,
    best_weight,
    epsilon_insensitive,
    gap_share,
    squared_epsilon_insensitive,
)

LOSSES = HINGE, SQUARED_HINGE, epsilon_insensitive(0.3), squared_epsilon_insensitive(0.3), epsilon_insensitive(0.0)
FORMULAS = {
    "hinge": lambda g, e: np.maximum(0, g),
    "squared_hinge": lambda g, e: np.maximum(0, g) ** 2,
    "epsilon_insensitive": lambda g, e: np.maximum(0, np.abs(g) - e),
    "squared_epsilon_insensitive": lambda g, e: np.maximum(0, np.abs(g) - e) ** 2,
}
G = np.linspace(-3, 3, 121)
by_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.epsilon}")


def weights(loss):
    """A fine grid of dual weights within the bounds."""
    return np.linspace(max(loss.low, -20.0), min(loss.high, 20.0), 40_001)


def conjugate(loss, a):
    return loss.epsilon * np.abs(a) + 0.5 * loss.curvature * a**2


@pytest.mark.sampled
@by_loss
def test_values_are_those_of_the_formula_and_of_the_conjugate(loss):
    formula = FORMULAS[loss.name](G, loss.epsilon)
    np.testing.assert_allclose(loss.values(G.copy()), formula, atol=1e-15)
    a = weights(loss)
    np.testing.assert_allclose([np.max(a * g - conjugate(loss, a)) for g in G], formula, atol=1e-6)


@by_loss
def test_an_error_of_g_makes_the_loss_no_smaller(loss):
    most = loss.values(G.copy(), error=0.1)
    around = [loss.values(G + off) for off in np.linspace(-0.1, 0.1, 21)]
    np.testing.assert_allclose(most, np.max(around, axis=0), atol=1e-12)


@by_loss
def test_the_slope_leaves_no_share_in_the_gap(loss):
    slope = loss.slope(G)
    assert ((loss.low <= slope) & (slope <= loss.high)).all()
    np.testing.assert_allclose([gap_share(loss, g, a) for g, a in zip(G, slope, strict=True)], 0.0, atol=1e-12)


@by_loss
def test_shares_are_loss_plus_conjugate_and_never_negative(loss):
    for a in (loss.slope(np.array([v]))[0] for v in (-2.0, -0.4, 0.0, 0.2, 0.5, 2.0)):
        shares = np.array([gap_share(loss, g, a) for g in G])
        np.testing.assert_allclose(shares, loss.values(G.copy()) + conjugate(loss, a) - a * G, atol=1e-12)
        assert (shares >= -1e-15).all()


@pytest.mark.sampled
@by_loss
@pytest.mark.parametrize("h", [0.1, 1.0, 7.0])
def test_the_best_weight_is_the_best_on_a_grid(loss, h):
    a = weights(loss)
    for old in (loss.slope(np.array([v]))[0] for v in (-2.0, -0.35, 0.0, 0.4, 2.0)):
        for g in (-2.5, -0.7, -0.2, 0.0, 0.1, 0.9, 2.5):
            dual = g * (a - old) - 0.5 * h * (a - old) ** 2 - conjugate(loss, a)
            new = best_weight(loss, old, g, h)
            assert new == pytest.approx(a[dual.argmax()], abs=2e-3)
            rise, fall = ascents(loss, old, g)
            step = 1e-6
            here, above, below = conjugate(loss, np.array([old, old + step, old - step]))
            if old < loss.high:
                assert rise == pytest.approx(g - (above - here) / step, abs=1e-5)
            if old > loss.low:
                assert fall == pytest.approx(g - (here - below) / step, abs=1e-5)
            assert (rise <= 0.0 <= fall) == (new == pytest.approx(old, abs=1e-12))


@by_loss
def test_a_row_of_zeros_goes_to_a_bound(loss):
    with np.errstate(divide="ignore"):  # compiled code divides as NumPy does
        best = best_weight(loss, 0.0, 1.0, np.float64(0.0))
    assert best == (loss.slope(np.ones(1))[0] if loss.curvature else loss.high)


def test_names_and_sides():
    assert [loss.name for loss in LOSSES[:4]] == list(FORMULAS)
    assert [loss.two_sided for loss in LOSSES[:4]] == [False, False, True, True]
    assert Loss(*HINGE) == HINGE and Loss(*SQUARED_HINGE) == SQUARED_HINGE


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, np.inf])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a number of at least 0"):
        epsilon_insensitive(epsilon)
