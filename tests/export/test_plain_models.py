"""Pipelines with scikit-learn's estimators in place of ours; tests/estimators/mixins/test_to_sklearn.py has these."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.export import to_sklearn

X = np.random.default_rng(0).normal(size=(30, 3))
y = X[:, 0] > 0


def test_pipelines_and_searches():
    model = make_pipeline(StandardScaler(), hinge.SVC())
    found = GridSearchCV(model, {"svc__C": [0.1, 1.0]}, cv=2).fit(X, y)
    made = to_sklearn(found)
    assert made[0] is found.best_estimator_[0]
    assert type(made[-1]) is svm.SVC
    assert np.allclose(made.decision_function(X), found.decision_function(X), rtol=1e-12)
    assert type(to_sklearn(hinge.LinearSVCCV(Cs=[1.0, 2.0], cv=2).fit(X, y))) is svm.LinearSVC


def test_what_is_not_ours():
    with pytest.raises(TypeError, match="not a DummyClassifier"):
        to_sklearn(make_pipeline(StandardScaler(), DummyClassifier()).fit(X, y))
    with pytest.raises(NotFittedError):
        to_sklearn(hinge.SVC())
