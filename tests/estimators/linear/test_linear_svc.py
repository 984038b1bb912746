"""`LinearSVC`: its objective, attributes, stops and input, and its place among scikit-learn's tools."""

import io
import os
import pickle
import tracemalloc
import zlib

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from clock import within
from older_sklearn import balanced_by_weight
from papers_svc import papers_svc
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Liblinear
from sklearn.utils import check_random_state

import hinge
from hinge.datasets import load, make_known_optimum
from hinge.estimators.data.validation import held_out
from hinge.solvers import SDCA, SGD, Amplified, Frugal, Newton, Norma, Pegasos, Perceptron
from hinge.solvers.newton.newton import MOST_FEATURES

EXACT = ("sdca", "newton")
PLAIN = {"norma", "sgd", "perceptron"}  # neither bias nor weights


def objective(model, X, y, lam, s=None, penalized=None):
    """λ/2 ‖w‖² + the weighted mean hinge loss of a binary model, by NumPy."""
    w, b = model.coef_.ravel(), float(model.intercept_[0])
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = np.average(np.maximum(0, 1 - signs * (X @ w + b)), weights=s)
    return lam / 2 * (w @ w + ((b / penalized) ** 2 if penalized else 0.0)) + loss


def weights(n, seed=5):
    """Whole and half weights, with zeros among them."""
    return np.random.default_rng(seed).integers(0, 4, n) / 2.0


