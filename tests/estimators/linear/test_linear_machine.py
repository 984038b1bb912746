"""What linear estimators share, by `LinearSVC` and `LinearSVR` side by side with scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import NotFittedError

from hinge import LinearSVC, LinearSVR, Regularized, Solution
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive

EPSILON = 0.3
LOSSES = {
    "hinge": HINGE,
    "squared_hinge": SQUARED_HINGE,
    "epsilon_insensitive": epsilon_insensitive(EPSILON),
    "squared_epsilon_insensitive": squared_epsilon_insensitive(EPSILON),
}


def made(loss, n=150, d=8, seed=0):
    """Rows of different scales, with labels or targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.2, 3.0, d) + rng.uniform(-1, 1, d)
    t = X @ rng.standard_normal(d) + rng.standard_normal(n) + 2.0
    return X, t if LOSSES[loss].two_sided else np.where(t > np.median(t), 1, -1), rng.integers(0, 4, n) / 2.0


def both(loss, C, **options):
    """Our estimator and scikit-learn's, at its tightest."""
    theirs = {**options, "C": C, "loss": loss, "tol": 1e-10, "max_iter": 10**7, "random_state": 0}
    theirs["dual"] = not LOSSES[loss].curvature  # primal where it has one: it converges to the last digit
    ours = {**options, "C": C, "loss": loss, "tol": 1e-6}
    if LOSSES[loss].two_sided:
        return LinearSVR(**ours, epsilon=EPSILON), svm.LinearSVR(**theirs, epsilon=EPSILON)
    return LinearSVC(**ours), svm.LinearSVC(**theirs)


@pytest.mark.sampled
@pytest.mark.parametrize("solver", ["sdca", "newton"])
@pytest.mark.parametrize("C", [0.003, 0.3])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"intercept_scaling": 3.0}], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_scikit_learns_within_the_certificate(loss, options, C, solver):
    X, y, weight = made(loss)
    ours, theirs = both(loss, C, **options)
    ours.set_params(solver=solver).fit(X, y, weight)
    theirs.fit(X, y, weight)
    bias = "penalized" if options.get("fit_intercept", True) else "none"
    scale = options.get("intercept_scaling", 1.0)
    problem = Regularized.from_C(X, y, C, weight=weight, bias=bias, bias_scale=scale, loss=LOSSES[loss])
    best = problem.objective(Solution(theirs.coef_.ravel(), float(np.ravel(theirs.intercept_)[0])))
    own = problem.objective(Solution(ours.coef_.ravel(), float(ours.intercept_[0])))
    assert ours.gap_ <= 1e-6
    assert own <= best * (1 + ours.gap_) * (1 + 1e-9)
    assert own >= best * (1 - 1e-4), "theirs has not converged, and proves nothing"
    assert ours.objective_ == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_free_bias_is_not_paid_for(loss):
    X, y, _ = made(loss)
    ours, _ = both(loss, 0.01)
    shifted = y + 100.0 if LOSSES[loss].two_sided else y
    free = ours.set_params(intercept="free").fit(X, shifted)
    alone = Regularized.from_C(X, shifted, 0.01, bias="free", loss=LOSSES[loss])
    answer = Solution(free.coef_.ravel(), float(free.intercept_[0]))
    for step in (-1e-3, 1e-3):
        assert alone.objective(answer) <= alone.objective(answer._replace(b=answer.b + step)) * (1 + 1e-9)
    if LOSSES[loss].two_sided:
        base = both(loss, 0.01)[0].set_params(intercept="free").fit(X, y)
        assert free.intercept_[0] - base.intercept_[0] == pytest.approx(100.0, abs=0.02)


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_coefficients_make_up_the_model(loss):
    X, y, weight = made(loss)
    model = both(loss, 0.1)[0].set_params(solver="sdca").fit(X, y, weight)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], np.atleast_2d(model.coef_), rtol=1e-8, atol=1e-10)
    assert 0 < len(model.support_) < len(y) or loss in ("hinge", "epsilon_insensitive", "squared_epsilon_insensitive")


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_sparsify_and_densify(loss):
    X, y, _ = made(loss)
    model = both(loss, 0.1)[0].fit(X, y)
    coef, predicted = model.coef_.copy(), model.predict(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.predict(X), predicted)
    np.testing.assert_allclose(model.predict(sp.csr_array(X)), predicted)
    np.testing.assert_array_equal(np.ravel(model.densify().coef_), coef.ravel())
    for method in ("sparsify", "densify"):
        with pytest.raises(NotFittedError):
            getattr(both(loss, 0.1)[0], method)()


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_and_sparse_and_single_precision_agree(loss):
    X, y, _ = made(loss)
    X = np.round(X * 16) / 16
    models = [both(loss, 0.1)[0].fit(rows, y) for rows in (X, sp.csr_array(X), X.astype(np.float32))]
    for other in models[1:]:
        np.testing.assert_allclose(other.coef_, models[0].coef_, rtol=1e-2, atol=1e-2)
        assert other.objective_ == pytest.approx(models[0].objective_, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_call_gives_the_same_bits(loss):
    X, y, _ = made(loss)
    one, two = (both(loss, 0.1)[0].set_params(solver="sdca").fit(X, y) for _ in range(2))
    assert one.coef_.tobytes() == two.coef_.tobytes()


@pytest.mark.parametrize("loss", ["squared_hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("solver", ["pegasos", "cuttingplane", "stalesdca", "probe"])
def test_solvers_of_the_hinge_say_so(loss, solver):
    X, y, _ = made(loss)
    with pytest.raises(ValueError, match=f"minimises the hinge loss, not the {loss} loss; use SDCA or Newton"):
        both(loss, 0.1)[0].set_params(solver=solver).fit(X, y)


@pytest.mark.parametrize("model", [LinearSVC(dual="yes"), LinearSVR(dual=None), LinearSVC(dual=2)])
def test_dual_is_a_flag_or_auto(model):
    with pytest.raises(ValueError, match="dual must be True, False or 'auto'"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_a_refit_from_the_last_answer_takes_fewer_passes():
    X, y, _ = made("squared_epsilon_insensitive")
    model = LinearSVR(C=0.3, solver="sdca", warm_start=True, tol=1e-6).fit(X, y)
    cold = model.n_iter_
    assert model.set_params(C=0.303).fit(X, y).n_iter_ < cold


@pytest.mark.parametrize("loss", LOSSES)
def test_the_types_of_coefficients_are_scikit_learns(loss):
    X, y, _ = made(loss)
    for rows in (X.astype(np.float32), X, sp.csr_matrix(X.astype(np.float32))):
        ours, theirs = (model.set_params(tol=1e-2).fit(rows, y) for model in both(loss, 0.1))
        assert ours.coef_.dtype == theirs.coef_.dtype == np.float64  # of single precision too
        assert ours.intercept_.dtype == np.asarray(theirs.intercept_).dtype
        assert ours.predict(rows).dtype == theirs.predict(rows).dtype
