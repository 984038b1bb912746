"""SVC against scikit-learn's: the same machine, certified; and what it offers besides."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimators.made_up import assert_same_machine, dense
from sklearn import svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import SVC
from hinge.kernels import Gaussian, Laplacian, Linear
from hinge.problems import KernelRegularized
from hinge.solvers import BlockDual

# --- the same machine as scikit-learn's ---------------------------------------------------------


KERNELS = [
    {},
    {"kernel": "rbf", "gamma": 2.0, "C": 10.0},
    {"gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": "poly"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "C": 0.1},
]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", KERNELS, ids=str)
def test_two_classes(parameters, two):
    X, y = two
    ours = SVC(tol=1e-5, **parameters).fit(X, y)
    theirs = svm.SVC(tol=1e-6, **parameters).fit(X, y)
    assert_same_machine(ours, theirs, X)
    assert ours.gap_ <= 1e-5
    assert ours.stop_reason_ == "converged"
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert ours.shape_fit_ == theirs.shape_fit_
    if ours.kernel == "rbf":
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=0.02 * ours.C)


@pytest.mark.slow
def test_weights_of_rows_and_classes(two, many):
    rng = np.random.default_rng(2)
    for X, y in (two, many):
        s = rng.integers(1, 4, len(y)).astype(float)
        balanced = {"class_weight": "balanced"}
        by_name = {"class_weight": {label: 1.0 + k for k, label in enumerate(np.unique(y).tolist())}}
        for options, weight in (({}, s), (balanced, None), (by_name, None), (balanced, s)):
            parameters = {"decision_function_shape": "ovo", **options}
            theirs = svm.SVC(tol=1e-6, **parameters).fit(X, y, weight)
            ours = SVC(tol=1e-5, **parameters).fit(X, y, weight)
            assert_same_machine(ours, theirs, X)
            np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)


def test_rows_without_weight_drop_out(many):
    X, y = many
    s = (np.arange(len(y)) % 3 > 0).astype(float)
    options = {"tol": 1e-6, "gamma": 0.3, "random_state": 0}
    for multiclass in ("ovo", "ovr"):
        ours = SVC(multiclass=multiclass, **options).fit(X, y, s)
        fewer = SVC(multiclass=multiclass, **options).fit(X[s > 0], y[s > 0])
        np.testing.assert_allclose(ours.decision_function(X), fewer.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(np.flatnonzero(s)[fewer.support_], ours.support_)
        assert ours.n_kernel_evals_ == fewer.n_kernel_evals_
    theirs = svm.SVC(tol=1e-6, gamma=0.3, decision_function_shape="ovo").fit(X, y, s)
    ours = SVC(decision_function_shape="ovo", **options).fit(X, y, s)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.csr_matrix])
def test_sparse(form, two, many):
    for X, y in (two, many):
        X = X @ np.random.default_rng(0).standard_normal((3, 9))
        X = np.where(X > 0.3, X, 0.0)
        X[:, 0] += 0.1 * two[0][: len(X), 0].sum() + np.arange(len(X)) / len(X)  # no row twice
        for kernel in ("rbf", "linear"):
            parameters = {"kernel": kernel, "decision_function_shape": "ovo"}
            theirs = svm.SVC(tol=1e-6, **parameters).fit(form(X), y)
            ours = SVC(tol=1e-5, **parameters).fit(form(X), y)
            assert_same_machine(ours, theirs, form(X))
            assert sp.issparse(ours.support_vectors_)
            np.testing.assert_allclose(ours.decision_function(X), ours.decision_function(form(X)), atol=1e-9)
            if kernel == "linear":
                np.testing.assert_allclose(dense(ours.coef_), dense(theirs.coef_), atol=1e-2)
    narrow = SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        narrow.decision_function(form(X)), SVC(tol=1e-6).fit(form(X), y).decision_function(X), atol=1e-3
    )


@pytest.mark.slow
def test_digits():
    X, y = load_digits(return_X_y=True)
    theirs = svm.SVC().fit(X[:1000], y[:1000])
    for multiclass in ("ovo", "ovr"):
        ours = SVC(multiclass=multiclass).fit(X[:1000], y[:1000])
        assert abs(ours.score(X[1000:], y[1000:]) - theirs.score(X[1000:], y[1000:])) < 0.01
        assert ours.gap_ <= 1e-3


# --- one against the rest -----------------------------------------------------------------------


def test_one_against_the_rest(many):
    X, y = many
    model = SVC(multiclass="ovr", tol=1e-5, random_state=0).fit(X, y)
    assert model.dual_coef_.shape == (5, len(model.support_))
    assert model.intercept_.shape == model.objective_.shape == model.lam_.shape == model.slack_.shape == (5,)
    scores = model.decision_function(X)
    for k, label in enumerate(model.classes_):
        alone = SVC(tol=1e-5).fit(X, y == label)
        np.testing.assert_allclose(scores[:, k], alone.decision_function(X), atol=5e-3)
        assert model.objective_[k] == pytest.approx(alone.objective_, rel=2e-5)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.n_support_.sum() == len(model.support_)


@pytest.mark.slow
def test_an_indefinite_kernel_is_solved_as_libsvm_does(two, many):
    for X, y in (two, many):
        for parameters in ({"gamma": 0.01, "coef0": 0.1}, {}, {"C": 10.0}):
            with pytest.warns(UserWarning, match="not positive semidefinite") as warned:
                ours = SVC(kernel="sigmoid", **parameters).fit(X, y)
            assert len(warned) == 1 and np.isnan(ours.gap_) and ours.stop_reason_ == "stationary"
            theirs = svm.SVC(kernel="sigmoid", **parameters).fit(X, y)
            assert abs(ours.score(X, y) - theirs.score(X, y)) <= 0.04 and ours.fit_status_ == 0
    X, y = two
    K = X @ X.T - 0.5 * np.eye(len(y)) * np.diagonal(X @ X.T).max()
    with pytest.warns(UserWarning, match="no certificate"):
        ours = SVC(kernel="precomputed").fit(K, y)
    theirs = svm.SVC(kernel="precomputed").fit(K, y)
    assert np.isnan(ours.gap_) and abs(ours.score(K, y) - theirs.score(K, y)) <= 0.04


# --- attributes ---------------------------------------------------------------------------------


def test_without_a_bias(two):
    X, y = two
    model = SVC(fit_intercept=False, gamma=0.4, tol=1e-6).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    problem = KernelRegularized.from_C(X, y, 1.0, Gaussian(0.4))
    r = model.decision_function(X)
    beta = np.zeros(200)
    beta[model.support_] = model.dual_coef_[0]
    assert problem.mean_loss(r, 0.0) + problem.lam / 2 * beta @ r == pytest.approx(model.objective_, rel=1e-5)


# --- input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_types_of_numbers(dtype, two):
    X, y = np.clip(np.round(two[0] * 2) + 3, 0, 9), two[1]
    X = (X > 3).astype(dtype) if dtype is bool else X.astype(dtype)
    ours = SVC(tol=1e-5).fit(X, y)
    theirs = svm.SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-2)
    assert ours.support_vectors_.dtype == dtype


def test_memory_maps_and_frames(two, tmp_path):
    X, y = two
    X.tofile(tmp_path / "X.bin")
    mapped = np.memmap(tmp_path / "X.bin", dtype=X.dtype, mode="r", shape=X.shape)
    plain = SVC(random_state=0).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(SVC(random_state=0).fit(mapped, y).decision_function(mapped), plain)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SVC(random_state=0).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(model.decision_function(frame), plain)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])


@pytest.mark.slow
def test_small_and_strange_data():
    for X, y in (
        ([[0.0], [1.0]], [0, 1]),
        ([[0.0], [0.0]], [0, 1]),  # the same row in two classes
        (np.ones((6, 3)), [0, 1, 1, 1, 0, 1]),  # nothing to tell rows apart
        (np.c_[np.ones(8), np.arange(8)], [0, 0, 0, 0, 1, 1, 1, 1]),
        (np.repeat([[0.0, 1], [1, 0], [5, 5]], 4, axis=0), np.repeat(["a", "b", "c"], 4)),
        (np.zeros((5, 1)), [0, 1, 0, 1, 1]),
    ):
        for kernel in ("rbf", "linear", "poly", "laplacian"):
            for multiclass in ("ovo", "ovr"):
                model = SVC(kernel=kernel, multiclass=multiclass).fit(X, y)
                assert model.gap_ <= 1e-3
                assert np.isfinite(model.decision_function(X)).all()
                assert set(model.predict(X)) <= set(y)
    assert SVC().fit(X, y).predict(X).tolist() == [1] * 5


def test_the_data_stay_as_they_are(two):
    X, y = two[0].copy(), two[1]
    X.flags.writeable = False
    before = X.copy()
    for kernel in ("rbf", "linear", "poly", "laplacian"):
        SVC(kernel=kernel, gamma=0.01, max_iter=5, tol=0.5).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)


# --- among scikit-learn's tools -----------------------------------------------------------------


@pytest.mark.slow
def test_grid_search_reaches_the_solver(two):
    grid = {"solver__block": [16, 64], "C": [0.1, 10.0], "kernel": [Gaussian(0.5), "linear", Laplacian(0.5)]}
    search = GridSearchCV(SVC(solver=BlockDual()), grid, cv=2).fit(*two)
    assert search.best_score_ > 0.7
    assert search.best_estimator_.solver_.block == search.best_params_["solver__block"]
    assert search.best_estimator_.kernel_ != Linear()


def test_pipelines(two, many):
    for X, y in (two, many):
        pipeline = make_pipeline(StandardScaler(), SVC(C=3.0))
        theirs = make_pipeline(StandardScaler(), svm.SVC(C=3.0))
        mine, reference = (cross_val_score(p, X, y, cv=3).mean() for p in (pipeline, theirs))
        assert mine == pytest.approx(reference, abs=0.02)


@pytest.mark.slow
def test_clone_and_pickle(many):
    X, y = many
    for model in (SVC(kernel=Laplacian(0.2), warm_start=True), SVC(multiclass="ovr", solver=BlockDual(block=64))):
        model.fit(X, y)
        copy = clone(model)
        assert not hasattr(copy, "support_")
        assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        thawed = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(thawed.decision_function(X), model.decision_function(X))
        assert thawed.fit(X, y).gap_ <= 1e-3


def test_repr():
    assert repr(SVC()) == "SVC()"
    assert repr(SVC(C=2.0, kernel=Gaussian(0.5))) == "SVC(C=2.0, kernel=Gaussian(gamma=0.5))"


@pytest.mark.slow
def test_deterministic(many):
    X, y = many
    a, b = (SVC(solver=BlockDual(block=16), tol=0.1, random_state=1).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    c = SVC(solver=BlockDual(block=16), tol=0.1, random_state=2).fit(X, y)
    assert not np.array_equal(a.intercept_, c.intercept_)


def test_threads_change_nothing(many):
    X, y = many
    one, two, every = (SVC(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2, -1))
    for other in (two, every):
        np.testing.assert_array_equal(other.dual_coef_, one.dual_coef_)


# --- as scikit-learn's own ---------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_of_sparse_data_are_sparse(classes, multiclass, three):
    X, y = three[0][: 30 * classes], three[1][: 30 * classes]
    full = SVC(kernel="linear", multiclass=multiclass).fit(X, y)
    thin = SVC(kernel="linear", multiclass=multiclass).fit(sp.csr_matrix(X), y)
    assert isinstance(thin.dual_coef_, sp.csr_matrix)
    assert isinstance(thin.coef_, sp.csr_matrix)
    np.testing.assert_array_equal(thin.dual_coef_.toarray(), full.dual_coef_)  # few cells: the same arithmetic
    np.testing.assert_array_equal(thin.support_vectors_.toarray(), full.support_vectors_)
    np.testing.assert_allclose(thin.coef_.toarray(), full.coef_, rtol=1e-12)
    for X_new in (X, sp.csr_array(X)):
        np.testing.assert_allclose(thin.decision_function(X_new), full.decision_function(X_new), rtol=1e-9)
    for coef in (full.coef_, thin.coef_.data):
        with pytest.raises(ValueError, match="read-only"):
            coef[..., 0] = 1.0
    with pytest.raises(AttributeError):
        full.coef_ = np.zeros(4)


def test_rows_of_negative_weight_take_no_part(two):
    X, y = two
    weight = np.r_[-np.ones(10), np.ones(190)]
    model, rest = SVC(gamma=0.3).fit(X, y, weight), SVC(gamma=0.3).fit(X[10:], y[10:])
    np.testing.assert_array_equal(model.support_, rest.support_ + 10)
    np.testing.assert_allclose(model.dual_coef_, rest.dual_coef_, rtol=1e-6)


def test_an_infinite_C_leaves_no_loss(three):
    X, y = three[0][:60], three[1][:60]
    for C in (np.inf, float("inf"), np.float32(np.inf), 1e10, 1e12):
        model = SVC(C=C, tol=1e-6).fit(X, y)
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        assert margins.min() > 1 - 1e-3
        assert model.gap_ <= 1e-6
        assert model.lam_ == pytest.approx(1 / (1e4 * len(y)))
    theirs = svm.SVC(C=np.inf, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-2)
    tiny = SVC(C=np.inf, kernel="linear").fit([[0.0], [1e-3]], [0, 1])  # whose coefficients are large
    assert tiny.coef_[0, 0] == pytest.approx(2e3)
    heavy = SVC(C=np.inf, tol=1e-6).fit(X, y, np.full(60, 1e-3))
    np.testing.assert_allclose(heavy.decision_function(X), model.decision_function(X), atol=1e-2)


def test_an_infinite_C_where_no_kernel_separates():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 1, 1]
    model = SVC(C=np.inf).fit(X, y)
    assert model.lam_ == pytest.approx(1 / (4 * 1e10))
    assert SVC(C=1e11).fit(X, y).lam_ == pytest.approx(1 / (4 * 1e11))
    np.testing.assert_array_equal(model.predict([[1.0]]), [1])


def test_ties_and_shapes_are_checked_when_they_matter(three):
    model = SVC(decision_function_shape="ovo", break_ties=True).fit(*three)
    assert model.decision_function(three[0]).shape == (90, 3)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(three[0])
    assert set(model.set_params(break_ties=False).predict(three[0])) == {0, 1, 2}


def test_probabilities_say_where_they_are(two):
    X, y = two
    plain = SVC().fit(X, y)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(SVC(probability="deprecated"), "predict_log_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        plain.predict_proba(X)
    plain.probability = True
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        plain.predict_proba(X)
    asked = SVC(probability=True)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        asked.predict_proba(X)
    asked.fit(X, y)
    np.testing.assert_allclose(np.exp(asked.predict_log_proba(X)), asked.predict_proba(X))
    folds = CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)
    np.testing.assert_allclose(asked.predict_proba(X), folds.predict_proba(X), atol=0.15)
    np.testing.assert_array_equal(asked.predict(X), plain.predict(X))


@pytest.mark.parametrize("name", ["SVC", "LinearSVC", "SVR", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"])
def test_parameters_and_defaults_are_scikit_learns(name):
    ours, theirs = getattr(hinge, name)().get_params(), getattr(svm, name)().get_params()
    assert set(theirs) <= set(ours)
    assert {key for key in theirs if ours[key] != theirs[key]} <= {"probability", "random_state", "verbose"}
    assert getattr(hinge, name)(**theirs).get_params(deep=False).keys() == ours.keys()


def test_the_parameters_of_scikit_learns_model_make_ours(three):
    theirs = svm.SVC(C=2.0, gamma=0.3, tol=1e-5).fit(*three)
    ours = SVC(**theirs.get_params()).fit(*three)
    np.testing.assert_allclose(ours.decision_function(three[0]), theirs.decision_function(three[0]), atol=1e-3)


def test_a_model_that_was_altered_is_refused(three):
    model = SVC().fit(*three)
    model.n_support_[0] = 10**6
    with pytest.raises(ValueError, match="internal representation of SVC was altered"):
        model.predict(three[0])


def test_gamma_is_where_scikit_learn_has_it(three):
    assert SVC(gamma="auto").fit(*three)._gamma == 0.25


@pytest.mark.parametrize("solver", ["auto", "blockdual"])
@pytest.mark.parametrize("degree", [2, 4])
def test_polynomials_of_large_features_beside_small_ones_converge(solver, degree):
    """Kernel values from 1 to 1e16: margins of separable rows are rounded, by what costs more than all of w does."""
    rng = np.random.default_rng(0)
    X = 100.0 * rng.standard_normal((40, 4 if degree == 4 else 20))
    X[20:] *= 1e-3 if degree == 4 else 1.0
    model = SVC(C=1e4, kernel="poly", degree=degree, gamma=0.3, solver=solver)
    assert model.fit(X, rng.permutation(np.arange(40) % 2)).gap_ <= model.tol
    if solver == "auto":  # BlockDual answers with the best multiple of w, whose β may leave the box
        assert (np.abs(model.dual_coef_) <= 1e4).all()


def test_a_longer_w_is_the_one_that_predicts():
    """Kernel values of 1e26 and coefficients of 1e-18: margins of 1 are rounded by more than all of w costs."""
    X = np.array(
        [
            [0.00026881323021315606, 0.0002688181913492078],
            [0.00026882866191681317, 0.0002688332607068183],
            [0.0002688260296354921, 0.00026880920569922817],
            [0.00026882509464028865, 0.0002688243198515773],
            [0.00026879735946516844, 0.00026882546254942816],
        ]
    )
    y = np.array([-1, 1, 1, 1, -1])
    model = SVC(C=0.03469861736884209, kernel="poly").fit(X, y)
    lost = model.C * np.maximum(1.0 - y * model.decision_function(X), 0.0).sum()
    assert lost <= model.objective_ * (1 + 1e-9)