# --- the objective ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "sdca", "pegasos"])
def test_C_and_lam_are_the_same_problem(solver, tiny):
    X, y = tiny
    by_C = papers_svc(C=0.25, solver=solver, tol=0.05, random_state=0).fit(X, y)
    by_lam = papers_svc(lam=1 / (0.25 * 60), solver=solver, tol=0.05, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_C.coef_, by_lam.coef_)
    assert by_C.objective_ == by_lam.objective_
    s = weights(60)
    by_C.fit(X, y, s)
    by_lam.set_params(lam=1 / (0.25 * s.sum())).fit(X, y, s)
    np.testing.assert_array_equal(by_C.coef_, by_lam.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("lam", [0.003, 0.03])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_slack_is_another_name_of_the_same_solution(solver, lam, fit_intercept, tiny):
    X, y = tiny
    options = {"fit_intercept": fit_intercept, "random_state": 0}
    regular = papers_svc(lam=lam, tol=1e-9, solver="newton", **options).fit(X, y)
    w, norm = regular.coef_.ravel(), np.linalg.norm(regular.coef_)
    loss = objective(regular, X, y, 0.0)
    model = papers_svc(slack=loss / norm, tol=1e-5, solver=solver, **options).fit(X, y)
    assert model.gap_ <= 1e-5
    assert model.objective_ == pytest.approx(1 / norm, rel=2e-5)  # the margin (Lemma 2.1)
    v = model.coef_.ravel() / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(v, w / norm, atol=0.01)
    # and the margin is what is left after the slack: Σ max(0, γ - mᵢ)/n = ν
    margins = y * (X @ v + model.intercept_ / np.linalg.norm(model.coef_))
    filled = np.maximum(0, model.objective_ - margins).mean()
    assert filled == pytest.approx(loss / norm, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("C", [0.05, 5.0])
@pytest.mark.parametrize(("fit_intercept", "scaling"), [(False, 1.0), (True, 1.0), (True, 0.3)])
def test_penalized_or_no_bias_is_liblinear(solver, C, fit_intercept, scaling, tiny):
    X, y = tiny
    for s in (None, weights(60)):
        model = papers_svc(
            C, solver=solver, tol=1e-6, fit_intercept=fit_intercept, intercept="penalized", intercept_scaling=scaling
        ).fit(X, y, s)
        other = Liblinear(
            C=C,
            loss="hinge",
            tol=1e-10,
            max_iter=10**7,
            fit_intercept=fit_intercept,
            intercept_scaling=scaling,
            random_state=0,
        ).fit(X, y, s)
        other.intercept_ = np.atleast_1d(other.intercept_)
        lam = 1 / (C * (60 if s is None else s.sum()))
        best = objective(other, X, y, lam, s, scaling)
        assert model.objective_ == pytest.approx(objective(model, X, y, lam, s, scaling), rel=1e-10)
        assert best * (1 - 1e-8) <= model.objective_ <= best * (1 + model.gap_ + 1e-8)
        assert model.gap_ <= 1e-6
        if not fit_intercept:
            assert model.intercept_.tolist() == [0.0]


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_free_bias_is_libsvm(solver, C, tiny):
    X, y = tiny
    for s in (None, weights(60)):
        model = papers_svc(C, solver=solver, tol=1e-6).fit(X, y, s)
        other = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, s)
        lam = 1 / (C * (60 if s is None else s.sum()))
        best = objective(other, X, y, lam, s)
        assert model.objective_ == pytest.approx(objective(model, X, y, lam, s), rel=1e-10)
        assert best * (1 - 1e-8) <= model.objective_ <= best * (1 + model.gap_ + 1e-8)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=0.01)
        np.testing.assert_allclose(model.intercept_, other.intercept_, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("C", [0.05, 0.5])
def test_a_free_bias_converges_whatever_the_draws(solver, C, tiny):
    X, y = tiny
    for s in (None, weights(60)):
        for seed in range(20):
            model = papers_svc(C, solver=solver, tol=1e-6, random_state=seed).fit(X, y, s)
            assert model.stop_reason_ == "converged", seed


@pytest.mark.parametrize("solver", [*EXACT, "pegasos"])
def test_a_weight_of_two_is_a_row_twice_and_of_zero_none(solver, tiny):
    X, y = tiny
    s = np.random.default_rng(2).integers(0, 3, 60)
    tol = 0.05 if solver == "pegasos" else 1e-7
    model = papers_svc(0.1, solver=solver, tol=tol).fit(X, y, s)
    spelled = papers_svc(0.1, solver="sdca", tol=1e-7).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    best = spelled.objective_
    assert best * (1 - 2e-7) <= model.objective_ <= best * (1 + model.gap_ + 2e-7)
    if solver in EXACT:
        np.testing.assert_allclose(model.coef_, spelled.coef_, atol=1e-3)


def test_few_rows_with_a_weight_among_many():
    """Nearly all rows of any sample weigh nothing."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 5))
    y = np.where(X[:, 0] > 0, 1, -1)
    s = np.zeros(len(y))
    s[[0, 1, 2, 5000, 19_998, 19_999]] = 1.0
    assert len(set(y[s > 0])) == 2
    alone = papers_svc(tol=1e-7).fit(X[s > 0], y[s > 0])
    for solver in ("auto", *EXACT):
        model = papers_svc(tol=1e-6, solver=solver).fit(X, y, s)
        assert model.objective_ == pytest.approx(alone.objective_, rel=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "sdca", "pegasos"])
def test_class_weights_multiply_sample_weights(solver, tiny):
    X, y = tiny
    s = weights(60)
    options = {"solver": solver, "tol": 0.2, "random_state": 0}
    by_class = papers_svc(class_weight={-1: 3.0}, **options)
    by_row = papers_svc(**options)
    np.testing.assert_array_equal(by_class.fit(X, y).coef_, by_row.fit(X, y, np.where(y < 0, 3.0, 1.0)).coef_)
    np.testing.assert_array_equal(by_class.fit(X, y, s).coef_, by_row.fit(X, y, s * np.where(y < 0, 3.0, 1.0)).coef_)


def test_balanced_class_weights(tiny):
    X, y = tiny
    X, y = X[20:], y[20:]
    n, positive = len(y), np.count_nonzero(y > 0)
    balanced = papers_svc(class_weight="balanced", random_state=0).fit(X, y)
    spelled = {1: n / (2 * positive), -1: n / (2 * (n - positive))}
    assert spelled[1] != spelled[-1]
    given = papers_svc(class_weight=spelled, random_state=0).fit(X, y)
    np.testing.assert_array_equal(balanced.coef_, given.coef_)
    other = SVC(kernel="linear", class_weight="balanced", tol=1e-8).fit(X, y)
    s = np.where(y > 0, spelled[1], spelled[-1])
    assert balanced.objective_ <= objective(other, X, y, 1 / s.sum(), s) * (1 + balanced.gap_ + 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (False, True), (-1.0, 1.0), (0, 1), (-7, -3), (2.0, 5.0), (np.uint8(1), np.uint8(200))],
    ids=str,
)
def test_labels_of_any_kind(labels, tiny):
    X, y = tiny
    base = papers_svc(random_state=0).fit(X, y)
    named = np.where(y > 0, labels[1], labels[0])
    for given in (named, named.tolist(), named.astype(object) if labels[0] == "no" else named):
        model = papers_svc(random_state=0).fit(X, given)
        np.testing.assert_array_equal(model.coef_, base.coef_)
        assert model.classes_.tolist() == list(labels)
        np.testing.assert_array_equal(model.predict(X) == labels[1], base.predict(X) > 0)
        assert model.score(X, given) == base.score(X, y)


def test_decisions_are_linear(tiny):
    X, y = tiny
    model = papers_svc().fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, 1, -1))


def test_a_known_optimum_is_met():
    known = make_known_optimum(200, 8, 0.01, seed=1)
    for solver in EXACT:
        model = papers_svc(lam=0.01, fit_intercept=False, solver=solver, tol=1e-7)
        model.fit(known.X_train, known.y_train)
        assert known.objective * (1 - 1e-9) <= model.objective_ <= known.objective * (1 + 2e-7)
        np.testing.assert_allclose(model.coef_[0], known.w_star, atol=1e-3 * np.abs(known.w_star).max())


# --- attributes ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"intercept": "penalized"}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_coefficients_are_the_coefficients(options, weighted, tiny):
    X, y = tiny
    s = weights(60) if weighted else None
    model = papers_svc(2.0, solver="sdca", tol=1e-4, **options).fit(X, y, s)
    assert model.dual_coef_.shape == (1, len(model.support_))
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=1e-8, atol=1e-10)
    signed = model.dual_coef_[0] * y[model.support_]
    assert (signed > 0).all()
    assert (signed <= 2.0 * (s[model.support_] if weighted else 1.0) + 1e-12).all()  # s C
    assert (np.diff(model.support_) > 0).all()
    outside = np.setdiff1d(np.arange(60), model.support_)
    assert len(outside) > 0


def test_dual_coefficients_of_newton_are_near(tiny):
    X, y = tiny
    model = papers_svc(solver="newton", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-3)


def test_dual_coefficients_of_a_slack_path(tiny):
    X, y = tiny
    model = papers_svc(slack=0.3, solver="sdca", tol=1e-6).fit(X, y)
    made = model.dual_coef_ @ X[model.support_]
    np.testing.assert_allclose(made, model.coef_, atol=1e-2 * np.abs(model.coef_).max())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["sdca", "newton", "pegasos", "norma", "sgd", "amplified"])
def test_the_gap_is_a_true_bound(solver, tiny):
    X, y = tiny
    options = {"fit_intercept": False} if solver in PLAIN else {}
    best = papers_svc(tol=1e-10, solver="newton", lam=0.1, **options).fit(X, y).objective_
    for seed in range(4):
        for max_iter in (1, 3, 30):
            model = papers_svc(lam=0.1, solver=solver, tol=1e-9, max_iter=max_iter, random_state=seed, **options).fit(
                X, y
            )
            assert model.objective_ == pytest.approx(objective(model, X, y, 0.1), rel=1e-9)
            assert best * (1 - 1e-9) <= model.objective_ <= best * (1 + model.gap_ + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
def test_tol_is_kept(solver, tiny):
    X, y = tiny
    best = papers_svc(solver="newton", tol=1e-11).fit(X, y).objective_
    for tol in (0.3, 1e-2, 1e-4, 1e-6):
        model = papers_svc(solver=solver, tol=tol).fit(X, y)
        assert model.stop_reason_ == "converged"
        assert 0 <= model.gap_ <= tol
        assert model.objective_ <= best * (1 + tol)


@pytest.mark.parametrize("parameters", [{"solver": "sdca"}, {"solver": "newton"}, {"slack": 0.3}], ids=str)
def test_history_is_monotone(parameters, tiny):
    model = papers_svc(tol=1e-6, **parameters).fit(*tiny)
    history = model.history_
    for name in ("iteration", "seconds", "feature_reads"):
        assert (np.diff(history.column(name)) >= 0).all(), name
    assert history[-1].gap == model.gap_
    assert history[-1].objective == model.objective_
    assert history[-1].feature_reads == model.n_feature_reads_
    assert 0 < history[-1].seconds < 5


def test_counts(tiny):
    X, y = tiny
    model = papers_svc(solver="sdca", tol=1e-6).fit(X, y)
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ == -(-model.history_[-1].iteration // 60)
    assert isinstance(model.n_feature_reads_, int)
    assert model.n_feature_reads_ >= model.history_[-1].iteration * 7
    assert model.n_features_in_ == 7
    assert not hasattr(model, "feature_names_in_")
    assert isinstance(model.gap_, float)
    assert isinstance(model.objective_, float)
    assert model.coef_.dtype == model.intercept_.dtype == np.float64


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")  # of a Perceptron
def test_a_refit_leaves_nothing_behind(tiny):
    X, y = tiny
    model = papers_svc(solver="sdca").fit(X, y)
    assert hasattr(model, "dual_coef_")
    model.set_params(solver="perceptron", fit_intercept=False).fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "support_")


# --- solvers ------------------------------------------------------------------------------

BY_NAME = {
    "sdca": SDCA(),
    "newton": Newton(),
    "pegasos": Pegasos(),
    "norma": Norma(),
    "sgd": SGD(),
    "perceptron": Perceptron(),
    "amplified": Amplified(),
}


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")  # of a Perceptron
@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_solvers_by_name_and_as_objects(name, tiny):
    X, y = tiny
    options = {"lam": 0.1, "tol": 0.5, "random_state": 0, "fit_intercept": name not in PLAIN}
    named = papers_svc(solver=name, **options).fit(X, y)
    given = papers_svc(solver=BY_NAME[name], **options).fit(X, y)
    np.testing.assert_array_equal(named.coef_, given.coef_)
    assert named.score(X, y) > 0.7
    if name == "perceptron":
        assert named.stop_reason_ == "finished"
        assert named.gap_ == np.inf
        assert np.isfinite(named.objective_)
        assert not hasattr(named, "dual_coef_")
        assert not hasattr(named, "support_")
    else:
        assert named.gap_ <= (0.5 if name != "amplified" else 10.0)
        assert named.dual_coef_.shape == (1, len(named.support_))


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_solvers_without_a_bias_say_so(name, tiny):
    with pytest.raises(ValueError, match="has no bias") as caught:
        papers_svc(solver=name).fit(*tiny)
    assert "fit_intercept" in str(caught.value) or "constant feature" in str(caught.value)
    with pytest.raises(ValueError, match="takes no weights"):
        papers_svc(solver=name, fit_intercept=False).fit(*tiny, sample_weight=weights(60))


def test_settings_of_a_solver_are_parameters(tiny):
    model = papers_svc(solver=Pegasos(batch_size=2), lam=0.1, tol=0.5)
    assert model.get_params()["solver__batch_size"] == 2
    model.set_params(solver__batch_size=8, solver__output="last")
    assert model.solver == Pegasos(batch_size=8, output="last")
    copy = clone(model)
    assert copy.solver == model.solver
    assert copy.solver is not model.solver
    copy.set_params(solver__batch_size=1)
    assert model.solver.batch_size == 8
    np.testing.assert_array_equal(
        model.set_params(random_state=0).fit(*tiny).coef_,
        papers_svc(solver=Pegasos(8, output="last"), lam=0.1, tol=0.5, random_state=0).fit(*tiny).coef_,
    )


@pytest.mark.slow
def test_settings_of_a_solver_in_a_grid(tiny):
    grid = {"solver__batch_size": [1, 4], "solver__projection": [True, False]}
    search = GridSearchCV(papers_svc(solver=Pegasos(), lam=0.1, tol=0.5, random_state=0), grid, cv=2)
    search.fit(*tiny)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_estimator_.solver.batch_size == search.best_params_["solver__batch_size"]
    assert len(set(search.cv_results_["param_solver__batch_size"])) == 2


def test_wrong_settings_are_answered_with_the_right_ones():
    with pytest.raises(ValueError, match=r"Pegasos has no setting 'batchsize'; it has .*batch_size.*output"):
        papers_svc(solver=Pegasos()).set_params(solver__batchsize=3)
    with pytest.raises(ValueError, match="at least 1"):
        papers_svc(solver=Pegasos()).set_params(solver__batch_size=0)
    with pytest.raises(ValueError, match="Invalid parameter 'tolerance'"):
        papers_svc().set_params(tolerance=1.0)


def test_newton_refuses_too_many_features():
    X = sp.random_array((6, MOST_FEATURES + 1), density=0.25, rng=0, format="csr", dtype=np.float32)
    with pytest.raises(ValueError, match="use SDCA"):
        papers_svc(solver="newton").fit(X, [0, 1] * 3)
    assert papers_svc().fit(X, [0, 1] * 3).gap_ <= 1e-3  # "auto" knows


# --- when it stops ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sdca", "pegasos"])
def test_max_time(solver, adult):
    X, y = adult
    with pytest.warns(ConvergenceWarning):
        papers_svc(solver=solver, tol=0, max_iter=1).fit(X, y)  # compiled
    model = papers_svc(solver=solver, tol=0, max_time=0.25, max_iter=10**8)
    with pytest.warns(ConvergenceWarning, match=r"the time limit .* certified relative gap of \d"):
        within(0.2, 0.75, lambda: model.fit(X, y))
    assert model.stop_reason_ == "max_time"
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.gap_)


def test_no_time_at_all(adult):
    with pytest.warns(ConvergenceWarning, match="the time limit"):
        model = papers_svc(max_time=0).fit(*adult)
    assert model.stop_reason_ == "max_time"
    assert np.isfinite(model.coef_).all()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["sdca", "newton", "pegasos"])
@pytest.mark.parametrize("passes", [0, 0.5, 2.5, 3, 10])
def test_max_reads_is_never_exceeded(solver, passes, tiny):
    X, y = tiny
    limit = int(passes * X.size)
    with pytest.warns(ConvergenceWarning, match="the read limit was reached"):
        model = papers_svc(solver=solver, tol=0, max_reads=limit).fit(X, y)
    assert model.stop_reason_ == "max_reads"
    assert model.n_feature_reads_ <= limit
    assert np.isfinite(model.coef_).all()


@pytest.mark.slow
def test_max_reads_takes_the_frugal_learner(tiny):
    X, y = tiny
    with pytest.warns(ConvergenceWarning, match="read limit was reached, with no certificate"):
        model = papers_svc(max_reads=X.size // 2, random_state=0).fit(X, y)  # within a pass: what it gives
    assert isinstance(model.solver_, Frugal) and model.stop_reason_ == "max_reads"
    assert 0 < model.n_feature_reads_ == model.n_distinct_reads_ == model.cost_ <= X.size // 2
    assert model.bytes_read_ >= model.n_feature_reads_ * X.itemsize
    model = papers_svc(max_reads=3 * X.size, tol=1e-6).fit(X, y)  # a few passes: all rows, each cell once
    assert isinstance(model.solver_, Frugal) and model.stop_reason_ == "converged"
    assert model.n_feature_reads_ <= X.size and model.gap_ <= 1e-6
    again = papers_svc(max_reads=200 * X.size, tol=1e-6).fit(X, y)  # no number chooses another solver
    assert again.solver_ == model.solver_ and again.n_feature_reads_ == model.n_feature_reads_
    with pytest.raises(ValueError, match=r"too small: one iteration of Frugal reads up to \d+ cells"):
        papers_svc(max_reads=X.shape[1] - 1).fit(X, y)


@pytest.mark.parametrize("passes", [0, 3, 20, 40])
def test_max_reads_of_a_slack_path(passes, tiny):
    X, y = tiny
    with pytest.warns(ConvergenceWarning, match="the read limit was reached"):
        model = papers_svc(slack=0.3, tol=0, max_reads=passes * X.size).fit(X, y)
    assert model.n_feature_reads_ <= passes * X.size


def test_max_reads_without_a_certificate_says_so(tiny):
    X, y = tiny
    with pytest.warns(ConvergenceWarning, match="with no certificate"):
        model = papers_svc(solver="pegasos", max_reads=X.size // 2).fit(X, y)
    assert model.gap_ == np.inf


@pytest.mark.parametrize("solver", ["sdca", "newton", "pegasos"])
def test_tol_zero_runs_to_the_limit(solver, tiny):
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = papers_svc(solver=solver, tol=0, max_iter=7).fit(*tiny)
    assert model.stop_reason_ == "max_iter"
    assert model.n_iter_ == 7


def test_target_error(adult):
    X, y = adult
    model = papers_svc(solver="sdca", lam=1e-3, tol=1e-9, target_error=0.3, random_state=0).fit(X, y)
    assert model.stop_reason_ == "target"
    assert model.history_[-1].score <= 0.3
    assert all(record.score > 0.3 for record in model.history_[:-1])
    assert model.gap_ > 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fraction", [0.2, 0.4])
def test_held_out_rows_are_not_trained_on(weighted, fraction, tiny):
    X, y = tiny
    y = np.random.default_rng(0).permutation(y)
    model = papers_svc(solver="sdca", target_error=0.0, validation_fraction=fraction, random_state=3, tol=1e-6)
    s = weights(60) + 0.5 if weighted else None
    model.fit(X, y, s)  # the target is out of reach: it converges
    assert model.stop_reason_ == "converged"
    seed = check_random_state(3).randint(np.iinfo(np.int32).max)
    aside = held_out((y > 0).astype(int), fraction, seed)
    assert abs(len(aside) - 60 * fraction) <= 1
    assert not set(model.support_) & set(aside)
    without = np.ones(60) if s is None else s.copy()
    without[aside] = 0
    spelled = papers_svc(solver="sdca", random_state=3, tol=1e-6).fit(X, y, without)
    np.testing.assert_array_equal(model.coef_, spelled.coef_)
    assert model.history_[-1].score == pytest.approx(1 - model.score(X[aside], y[aside]))


def test_the_first_limit_ends_it(tiny):
    X, y = tiny
    limits = {"tol": 0, "max_iter": 10**6, "max_time": 60.0, "max_reads": 10**12}
    for name, value in {"max_iter": 3, "max_time": 0.05, "max_reads": 5 * X.size}.items():
        with pytest.warns(ConvergenceWarning):
            model = papers_svc(solver="sdca", **{**limits, name: value}).fit(X, y)
        assert model.stop_reason_ == name
    limits["max_time"] = 0.5
    assert papers_svc(**{**limits, "tol": 1e-2}).fit(X, y).stop_reason_ == "converged"
    assert papers_svc(**{**limits, "target_error": 1.0}).fit(X, y).stop_reason_ == "target"


# --- input --------------------------------------------------------------------------------


def dense(rng):
    return rng.random((25_000, 1000), dtype=np.float32)


def compressed(rng, index):
    """25,000 rows of 500 distinct cells each."""
    n, k = 25_000, 500
    columns = np.sort(rng.integers(0, 2000, k)) + np.arange(k)
    indices = np.tile(columns, n).astype(index)
    return sp.csr_array((rng.random(n * k, dtype=np.float32), indices, k * np.arange(n + 1, dtype=index)))


def as_memmap(X, folder):
    X.tofile(folder / "X.bin")
    return np.memmap(folder / "X.bin", dtype=X.dtype, mode="r", shape=X.shape)


def buffers(X):
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [np.asarray(X)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "memmap", "csr-int32", "csr-int64"])
def test_the_data_are_not_copied(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = compressed(rng, kind[4:]) if kind.startswith("csr") else dense(rng)
    X = as_memmap(X, tmp_path) if kind == "memmap" else X
    for part in buffers(X):
        part.flags.writeable = False
    y = rng.integers(0, 2, X.shape[0])
    model = papers_svc(solver="sdca", tol=1e-9, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[:200], y[:200])  # compiled
    model.decision_function(X[:200])
    before = [zlib.adler32(part) for part in buffers(X)]
    size = sum(part.nbytes for part in buffers(X))
    assert size > 5e7
    tracemalloc.start()
    try:
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        model.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * size
    assert [zlib.adler32(part) for part in buffers(X)] == before


@pytest.mark.slow
def test_float64_is_not_copied_and_read_only_is_fine(tiny):
    X = np.random.default_rng(0).random((5000, 500))
    X.flags.writeable = False
    y = (X[:, 0] > 0.5).astype(int)
    papers_svc(solver="sdca", max_iter=10**4).fit(*tiny)
    tracemalloc.start()
    try:
        papers_svc(solver="sdca", tol=0.2).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * X.nbytes


def fitted(X, y, **options):
    return papers_svc(solver="sdca", tol=1e-5, random_state=0, **options).fit(X, y)


@pytest.mark.slow
def test_layouts_and_types_give_the_same_model(tiny):
    """The rows are short binary fractions: float32 holds them."""
    X, y = tiny
    base = fitted(X, y)
    np.testing.assert_array_equal(fitted(np.asfortranarray(X), y).coef_, base.coef_)
    np.testing.assert_array_equal(fitted(np.repeat(X, 2, axis=0)[::2], y).coef_, base.coef_)
    np.testing.assert_array_equal(fitted(X.tolist(), y.tolist()).coef_, base.coef_)
    np.testing.assert_array_equal(fitted(X.astype(">f8"), y).coef_, base.coef_)
    np.testing.assert_allclose(fitted(X.astype(np.float32), y).coef_, base.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fitted(X.astype(np.float16), y).coef_, base.coef_, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_integers_and_booleans(dtype, tiny):
    X, y = tiny
    whole = (X > 0.3).astype(dtype) if dtype is bool else np.abs(np.round(3 * X)).astype(dtype)
    kept = whole.copy()
    base = fitted(whole.astype(np.float32), y)
    model = fitted(whole, y)
    np.testing.assert_array_equal(model.coef_, base.coef_)
    np.testing.assert_allclose(
        model.decision_function(whole), base.decision_function(whole.astype(np.float32)), atol=1e-6
    )
    np.testing.assert_array_equal(whole, kept)
    assert whole.dtype == dtype
    sparse = fitted(sp.csr_array(whole), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(whole)), sparse.predict(whole))
    assert sparse.objective_ == pytest.approx(base.objective_, rel=2e-5)


def test_large_integers_keep_their_digits(tiny):
    X, y = tiny
    large = np.round(X * 2**28).astype(np.int64) + 1
    model = fitted(large, y, C=2.0**-56)
    np.testing.assert_array_equal(model.coef_, fitted(large.astype(float), y, C=2.0**-56).coef_)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_formats(form, kind, tiny_csr):
    S, y = tiny_csr
    X = (S if kind == "array" else sp.csr_matrix(S)).asformat(form)
    model, base = fitted(X, y), fitted(S, y)
    np.testing.assert_array_equal(model.coef_, base.coef_)
    np.testing.assert_allclose(model.decision_function(X), base.decision_function(S), rtol=1e-5, atol=1e-6)
    assert X.format == form


def test_sparse_and_dense_agree(tiny, tiny_csr):
    dense_model, sparse_model = fitted(*tiny), fitted(*tiny_csr)
    assert sparse_model.objective_ == pytest.approx(dense_model.objective_, rel=2e-5)
    np.testing.assert_allclose(sparse_model.coef_, dense_model.coef_, atol=0.01)
    X = tiny[0]
    np.testing.assert_allclose(
        sparse_model.decision_function(X), sparse_model.decision_function(sp.csr_array(X)), rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
def test_cells_in_disorder(solver, tiny_csr):
    """Unsorted, twice or zero: the same matrix; and the caller's stays as it was."""
    S, y = tiny_csr
    data, indices, indptr = [], [], [0]
    for i in range(S.shape[0]):
        row = slice(S.indptr[i], S.indptr[i + 1])
        cells = [(j, v / 2) for j, v in zip(S.indices[row], S.data[row], strict=True) for _ in range(2)][::-1]
        missing = sorted(set(range(7)) - {j for j, _ in cells})[:1]
        cells = [(j, 0.0) for j in missing] + cells
        indices += [j for j, _ in cells]
        data += [v for _, v in cells]
        indptr.append(len(indices))
    indices, indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
    messy = sp.csr_array((np.array(data, np.float32), indices, indptr), shape=S.shape)
    np.testing.assert_array_equal(messy.toarray(), S.toarray())
    before = [part.copy() for part in buffers(messy)]
    options = {"solver": solver, "tol": 1e-6, "random_state": 0}
    model, base = papers_svc(**options).fit(messy, y), papers_svc(**options).fit(S, y)
    np.testing.assert_allclose(model.coef_, base.coef_, atol=1e-3)
    assert model.objective_ == pytest.approx(base.objective_, rel=2e-6)
    np.testing.assert_allclose(model.decision_function(messy), model.decision_function(S), atol=1e-5)
    for part, kept in zip(buffers(messy), before, strict=True):
        np.testing.assert_array_equal(part, kept)


@pytest.mark.slow
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames(library, tiny):
    X, y = tiny
    names = [f"x{j}" for j in range(7)]
    frame = library.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = fitted(frame, library.Series(y))
    np.testing.assert_array_equal(model.coef_, fitted(X, y).coef_)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(model.predict(frame), fitted(X, y).predict(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"x3": "z"}) if library is pd else frame.rename({"x3": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


# --- partial_fit --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_pieces", [1, 30])
@pytest.mark.parametrize("seed", [0, 1])
def test_partial_fit_learns_adult_in_pieces(n_pieces, seed):
    data = load("adult")
    whole = papers_svc(lam=1e-4, tol=1e-2, random_state=0).fit(data.X_train, data.y_train)
    goal = whole.score(data.X_test, data.y_test) - 0.03
    order = np.random.default_rng(seed).permutation(len(data.y_train))
    X, y = data.X_train[order], data.y_train[order]
    for options in ({"lam": 1e-4}, {"C": 1 / (1e-4 * len(y))}):
        model = papers_svc(random_state=0, **options)
        for piece in np.array_split(np.arange(len(y)), n_pieces):
            assert model.partial_fit(X[piece], y[piece], classes=[-1, 1]) is model
        assert model.score(data.X_test, data.y_test) > goal
        assert X.nnz <= model.n_feature_reads_ <= 1.1 * X.nnz


def test_partial_fit_needs_the_classes_first(tiny):
    X, y = tiny
    model = papers_svc()
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X[y > 0][:5], y[y > 0][:5], classes=[1, -1])  # one class only is fine
    assert model.classes_.tolist() == [-1, 1]
    model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"y has the label .*7.*, which is not among the classes \[-1, 1\]"):
        model.partial_fit(X, np.where(y > 0, 7, -1))
    with pytest.raises(ValueError, match="7 features"):
        model.partial_fit(X[:, :3], y)
    kept = model.coef_.copy()
    assert model.partial_fit(X, y).coef_.shape == kept.shape


@pytest.mark.parametrize("flaw", ["label", "width", "weight"])
def test_partial_fit_goes_on_after_a_refused_first_call(flaw, tiny):
    X, y = tiny
    model = papers_svc(random_state=0)
    with pytest.raises(ValueError, match=r"label|1D|negative|Negative"):
        model.partial_fit(
            X[:, 0] if flaw == "width" else X,
            np.where(y > 0, 7, -1) if flaw == "label" else y,
            classes=[-1, 1],
            sample_weight=-np.ones(60) if flaw == "weight" else None,
        )
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_array_equal(model.coef_, papers_svc(random_state=0).partial_fit(X, y, classes=[-1, 1]).coef_)


@pytest.mark.parametrize("options", [{}, {"intercept": "penalized"}, {"fit_intercept": False}], ids=str)
def test_partial_fit_goes_on_from_the_model(options, tiny):
    X, y = tiny[0] + 0.5, tiny[1]
    for parameters in ({"C": 0.5}, {"lam": 0.05}):
        model = papers_svc(solver="sdca", tol=1e-6, random_state=0, **parameters, **options).fit(X, y)
        w, b = model.coef_.copy(), model.intercept_.copy()
        far = np.argmax(y * model.decision_function(X))
        x = 100 * w * y[far] / np.linalg.norm(w)  # so far on its side that it teaches nothing
        model.partial_fit(x, y[[far]])
        shrunk = model.coef_[0, 0] / w[0, 0]
        least = 1.0 if "C" in parameters else 60 / 61  # λ is shared with one row more
        assert least - 1e-9 <= shrunk <= 1 + 1e-9
        np.testing.assert_allclose(model.coef_, shrunk * w, rtol=1e-6)
        np.testing.assert_allclose(model.intercept_, shrunk * b, rtol=1e-6, atol=1e-12)
        assert not hasattr(model, "gap_")  # it speaks of an answer that is no more


def test_partial_fit_after_fit_does_no_harm(adult):
    X, y = adult
    model = papers_svc(lam=1e-3, random_state=0).fit(X[:1500], y[:1500])
    before = model.score(X[1500:], y[1500:])
    for lo in range(1500, 2000, 100):
        model.partial_fit(X[lo : lo + 100], y[lo : lo + 100])
    assert model.score(X[1500:], y[1500:]) > before - 0.02
    assert model.fit(X, y).gap_ <= 1e-3  # and a fit begins anew


@pytest.mark.slow
def test_partial_fit_of_many_classes(tiny):
    X, y = tiny
    three = np.where(X[:, 2] > 0.5, 0, y)
    model = papers_svc(lam=0.01, random_state=0, class_weight={0: 2.0})
    for _ in range(10):
        for lo in range(0, 60, 7):  # a piece may lack a class
            model.partial_fit(X[lo : lo + 7], three[lo : lo + 7], classes=[-1, 0, 1])
    assert model.coef_.shape == (3, 7)
    assert model.score(X, three) > 0.65


def test_partial_fit_is_deterministic(tiny):
    X, y = tiny
    first, second = (papers_svc(random_state=4) for _ in range(2))
    for model in (first, second):
        model.partial_fit(X[:30], y[:30], classes=[-1, 1]).partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(first.coef_, second.coef_)
    thawed = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(thawed.partial_fit(X, y).coef_, first.partial_fit(X, y).coef_)


# --- warm start ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("options", [{}, {"intercept": "penalized"}], ids=str)
def test_warm_start_is_shorter_and_ends_where_cold_does(solver, options, adult):
    X, y = adult
    X, y = X[:1000], y[:1000]
    common = {"solver": solver, "tol": 1e-4, "random_state": 0, **options}
    model = papers_svc(C=0.1, warm_start=True, **common).fit(X, y)
    first = model.n_iter_
    model.set_params(C=0.101).fit(X, y)
    cold = papers_svc(C=0.101, **common).fit(X, y)
    assert model.n_iter_ < min(first, cold.n_iter_)
    assert model.gap_ <= 1e-4
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-4)


