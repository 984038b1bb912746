"""scikit-learn's estimators with our fits in them predict what ours do."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hinge
from hinge.kernels import Function, Gaussian, Polynomial

LINEAR = {
    "two": hinge.LinearSVC(),
    "three": hinge.LinearSVC(loss="hinge", fit_intercept=False),
    "crammer": hinge.LinearSVC(multi_class="crammer_singer"),
    "regression": hinge.LinearSVR(epsilon=0.1),
    "chosen": hinge.LinearSVCCV(Cs=[0.1, 1.0], cv=2),
}
KERNEL = {
    "two rbf": hinge.SVC(),
    "three poly": hinge.SVC(kernel="poly", degree=2, coef0=1.0, C=3),
    "three ovo": hinge.SVC(decision_function_shape="ovo", gamma=0.2, class_weight="balanced"),
    "three ties": hinge.SVC(break_ties=True),
    "two sigmoid": hinge.SVC(kernel="sigmoid", gamma=0.01),
    "two linear": hinge.SVC(kernel="linear"),
    "two given": hinge.SVC(kernel="precomputed"),
    "three laplacian": hinge.SVC(kernel="laplacian", gamma=0.3),
    "two object": hinge.SVC(kernel=Polynomial(2, 0.5, 1.0)),
    "two blocks": hinge.SVC(kernel=Function(Gaussian(0.3), on="blocks")),
    "two nu": hinge.NuSVC(nu=0.2),
    "three nu": hinge.NuSVC(nu=0.1),
    "svr": hinge.SVR(C=2.0),
    "nusvr": hinge.NuSVR(kernel="linear"),
    "one class": hinge.OneClassSVM(nu=0.2),
    "one class linear": hinge.OneClassSVM(kernel="linear", nu=0.2),
}


def problem(name, form="dense"):
    """Rows and what is to be learned: two classes, three, or numbers."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.7)
    t = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=60)
    y = np.array(["a", "b", "c"])[np.digitize(t, [-0.5, 0.5])]
    y = np.where(t > 0, "yes", "no") if name.startswith("two") or name == "chosen" else y
    y = t if "sv" in name or name == "regression" else y
    if "given" in name:
        X = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    if "linear" in name and "class" in name:
        X = X + 2.0
    return (sp.csr_matrix(X) if form == "sparse" else X), y


def assert_same_predictions(ours, theirs, X):
    assert type(theirs) is getattr(svm, type(ours).__name__.removesuffix("CV"))
    if hasattr(ours, "decision_function"):
        expected = ours.decision_function(X)
        size = np.abs(expected).max()
        assert np.allclose(theirs.decision_function(X), expected, rtol=1e-7, atol=1e-9 * size)
        apart = np.abs(expected) > 1e-8 * size  # of one class, support vectors are on the boundary itself
        apart = apart.ravel() if apart.ndim == 1 else slice(None)
        assert (theirs.predict(X) == ours.predict(X))[apart].all()
    else:
        assert np.allclose(theirs.predict(X), ours.predict(X), rtol=1e-7, atol=1e-9)
    if hasattr(ours, "score_samples"):
        assert np.allclose(theirs.score_samples(X), ours.score_samples(X))


@pytest.mark.sampled(21)
@pytest.mark.filterwarnings("ignore:The kernel is not positive")
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", [*LINEAR, *KERNEL])
def test_the_same_predictions(name, form):
    X, y = problem(name, form)
    if form == "sparse" and name in ("two given", "two blocks"):
        pytest.skip("kernel values and functions of arrays are not sparse")
    model = clone({**LINEAR, **KERNEL}[name]).fit(X, y)
    made = model.to_sklearn()
    assert_same_predictions(model, made, X)
    assert_same_predictions(model, pickle.loads(pickle.dumps(made)), X)
    if name not in ("two blocks", "crammer"):
        again = clone(made).fit(X, y)  # its parameters are such that it can be fitted
        assert type(again) is type(made)


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("model", [hinge.SVC(), hinge.NuSVC(nu=0.1)], ids=["SVC", "NuSVC"])
def test_probabilities(model, name, form):
    X, y = problem(name, form)
    model = clone(model).fit(X, y).calibrate(X, y)
    made = model.to_sklearn()
    found = made.predict_proba(X)
    agrees = made.classes_[found.argmax(axis=1)] == made.predict(X)  # ours always do, and are moved where they must
    assert agrees.mean() > 0.8
    assert np.abs(found - model.predict_proba(X))[agrees].max() < 5e-3
    assert_same_predictions(model, made, X)


def test_probabilities_that_theirs_cannot_hold():
    X, y = problem("two")
    for model, method in ((hinge.LinearSVC(), "sigmoid"), (hinge.SVC(), "isotonic")):
        model.fit(X, y).calibrate(X, y, method=method)
        with pytest.warns(UserWarning, match="cannot hold these probabilities"):
            made = model.to_sklearn()
        assert not hasattr(made, "predict_proba")


def test_what_theirs_cannot_predict():
    X, y = problem("three")
    with pytest.raises(ValueError, match="multiclass='ovo'"):
        hinge.SVC(multiclass="ovr").fit(X, y).to_sklearn()
    with pytest.raises(ValueError, match="function of two items"):
        hinge.SVC(kernel=Function(lambda a, b: float(a @ b), on="pairs")).fit(X, y).to_sklearn()
    with pytest.raises(ValueError, match="not numbers"):
        words = ["aa", "ab", "bb", "ba"]
        hinge.SVC(kernel=lambda a, b: float(a[0] == b[0])).fit(words, [0, 0, 1, 1]).to_sklearn()
    with pytest.raises(NotFittedError):
        hinge.SVC().to_sklearn()


def test_parameters_and_names():
    pd = pytest.importorskip("pandas")
    X, y = problem("two")
    X = pd.DataFrame(X, columns=list("abcd"))
    model = hinge.LinearSVC(lam=0.01, class_weight="balanced").fit(X, y)
    made = model.to_sklearn()
    assert pytest.approx(1.0 / (0.01 * 60)) == made.C
    assert made.class_weight == "balanced"
    assert made.predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(ValueError, match="feature names"):
        made.predict(X[list("dcba")])
    kernel = hinge.SVC(gamma="auto").fit(X, y).to_sklearn()
    assert kernel.gamma == "auto" and kernel._gamma == 0.25
    assert kernel.feature_names_in_.tolist() == list("abcd")


def test_more_iterations_than_theirs_can_count():
    model = hinge.SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    model.n_iter_ = 2**62
    assert model.to_sklearn().predict([[1.0]]) == [1]
