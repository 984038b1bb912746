"""Searches on a device, through torch on the processor."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification
from sklearn.model_selection import KFold

from hinge import SVC, SVR, tune
from hinge.selection.kernel_path import KernelPath
from hinge.selection.scoring import training_of

torch = pytest.importorskip("torch")

import hinge.selection.kernel_path as module  # noqa: E402
from hinge.selection.kernel_path import DevicePath  # noqa: E402

CS = np.geomspace(0.01, 10, 4)


def made(kind):
    if kind == "regression":
        X, y = load_diabetes(return_X_y=True)
        return SVR(), X[:150], y[:150] / 50
    X, y = make_classification(150, 6, n_informative=4, n_classes=3 if kind == "ovo" else 2, random_state=0)
    return SVC(class_weight="balanced" if kind == "balanced" else None), X, y


def paths(kind):
    model, X, y = made(kind)
    model.tol = 1e-7  # of fits one by one
    data = training_of(model, X, y, None)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model.device = "cpu"
    return DevicePath(model, data, None), KernelPath(model, data, None), folds


@pytest.mark.parametrize("kind", ["binary", "balanced", "ovo", "regression"])
def test_decision_values_of_held_out_rows_are_those_of_fits_one_by_one(kind):
    device, host, folds = paths(kind)
    assert device.groups([0, 1, 2], 2) == [[0, 1, 2]] and host.groups([0, 1, 2], 2) == [[0], [1], [2]]
    every = zip(device.along(folds, CS.tolist(), 1e-5, None), host.along(folds, CS.tolist(), 1e-7, None), strict=True)
    for ours, theirs in every:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one._scores(None), other._scores(None), atol=0.05)


def test_what_does_not_reach_its_tolerance_is_fitted_alone(monkeypatch):
    few = module.GramSplitting
    monkeypatch.setattr(module, "GramSplitting", lambda tol: few(tol=tol, steps=2, most=1))
    alone, along = [], module.Refits.along
    monkeypatch.setattr(module.Refits, "along", lambda self, *rest: alone.append(rest[1]) or along(self, *rest))
    device, host, folds = paths("binary")
    ours = list(device.along(folds[:1], CS.tolist(), 1e-5, None))
    assert alone and len(ours) == len(CS)
    for (one,), (theirs,) in zip(ours, host.along(folds[:1], CS.tolist(), 1e-7, None), strict=True):
        np.testing.assert_allclose(one._scores(None), theirs._scores(None), atol=0.05)


def test_time_that_is_up_ends_a_path():
    device, _, folds = paths("binary")
    assert list(device.along(folds, CS.tolist(), 1e-3, -1.0)) == []


def test_a_search_goes_that_way(monkeypatch):
    model, X, y = made("binary")
    by_hand = tune(model, X, y, Cs=CS, gammas="scale", cv=3)
    monkeypatch.setattr(DevicePath, "fits", staticmethod(lambda model, data: True))
    model.set_params(device="cpu")
    found = tune(model, X, y, Cs=CS, gammas="scale", cv=3)
    known = ~np.isnan(found.scores) & ~np.isnan(by_hand.scores)
    np.testing.assert_allclose(found.scores[known], by_hand.scores[known], atol=0.02)
    assert known.sum() >= 3


def test_what_a_device_cannot_share_is_said_beforehand():
    model, X, y = made("binary")
    data = training_of(model, X, y, None)
    assert not DevicePath.fits(model, data)
    assert not DevicePath.fits(model.set_params(device="cuda", kernel="sigmoid"), data)
    assert not DevicePath.fits(model.set_params(kernel="rbf", max_kernel_evals=10**6), data)
