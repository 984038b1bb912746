"""What is measured, against scikit-learn's own measures."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

from hinge import SVC
from hinge.cli.measures import measured


@pytest.mark.slow
def test_measures_of_classes_are_the_usual_ones():
    X, y = load_iris(return_X_y=True)
    X, y = X[:, :2], np.array(["a", "b", "c"])[y]
    model = SVC(probability=True).fit(X[::2], y[::2])
    found = measured(model, [(X, y)])
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
    by = {name: measured(model, [(X, y)], name) for name in ("fox", "owl")}
    assert by["fox"]["roc_auc"] == pytest.approx(by["owl"]["roc_auc"])
    assert by["fox"]["brier"] == pytest.approx(brier_score_loss(y == "owl", model.predict_proba(X)[:, 1]))
    falsely, truly = np.array(by["owl"]["roc"]).T
    assert np.trapezoid(truly, falsely) == pytest.approx(by["owl"]["roc_auc"])
    assert measured(model, [(X, y)])["positive"] == "owl" and by["fox"]["positive"] == "fox"
