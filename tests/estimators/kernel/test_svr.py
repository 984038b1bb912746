import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from hinge import SVR
from hinge.kernels import Function, Gaussian
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.losses import squared_epsilon_insensitive
from hinge.solvers import SMO, ActiveSet, BlockDual


def noisy(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, 2.0 * np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n) + 5.0


def objective(model, K, t, C, epsilon, s=None, b=None):
    """½‖w‖² + C Σ s·loss of any kernel machine, at its own intercept or at another."""
    beta = np.zeros(len(t))
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    b = float(model.intercept_[0]) if b is None else b
    losses = np.maximum(0, np.abs(t - K @ beta - b) - epsilon)
    return beta @ K @ beta / 2 + C * (losses @ (np.ones(len(t)) if s is None else s))


@pytest.mark.sampled
@pytest.mark.parametrize("solver", ["auto", "blockdual", "activeset"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 0.5, "C": 1.0, "epsilon": 0.1},
        {"kernel": "rbf", "gamma": 0.5, "C": 300.0, "epsilon": 0.3},
        {"kernel": "rbf", "C": 0.01, "epsilon": 0.0},
        {"kernel": "linear", "C": 3.0, "epsilon": 0.1},
        {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 1.0, "C": 0.5, "epsilon": 1.0},
    ],
    ids=str,
)
def test_it_is_the_machine_of_scikit_learn(solver, options):
    X, t = noisy()
    ours = SVR(tol=1e-8, solver=solver, **options).fit(X, t)
    theirs = svm.SVR(tol=1e-10, **options).fit(X, t)
    assert ours.gap_ <= 1e-8
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    assert ours.shape_fit_ == theirs.shape_fit_
    for name in ("dual_coef_", "intercept_", "n_support_", "support_"):
        ndim = np.ndim(getattr(theirs, name))
        assert np.ndim(getattr(ours, name)) == ndim
    assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, int(ours.n_support_[0]))
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert ours.dual_coef_.sum() == pytest.approx(0, abs=1e-9 * np.abs(ours.dual_coef_).sum())
    assert np.abs(ours.dual_coef_).max() <= options["C"] * (1 + 1e-12)
    K = ours.kernel_(X, X)
    value, other = (objective(m, K, t, options["C"], options["epsilon"]) for m in (ours, theirs))
    assert value <= other * (1 + 1e-8)
    assert value == pytest.approx(ours.objective_ / ours.lam_, rel=1e-7)
    if options["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
        np.testing.assert_allclose(ours.predict(X), X @ ours.coef_.ravel() + ours.intercept_[0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_machines_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 20, 60, 300]))
    X, t = noisy(n, seed=seed)
    X = X[rng.integers(0, n, n)] if seed % 2 else X  # rows that are there twice, with other targets
    s = rng.integers(1, 5, n) / 2.0 if seed % 3 else None
    C, epsilon = float(10 ** rng.uniform(-2, 3)), float(rng.choice([0.0, 0.1, 5.0]))
    K = rbf_kernel(X, gamma=0.4)
    theirs = svm.SVR(C=C, epsilon=epsilon, gamma=0.4, tol=1e-9).fit(X, t, s)
    for solver in ("auto", BlockDual()):
        ours = SVR(C=C, epsilon=epsilon, gamma=0.4, tol=1e-7, solver=solver).fit(X, t, s)
        value, other = (objective(m, K, t, C, epsilon, s) for m in (ours, theirs))
        assert value <= other * (1 + 1e-7) + 1e-9


def test_defaults_are_scikit_learns():
    ours, theirs = SVR().get_params(), svm.SVR().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert list(ours)  # and more


@pytest.mark.slow
def test_many_rows_in_blocks():
    X, t = noisy(1500, 4)
    model = SVR(C=2.0).fit(X, t)
    assert isinstance(model.solver_, BlockDual)
    assert model.gap_ <= 1e-3 and model.stop_reason_ == "converged" and model.fit_status_ == 0
    assert model.n_kernel_evals_ > 0
    assert model.history_[-1].gap == model.gap_
    theirs = svm.SVR(C=2.0, tol=1e-6).fit(X, t)
    K = model.kernel_(X, X)
    best = objective(theirs, K, t, 2.0, 0.1)
    assert objective(model, K, t, 2.0, 0.1) <= best * (1 + 1e-3)
    assert isinstance(SVR().fit(X[:100], t[:100]).solver_, ActiveSet)


def test_a_wide_tube_holds_all_targets():
    X, t = noisy()
    for solver in ("auto", "blockdual"):
        model = SVR(epsilon=100.0, solver=solver).fit(X, t)
        assert model.gap_ == 0.0 and len(model.support_) == 0 and model.objective_ == 0.0
        assert model.predict(X[:3]) == pytest.approx(np.full(3, (t.min() + t.max()) / 2))


@pytest.mark.parametrize("solver", ["auto", "blockdual"])
def test_constant_targets(solver):
    X, _ = noisy(40)
    for value in (0.0, 7.0, -1e6):
        model = SVR(solver=solver, epsilon=0.0).fit(X, np.full(40, value))
        assert model.predict(X) == pytest.approx(np.full(40, value))
        assert model.gap_ <= 1e-3
    bare = SVR(fit_intercept=False, solver=solver, C=100.0).fit(X, np.full(40, 7.0))
    assert bare.intercept_[0] == 0.0
    assert bare.predict(X) == pytest.approx(np.full(40, 7.0), abs=0.5)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_targets_of_any_size(size):
    X, t = noisy()
    one = SVR(C=3.0, tol=1e-7).fit(X, t)
    other = SVR(C=3.0 * size, epsilon=0.1 * size, tol=1e-7).fit(X, size * t)
    np.testing.assert_allclose(other.predict(X) / size, one.predict(X), atol=1e-4)


