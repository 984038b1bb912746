"""Intervals of probabilities."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from hinge.calibration.isotonic import fit_venn_abers, interval, merged


def literal(f, positive, weight, new):
    """Both ends for a new value, by two regressions with it."""
    ends = []
    for label in (0.0, 1.0):
        fit = IsotonicRegression().fit(np.append(f, new), np.append(positive, label), np.append(weight, 1.0))
        ends.append(fit.predict([new])[0])
    return ends


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "separable", "turned", "equal"])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_both_ends_are_those_of_two_regressions(n, kind):
    rng = np.random.default_rng(n)
    f, weight = rng.standard_normal(n), np.ones(n)
    positive = f + rng.standard_normal(n) > 0
    if kind == "ties":
        f = np.round(2 * f)
    elif kind == "weights":
        weight = rng.choice([0.0, 0.2, 1.0, 7.5], n)
        weight[0] = 1.0
    elif kind in ("separable", "turned"):
        positive = (f > 0) == (kind == "separable")
    elif kind == "equal":
        f = np.zeros(n)
    found = fit_venn_abers(f, positive, weight)
    seen = weight > 0
    for new in np.concatenate([f, f + 1e-9, rng.standard_normal(20), [-9.0, 9.0]]):
        np.testing.assert_allclose(
            np.ravel(interval(np.array([new]), found)),
            literal(f[seen], positive[seen], weight[seen], new),
            atol=1e-9,
            err_msg=f"at {new}",
        )


def test_one_probability_lies_between_them_and_is_never_certain():
    f = np.linspace(-1, 1, 50)
    found = fit_venn_abers(f, f > 0, np.ones(50))
    lower, upper = interval(np.linspace(-2, 2, 300), found)
    p = merged(lower, upper)
    assert (lower <= p).all() and (p <= upper).all()
    assert 0 < p.min() < 0.1 and 0.9 < p.max() < 1
    assert (np.diff(p) >= -1e-12).all() and (np.diff(lower) >= -1e-12).all() and (np.diff(upper) >= -1e-12).all()


def test_the_mean_of_the_ends_holds_the_share_of_the_class():
    """They are valid: over new rows, the expected label is between the means of both ends."""
    rng = np.random.default_rng(3)
    f = rng.standard_normal(4300)
    positive = rng.random(4300) < 1 / (1 + np.exp(-3 * f**3))  # no sigmoid
    found = fit_venn_abers(f[:300], positive[:300], np.ones(300))
    lower, upper = interval(f[300:], found)
    assert lower.mean() - 0.03 < positive[300:].mean() < upper.mean() + 0.03


def test_ends_are_in_order_whatever_the_weights():
    """Sums of weights that differ by more than all digits lose the smaller ones."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        f, positive = rng.standard_normal(20), rng.random(20) < 0.5
        found = fit_venn_abers(f, positive, 10.0 ** rng.uniform(-90, 90, 20))
        assert (found.lower >= -1e-9).all() and (found.lower <= found.upper).all() and (found.upper <= 1.0 + 1e-9).all()
