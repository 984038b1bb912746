"""`n_components` of `SVC`, `SVR` and `OneClassSVM`: models of landmarks, with the gap of the exact kernel."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from hinge import SVC, SVR, NuSVC, OneClassSVM, tune
from hinge.display import HardRowsDisplay
from hinge.solvers import Nystroem

X, y = make_moons(600, noise=0.3, random_state=0)
DIGITS = tuple(part[:500] for part in load_digits(return_X_y=True))


def exact_objective(model, rows, labels):
    f, K = model.decision_function(rows), rbf_kernel(model.support_vectors_, gamma=model._gamma)
    coef = model.dual_coef_[0]
    signs = np.where(labels == model.classes_[1], 1, -1)
    return model.lam_ / 2 * coef @ K @ coef + np.mean(np.maximum(0.0, 1.0 - signs * f))


@pytest.mark.parametrize("options", [{}, {"kernel": "poly", "degree": 2}, {"kernel": "laplacian"}], ids=str)
def test_the_gap_is_that_of_the_exact_kernel(options):
    best = SVC(tol=1e-6, **options).fit(X, y)
    model = SVC(n_components=40, **options).fit(X, y)
    assert isinstance(model.solver_, Nystroem) and model.solver_.n_components == 40
    assert len(model.support_) <= 40 and model.stop_reason_ in ("converged", "finished")
    suboptimal = model.objective_ / best.objective_ - 1.0
    assert -1e-6 <= suboptimal <= model.gap_ < 2.0
    if not options:
        assert model.objective_ == pytest.approx(exact_objective(model, X, y), rel=1e-6)


def test_auto_takes_as_many_as_the_tolerance_needs():
    few, many = (SVC(gamma=10.0, n_components="auto", tol=tol).fit(X, y) for tol in (0.5, 0.01))
    assert few.gap_ <= 0.5 and many.gap_ <= 0.01
    assert len(few.support_) < len(many.support_) < 600
    assert few.stop_reason_ == many.stop_reason_ == "converged"


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_all_decision_functions_share_the_landmarks(multiclass):
    digits, labels = DIGITS
    model = SVC(n_components=120, multiclass=multiclass).fit(digits, labels)
    assert 100 < len(model.support_) <= 120 and np.isfinite(model.gap_)
    assert model.score(digits, labels) > 0.95


def test_rows_of_all_kinds_give_the_same_model():
    model = SVC(n_components=30, gamma=1.0).fit(X, y)
    K = rbf_kernel(X, gamma=1.0)
    others = {
        "sparse": (SVC(n_components=30, gamma=1.0), sp.csr_array(X)),
        "precomputed": (SVC(n_components=30, kernel="precomputed"), K),
        "function": (SVC(n_components=30, kernel=lambda a, b: rbf_kernel(a, b, gamma=1.0)), X),
    }
    for name, (other, rows) in others.items():
        other.fit(rows, y)
        assert np.array_equal(other.support_, model.support_), name
        np.testing.assert_allclose(other.decision_function(rows), model.decision_function(X), atol=1e-3, err_msg=name)
        assert other.gap_ == pytest.approx(model.gap_, rel=1e-2), name


def test_weights_of_rows_and_classes():
    weight = np.arange(600) % 3 + 0.0
    best, model = (
        SVC(class_weight={0: 2.0, 1: 1.0}, **options).fit(X, y, sample_weight=weight)
        for options in ({"tol": 1e-5}, {"n_components": 50})
    )
    assert not (weight[model.support_] == 0).any() and len(model.support_) == 50
    assert -1e-5 <= model.objective_ / best.objective_ - 1.0 <= model.gap_ < 0.5


def test_regression():
    t = np.sin(3 * X[:, 0]) + X[:, 1]
    best, model = SVR(tol=1e-5).fit(X, t), SVR(n_components="auto", tol=0.02).fit(X, t)
    assert model.gap_ <= 0.02 and len(model.support_) < 600
    assert -1e-5 <= model.objective_ / best.objective_ - 1.0 <= model.gap_


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options", [{}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"kernel": "laplacian"}], ids=str
)
def test_no_certificate_of_one_class_is_false(options, seed):
    rng = np.random.default_rng([seed, *repr(options).encode()])
    n, d, nu = int(rng.integers(200, 601)), int(rng.integers(1, 8)), float(rng.choice([0.05, 0.2, 0.6, 1.0]))
    rows, weight = rng.standard_normal((n, d)) + rng.integers(0, 2), rng.random(n) * (rng.random(n) > 0.1)
    best = OneClassSVM(nu=nu, tol=1e-6, **options).fit(rows, sample_weight=weight)
    kernel, vectors, w = best.kernel_, best.support_vectors_, best.dual_coef_[0]
    for m in (3, 30, 150):
        model = OneClassSVM(nu=nu, n_components=m, **options).fit(rows, sample_weight=weight)
        beta, landmarks = model.dual_coef_[0], model.support_vectors_
        assert isinstance(model.solver_, Nystroem) and len(beta) <= m and (weight[model.support_] > 0).all()
        norm = beta @ kernel(landmarks, landmarks) @ beta
        apart = norm - 2.0 * beta @ kernel(landmarks, vectors) @ w + w @ kernel(vectors, vectors) @ w
        assert np.sqrt(max(apart, 0.0) / norm) <= model.gap_ + 2.0 * best.gap_ + 1e-6
        assert best.objective_ * (1 + 1e-5) <= model.objective_


def test_outliers_by_landmarks():
    for nu, rows in ((0.5, X), (0.5, sp.csr_array(X))):
        best = OneClassSVM(nu=nu, tol=1e-4).fit(rows)
        model = OneClassSVM(nu=nu, n_components="auto", tol=0.02).fit(rows)
        assert model.gap_ <= 0.02 and len(model.support_) < 200 and model.stop_reason_ == "converged"
        assert np.mean(model.predict(rows) == best.predict(rows)) > 0.98
        assert model.radius_ == pytest.approx(best.radius_, rel=0.02)
        short = np.maximum(-model.decision_function(rows), 0.0)
        K = rbf_kernel(model.support_vectors_, gamma=model._gamma)
        beta = np.ravel(model._dense_dual)
        primal = 0.5 * beta @ K @ beta - nu * 600 * model.offset_[0] + short.sum()
        assert model.objective_ == pytest.approx(primal, rel=1e-5)


def test_one_class_with_the_linear_kernel_needs_no_landmarks():
    with pytest.raises(ValueError, match="n_components does not go with kernel='linear'"):
        OneClassSVM(kernel="linear", n_components=5).fit(X)
    with pytest.raises(ValueError, match="positive semidefinite"):
        OneClassSVM(kernel="sigmoid", n_components=5).fit(X)


def test_more_landmarks_than_rows_are_all_rows():
    model = SVC(n_components=10**6, tol=1e-4).fit(X[:100], y[:100])
    assert model.stop_reason_ == "converged" and model.gap_ <= 1e-4


def test_clones_files_and_scikit_learn(tmp_path):
    model = SVC(n_components=30).fit(X, y)
    assert clone(model).n_components == 30
    hinge.save(model, tmp_path / "model")
    again = hinge.load(tmp_path / "model")
    assert again.n_components == 30 and again.gap_ == model.gap_
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(model.to_sklearn().decision_function(X), model.decision_function(X), atol=1e-9)


def test_searches_use_landmarks():
    found = tune(SVC(n_components=20), X, y, Cs=[0.1, 1.0], gammas=[1.0], cv=3).model
    assert isinstance(found.solver_, Nystroem) and len(found.support_) <= 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, or 'auto', or None"),
        ({"n_components": "many"}, "n_components must be"),
        ({"slack": 0.1}, "slack=0.1 does not go with n_components"),
        ({"solver": "smo"}, "solver='smo' does not go with n_components"),
        ({"probability": True}, "held_out=True"),
        ({"kernel": "sigmoid"}, "positive semidefinite"),
    ],
)
def test_what_does_not_go_together_is_said(options, message):
    with pytest.raises(ValueError, match=message):
        SVC(**{"n_components": 20, **options}).fit(X, y)


def test_one_class_is_refused_and_nu_machines_have_no_landmarks():
    with pytest.raises(ValueError, match="class"):
        SVC(n_components=20).fit(X, np.zeros(600))
    with pytest.raises(TypeError):
        NuSVC(n_components=20)


def test_missing_values_are_refused():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC(n_components=20).fit(bad, y)


def test_landmarks_are_not_taken_for_dual_weights():
    model = SVC(n_components=20).fit(X, y)
    with pytest.raises(ValueError, match="held_out=True"):
        model.calibrate(X, y)
    with pytest.raises(ValueError, match="Nystroem has no dual weights"):
        HardRowsDisplay.from_estimator(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.calibrate(X, y, held_out=True).predict_proba(X).shape == (600, 2)