def test_weights_are_repetitions_and_rows_without_take_no_part():
    X, t = noisy(60)
    s = np.random.default_rng(1).integers(0, 3, 60)
    weighted = SVR(gamma=0.5, tol=1e-9).fit(X, t, s)
    repeated = SVR(gamma=0.5, tol=1e-9).fit(np.repeat(X, s, axis=0), np.repeat(t, s))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert (s[weighted.support_] > 0).all()
    blocks = SVR(gamma=0.5, tol=1e-9, solver="blockdual").fit(X, t, s)
    assert blocks.objective_ == pytest.approx(weighted.objective_, rel=1e-7)


def test_other_input():
    X, t = noisy(80)
    K, kernel = rbf_kernel(X, gamma=0.5), Gaussian(0.5)
    plain = SVR(kernel=kernel, tol=1e-8).fit(X, t)
    expected = plain.predict(X)
    given = SVR(kernel="precomputed", tol=1e-8).fit(K, t)
    np.testing.assert_allclose(given.predict(K), expected, atol=1e-4)
    sparse = SVR(kernel=kernel, tol=1e-8).fit(sp.csr_array(X), t)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), expected, atol=1e-4)
    called = SVR(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), tol=1e-8).fit(X, t)
    np.testing.assert_allclose(called.predict(X), expected, atol=1e-4)
    words = ["a", "aa", "aaa", "b", "bb", "bbb"]
    lengths = SVR(kernel=Function(lambda v, w: float(len(v) * len(w)), on="pairs"), C=10.0, epsilon=0.01)
    assert lengths.fit(words, [1, 2, 3, 1, 2, 3]).predict(["cc"]) == pytest.approx([2.0], abs=0.05)
    with pytest.raises(ValueError, match="SVR requires y"):
        lengths.fit(words, None)


def test_an_indefinite_kernel_has_no_certificate():
    X, t = noisy(60)
    options = {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}
    for solver in ("auto", "blockdual"):
        with pytest.warns(UserWarning, match="not positive semidefinite"):
            model = SVR(solver=solver, **options).fit(X, t)
        assert np.isnan(model.gap_)
        assert np.abs(model.dual_coef_).max() <= 1.0


@pytest.mark.slow
def test_limits_and_starts():
    X, t = noisy(1500, 4)
    with pytest.warns(ConvergenceWarning):
        few = SVR(max_kernel_evals=600_000).fit(X, t)
    assert few.n_kernel_evals_ <= 600_000 and few.fit_status_ == 1
    with pytest.warns(ConvergenceWarning):
        SVR(max_iter=1, C=100.0, tol=1e-8).fit(X, t)
    again = SVR(warm_start=True).fit(X, t)
    first = again.n_iter_, again.history_[-1].iteration
    again.fit(X, t)
    assert again.gap_ <= 1e-3 and again.history_[-1].iteration < first[1]
    aimed = SVR(target_error=0.6, tol=0.0, max_time=60).fit(X, t)
    assert aimed.stop_reason_ == "target" and aimed.history_[-1].score <= 0.6


def test_it_works_with_scikit_learn():
    X, t = noisy()
    found = GridSearchCV(SVR(), {"C": [0.01, 10.0], "epsilon": [0.1]}, cv=3).fit(X, t)
    assert found.best_params_["C"] == 10.0 and found.best_score_ > 0.5
    model = clone(SVR(C=2.0)).fit(X, t)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    np.testing.assert_array_equal(SVR(C=2.0).fit(X, t).predict(X), model.predict(X))  # same call, same bits


@pytest.mark.parametrize(
    "options, words",
    [
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": "a"}, "epsilon"),
        ({"C": 0.0}, "C must"),
        ({"shrinking": "yes"}, "shrinking"),
        ({"kernel": "cosine"}, "kernel"),
        ({"solver": "sdca"}, "solver"),
        ({"solver": "smo"}, "use BlockDual"),
        ({"solver": SMO()}, "epsilon_insensitive"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(options, words):
    X, t = noisy(20)
    with pytest.raises(ValueError, match=words):
        SVR(**options).fit(X, t)


def test_wrong_targets_are_refused():
    X, t = noisy(20)
    with pytest.raises(ValueError, match="one number for each row"):
        SVR().fit(X, ["a"] * 20)
    with pytest.raises(ValueError, match="NaN"):
        SVR().fit(X, np.where(np.arange(20) == 3, np.nan, t))


def test_problems_that_no_kernel_solver_has():
    X, t = noisy(20)
    with pytest.raises(ValueError, match="squared_epsilon_insensitive"):
        KernelRegularized(X, t, 0.1, Gaussian(1.0), loss=squared_epsilon_insensitive(0.1))
    with pytest.raises(ValueError, match="Slack is defined by the hinge loss"):
        KernelSlackConstrained(X, t, 0.1, Gaussian(1.0), loss=SVR()._loss)