def test_warm_start_of_a_slack_path(tiny):
    X, y = tiny
    model = papers_svc(slack=0.3, warm_start=True, solver="sdca").fit(X, y)
    model.set_params(slack=0.31).fit(X, y)
    cold = papers_svc(slack=0.31, solver="sdca").fit(X, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
def test_warm_start_with_other_data_is_silent(solver, tiny):
    X, y = tiny
    model = papers_svc(solver=solver, warm_start=True, tol=1e-5)
    for A, b in ((X, y), (X[:50], y[:50]), (X[:50, :5], y[:50]), (X, np.where(y > 0, "b", "a")), (X, -y)):
        model.fit(A, b)
        cold = papers_svc(solver=solver, tol=1e-5).fit(A, b)
        assert model.gap_ <= 1e-5
        assert model.objective_ == pytest.approx(cold.objective_, rel=2e-5)
        assert model.coef_.shape == (1, A.shape[1])


def test_cold_start_forgets(tiny):
    X, y = tiny
    model = papers_svc(solver="sdca", random_state=0).fit(X, y)
    once = model.n_iter_
    assert model.fit(X, y).n_iter_ == once


# --- among scikit-learn's tools -----------------------------------------------------------


@pytest.mark.slow
def test_deterministic(tiny):
    for solver in ("sdca", "newton", "pegasos"):
        a, b, c = (
            papers_svc(solver=solver, tol=0.05, random_state=seed).fit(*tiny)
            for seed in (1, np.random.RandomState(1), 2)
        )
        np.testing.assert_array_equal(a.coef_, b.coef_)
        if solver != "newton":  # which has no reason to draw here
            assert not np.array_equal(a.coef_, c.coef_)


def test_pickle_and_joblib(tiny, tmp_path):
    X, y = tiny
    model = papers_svc(solver=Pegasos(4), lam=0.1, tol=0.5, warm_start=True).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib"), joblib.load(stream)):
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        assert copy.solver == model.solver
        np.testing.assert_equal(list(copy.history_), list(model.history_))
        assert copy.fit(X, y).gap_ <= 0.5


def test_a_pickle_holds_no_data(adult):
    X, y = adult
    model = papers_svc(solver="sdca", lam=1e-2).fit(X, y)
    assert len(pickle.dumps(model)) < X.data.nbytes / 2


def test_repr_and_params():
    assert repr(hinge.LinearSVC()) == "LinearSVC()"
    assert repr(hinge.LinearSVC(lam=0.1, solver="sdca")) == "LinearSVC(lam=0.1, solver='sdca')"
    assert "Pegasos(batch_size=4" in repr(papers_svc(solver=Pegasos(4)))
    parameters = papers_svc(3.0, tol=0.5).get_params()
    assert parameters["C"] == 3.0
    assert parameters["tol"] == 0.5
    assert papers_svc(**parameters).get_params() == parameters


@pytest.mark.slow
def test_pipeline_and_cross_validation(tiny, tiny_csr):
    for X, y in (tiny, tiny_csr):
        pipeline = make_pipeline(StandardScaler(with_mean=False), papers_svc(C=0.1))
        assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    search = GridSearchCV(papers_svc(), {"C": [0.01, 1.0], "intercept": ["free", "penalized"]}, cv=2)
    assert search.fit(*tiny).best_score_ > 0.6


@pytest.mark.slow
def test_calibration(tiny):
    X, y = tiny
    model = CalibratedClassifierCV(papers_svc(C=0.1), cv=3).fit(X, y, sample_weight=weights(60) + 0.5)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, y) > 0.7


