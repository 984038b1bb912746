"""Estimators with and without scikit-learn's callbacks."""

import importlib
import sys

import pytest

from hinge.estimators.fitting import decorators as callbacks


@pytest.fixture
def without(monkeypatch):
    """The module as it is with a scikit-learn that has none."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    yield importlib.reload(callbacks)
    monkeypatch.undo()
    importlib.reload(callbacks)


def test_without_them_methods_are_what_they_were(without):
    class Model(without.CallbackSupportMixin):
        @without.with_callbacks
        def fit(self, X, y=None, *, weight=1):
            """Fits."""
            return X, y, weight

    assert Model().fit(1, y=2, weight=3) == (1, 2, 3)
    assert Model.fit.__doc__ == "Fits."
    assert not hasattr(Model(), "set_callbacks")


def test_with_them_they_are_scikit_learns():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    assert callbacks.CallbackSupportMixin is callback.CallbackSupportMixin
    assert callbacks.with_callbacks is callback.with_callbacks
