import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC, SVR
from hinge.kernels import Gaussian
from hinge.solvers import ActiveSet, BlockDual
from tests.certificates.rationals import above, exact

# --- attributes ---------------------------------------------------------------------------------


def test_the_answer_is_what_it_says(two):
    """Objective, λ, ν and gap by plain NumPy, from the public attributes."""
    X, y = two
    for s in (None, 0.5 + np.random.default_rng(0).random(200)):
        model = SVC(C=2.0, gamma=0.4, tol=1e-4).fit(X, y, s)
        total = 200.0 if s is None else s.sum()
        assert model.lam_ == pytest.approx(1 / (2.0 * total))
        K = Gaussian(0.4)(X, X[model.support_])
        beta = model.dual_coef_[0]
        sq = beta @ Gaussian(0.4)(X[model.support_], X[model.support_]) @ beta
        slack = np.average(np.maximum(0, 1 - y * (K @ beta + model.intercept_[0])), weights=s)
        assert model.objective_ == pytest.approx(model.lam_ / 2 * sq + slack, rel=1e-5)
        assert model.slack_ == pytest.approx(slack / np.sqrt(sq), rel=1e-4)
        best = SVC(C=2.0, gamma=0.4, tol=1e-7).fit(X, y, s).objective_
        assert best * (1 - 1e-6) <= model.objective_ <= best * (1 + model.gap_ + 1e-6)
        assert (beta * y[model.support_] > 0).all()
        assert (np.abs(beta) <= 2.0 * (1 if s is None else s[model.support_]) + 1e-9).all()


def test_counts(two):
    X, y = two
    for solver, kind in (("auto", ActiveSet), ("blockdual", BlockDual)):
        model = SVC(tol=1e-5, solver=solver).fit(X, y)
        assert model.n_iter_.shape == (1,)
        assert model.n_iter_.dtype == np.int32
        assert model.n_iter_[0] == model.history_[-1].iteration >= 1
        assert isinstance(model.n_kernel_evals_, int)
        assert len(model.support_) * 100 <= model.n_kernel_evals_ <= 200 * 200
        assert model.n_kernel_asked_ > model.n_kernel_evals_
        assert model.history_[-1].kernel_evals == model.n_kernel_evals_
        assert model.history_[-1].gap == model.gap_
        assert model.n_features_in_ == 3
        assert isinstance(model.solver_, kind)
    assert model.kernel_ == Gaussian(pytest.approx(1 / (3 * X.var())))


def test_coef_is_for_the_linear_kernel(two):
    model = SVC()
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        model.coef_  # noqa: B018
    model.fit(*two)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        model.coef_  # noqa: B018
    linear = SVC(kernel="linear").fit(*two)
    np.testing.assert_allclose(
        linear.decision_function(two[0]), two[0] @ linear.coef_[0] + linear.intercept_, atol=1e-9
    )


def test_what_is_certified_is_what_is_predicted():
    """Features of a million: sums of kernel values are off by more than the gap, and w must not be."""
    X = np.round(np.random.default_rng(173).normal(size=(5, 2)) * 1e6)
    y = np.array([-1, 1, -1, 1, -1])
    model = SVC(kernel="linear").fit(X, y)
    rows, b = exact(X), exact(model.intercept_)[0]
    made = exact(model.dual_coef_)[0].dot(rows[model.support_])
    values = {}
    for name, w in (("coef_", exact(model.coef_)[0]), ("dual_coef_", made)):
        values[name] = (w.dot(w) / 2 + above(1 - y * (rows.dot(w) + b)).sum()) / 5
    least = min(values.values())
    assert all(value - least <= 1e-12 * least for value in values.values())  # 3e-5 apart, where w is a plain sum
    assert float(model.objective_) == pytest.approx(float(least), rel=1e-12)
    assert 1e-6 < model.slack_ < np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e5, 1e8])
def test_decision_values_are_those_of_the_weights(size):
    rng = np.random.default_rng(0)
    X = size * (rng.standard_normal((40, 3)) + np.array([0.0, 10.0, 100.0]))
    y, t = np.arange(40) % 2, rng.standard_normal(40)
    for model in (SVC(kernel="linear", max_time=2.0).fit(X, y), SVR(kernel="linear", max_time=2.0).fit(X, t)):
        values = (model.decision_function if isinstance(model, SVC) else model.predict)(X)
        w = model.coef_.ravel()
        off = 1e-15 * (np.abs(X) @ np.abs(w) + abs(model.intercept_))
        assert (np.abs(values - X @ w - model.intercept_) <= off).all()


def test_weights_of_all_pairs_of_classes(two):
    X, y = two[0], np.arange(200) % 4
    for make in (np.asarray, sp.csr_array):
        model = SVC(kernel="linear", decision_function_shape="ovo").fit(make(X), y)
        coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        assert coef.shape == (6, 3) and sp.issparse(model.coef_) == (make is sp.csr_array)
        np.testing.assert_allclose(model.decision_function(make(X)), X @ coef.T + model.intercept_, atol=1e-12)
        stored = model._weights
        model._weights = None  # as in a model that others have written
        np.testing.assert_array_equal(model.coef_.toarray() if sp.issparse(stored) else model.coef_, coef)
    assert SVC(kernel="linear").fit(X, y).set_params(kernel="rbf").fit(X, y)._weights is None
