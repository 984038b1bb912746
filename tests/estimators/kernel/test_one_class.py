"""OneClassSVM against scikit-learn's (LIBSVM), and what it promises beyond that."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM as Libsvm

from hinge.access import Gram, as_points
from hinge.estimators.kernel import kernel_machine
from hinge.estimators.kernel.one_class import OneClassSVM
from hinge.kernels import Function, Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import solve
from hinge.solvers.kernel.level_blocks import LevelBlocks

X = make_blobs(300, 4, centers=3, random_state=0)[0]
NEW = np.random.default_rng(5).uniform(-12, 12, (100, 4))
KERNELS = {
    "rbf": dict(kernel="rbf"),
    "narrow": dict(kernel="rbf", gamma=2.0),
    "linear": dict(kernel="linear"),
    "poly": dict(kernel="poly", degree=2, gamma=0.05, coef0=1.0),
}


def squared(coef, scores):
    return 0.5 * float(coef @ scores)


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.903])  # of 0.9, 270 points, several levels are best
@pytest.mark.parametrize("name", KERNELS)
def test_the_same_as_libsvm(name, nu):
    peer = Libsvm(nu=nu, tol=1e-9, **KERNELS[name]).fit(X)
    model = OneClassSVM(nu=nu, tol=1e-5, **KERNELS[name]).fit(X)
    size = np.abs(peer.score_samples(X)).max()
    np.testing.assert_allclose(model.score_samples(NEW), peer.score_samples(NEW), atol=2e-5 * size)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=4e-5 * size)
    ours = squared(model.dual_coef_[0], model.score_samples(X)[model.support_])
    theirs = squared(peer.dual_coef_[0], peer.score_samples(X)[peer.support_])
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert model.dual_coef_.sum() == pytest.approx(nu * len(X))
    assert (model.gap_, model.fit_status_) <= (1e-5, 0)
    assert model.offset_ == -model.intercept_


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csr", "precomputed", "blocks", "pairs", "sequence"])
def test_other_points_and_kernels(kind):
    K = Gaussian(0.1)
    expected = OneClassSVM(gamma=0.1, nu=0.2, tol=1e-6).fit(X[:80])
    own, there, kernel = X[:80], NEW, "rbf"
    if kind == "csr":
        own, there = sp.csr_array(own), sp.csr_array(there)
    elif kind == "precomputed":
        kernel, own, there = kind, K(own, own), K(there, own)
    elif kind == "blocks":
        kernel = K.__call__
    else:
        kernel = Function(lambda a, b: float(np.exp(-0.1 * np.sum((a - b) ** 2))))
        if kind == "sequence":
            own, there = list(map(np.array, own)), list(map(np.array, there))
    model = OneClassSVM(kernel=kernel, gamma=0.1, nu=0.2, tol=1e-6).fit(own)
    np.testing.assert_allclose(model.decision_function(there), expected.decision_function(NEW), atol=1e-4)


def test_weights_count_as_repeated_rows():
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = OneClassSVM(gamma=0.1, nu=0.3, tol=1e-6).fit(X, sample_weight=weight)
    again = OneClassSVM(gamma=0.1, nu=0.3, tol=1e-6).fit(np.repeat(X, weight.astype(int), axis=0))
    peer = Libsvm(gamma=0.1, nu=0.3, tol=1e-9).fit(X, sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(NEW), again.decision_function(NEW), atol=1e-3)
    np.testing.assert_allclose(model.decision_function(NEW), peer.decision_function(NEW), atol=1e-3)
    assert weight[model.support_].min() > 0


@pytest.mark.slow
def test_a_growing_subset_ends_with_all_points():
    Z = make_blobs(6000, 5, centers=4, random_state=1)[0]
    peer = Libsvm(nu=0.1).fit(Z)
    model = OneClassSVM(nu=0.1).fit(Z)
    rho = peer.offset_[0]
    np.testing.assert_allclose(model.decision_function(Z), peer.decision_function(Z), atol=2e-3 * rho)
    assert model.gap_ <= 1e-3
    assert model.n_kernel_evals_ < 0.8 * len(Z) ** 2
    assert 0.08 < np.mean(model.predict(Z) == -1) < 0.12


def test_the_radius_is_that_of_the_ball():
    model = OneClassSVM(gamma=0.05, nu=0.2, tol=1e-6).fit(X)
    c, K = model.dual_coef_[0] / (0.2 * len(X)), Gaussian(0.05)
    V = model.support_vectors_
    distances = np.sqrt(1.0 - 2.0 * K(X, V) @ c + c @ K(V, V) @ c)
    free = (model.dual_coef_[0] > 0) & (model.dual_coef_[0] < 1)
    np.testing.assert_allclose(distances[model.support_[free]], model.radius_, rtol=1e-4)
    outside = distances > model.radius_ * (1 + 1e-4)
    assert (model.predict(X)[outside] == -1).all()
    assert np.isnan(OneClassSVM(kernel="linear").fit(X).radius_)


def test_coef_of_the_linear_kernel():
    model = OneClassSVM(kernel="linear", nu=0.1).fit(X)
    np.testing.assert_allclose(NEW @ model.coef_[0] + model.intercept_, model.decision_function(NEW))


def test_it_survives_a_pickle_and_fit_predict():
    model = OneClassSVM(nu=0.1)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))


# --- the problem and the solver -----------------------------------------------------------


def problem_of(n=3000, nu=0.2, kernel=None, **options):
    Z = make_blobs(n, 3, centers=2, random_state=3)[0]
    return KernelOneClass(Gram(as_points(Z, kernel or Gaussian(0.5), exact=True)), nu, **options)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [[25], [1] * 25, [3, 0, 15, 7]])
def test_cutting_a_run_changes_nothing(cuts):
    solver = LevelBlocks(first=64, block=32)
    runs = []
    for pieces in ([25], cuts):
        problem = problem_of(1000)
        state = solver.init(problem, 4)
        for k in pieces:
            state = solver.advance(problem, state, k)
        runs.append((*state, problem.gram.evals))
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_certificate_bounds_the_error():
    best = solve(problem_of(500), LevelBlocks(), stop=Stop(1e-8)).solution
    for tol in (1e-1, 1e-2, 1e-4):
        problem = problem_of(500)
        result = solve(problem, LevelBlocks(first=32, block=16), stop=Stop(tol))
        assert result.status is Status.CONVERGED
        away = (result.solution.beta - best.beta) @ (result.solution.responses - best.responses)
        assert np.sqrt(away / result.solution.sq_norm) <= result.certificate.gap + 1e-7
        assert problem.objective(result.solution) == pytest.approx(result.certificate.objective)
        assert result.certificate.bound <= -0.5 * best.sq_norm <= result.certificate.objective + 1e-9


@pytest.mark.slow
def test_a_best_w_of_zero():
    Z = np.random.default_rng(0).standard_normal((200, 3))
    result = solve(KernelOneClass(Gram(as_points(Z, Linear(), exact=True)), 0.8), LevelBlocks())
    assert result.status is Status.STALLED  # nothing is relative to a w of zero
    assert result.solution.sq_norm < 1e-6 and result.certificate.gap == 1.0


def test_an_answer_out_of_bounds_has_no_certificate():
    problem = problem_of(50)
    assert problem.certificate(Expansion(np.ones(50), 0.0, np.ones(50))).gap == np.inf


# --- limits -------------------------------------------------------------------------------


@pytest.mark.slow
def test_limits_leave_a_model():
    Z = make_blobs(5000, 5, random_state=1)[0]
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = OneClassSVM(nu=0.3, tol=1e-6, max_iter=1).fit(Z)
    assert model.fit_status_ == 1
    assert np.mean(model.predict(Z) == -1) == pytest.approx(0.3, abs=0.1)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = OneClassSVM(nu=0.3, tol=1e-6, max_time=0.01).fit(Z)
    assert model.stop_reason_ == "max_time"
    assert np.isfinite(model.decision_function(NEW[:, :1].repeat(5, axis=1))).all()


@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")
@pytest.mark.slow
@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_ctrl_c(on_interrupt):
    Z = np.random.default_rng(0).standard_normal((60_000, 10))
    model = OneClassSVM(tol=1e-9, on_interrupt=on_interrupt)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    if on_interrupt == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(Z)
    else:
        assert model.fit(Z).stop_reason_ == "interrupted"
    assert time.perf_counter() - began < 5.0


def test_verbose(capsys):
    OneClassSVM(verbose=1).fit(X)
    assert "kernel values" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"nu": 0.0}, "nu must be a number greater than 0 and at most 1"),
        ({"nu": 1.5}, "nu must be a number greater than 0 and at most 1"),
        ({"nu": np.nan}, "nu must be a number"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be one of"),
        ({"tol": -1.0}, "tol must be a number"),
        ({"max_iter": -2}, "max_iter must be a whole number of at least 0, or -1"),
        ({"shrinking": "yes"}, "shrinking must be True or False"),
        ({"cache_size": 0}, "cache_size must be a number"),
        ({"on_interrupt": "stop"}, "on_interrupt must be one of"),
    ],
)
def test_parameters_out_of_range(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        OneClassSVM(**options).fit(X)


def test_bad_data():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OneClassSVM().fit(bad)
    with pytest.raises(ValueError, match="0 sample"):
        OneClassSVM().fit(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="square matrix"):
        OneClassSVM(kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="zero or negative weights: there is nothing to learn from"):
        OneClassSVM().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="nu must lie"):
        problem_of(10, nu=0.0)
    with pytest.raises(ValueError, match="KernelOneClass"):
        solve(KernelRegularized(X, np.where(X[:, 0] > 0, 1, -1), 0.1, Gaussian(1.0)), LevelBlocks())
    with pytest.raises(ValueError, match="block"):
        LevelBlocks(block=1)


def test_a_share_of_one_takes_all_points():
    model = OneClassSVM(nu=1.0).fit(X)  # for which LIBSVM has no finite level
    np.testing.assert_array_equal(model.dual_coef_, np.ones((1, len(X))))
    assert np.isfinite(model.offset_).all()
    assert model.gap_ <= 1e-3


def test_points_all_alike():
    model = OneClassSVM(nu=0.5).fit(np.full((30, 2), 3.0))
    assert model.gap_ <= 1e-3
    assert model.radius_ == pytest.approx(0.0, abs=1e-6)


def test_a_run_that_float32_could_not_end_is_on_the_bill(monkeypatch):
    exact = OneClassSVM(tol=2e-5).fit(X)  # few points: float64 from the beginning
    monkeypatch.setattr(kernel_machine, "FLOAT64_POINTS", 0)
    monkeypatch.setattr(kernel_machine, "fits_in_batch", lambda *args, **options: False)
    monkeypatch.setattr("hinge.access.gram.as_points.MOST_DIFFERENCES", 0)  # differences would end it
    first = OneClassSVM(tol=5e-5).fit(X)
    both = OneClassSVM(tol=2e-5).fit(X)
    assert both.stop_reason_ == "converged" and both.gap_ <= 2e-5
    np.testing.assert_allclose(both.decision_function(X), exact.decision_function(X), atol=1e-3)
    assert both.n_kernel_evals_ > first.n_kernel_evals_ and both.n_kernel_asked_ > first.n_kernel_asked_
    assert both.history_[-1].kernel_evals == both.n_kernel_evals_  # the second run continues the first


def test_sparse_data_has_sparse_coefficients_and_the_same_answer():
    full, thin = OneClassSVM(kernel="linear", nu=0.3).fit(X), OneClassSVM(kernel="linear", nu=0.3).fit(sp.csr_matrix(X))
    for name in ("dual_coef_", "coef_", "support_vectors_"):
        assert sp.issparse(getattr(thin, name))
        np.testing.assert_allclose(getattr(thin, name).toarray(), getattr(full, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(thin.decision_function(X), full.decision_function(X), atol=1e-9)


def test_rows_of_negative_weight_take_no_part():
    weight = np.r_[-np.ones(5), np.ones(len(X) - 5)]
    model, rest = OneClassSVM(gamma=0.3).fit(X, sample_weight=weight), OneClassSVM(gamma=0.3).fit(X[5:])
    assert model.support_.min() >= 5
    np.testing.assert_allclose(model.decision_function(X), rest.decision_function(X), rtol=1e-6)


def test_no_iterations_at_all_are_a_limit_like_any_other():
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=0\)"):
        model = OneClassSVM(max_iter=0).fit(X)
    assert type(model.n_iter_) is int
    assert model.n_iter_ == 0
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_points_about_the_origin_have_no_direction(kernel):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    with pytest.warns(ConvergenceWarning, match="best w is zero"):
        model = OneClassSVM(kernel=kernel, nu=0.5).fit(np.tile(X, (10, 1)))
    assert model.gap_ >= 1.0


def test_rounding_does_not_move_points_of_the_boundary_outside():
    X = 3.0 * np.random.RandomState(0).uniform(size=(20, 3))
    model = OneClassSVM().fit(X)
    assert (model.decision_function(X) == 0.0).any()  # the boundary goes through a support vector
    before = model.predict(X)
    model.intercept_ = np.nextafter(model.intercept_, -np.inf)  # as another order of additions would have it
    np.testing.assert_array_equal(model.predict(X), before)
