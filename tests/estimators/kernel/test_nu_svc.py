"""NuSVC against scikit-learn's (LIBSVM), and what it promises beyond that."""

import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from hinge import SVC, NuSVC
from hinge.estimators.kernel import kernel_machine
from hinge.kernels import Function, Gaussian
from hinge.solvers import LevelBlocks

LONG = bool(os.environ.get("HINGE_LONG_TESTS"))  # then all 200 random problems are tried, not an eighth

KERNELS = (
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf"},
    {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 1.0},
)


def noisy(n=121, d=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X[:, 0] + 0.5 * X[:, min(1, d - 1)] ** 2 + 0.5 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


def weights_of(model, n, mass):
    """β before it was divided by the margin: the weights of either class sum to the mass."""
    beta = np.zeros(n)
    beta[model.support_] = np.asarray(model.dual_coef_).ravel()
    for sign in (1, -1):
        own = np.sign(beta) == sign
        beta[own] *= mass / np.abs(beta[own]).sum()
    return beta


def is_between(y, s, mass, m):
    """Whether a class has all of its mass in the points up to a margin: any level up to the next is as good."""
    for label in (0, 1):
        own = np.flatnonzero(y == label)
        own = own[np.argsort(m[own])]
        met = np.abs(np.cumsum(s[own])[:-1] - mass) <= 1e-9 * mass
        if (met & (np.diff(m[own]) > 1e-3 * np.abs(m).max())).any():
            return True
    return False


@pytest.mark.sampled(3)
@pytest.mark.parametrize("solver", ["auto", LevelBlocks(first=16, block=8)], ids=str)
@pytest.mark.parametrize(
    ("options", "nu"),
    [(KERNELS[0], 0.43), (KERNELS[1], 0.05), (KERNELS[1], 0.33), (KERNELS[2], 0.23), (KERNELS[3], 0.23)]
    + [(options, 0.71) for options in KERNELS],
    ids=str,
)
def test_it_is_the_machine_of_scikit_learn(options, nu, solver):
    X, y = noisy()
    ours = NuSVC(nu=nu, tol=1e-9, solver=solver, **options).fit(X, y)
    theirs = svm.NuSVC(nu=nu, tol=1e-10, **options).fit(X, y)
    size = np.abs(theirs.decision_function(X)).max()
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3 * size)
    assert (ours.gap_ <= 1e-9, ours.fit_status_, ours.shape_fit_) == (True, 0, theirs.shape_fit_)
    assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, int(ours.n_support_.sum()))
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert ours.dual_coef_.sum() == pytest.approx(0, abs=1e-9 * np.abs(ours.dual_coef_).sum())
    with_C = SVC(C=1.0 / (ours.lam_ * len(y)), tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), with_C.decision_function(X), atol=1e-2 * size)
    within = (np.where(y, 1, -1) * ours.decision_function(X) < 1 - 1e-3).mean()
    assert within <= nu <= len(ours.support_) / len(y)
    if options["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3 * np.abs(theirs.coef_).max())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.parametrize("seed", range(0, 200, 1 if LONG else 13))
def test_random_machines_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([6, 20, 60, 150]))
    X, y = noisy(n, int(rng.integers(1, 6)), seed=seed)
    X = X[rng.integers(0, n, n)] if seed % 4 == 1 else X  # rows that are there twice, with other labels
    s = rng.integers(1, 5, n) / 2.0 if seed % 3 == 0 else np.ones(n)
    masses = np.bincount(y, s)
    nu = float(2 * masses.min() / masses.sum() * rng.choice([0.03, 0.2, 0.5, 0.9, 1.0]))
    options = KERNELS[seed % len(KERNELS)]
    ours = NuSVC(nu=nu, tol=1e-8, **options).fit(X, y, s)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = svm.NuSVC(nu=nu, tol=1e-12, max_iter=10**6, **options).fit(X, y, s)
    except ValueError as error:  # its margin is zero, or all weights are at their bounds
        assert "not finite" in str(error)
        return
    K = np.asarray(ours.kernel_(X, X))
    beta, star = (weights_of(model, n, nu * s.sum() / 2) for model in (ours, theirs))
    sq, best = beta @ K @ beta, star @ K @ star
    rounding = 1e-7 * np.abs(beta) @ np.abs(K) @ np.abs(beta)  # what LIBSVM's kernel values in float32 are worth
    if ours.gap_ < np.inf:
        assert best - rounding <= sq <= best * (1 + ours.gap_) + rounding
        assert (beta - star) @ K @ (beta - star) <= 0.5 * ours.gap_ * sq + rounding
        assert -0.5 * best - rounding <= ours.objective_ <= -0.5 * best * (1 - ours.gap_) + rounding
    if ours.gap_ <= 1e-5 and not is_between(y, s, nu * s.sum() / 2, np.where(y, 1, -1) * (K @ beta)):
        value, other = (model.decision_function(X) for model in (ours, theirs))
        sure = np.abs(other) > 0.05 * np.abs(other).max()
        np.testing.assert_array_equal((value > 0)[sure], (other > 0)[sure])
    elif ours.gap_ > 1e-5:
        assert ours.stop_reason_ == "stalled" and sq <= 1e-6 * (np.abs(beta) @ np.abs(K) @ np.abs(beta))


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("sparse", [False, True])
def test_several_classes_are_laid_out_as_in_scikit_learn(shape, sparse):
    X, y = noisy(151, classes=4)
    A, names = (sp.csr_matrix(X) if sparse else X), np.array(["d", "a", "c", "b"])[y]
    options = {"nu": 0.21, "gamma": 0.4, "decision_function_shape": shape}
    ours, theirs = NuSVC(tol=1e-9, **options).fit(A, names), svm.NuSVC(tol=1e-9, **options).fit(A, names)
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert sp.issparse(ours.dual_coef_) == sparse == sp.issparse(ours.support_vectors_)
    dense = (np.asarray(m.dual_coef_.todense()) if sparse else m.dual_coef_ for m in (ours, theirs))
    np.testing.assert_allclose(*dense, atol=1e-2)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    np.testing.assert_allclose(ours.decision_function(A), theirs.decision_function(A), atol=5e-3)
    np.testing.assert_array_equal(ours.predict(A), theirs.predict(A))
    assert ours.n_iter_.shape == theirs.n_iter_.shape == (6,)
    assert ours.lam_.shape == ours.objective_.shape == (6,)


