"""`n_components` of kernel estimators: models of landmarks, with the gap of the exact kernel."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import hinge
from hinge import SVC, SVR, NuSVC, NuSVR, OneClassSVM, tune
from hinge.display import HardRowsDisplay
from hinge.solvers import Nystroem

X, y = make_moons(600, noise=0.3, random_state=0)
T = np.sin(3 * X[:, 0]) + X[:, 1]
NOISY = T + 0.3 * np.random.default_rng(0).standard_normal(600)
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


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_one_class_is_refused(machine):
    with pytest.raises(ValueError, match="class"):
        machine(n_components=20).fit(X, np.zeros(600))


@pytest.mark.parametrize("machine", [SVC, SVR, NuSVC, NuSVR, OneClassSVM])
def test_missing_values_are_refused(machine):
    bad, targets = X.copy(), T if machine in (SVR, NuSVR) else y
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        machine(n_components=20).fit(bad, targets)
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        machine(n_components=20).fit(bad, targets)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_rows_that_occur_twice_are_landmarks_once(machine):
    rows, targets = np.concatenate([X[:50]] * 3), np.concatenate([T[:50] if machine is NuSVR else y[:50]] * 3)
    for m in (30, 150, "auto"):
        model = machine(n_components=m, gamma=2.0, tol=1e-2).fit(rows, targets)
        assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_) <= 50
    best = machine(gamma=2.0, tol=1e-4).fit(rows, targets)
    assert model.gap_ <= 1e-2 and model.objective_ == pytest.approx(best.objective_, rel=2e-2)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_rows_that_are_all_alike_have_one_landmark(machine):
    model = machine(n_components=5, gamma=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no margin
        model.fit(np.ones((8, 2)), np.arange(8) % 2 + 0.0)
    assert len(model.support_) <= 1 and np.isfinite(model.predict(np.ones((1, 2)))).all()


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_more_landmarks_than_rows_are_all_rows_of_nu_machines(machine):
    targets = T[:100] if machine is NuSVR else y[:100]
    model, best = (machine(gamma=1.0, tol=1e-4, **one).fit(X[:100], targets) for one in ({"n_components": 10**6}, {}))
    assert model.stop_reason_ == "converged" and model.gap_ <= 1e-4
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-3)
    assert np.mean(np.abs(model.predict(X) - best.predict(X)) < 0.05) > 0.99


@pytest.mark.parametrize("options", [{}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "laplacian"}], ids=str)
def test_the_gap_of_nu_machines_is_that_of_the_exact_kernel(options):
    for machine, targets in ((NuSVC, y), (NuSVR, NOISY)):
        best = machine(nu=0.6, tol=1e-6, **options).fit(X, targets)
        model = machine(nu=0.6, n_components=150, **options).fit(X, targets)
        assert isinstance(model.solver_, Nystroem) and len(model.support_) <= 150
        size = best.objective_ if machine is NuSVR else -model.objective_
        assert -1e-6 <= (model.objective_ - best.objective_) / size <= model.gap_ < 1.0
        if machine is NuSVR:
            f, K = model.predict(X), model.kernel_(model.support_vectors_, model.support_vectors_)
            off, coef = np.sort(np.abs(NOISY - f))[::-1], model.dual_coef_[0]
            epsilon = off[int(0.6 * 600)]
            paid = 0.6 * 600 * epsilon + np.maximum(off - epsilon, 0.0).sum()
            assert model.objective_ == pytest.approx(coef @ K @ coef / 2 + paid, rel=1e-5)
        else:  # the SVC with the same λ has nearly the same answer
            other = SVC(C=1 / (600 * model.lam_), tol=1e-6, **options).fit(X, y)
            assert np.mean(model.predict(X) == other.predict(X)) > 0.95


def test_auto_takes_as_many_as_the_tolerance_needs_for_nu_machines():
    for machine, targets in ((NuSVC, y), (NuSVR, NOISY)):
        few, many = (machine(nu=0.6, gamma=2.0, n_components="auto", tol=tol).fit(X, targets) for tol in (0.5, 0.01))
        assert few.gap_ <= 0.5 and many.gap_ <= 0.01
        assert len(few.support_) < len(many.support_) < 600
        assert few.stop_reason_ == many.stop_reason_ == "converged"


def test_all_class_pairs_of_nu_machines_share_the_landmarks():
    digits, labels = DIGITS
    model = NuSVC(nu=0.3, n_components=120).fit(digits, labels)
    assert 100 < len(model.support_) <= 120 and np.isfinite(model.gap_)
    assert model.lam_.shape == (45,) and model.score(digits, labels) > 0.95


@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
def test_rows_of_all_kinds_give_the_same_nu_model(machine):
    options, targets = {"nu": 0.6, "n_components": 30, "tol": 1e-4}, y if machine is NuSVC else T
    weight = 1.0 + np.arange(600) % 3
    model, K = machine(gamma=1.0, **options).fit(X, targets, sample_weight=weight), rbf_kernel(X, gamma=1.0)
    for other, rows in (
        (machine(gamma=1.0, **options), sp.csr_array(X)),
        (machine(kernel="precomputed", **options), K),
        (machine(kernel=lambda a, b: rbf_kernel(a, b, gamma=1.0), **options), X),
    ):
        other.fit(rows, targets, sample_weight=weight)
        assert np.array_equal(other.support_, model.support_)
        assert other.gap_ == pytest.approx(model.gap_, rel=2e-2)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-3)


def test_an_infeasible_nu_is_refused_and_one_without_a_margin_is_said():
    few = np.arange(600) < 30
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.5, n_components=20).fit(X, few)
    with pytest.raises(ValueError, match="nu must"):
        NuSVR(nu=0.0, n_components=20).fit(X, T)
    with pytest.warns(UserWarning, match="larger nu or n_components"):
        model = NuSVC(nu=0.01, n_components=10).fit(X, y)
    assert model.gap_ == np.inf and model.predict(X).shape == (600,)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, or 'auto', or None"),
        ({"n_components": "many"}, "n_components must be"),
        ({"solver": "levelblocks"}, "solver='levelblocks' does not go with n_components"),
        ({"kernel": "sigmoid"}, "positive semidefinite"),
    ],
)
def test_what_does_not_go_together_is_said_of_nu_machines(machine, options, message):
    with pytest.raises(ValueError, match=message):
        machine(**{"n_components": 20, **options}).fit(X, y)


@pytest.mark.parametrize("machine", [SVC, SVR, NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("m", [40, 10**6, "auto"])
def test_a_device_has_the_landmarks_and_nearly_the_answer_of_the_host(machine, m):
    pytest.importorskip("torch")
    targets, rows = T if machine in (SVR, NuSVR) else y, X.astype(np.float32)
    nu = {} if machine in (SVC, SVR) else {"nu": 0.5}
    here, there = (
        machine(gamma=1.0, tol=2e-2, n_components=m, device=where, **nu).fit(rows, targets)
        for where in ("cpu", "cpu:0")
    )
    assert isinstance(there.solver_, Nystroem) and there.gap_ == pytest.approx(here.gap_, rel=0.3, abs=1e-2)
    assert there.objective_ == pytest.approx(here.objective_, rel=2.5e-2)
    scale = np.abs(here.decision_function(rows) if machine not in (SVR, NuSVR) else T).max()
    apart = (there._scores(rows) - here._scores(rows)).ravel()
    assert np.abs(apart).max() <= 0.1 * scale


@pytest.mark.parametrize("machine", [SVR, NuSVC, NuSVR, OneClassSVM])
def test_a_device_refuses_what_the_host_does(machine):
    pytest.importorskip("torch")
    targets, options = T if machine in (SVR, NuSVR) else y, {"n_components": 20, "device": "cpu:0"}
    with pytest.raises(ValueError, match="positive semidefinite"):
        machine(kernel="sigmoid", coef0=1.0, gamma=1.0, **options).fit(X, targets)
    with pytest.raises(ValueError, match="evaluated on the host"):
        machine(kernel="precomputed", **options).fit(X @ X.T, targets)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        machine(**options).fit(bad, targets)


def test_targets_far_from_zero_cost_no_accuracy_on_a_device():
    pytest.importorskip("torch")
    options = {"gamma": 0.1, "C": 10.0, "n_components": 100, "device": "cpu:0"}
    near, far = (SVR(**options).fit(X.astype(np.float32), T + offset) for offset in (0.0, 1e6))
    assert far.gap_ <= 1.5 * near.gap_ + 1e-3


def test_products_of_few_digits_are_refused():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="precision='float32' or 'float64'"):
        SVR(n_components=20, device="cpu:0", precision="bf16").fit(X, T)


def test_one_class_around_the_origin_has_no_certificate_and_says_so():
    rows = np.random.default_rng(0).standard_normal((200, 3))
    with pytest.warns(ConvergenceWarning, match="The best w is zero"):
        model = OneClassSVM(kernel="poly", n_components=20).fit(rows)
    assert model.gap_ == np.inf


def test_nu_machines_are_cloned_and_written(tmp_path):
    for machine, targets in ((NuSVC, y), (NuSVR, T)):
        model = machine(nu=0.6, n_components=30).fit(X, targets)
        assert clone(model).n_components == 30
        hinge.save(model, tmp_path / machine.__name__)
        again = hinge.load(tmp_path / machine.__name__)
        assert again.n_components == 30 and again.gap_ == model.gap_
        assert np.array_equal(again.predict(X), model.predict(X))
        np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X), atol=1e-9)


def test_landmarks_are_not_taken_for_dual_weights():
    model = SVC(n_components=20).fit(X, y)
    with pytest.raises(ValueError, match="held_out=True"):
        model.calibrate(X, y)
    with pytest.raises(ValueError, match="Nystroem has no dual weights"):
        HardRowsDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="held_out=True"):
        NuSVC(n_components=20, probability=True).fit(X, y)
    with pytest.raises(ValueError, match="held_out=True"):
        NuSVC(nu=0.6, n_components=20).fit(X, y).calibrate(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.calibrate(X, y, held_out=True).predict_proba(X).shape == (600, 2)
