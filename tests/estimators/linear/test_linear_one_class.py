"""`OneClassSVM(kernel="linear")`: LIBSVM's model from rows, limits, and rows in pieces."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM as Libsvm

from hinge import OneClassSVM, model_files
from hinge.kernels import Linear
from hinge.solvers import SDCA, Newton

RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 5)) * [1.0, 2.0, 0.5, 1.0, 1.0] + [2.0, 1.0, 1.0, 0.0, -2.0]
WEIGHT = RNG.integers(0, 3, 600).astype(float)


def linear(**options):
    return OneClassSVM(kernel="linear", **options)


@pytest.mark.sampled
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5, 0.9])
def test_the_model_is_libsvms(nu, weight):
    peer = Libsvm(kernel="linear", nu=nu, tol=1e-9).fit(X, sample_weight=weight)
    model = linear(nu=nu, tol=1e-5).fit(X, sample_weight=weight)
    size = np.linalg.norm(model.coef_)
    assert model.gap_ <= 1e-5 and model.stop_reason_ == "converged"
    assert np.linalg.norm(model.coef_ - peer.coef_) <= (model.gap_ + 1e-6) * size
    assert model.objective_ == pytest.approx(-0.5 * size**2, rel=1e-8)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, atol=1e-9 * size)
    assert model.dual_coef_.sum() == pytest.approx(nu * (600 if weight is None else weight.sum()))
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    assert model.offset_ == -model.intercept_
    assert np.mean(model.predict(X) == peer.predict(X)) > 0.99
    rounding = 600 * np.finfo(float).eps * abs(model.offset_[0])  # within which a value is 0, that of the boundary
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] - model.offset_, atol=rounding)
    np.testing.assert_allclose(model.score_samples(X), X @ model.coef_[0])


def test_no_kernel_value_is_computed():
    model = OneClassSVM(kernel=Linear(), nu=0.2).fit(X)
    assert model.n_kernel_evals_ == model.n_kernel_asked_ == 0
    assert isinstance(model.solver_, SDCA | Newton)
    assert 0 < model.n_feature_reads_ < 100 * X.size
    other = model.set_params(kernel="rbf").fit(X)
    assert other.n_kernel_evals_ > 0 and not hasattr(other, "n_feature_reads_") and not hasattr(other, "coef_")


@pytest.mark.parametrize("layout", [sp.csr_matrix, sp.csr_array, np.float32, np.asfortranarray])
def test_layouts_agree(layout):
    model, other = linear(nu=0.2, tol=1e-4).fit(X), linear(nu=0.2, tol=1e-4).fit(layout(X))
    coef = other.coef_.toarray() if sp.issparse(other.coef_) else other.coef_
    assert sp.issparse(other.coef_) == sp.issparse(layout(X))
    np.testing.assert_allclose(coef, model.coef_, atol=3e-4 * np.linalg.norm(model.coef_))
    assert np.mean(other.predict(layout(X)) == model.predict(X)) > 0.99


def test_rows_of_one_norm_lie_in_a_ball():
    Z = X / np.linalg.norm(X, axis=1)[:, None]
    model = linear(nu=0.2, tol=1e-6).fit(Z, sample_weight=WEIGHT)
    distances = np.linalg.norm(Z - model.coef_ / (0.2 * WEIGHT.sum()), axis=1)
    outside = distances > model.radius_ * (1 + 1e-6)
    np.testing.assert_array_equal(model.predict(Z)[outside], -1)
    assert outside.sum() > 50
    assert np.isnan(linear().fit(X).radius_)


def test_coefficients_are_not_for_writing():
    with pytest.raises(ValueError, match="read-only"):
        linear().fit(X).coef_[0, 0] = 1.0


def test_limits_end_a_fit_and_say_so():
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = linear(tol=1e-12, max_iter=2).fit(X)
    assert model.n_iter_ == 2 and model.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match="time limit"):
        assert linear(tol=1e-12, max_time=0.0).fit(X).stop_reason_ == "max_time"
    for limit in (0, 100, 5 * X.size, 9 * X.size):
        with pytest.warns(ConvergenceWarning, match="limit"):
            model = linear(tol=1e-14, max_reads=limit).fit(X)
        assert model.n_feature_reads_ <= limit
        assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="give kernel='linear'"):
        OneClassSVM(max_reads=100).fit(X)


def test_rows_about_zero_have_no_certificate():
    with pytest.warns(ConvergenceWarning):
        model = linear(nu=0.5).fit(X - X.mean(axis=0))
    assert model.stop_reason_ == "stalled" and model.gap_ >= 1.0


# --- partial_fit --------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("nu", [0.05, 0.5])
@pytest.mark.parametrize("shift", [1.0, 30.0])
def test_pieces_lead_to_the_model_of_all_rows(nu, shift):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20_000, 6)) + shift
    whole, model = linear(nu=nu).fit(Z), linear(nu=nu)
    for lo in range(0, 20_000, 500):
        assert model.partial_fit(Z[lo : lo + 500]) is model
    w, best = model.coef_[0], whole.coef_[0]
    assert w @ best >= 0.999 * np.linalg.norm(w) * np.linalg.norm(best)
    assert np.mean(model.predict(Z) == -1) == pytest.approx(nu, rel=0.2)
    agree = np.mean(model.predict(Z) == whole.predict(Z))
    peer = SGDOneClassSVM(nu=nu, random_state=0)
    for lo in range(0, 20_000, 500):
        peer.partial_fit(Z[lo : lo + 500])
    assert agree > 0.98
    assert agree >= np.mean(peer.predict(Z) == whole.predict(Z)) - 0.005
    assert Z.size <= model.n_feature_reads_ <= 1.3 * Z.size


def test_weights_count_as_repeated_rows():
    order = np.random.default_rng(2).permutation(600)
    model, again = linear(nu=0.3), linear(nu=0.3)
    for _ in range(20):
        model.partial_fit(X[order], sample_weight=WEIGHT[order])
        again.partial_fit(np.repeat(X[order], WEIGHT[order].astype(int), axis=0))
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=0.1, atol=0.02 * np.linalg.norm(model.coef_))
    np.testing.assert_allclose(model.offset_, again.offset_, rtol=0.05)


def test_it_goes_on_from_a_fit():
    model = linear(nu=0.2, tol=1e-6).fit(X)
    w, rho = model.coef_.copy(), model.offset_.copy()
    model.partial_fit(3.0 * w / np.linalg.norm(w))  # so far on its side that it teaches nothing
    np.testing.assert_allclose(model.coef_, w, rtol=601 / 600 - 1 + 1e-9)  # one row more has a share in them
    np.testing.assert_allclose(model.offset_, rho, rtol=1e-2)
    for name in ("gap_", "objective_", "history_", "stop_reason_", "radius_"):
        assert not hasattr(model, name)  # they speak of an answer that is no more
    assert len(model.support_) == 0 and model.support_vectors_.shape == (0, 5)
    assert linear().fit(sp.csr_matrix(X)).partial_fit(sp.csr_matrix(X)).coef_.shape == (1, 5)
    assert model.fit(X).gap_ <= 1e-3  # and a fit begins anew


def test_it_is_for_the_linear_kernel():
    assert hasattr(linear(), "partial_fit") and not hasattr(OneClassSVM(), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        OneClassSVM().partial_fit(X)
    assert "needs kernel='linear'; or call fit" in str(caught.value.__cause__)
    model = linear()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X).partial_fit(X[:, :3])


def test_it_survives_pickle_and_a_file(tmp_path):
    first, second = linear(random_state=4), linear(random_state=4)
    for model in (first, second):
        model.partial_fit(X[:300]).partial_fit(X[300:])
    np.testing.assert_array_equal(first.coef_, second.coef_)
    thawed = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(thawed.partial_fit(X).coef_, first.partial_fit(X).coef_)
    for model in (first, linear().fit(X), linear().fit(sp.csr_matrix(X))):
        model_files.save(model, tmp_path / "m.hinge")
        again = model_files.load(tmp_path / "m.hinge")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        before = again.coef_.toarray() if sp.issparse(again.coef_) else again.coef_.copy()
        assert not np.array_equal(again.partial_fit(X).coef_, before)


@pytest.mark.parametrize(
    "rows", [np.eye(6, dtype=bool), sp.csc_array(np.eye(6)), sp.csr_array(np.eye(6, dtype=np.int8))]
)
def test_rows_of_any_kind_and_a_tolerance_of_any_size(rows):
    for tol in (1e-3, 1e200):
        assert np.isfinite(OneClassSVM(kernel="linear", nu=0.5, tol=tol).fit(rows).offset_).all()