def test_weights_of_rows_scale_their_bounds_and_those_of_classes_do_nothing():
    X, y = noisy()
    s = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    s[::7] = 0.0
    ours, theirs = (kind(nu=0.3, gamma=0.4, tol=tol) for kind, tol in ((NuSVC, 1e-9), (svm.NuSVC, 1e-10)))
    weighted = [model.fit(X, y, s).decision_function(X) for model in (ours, theirs)]
    np.testing.assert_allclose(*weighted, atol=1e-3)
    assert not set(ours.support_) & set(range(0, len(y), 7))
    repeated = NuSVC(nu=0.3, gamma=0.4, tol=1e-9).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    twice = NuSVC(nu=0.3, gamma=0.4, tol=1e-9).fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(repeated.decision_function(X), twice.decision_function(X), atol=1e-3)
    plain = NuSVC(nu=0.3).fit(X, y)
    for class_weight in ({1: 5.0}, "balanced"):
        model, peer = (kind(nu=0.3, class_weight=class_weight).fit(X, y) for kind in (NuSVC, svm.NuSVC))
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
        np.testing.assert_array_equal(model.class_weight_, peer.class_weight_)


def test_an_infeasible_nu_is_refused_before_anything_is_solved():
    X, y = noisy(100, classes=2)
    y[:60] = 0
    for labels in (y, np.r_[np.full(70, 2), y[70:]]):
        for kind in (svm.NuSVC, NuSVC):
            with pytest.raises(ValueError, match="specified nu is infeasible"):
                kind(nu=0.7).fit(X, labels)
    share = 2 * np.bincount(y).min() / 100
    assert NuSVC(nu=share).fit(X, y).gap_ <= 1e-3
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=share).fit(X, y, np.where(y, 0.5, 1.0))


