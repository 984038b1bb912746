import numpy as np
import pytest

from hinge import SVC
from hinge.kernels import Gaussian
from hinge.solvers import ActiveSet, BlockDual

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
        assert model.history_[-1].certificate == model.gap_
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
