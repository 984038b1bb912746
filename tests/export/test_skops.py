"""skops files: the same predictions, and nothing to trust."""

import sys

import numpy as np
import pytest
from export.made_up import KERNEL, LINEAR, fitted
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.export import to_onnx, to_skops


@pytest.fixture(scope="module", autouse=True)
def skops_io():
    """Imported where a test needs it: skops looks through all modules, which takes longer than the tests."""
    return pytest.importorskip("skops.io", reason="skops is not installed: pip install skops")


@pytest.mark.sampled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [*LINEAR, *KERNEL])
def test_the_same_predictions_and_nothing_to_trust(name, sparse, tmp_path, skops_io):
    model, X = fitted(name, sparse)
    to_skops(model, tmp_path / "m.skops")
    assert skops_io.get_untrusted_types(file=tmp_path / "m.skops") == []
    made = skops_io.load(tmp_path / "m.skops")
    what = "decision_function" if hasattr(model, "decision_function") else "predict"
    assert np.allclose(getattr(made, what)(X), getattr(model, what)(X), rtol=1e-9, atol=1e-9)


def test_a_pipeline(tmp_path, skops_io):
    model, X = fitted("two svc", probability=True)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False).fit(X), model)
    to_skops(pipeline, tmp_path / "m.skops")
    made = skops_io.load(tmp_path / "m.skops")
    assert (made.predict(X) == model.predict(X)).all()
    assert hasattr(made, "predict_proba")


def test_a_kernel_that_skops_does_not_trust(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = hinge.SVC(kernel=lambda a, b: a @ b.T).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="skops does not trust"):
        to_skops(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("write", "needed"), [(to_skops, "skops"), (to_onnx, "skl2onnx")], ids=["skops", "onnx"])
def test_what_is_not_installed_is_named_with_the_extra(write, needed, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, needed, None)
    with pytest.raises(ImportError, match="pip install 'hinge"):
        write(hinge.LinearSVC().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m")
