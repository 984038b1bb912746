"""The display of proven bounds on the error of every C."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from hinge import LinearSVCCV
from hinge.display import ChoiceDisplay

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


def test_what_is_drawn_is_what_was_proven(ax):
    X, y = load_iris(return_X_y=True)
    model = LinearSVCCV(Cs=[0.1, 1.0], certify=0.1).fit(X[50:, :2], y[50:])
    display = ChoiceDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax and display.error == model.error_bounds_.chosen and display.chosen == model.C_
    np.testing.assert_array_equal(ax.patches[0].get_data().values, model.error_bounds_.upper)


def test_a_search_without_bounds_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no bounds to show"):
        ChoiceDisplay.from_estimator(LinearSVCCV(Cs=[0.1, 1.0]).fit(X, y))
    with pytest.raises(ValueError, match="for each cell"):
        ChoiceDisplay([1.0, 2.0], [0.1, 0.2], [0.2], 1.0, 0.2)
