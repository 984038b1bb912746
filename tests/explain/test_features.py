import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from hinge import SVC, LinearSVC, LinearSVCCV, LinearSVR
from hinge.explain import feature_table, frame

X, y = load_iris(return_X_y=True)
TWO = y[:100]


def test_effects_do_not_depend_on_units():
    scale = np.array([1.0, 100.0, 0.01, 3.0])
    model = LinearSVC(tol=1e-8).fit(X[:100], TWO)
    other = LinearSVC(tol=1e-8).fit(X[:100], TWO)
    other.coef_ = model.coef_ / scale  # the same function of the rows in other units
    one, two = feature_table(model, X[:100]), feature_table(other, X[:100] * scale)
    np.testing.assert_allclose(one.effect, two.effect)
    np.testing.assert_array_equal(one.feature, two.feature)
    np.testing.assert_allclose(one.effect, one.weight * one.spread)
    assert (np.diff(np.abs(one.effect)) <= 0).all()
    assert one.share.sum() == pytest.approx(1.0)
    assert set(one.of) == {"1"}


def test_an_effect_is_what_a_spread_moves():
    model = LinearSVR().fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    table = feature_table(model, X, names=list("abcd"), top=1)
    j = "abcd".index(table.feature[0])
    moved = model.predict(X[:1] + np.eye(4)[j] * X[:, j].std()) - model.predict(X[:1])
    np.testing.assert_allclose(table.effect, moved)
    assert table.of.tolist() == [""]


def test_several_classes_have_a_line_for_each():
    table = feature_table(LinearSVC().fit(X, y), sp.csr_array(X))
    dense = feature_table(LinearSVC().fit(X, y), X)
    assert len(table.weight) == 12 and set(table.of) == {"0", "1", "2"}
    np.testing.assert_allclose(table.spread, dense.spread)
    pairs = feature_table(SVC(kernel="linear").fit(X, y), X)
    assert set(pairs.of) == {"0 against 1", "0 against 2", "1 against 2"}


def test_names_are_those_of_the_frame_that_was_fitted():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X[:100], columns=["a", "b", "c", "d"])
    found = feature_table(LinearSVC().fit(table, TWO), table)
    assert set(found.feature) == {"a", "b", "c", "d"}
    as_frame = frame(found)
    assert list(as_frame.columns) == ["feature", "of", "weight", "spread", "effect", "share"]
    assert as_frame["feature"].tolist() == found.feature.tolist()


def test_a_pipeline_has_the_features_that_its_transformers_make():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X[:100], columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), LinearSVC()).fit(table, TWO)
    found = feature_table(pipeline, table, top=3)
    made = pipeline[:-1].transform(table)
    expected = feature_table(pipeline[-1], made, names=pipeline[:-1].get_feature_names_out(), top=3)
    assert repr(found) == repr(expected) and found.weight.tolist() == expected.weight.tolist()
    assert {"a", "c d"} <= set(feature_table(pipeline, table).feature)
    assert set(feature_table(make_pipeline(LinearSVC()).fit(table, TWO), table).feature) == set("abcd")
    unnamed = make_pipeline(FunctionTransformer(), LinearSVC()).fit(X[:100], TWO)
    assert set(feature_table(unnamed, X[:100]).feature) == {"x0", "x1", "x2", "x3"}


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"This SVC has no weights.*kernel is not linear"):
        feature_table(make_pipeline(StandardScaler(), SVC()).fit(X, y), X)
    with pytest.raises(
        ValueError, match=r"This GridSearchCV has no weights of features \(coef_\): give a fitted linear"
    ):
        feature_table(GridSearchCV(LinearSVC(), {"C": [1.0]}, cv=2).fit(X, y), X)
    with pytest.raises(ValueError, match="kernel is not linear"):
        feature_table(SVC().fit(X, y), X)
    model = LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="2 names and 4 features"):
        feature_table(model, X, names=["a", "b"])
    with pytest.raises(ValueError, match="X has 3 features"):
        feature_table(model, X[:, :3])
    with pytest.raises(ValueError, match="at least 1"):
        feature_table(model, X, top=0)


def contributions(model):
    return np.ravel(model.coef_) * (X[:100] - X[:100].mean(axis=0))


def test_what_shap_reads_is_there():
    """``coef_`` and ``intercept_``, of which its linear values are made: w (x - mean)."""
    model = LinearSVC().fit(X[:100], TWO)
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    base = model.decision_function(X[:100].mean(axis=0)[None])[0]
    np.testing.assert_allclose(base + contributions(model).sum(axis=1), model.decision_function(X[:100]), atol=1e-9)


@pytest.mark.peer
@pytest.mark.parametrize("model", [LinearSVC(), LinearSVCCV(Cs=[0.1, 1.0]), SVC(kernel="linear"), LinearSVR()])
def test_shap_takes_our_machines(model):
    shap = pytest.importorskip("shap")
    model.fit(X[:100], TWO if hasattr(model, "decision_function") else X[:100, 0])
    found = shap.LinearExplainer(model, X[:100]).shap_values(X[:100])
    np.testing.assert_allclose(found, contributions(model), atol=1e-6)


@pytest.mark.peer
def test_shap_takes_several_classes():
    shap = pytest.importorskip("shap")
    model = LinearSVC().fit(X, y)
    explained = shap.LinearExplainer(model, X)(X)
    np.testing.assert_allclose(
        explained.base_values + explained.values.sum(axis=1), model.decision_function(X), atol=1e-6
    )
