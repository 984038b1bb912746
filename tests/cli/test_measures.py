"""What is measured, against scikit-learn's own measures."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

from hinge import SVC, LinearSVC
from hinge.cli.measures import error_of, measured
from hinge.cli.preparation import joined, preparation_of
from hinge.cli.rows import FileRows
from hinge.datasets.frames import MixedRows


@pytest.mark.slow
def test_measures_of_classes_are_the_usual_ones():
    X, y = load_iris(return_X_y=True)
    X, y = X[:, :2], np.array(["a", "b", "c"])[y]
    model = SVC(probability=True).fit(X[::2], y[::2])
    found = measured(model, [FileRows(X, y)])
    said = model.predict_proba(X)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, model.predict(X)))
    assert found["log_loss"] == pytest.approx(log_loss(y, said))
    areas = [roc_auc_score(y == name, model.decision_function(X)[:, k]) for k, name in enumerate("abc")]
    assert found["roc_auc"] == pytest.approx(np.mean(areas)) and found["roc"] is None
    assert found["by_class"][0]["recall"] == pytest.approx(np.mean(model.predict(X)[y == "a"] == "a"))


@pytest.mark.slow
def test_of_two_classes_one_is_looked_for():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], np.array(["fox", "owl"])[y[50:] - 1]
    model = SVC(probability=True).fit(X[::2], y[::2])
    by = {name: measured(model, [FileRows(X, y)], name) for name in ("fox", "owl")}
    assert by["fox"]["roc_auc"] == pytest.approx(by["owl"]["roc_auc"])
    assert by["fox"]["brier"] == pytest.approx(brier_score_loss(y == "owl", model.predict_proba(X)[:, 1]))
    falsely, truly = np.array(by["owl"]["roc"]).T
    assert np.trapezoid(truly, falsely) == pytest.approx(by["owl"]["roc_auc"])
    assert measured(model, [FileRows(X, y)])["positive"] == "owl" and by["fox"]["positive"] == "fox"


def test_an_error_is_measured_without_preparing_all_rows_at_once(monkeypatch):
    monkeypatch.setattr("hinge.cli.rows.BLOCK", 1 << 12)
    rng = np.random.default_rng(0)
    numbers, words = rng.standard_normal((9, 20_000)), np.array(["red", "blue"], object)[rng.integers(0, 2, 20_000)]
    rows = FileRows(MixedRows([*numbers, words]), np.where(words == "red", "yes", "no"), None, (9,))
    few = rows._replace(X=rows.X[:200], y=rows.y[:200])
    model = joined(preparation_of(few), LinearSVC()).fit(few.X, few.y)
    assert error_of(model, few) == 0.0
    tracemalloc.start()
    error = error_of(model, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error == 0.0 and peak < numbers.nbytes