@pytest.mark.slow
def test_processes_share_a_memory_map(tiny, tmp_path):
    X, y = tiny
    mapped = as_memmap(np.ascontiguousarray(X), tmp_path)
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(fitted(mapped, y).coef_, fitted(X, y).coef_)
    assert os.path.getsize(tmp_path / "X.bin") == X.nbytes


# --- the 1-norm ---------------------------------------------------------------------------


def wide(n=120, d=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, :4].sum(axis=1) + rng.standard_normal(n) > 0, "spam", "ham")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("C", [0.02, 0.2, 5.0])
@pytest.mark.parametrize(("fit_intercept", "scaling"), [(False, 1.0), (True, 1.0), (True, 30.0)])
@pytest.mark.parametrize("class_weight", [None, pytest.param("balanced", marks=balanced_by_weight)])
def test_the_1_norm_is_liblinears(C, fit_intercept, scaling, class_weight):
    X, y = wide()
    s = weights(120) + 0.1
    options = {"dual": False, "C": C, "fit_intercept": fit_intercept, "intercept_scaling": scaling}
    options["class_weight"] = class_weight
    ours = hinge.LinearSVC("l1", tol=1e-9, **options).fit(X, y, s)
    theirs = Liblinear("l1", tol=1e-8, max_iter=100_000, **options).fit(X, y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.gap_ <= 1e-9
    assert (ours.coef_ == 0).sum() == (theirs.coef_ == 0).sum()
    assert not hasattr(ours, "dual_coef_") and not hasattr(ours, "support_")
    assert type(ours.solver_).__name__ == "CDN"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_1_norm_with_several_classes(n_jobs, many):
    X, y = many
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((250, 20))])
    ours = hinge.LinearSVC("l1", dual=False, C=0.1, tol=1e-7, n_jobs=n_jobs).fit(sp.csr_array(X), y)
    theirs = Liblinear("l1", dual=False, C=0.1, tol=1e-7, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.objective_.shape == (5,)
    assert (ours.coef_ == 0).mean() > 0.3
    dense = ours.coef_.copy()
    scores = ours.decision_function(X)
    assert ours.sparsify().coef_.nnz == np.count_nonzero(dense)
    np.testing.assert_allclose(ours.decision_function(X), scores)
    np.testing.assert_array_equal(ours.densify().coef_, dense)


def test_features_are_selected_by_the_1_norm():
    X, y = wide()
    selector = SelectFromModel(hinge.LinearSVC("l1", dual=False, C=0.03)).fit(X, y)
    kept = np.flatnonzero(selector.get_support())
    assert {0, 1, 2, 3} <= set(kept) and len(kept) < 30
    np.testing.assert_array_equal(kept, np.flatnonzero(selector.estimator_.coef_[0]))
    assert selector.transform(X).shape == (120, len(kept))


def test_a_path_of_the_1_norm_is_warm():
    X, y = wide()
    cold = hinge.LinearSVC("l1", dual=False, C=1.0, tol=1e-6).fit(X, y)
    warm = hinge.LinearSVC("l1", dual=False, C=0.9, tol=1e-6, warm_start=True).fit(X, y)
    warm.set_params(C=1.0).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    assert warm.gap_ <= 1e-6


def test_limits_of_the_1_norm():
    X, y = wide()
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = hinge.LinearSVC("l1", dual=False, C=10.0, tol=1e-9, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2 and 1e-9 < model.gap_ < np.inf
    with pytest.warns(ConvergenceWarning):
        model = hinge.LinearSVC("l1", dual=False, C=10.0, tol=1e-9, max_reads=20 * X.size).fit(X, y)
    assert 0 < model.n_feature_reads_ <= 20 * X.size
    assert type(model.solver_).__name__ == "CDN"
    with pytest.warns(ConvergenceWarning):
        model = hinge.LinearSVC("l1", dual=False, max_time=0.0).fit(X, y)
    assert not model.coef_.any()
    model = hinge.LinearSVC("l1", dual=False, C=10.0, tol=1e-12, target_error=0.3).fit(X, y)
    assert model.stop_reason_ == "target"


def test_what_the_1_norm_does_not_go_with(tmp_path):
    X, y = wide()
    model = hinge.LinearSVC("l1", dual=False)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model.partial_fit(X, y, classes=["ham", "spam"])
    assert "penalty='l1' needs all rows at once: use fit" in str(raised.value.__cause__)
    with pytest.raises(ValueError, match="SDCA does not solve problems with the 1-norm"):
        model.set_params(solver="sdca").fit(X, y)
    model.set_params(solver="cdn").fit(X, y)
    with pytest.raises(ValueError, match="CDN solves L1Regularized problems"):
        model.set_params(penalty="l2").fit(X, y)
    hinge.write_pair(X, tmp_path / "pair")
    with pytest.raises(ValueError, match="asks for whole columns"):
        hinge.LinearSVC("l1", dual=False).fit(hinge.open_pair(tmp_path / "pair"), y)
