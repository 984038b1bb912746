"""A law for every estimator: whatever the units, a sentence that helps, or a model of finite numbers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from older_sklearn import balanced_by_weight
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, LinearSVC, NuSVC, OneClassSVM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=24) > 0, 1, -1)

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian")
MODELS = {
    "linear": LinearSVC(),
    "sdca": LinearSVC(solver="sdca"),
    "hinge": LinearSVC(loss="hinge", intercept="free"),
    "slack": LinearSVC(loss="hinge", slack=0.1),
    "lam": LinearSVC(lam=0.1),
    **{f"SVC-{kernel}": SVC(kernel=kernel) for kernel in KERNELS},
    "SVC-slack": SVC(slack=0.01),
    **{f"NuSVC-{kernel}": NuSVC(kernel=kernel, nu=0.3) for kernel in KERNELS},
    **{f"one-class-{kernel}": OneClassSVM(kernel=kernel) for kernel in KERNELS},
}


def in_units(size, kind=np.float64):
    with np.errstate(over="ignore", under="ignore"):
        return (X * size).astype(kind)


DATA = {
    **{f"{size:g}": in_units(size) for size in (1e-320, 1e-160, 1e-100, 1e-30, 1e-20, 1e20, 1e60)},
    **{f"{size:g} single": in_units(size, np.float32) for size in (1e-44, 1e-30, 1e-20, 1e20, 1e37)},
    "half": in_units(1e4, np.float16),
    "columns": X * [1e-30, 1.0, 1e30],
    "rows": X * np.logspace(-60, 60, 24)[:, None],
    "shifted": X + 1e10,
    "barely different": X * 1e-9 + 1e9,
    "zeros": 0 * X,
    "equal": 0 * X + 7,
    "huge and equal": 0 * X + 1e60,
    "whole": (X * 1e18).astype(np.int64),
}


def obeys(model, rows, weight=None):
    """Refused in a sentence, or finite; whether it was fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # and any other warning is an error, but for this:
        warnings.filterwarnings("ignore", "The kernel is not positive semidefinite")
        try:
            model.set_params(max_time=0.2)
            model.fit(rows, sample_weight=weight) if isinstance(model, OneClassSVM) else model.fit(rows, Y, weight)
        except ValueError as error:
            assert len(str(error).split()) > 5
            assert not any(word in str(error) for word in ("nan", "bins", "identity"))  # NumPy's words
            return False
    for name in ("coef_", "intercept_", "dual_coef_", "objective_", "offset_"):
        values = getattr(model, name, 0.0)
        assert np.isfinite(values.data if sp.issparse(values) else values).all(), name
    assert model.gap_ >= 0 or getattr(model, "kernel_", None).indefinite  # which has none
    assert np.isfinite(model.decision_function(rows)).all()
    assert len(model.predict(rows)) == len(Y)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("data", DATA)
def test_data(data, sparse):
    if sparse and data == "half":
        pytest.skip("SciPy has no such matrices.")
    rows = sp.csr_array(DATA[data]) if sparse else DATA[data]
    fitted = [obeys(model, rows) for model in MODELS.values()]
    assert any(fitted)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-90, 1e90, 1e300, 1.7e308])
@pytest.mark.parametrize(
    "name", ["C", "lam", "slack", "nu", "gamma", "coef0", "tol", "intercept_scaling", "cache_size"]
)
def test_parameters(name, size):
    for model in MODELS.values():
        if name in model.get_params():
            obeys(clone(model).set_params(**{name: size}), X)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 1, 50, 1000, 10**9])
def test_degrees(degree):
    for coef0 in (0.0, 1.0):
        obeys(SVC(kernel="poly", degree=degree, coef0=coef0), X)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-90, 1e-12, 1e12, 1e90, 1e300, 1.7e308])
def test_weights(size):
    one, side, both = np.ones(24), np.where(Y > 0, size, 1.0), np.where(np.arange(24) % 2, size, 1.0)
    one[3] = size
    for weight in (np.full(24, size), one, side, both):
        for model in MODELS.values():
            obeys(model, X, weight)
    for kind in (SVC, LinearSVC):
        for per_class in ({1: size}, {1: size, -1: size}, "balanced"):
            obeys(kind(class_weight=per_class), X, side if per_class == "balanced" else None)


def test_units_of_float32_that_its_squares_leave():
    """Values of 1e20 are no reason to fail: scikit-learn's answer on the same points in other units."""
    ours, theirs = SVC(tol=1e-6).fit(in_units(1e20, np.float32), Y), svm.SVC(tol=1e-8).fit(X, Y)
    assert np.allclose(ours.decision_function(in_units(1e20, np.float32)), theirs.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_equal_weights_are_a_factor_of_C(classes):
    y = np.arange(24) % classes
    for kind in (SVC, LinearSVC):
        weighted = kind(C=0.5, tol=1e-8).fit(X, y, np.full(24, 6.0))
        plain = kind(C=3.0, tol=1e-8).fit(X, y)
        assert np.allclose(weighted.decision_function(X), plain.decision_function(X), atol=1e-5)


@balanced_by_weight
@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_classes_with_weights_as_in_scikit_learn(classes):
    y, weight = np.arange(24) ** 2 % 7 % classes, RNG.random(24)
    ours = SVC(class_weight="balanced", tol=1e-9).fit(X, y, weight)
    theirs = svm.SVC(class_weight="balanced", tol=1e-9).fit(X, y, weight)
    assert np.allclose(ours.class_weight_, theirs.class_weight_)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    for loss in ("hinge", "squared_hinge"):
        ours = LinearSVC(class_weight="balanced", loss=loss, tol=1e-9).fit(X, y, weight)
        theirs = svm.LinearSVC(class_weight="balanced", loss=loss, tol=1e-9, max_iter=10**6).fit(X, y, weight)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
