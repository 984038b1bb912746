"""Displays of the coverage of prediction sets and intervals."""

import numpy as np
import pytest
from sklearn.datasets import make_regression

from hinge import LinearSVC, LinearSVR
from hinge.display import ConformalDisplay

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


def test_what_is_drawn_is_what_was_measured(ax, noisy):
    X, y, _ = noisy
    model = LinearSVC().fit(X[::2], y[::2])
    display = ConformalDisplay.from_estimator(model, X[1::2], y[1::2], alphas=[0.05, 0.1, 0.3], ax=ax)
    sets = model.predict_set(X[1::2], 0.1)
    own = sets[np.arange(len(sets)), np.searchsorted(model.classes_, y[1::2])]
    assert display.coverage[1] == own.mean() and display.size[1] == sets.sum(axis=1).mean()
    assert display.ax_ is ax and "classes" in display.unit
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.c_[[0.95, 0.9, 0.7], display.coverage])


def test_intervals_that_are_infinite_are_left_out_of_the_picture(ax):
    X, t = make_regression(30, 3, noise=1.0, random_state=0)
    display = ConformalDisplay.from_estimator(LinearSVR().fit(X, t), X, t, alphas=[0.01, 0.2], ax=ax)
    assert np.isinf(display.size[0]) and display.coverage[0] == 1.0
    beside = next(one for one in ax.figure.axes if one is not ax)
    assert len(beside.lines[0].get_xdata()) == 1


def test_arrays_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="one coverage and one size for each alpha"):
        ConformalDisplay([0.1, 0.2], [0.9], [1.0], 5)
