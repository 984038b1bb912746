"""NuSVR against scikit-learn's (LIBSVM), and what it promises beyond that."""

import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from hinge import SVR, NuSVR
from hinge.kernels import Function
from hinge.solvers import LevelBlocks

LONG = bool(os.environ.get("HINGE_LONG_TESTS"))  # then all 200 random problems are tried, not an eighth

KERNELS = (
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf"},
    {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 1.0},
)


def noisy(n=121, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, 2.0 * np.sin(X[:, 0]) + X[:, -1] + 0.3 * rng.standard_normal(n) + 5.0


def objective(model, K, t, s):
    """½‖w‖² + C(νSε + Σ s max(0, |t - f| - ε)) of any machine, at its best ε."""
    beta = np.zeros(len(t))
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    off = np.abs(t - K @ beta - model.intercept_[0])
    losses = [model.nu * s.sum() * e + s @ np.maximum(0, off - e) for e in (0.0, *off)]
    return beta @ K @ beta / 2 + model.C * min(losses)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("solver", ["auto", LevelBlocks(first=16, block=8)], ids=str)
@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize(("nu", "C"), [(0.05, 1.0), (0.33, 30.0), (0.71, 0.1), (1.0, 3.0)])
def test_it_is_the_machine_of_scikit_learn(options, nu, C, solver):
    X, t = noisy()
    ours = NuSVR(nu=nu, C=C, tol=1e-7, solver=solver, **options).fit(X, t)
    theirs = svm.NuSVR(nu=nu, C=C, tol=1e-10, **options).fit(X, t)
    assert ours.gap_ <= 1e-7
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=5e-3)
    assert ours.shape_fit_ == theirs.shape_fit_ and ours.fit_status_ == 0
    assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, int(ours.n_support_[0]))
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    beta = ours.dual_coef_[0]
    assert beta.sum() == pytest.approx(0, abs=1e-9 * np.abs(beta).sum())
    assert np.abs(beta).max() <= C * (1 + 1e-12) and np.abs(beta).sum() <= C * nu * len(t) * (1 + 1e-9)
    K, s = np.asarray(ours.kernel_(X, X)), np.ones(len(t))
    value, other = (objective(model, K, t, s) for model in (ours, theirs))
    assert value <= other * (1 + 2e-7)
    assert value == pytest.approx(ours.objective_, rel=1e-6)
    if options["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.parametrize("seed", range(0, 200, 1 if LONG else 13))
def test_random_machines_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([5, 20, 60, 150]))
    X, t = noisy(n, int(rng.integers(1, 6)), seed=seed)
    X = X[rng.integers(0, n, n)] if seed % 4 == 1 else X  # rows that are there twice, with other targets
    s = rng.integers(1, 5, n) / 2.0 if seed % 3 == 0 else np.ones(n)
    nu, C = float(rng.choice([0.03, 0.2, 0.5, 0.9, 1.0])), float(10 ** rng.uniform(-2, 3))
    options = KERNELS[seed % len(KERNELS)]
    ours = NuSVR(nu=nu, C=C, tol=1e-6, **options).fit(X, t, s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = svm.NuSVR(nu=nu, C=C, tol=1e-12, max_iter=10**6, **options).fit(X, t, s)
    K = np.asarray(ours.kernel_(X, X))
    value = objective(ours, K, t, s)
    assert value == pytest.approx(ours.objective_, rel=1e-6)
    beta, star = np.zeros((2, n))
    beta[ours.support_], star[theirs.support_] = ours.dual_coef_[0], theirs.dual_coef_[0]
    dual = (t - t.mean()) @ star - 0.5 * star @ K @ star  # no more than the optimum, and so than any objective
    assert dual <= value * (1 + 1e-6)
    assert value <= objective(theirs, K, t, s) * (1 + ours.gap_)
    # LIBSVM keeps kernel values in single precision, and its intercept is not always the best.
    rounding = 1e-6 * (np.abs(star) @ np.abs(K) @ np.abs(star)) + 1e-6 * np.abs(star) @ np.abs(t)
    if theirs.fit_status_ == 0:  # not cut off
        assert value <= dual * (1 + ours.gap_) + rounding
        assert (beta - star) @ K @ (beta - star) <= ours.gap_ * value + rounding


def test_weights_of_rows_scale_their_bounds():
    X, t = noisy()
    s = np.random.default_rng(1).uniform(0.2, 3.0, len(t))
    s[::7] = 0.0
    ours, theirs = NuSVR(nu=0.3, gamma=0.4, tol=1e-8), svm.NuSVR(nu=0.3, gamma=0.4, tol=1e-10)
    np.testing.assert_allclose(ours.fit(X, t, s).predict(X), theirs.fit(X, t, s).predict(X), atol=1e-3)
    assert not set(ours.support_) & set(range(0, len(t), 7))


def test_the_tube_is_that_of_the_machine_with_epsilon():
    X, t = noisy()
    model = NuSVR(nu=0.3, C=3.0, gamma=0.4, tol=1e-8).fit(X, t)
    off = np.abs(t - model.predict(X))
    inner = np.abs(model.dual_coef_[0]) < 3.0 - 1e-6
    epsilon = float(np.median(off[model.support_[inner]]))
    assert (off > epsilon + 1e-4).mean() <= 0.3 <= len(model.support_) / len(t)
    peer = SVR(C=3.0, gamma=0.4, epsilon=epsilon, tol=1e-8).fit(X, t)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-3)