def test_without_a_margin_it_says_so_and_stays_finite():
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    with pytest.warns(ConvergenceWarning, match="no more progress is possible.*predictions are arbitrary.*larger nu"):
        model = NuSVC(kernel="linear").fit(X, y)
    assert (model.gap_, model.stop_reason_, model.fit_status_, model.lam_) == (np.inf, "stalled", 1, 0.0)
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.dual_coef_).all()
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["csr", "precomputed", "blocks", "pairs", "sequence"])
def test_other_points_and_kernels(kind):
    X, y = noisy(81)
    new = noisy(30, seed=9)[0]
    expected = NuSVC(gamma=0.1, nu=0.3, tol=1e-9).fit(X, y).decision_function(new)
    own, there, kernel = X, new, "rbf"
    if kind == "csr":
        own, there = sp.csr_array(own), sp.csr_array(there)
    elif kind == "precomputed":
        kernel, own, there = kind, rbf_kernel(own, own, 0.1), rbf_kernel(there, own, 0.1)
    elif kind == "blocks":
        kernel = Gaussian(0.1).__call__
    else:
        kernel = Function(lambda a, b: float(np.exp(-0.1 * np.sum((a - b) ** 2))))
        if kind == "sequence":
            own, there = list(map(np.array, own)), list(map(np.array, there))
    model = NuSVC(kernel=kernel, gamma=0.1, nu=0.3, tol=1e-9).fit(own, y)
    np.testing.assert_allclose(model.decision_function(there), expected, atol=1e-4)


def test_single_precision_is_enough_or_double_goes_on(monkeypatch):
    X, y = noisy(400)
    expected = NuSVC(nu=0.3, gamma=2.0, tol=1e-8).fit(X, y)
    monkeypatch.setattr(kernel_machine, "FLOAT64_POINTS", 10)
    for tol in (1e-4, 1.1e-5):  # the latter is more than float32 can prove
        model = NuSVC(nu=0.3, gamma=2.0, tol=tol, solver=LevelBlocks(first=64, block=32)).fit(X, y)
        assert model.gap_ <= tol
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=0.05)


def test_a_kernel_that_is_not_positive_has_no_certificate():
    X, y = noisy()
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = NuSVC(kernel="sigmoid", gamma=0.1, coef0=0.1, nu=0.6).fit(X, y)
    assert np.isnan(model.gap_) and np.isfinite(model.decision_function(X)).all()


def test_limits_end_the_fit_with_a_model():
    X, y = noisy(400)
    for limit in ({"max_iter": 1}, {"max_time": 0.0}, {"max_kernel_evals": 10}):
        solver = LevelBlocks(first=32, block=16)
        with pytest.warns(ConvergenceWarning, match="The fit ended because|terminated early"):
            model = NuSVC(nu=0.3, solver=solver, **limit).fit(X, y)
        assert model.fit_status_ == 1 and np.isfinite(model.decision_function(X)).all()
    model = NuSVC(nu=0.3, target_error=0.5, tol=1e-12).fit(X, y)
    assert model.stop_reason_ == "target"


def test_a_cut_off_subset_already_tells_the_classes_apart():
    X, y = noisy(600)
    with pytest.warns(ConvergenceWarning):
        model = NuSVC(nu=0.3, solver=LevelBlocks(first=64, block=32), max_iter=3).fit(X, y)
    assert len(model.support_) <= 64 and model.score(X, y) > 0.7
    margins = np.abs(model.decision_function(X[model.support_]))
    assert 0.2 < np.median(margins) < 5.0  # divided by about the margin


def test_a_warm_start_goes_on_from_the_last_answer():
    X, y = noisy(300)
    model = NuSVC(nu=0.3, tol=1e-8, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    again = model.fit(X, y)
    assert again.n_iter_[0] < first and again.gap_ <= 1e-8
    cold = NuSVC(nu=0.25, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.set_params(nu=0.25).fit(X, y).decision_function(X), cold.decision_function(X), atol=1e-3
    )


def test_pickles_grids_and_lines_for_looks(capsys):
    X, y = noisy()
    grid = GridSearchCV(NuSVC(), {"nu": [0.2, 0.4], "gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.7
    model = pickle.loads(pickle.dumps(grid.best_estimator_))
    np.testing.assert_array_equal(model.predict(X), grid.predict(X))
    NuSVC(verbose=1).fit(X, y)
    assert "[hinge]" in capsys.readouterr().err
