import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay as Theirs

from hinge import SVC, LinearSVC
from hinge.display.calibration import CalibrationDisplay, binned

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


def test_bins_hold_what_they_should():
    rng = np.random.default_rng(0)
    p = rng.random(20000)
    found = binned(rng.random(20000) < p, p, None, None, 10, "quantile")
    assert (found.rows == 2000).all()
    assert ((found.low < found.said) & (found.said < found.high)).sum() >= 8  # 95% each
    assert (np.abs(found.was - found.said) < 0.04).all()
    wide = binned(p > 2, np.full(20000, 0.5), None, None, 10, "uniform")
    assert wide.rows.tolist() == [20000] and wide.was.tolist() == [0.0] and 0 < wide.high[0] < 0.001


def test_intervals_are_drawn_where_there_are_any(noisy, ax):
    X, y, _ = noisy
    model = LinearSVC().fit(X[::2], y[::2]).calibrate(X[::2], y[::2], method="venn_abers")
    display = CalibrationDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=5, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert (display.bins.lower <= display.bins.said + 1e-9).all() and display.bins.rows.sum() == 200
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "Venn-Abers interval" in said and any("log-loss" in one for one in said)
    model.calibrate(X[::2], y[::2])
    plain = CalibrationDisplay.from_estimator(model, X[1::2], y[1::2], pos_label=-1, draw=False)
    assert plain.bins.lower is None and plain.name == "-1" and plain.bins.was[0] < plain.bins.was[-1]


def test_scikit_learns_display_takes_our_probabilities(noisy, ax):
    X, y, _ = noisy
    for model in (LinearSVC().fit(X, y).calibrate(X, y, method="isotonic"), SVC(probability=True).fit(X, y)):
        assert len(Theirs.from_estimator(model, X, y, ax=ax).prob_true)


def test_pairs_of_classes_have_no_band(noisy):
    X = noisy[0]
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    model = SVC().fit(X, y).calibrate(X, y, method="venn_abers")
    assert CalibrationDisplay.from_estimator(model, X, y, draw=False).bins.lower is None


def test_what_is_refused(noisy):
    X, y, _ = noisy
    with pytest.raises(ValueError, match="call its calibrate"):
        CalibrationDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="one of the classes"):
        CalibrationDisplay.from_estimator(LinearSVC().fit(X, y).calibrate(X, y), X, y, pos_label=7)
    for labels, p in (([0, 1], [0.5]), ([], []), ([0, 2], [0.5, 0.5]), ([0, 1], [0.5, 1.5])):
        with pytest.raises(ValueError, match="y_true holds 0 and 1"):
            CalibrationDisplay.from_predictions(labels, p)
    with pytest.raises(ValueError, match="n_bins is 1 or more"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 0.5], n_bins=0)
