"""ONNX: onnxruntime says what our models say, to the rounding of float32."""

import numpy as np
import pytest
from export.made_up import KERNEL, LINEAR, MODELS, fitted
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hinge
from hinge.export import to_onnx

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed: pip install skl2onnx")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")


def outputs(path_or_model, inputs):
    content = path_or_model.read_bytes() if hasattr(path_or_model, "read_bytes") else path_or_model.SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    if not isinstance(inputs, dict):
        inputs = {session.get_inputs()[0].name: inputs}
    return session.run(None, inputs)


def assert_close(found, expected, digits=1e-4):
    assert np.abs(np.squeeze(found) - expected).max() <= digits * max(1.0, np.abs(expected).max())


@pytest.mark.sampled(7)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [*LINEAR, *KERNEL])
def test_the_same_predictions(name, sparse, tmp_path):
    model, X = fitted(name, sparse)
    rows = X.astype(np.float32)
    to_onnx(model, tmp_path / "m.onnx")
    found = outputs(tmp_path / "m.onnx", rows)
    if not hasattr(model, "decision_function"):
        assert_close(found[0], model.predict(X))
        return
    expected = model.decision_function(X)
    assert_close(found[1][:, -1] if expected.ndim == 1 else found[1], expected)
    clear = np.abs(expected) > 1e-4 if expected.ndim == 1 else np.diff(np.sort(expected))[:, -1] > 1e-4
    assert clear.mean() > 0.7 and (found[0].ravel() == model.predict(X))[clear].all()


@pytest.mark.parametrize("name", ["two svc", "three svc", "two nu"])
def test_probabilities(name):
    model, X = fitted(name, probability=True)
    _, p = outputs(to_onnx(model), X.astype(np.float32))
    agrees = model.classes_[p.argmax(axis=1)] == model.predict(X)
    assert agrees.mean() > 0.8
    assert np.abs(p - model.predict_proba(X))[agrees].max() < 5e-3


def test_pipelines():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 10.0, 100.0]
    model = make_pipeline(StandardScaler(), hinge.LinearSVC()).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    labels, scores = outputs(to_onnx(model), X.astype(np.float32))
    assert labels.tolist() == model.predict(X).tolist()
    assert_close(scores[:, -1], model.decision_function(X))


def test_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Oslo", "Rom"], 40), "size": rng.normal(size=40).astype(np.float32)})
    parts = ColumnTransformer([("c", OneHotEncoder(), ["city"]), ("n", StandardScaler(), ["size"])])
    model = make_pipeline(parts, hinge.SVC()).fit(frame, frame["size"] + (frame["city"] == "Rom") > 0.2)
    columns = {name: frame[[name]].to_numpy(object if name != "size" else np.float32) for name in frame}
    found = outputs(to_onnx(model, rows=frame), columns)
    assert_close(found[1][:, -1], model.decision_function(frame))


def test_columns_of_text():
    """Words of a text beside numbers and categories: what the command line's and scikit-learn's pipelines hold."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    words = np.array(["good", "bad", "dog", "cat", "very", "red"])
    texts = [" ".join(rng.choice(words, 5)) for _ in range(60)]
    frame = pd.DataFrame({"text": texts, "size": rng.normal(size=60).astype(np.float32)})
    y = np.array(["yes" if "good" in text else "no" for text in texts])
    for vectorizer in (CountVectorizer(lowercase=False), TfidfVectorizer(lowercase=False)):  # else a locale is needed
        parts = ColumnTransformer([("t", vectorizer, "text"), ("n", StandardScaler(), ["size"])])
        model = make_pipeline(parts, hinge.LinearSVC()).fit(frame, y)
        columns = {name: frame[[name]].to_numpy(object if name != "size" else np.float32) for name in frame}
        labels, scores = outputs(to_onnx(model, rows=frame), columns)
        assert_close(scores[:, -1], model.decision_function(frame))
        assert labels.tolist() == model.predict(frame).tolist()


def test_what_onnx_has_not(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    for kernel in ("laplacian", "precomputed"):
        model = hinge.SVC(kernel=kernel).fit(X @ X.T if kernel == "precomputed" else X, X[:, 0] > 0)
        with pytest.raises(ValueError, match="kernel of this model is another"):
            to_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
    assert len(MODELS) == len(LINEAR) + len(KERNEL)