def test_targets_that_a_constant_fits():
    X, _ = noisy(30)
    for value in (0.0, -4.0):
        model = NuSVR().fit(X, np.full(30, value))
        assert model.gap_ <= 1e-5 and model.stop_reason_ == "converged"
        np.testing.assert_array_equal(model.predict(X), value)
        assert model.dual_coef_.shape == (1, 0)
    assert NuSVR().fit(X[:1], [3.0]).predict(X[:1]) == [3.0]


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["csr", "precomputed", "function", "sequence"])
def test_other_points_and_kernels(kind):
    X, t = noisy(81)
    new = noisy(30, seed=9)[0]
    expected = NuSVR(gamma=0.1, nu=0.3, tol=1e-8).fit(X, t).predict(new)
    own, there, kernel = X, new, "rbf"
    if kind == "csr":
        own, there = sp.csr_array(own), sp.csr_array(there)
    elif kind == "precomputed":
        kernel, own, there = kind, rbf_kernel(own, own, 0.1), rbf_kernel(there, own, 0.1)
    else:
        kernel = Function(lambda a, b: float(np.exp(-0.1 * np.sum((a - b) ** 2))))
        if kind == "sequence":
            own, there = list(map(np.array, own)), list(map(np.array, there))
    model = NuSVR(kernel=kernel, gamma=0.1, nu=0.3, tol=1e-8).fit(own, t)
    np.testing.assert_allclose(model.predict(there), expected, atol=1e-3)


def test_limits_end_the_fit_with_a_model():
    X, t = noisy(400)
    for limit in ({"max_iter": 2}, {"max_time": 0.0}, {"max_kernel_evals": 10}):
        with pytest.warns(ConvergenceWarning, match="The fit ended because|terminated early"):
            model = NuSVR(solver=LevelBlocks(first=32, block=16), **limit).fit(X, t)
        assert model.fit_status_ == 1 and np.isfinite(model.predict(X)).all()


def test_a_warm_start_goes_on_from_the_last_answer():
    X, t = noisy(300)
    model = NuSVR(C=10.0, tol=1e-6, warm_start=True).fit(X, t)
    first = model.n_iter_
    assert model.fit(X, t).n_iter_ < first and model.gap_ <= 1e-6
    cold = NuSVR(C=10.0, nu=0.2, tol=1e-6).fit(X, t)
    np.testing.assert_allclose(model.set_params(nu=0.2).fit(X, t).predict(X), cold.predict(X), atol=0.02)


def test_pickles_hold_the_model():
    X, t = noisy()
    model = NuSVR().fit(X, t)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # so large a bound cannot be certified
def test_a_bound_may_be_a_long_integer():
    X = np.arange(12.0)[:, None]
    model = NuSVR(C=10**30, nu=0.5).fit(X, np.sin(X[:, 0]))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_whose_differences_are_lost_give_no_nan():
    X = np.array(
        [
            [17046493187978.0, 17044906410795.0],
            [17046048859176.0, 17045953936962.0],
            [17045009675607.0, 17045755956463.0],
            [17046878435267.0, 17045847539741.0],
            [17046902673339.0, 17044339145792.0],
        ]
    )
    t = [
        0.004301391876276526,
        0.004550955294751487,
        0.0038735644768220488,
        0.005848918233594446,
        -0.0007598908633937745,
    ]
    try:
        model = NuSVR(C=5516.385534343547, kernel="linear", nu=0.9).fit(X, t)
    except ValueError as error:
        assert "differences are lost" in str(error)
    else:
        assert np.isfinite(model.predict(X)).all()
