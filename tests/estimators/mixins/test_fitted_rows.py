import gc
import pickle
import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import SVC, LinearSVC, NuSVC


def test_rows_are_not_pickled_and_are_released_with_the_model():
    X, y = make_blobs(6000, 100, random_state=0)
    y %= 2
    model = LinearSVC(C=1e-3).fit(X, y)
    model.predict_set(X[:1])
    assert len(pickle.dumps(model)) < X.nbytes / 2
    kept = weakref.ref(X)
    gc.disable()  # no circle of references keeps them
    try:
        del X, model
        assert kept() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("machine", [LinearSVC(), SVC(), NuSVC(nu=0.3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_calibrate_needs_no_rows_where_the_model_was_fitted(machine, weighted):
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 200) if weighted else None
    plain, given = clone(machine).fit(X, y, weight).calibrate(), clone(machine).fit(X, y, weight)
    np.testing.assert_allclose(plain.predict_proba(X), given.calibrate(X, y, weight).predict_proba(X), atol=1e-6)
    loaded = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(loaded.predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match=r"not at hand.*call calibrate\(X, y\) with the rows of the fit"):
        loaded.calibrate()
    with pytest.raises(ValueError, match="needs y with X"):
        plain.calibrate(X)
    with pytest.raises(ValueError, match="rows that took no part in the fit: give X and y"):
        plain.calibrate(held_out=True)


def test_nor_in_a_pipeline():
    X, y = make_blobs(200, centers=2, cluster_std=4.0, random_state=1)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    assert hinge.calibrate(model).predict_proba(X).shape == (200, 2)
