"""Packages that take scikit-learn's machines take ours: one test each, where it is installed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import SVC, SVR, LinearSVC

X, Y = make_classification(300, 6, weights=[0.85], random_state=0)


def test_imbalanced_learn():
    pipeline = pytest.importorskip("imblearn.pipeline")
    over = pytest.importorskip("imblearn.over_sampling")
    plain = LinearSVC().fit(X, Y)
    model = pipeline.make_pipeline(over.SMOTE(random_state=0), LinearSVC()).fit(X, Y)
    rare = Y == 1
    assert model.predict(X)[rare].mean() > plain.predict(X)[rare].mean()
    borders = over.SVMSMOTE(random_state=0, svm_estimator=SVC()).fit_resample(X, Y)
    assert len(borders[0]) > len(X) and abs(np.mean(borders[1]) - 0.5) < 0.1


def test_mapie():
    mapie = pytest.importorskip("mapie.regression")
    rows, targets = make_regression(400, 5, noise=10.0, random_state=0)
    machine = make_pipeline(StandardScaler(), SVR(C=100.0)).fit(rows[:200], targets[:200])
    wrapped = mapie.SplitConformalRegressor(machine, confidence_level=0.9, prefit=True)
    wrapped.conformalize(rows[200:300], targets[200:300])
    _, intervals = wrapped.predict_interval(rows[300:])
    inside = (intervals[:, 0, 0] <= targets[300:]) & (targets[300:] <= intervals[:, 1, 0])
    assert 0.8 <= inside.mean() <= 1.0


def test_shap():
    shap = pytest.importorskip("shap")
    model = LinearSVC().fit(X, Y)
    values = shap.LinearExplainer(model, X).shap_values(X[:5])
    expected = (X[:5] - X.mean(axis=0)) * model.coef_[0]
    np.testing.assert_allclose(np.reshape(values, expected.shape), expected, atol=0.15 * np.abs(expected).max())


def test_skops(tmp_path):
    io = pytest.importorskip("skops.io")
    from hinge.export import to_skops

    model = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    to_skops(model, tmp_path / "m.skops")
    assert io.get_untrusted_types(file=tmp_path / "m.skops") == []
    assert (io.load(tmp_path / "m.skops").predict(X) == model.predict(X)).all()
