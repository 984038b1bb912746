"""`LinearSVR`: targets, limits, and what it refuses. Its objective is tested in `test_linear_machine`."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import LinearSVR
from hinge.solvers import SDCA

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_shapes_are_scikit_learns(diabetes):
    X, y = diabetes
    model = LinearSVR().fit(X, y)
    assert model.coef_.shape == (10,) and model.intercept_.shape == (1,)
    assert model.predict(X).shape == y.shape
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_[0])
    assert model.stop_reason_ == "converged" and model.gap_ <= model.tol
    assert model.score(X, y) > 0.35


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("loss", LOSSES)
def test_targets_of_any_unit(diabetes, loss, scale):
    X, y = diabetes
    C = 1.0 if loss == LOSSES[1] else 1.0 * scale  # the same problem in other units
    model = LinearSVR(loss=loss, C=C, tol=1e-7).fit(X, y * scale)
    base = LinearSVR(loss=loss, C=1.0, tol=1e-7).fit(X, y)
    assert model.gap_ <= 1e-7
    np.testing.assert_allclose(model.predict(X) / scale, base.predict(X), rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("t", [np.zeros(30), np.full(30, 7.0), np.linspace(-0.5, 0.5, 30)], ids=["0", "7", "tube"])
def test_targets_that_need_no_model(loss, t):
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = LinearSVR(loss=loss, epsilon=0.5, intercept="free").fit(X, t)
    assert model.stop_reason_ == "converged"
    assert np.abs(model.predict(X) - t).max() <= 0.5 + 1e-3


def test_an_exact_line_is_found():
    X = np.random.default_rng(1).standard_normal((200, 5))
    w = np.arange(5.0)
    model = LinearSVR(C=1e4, tol=1e-6).fit(X, X @ w + 1)
    np.testing.assert_allclose(model.coef_, w, atol=1e-3)
    assert model.intercept_[0] == pytest.approx(1.0, abs=1e-3)


def test_held_out_rows_end_a_fit_by_their_mean_absolute_error(diabetes):
    X, y = diabetes
    model = LinearSVR(solver=SDCA(), C=10.0, tol=1e-12, target_error=60.0, random_state=0).fit(X, y)
    assert model.stop_reason_ == "target"
    assert model.history_[-1].score <= 60.0
    with pytest.raises(ValueError, match="leaves none to measure target_error on"):
        LinearSVR(target_error=1.0).fit([[0.0], [1.0]], [0.0, 1.0])


def test_limits_end_a_fit_and_say_so(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning, match="the iteration limit was reached"):
        model = LinearSVR(solver="sdca", C=100.0, max_iter=2, tol=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_iter" and np.isfinite(model.gap_)
    with pytest.warns(ConvergenceWarning):
        few = LinearSVR(solver="sdca", C=100.0, max_reads=5 * X.size, tol=1e-9).fit(X, y)
    assert few.n_feature_reads_ <= 5 * X.size


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"epsilon": -1}, "epsilon must be a number of at least 0"),
        ({"epsilon": "wide"}, "epsilon must be"),
        ({"loss": "hinge"}, "loss must be one of 'epsilon_insensitive'"),
        ({"C": 0}, "C must be"),
        ({"solver": "frugal"}, "Frugal learns classes"),
        ({"solver": "simba"}, "Simba"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(diabetes, parameters, words):
    with pytest.raises(ValueError, match=words):
        LinearSVR(**parameters).fit(*diabetes)


@pytest.mark.parametrize("bad", [[1.0, np.nan, 2.0], [1.0, np.inf, 2.0], ["a", "b", "c"], [1e80, 0, 1], [1j, 0, 1]])
def test_targets_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ValueError, match=r"y |Input y|Unknown label|[Cc]omplex|y must"):
        LinearSVR().fit(np.eye(3), bad)


def test_a_grid_and_a_pipeline(diabetes):
    pipeline = make_pipeline(StandardScaler(), LinearSVR(max_iter=2000))
    search = GridSearchCV(pipeline, {"linearsvr__C": [0.1, 1.0], "linearsvr__epsilon": [0.0, 5.0]}, cv=3)
    assert search.fit(*diabetes).best_score_ > 0.2


# --- partial_fit --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", [{"lam": 1e-3}, {"C": 0.2}], ids=str)
def test_partial_fit_learns_in_pieces(loss, options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = X @ np.arange(6.0) + 1.0 + 0.3 * rng.standard_normal(4000)
    model = LinearSVR(loss=loss, random_state=0, **options)
    for lo in range(0, 4000, 250):
        assert model.partial_fit(X[lo : lo + 250], y[lo : lo + 250]) is model
    assert model.coef_.shape == (6,) and model.intercept_.shape == (1,)
    assert model.score(X, y) > 0.99  # the noise leaves 0.998
    assert X.size <= model.n_feature_reads_ <= 1.1 * X.size
    assert not hasattr(model, "gap_")


@pytest.mark.sampled
@pytest.mark.parametrize("intercept", [{}, {"intercept": "free"}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("options", [{"C": 0.5}, {"lam": 0.05}], ids=str)
def test_partial_fit_goes_on_from_the_model(diabetes, options, intercept):
    X, y = diabetes
    y = y / 50.0
    model = LinearSVR(epsilon=0.1, tol=1e-6, random_state=0, **options, **intercept).fit(X, y)
    w, b = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(X[:1], model.predict(X[:1]))  # on its target: it teaches nothing
    shrunk = model.coef_[0] / w[0]
    least = 1.0 if "C" in options else 442 / 443  # λ is shared with one row more
    assert least - 1e-9 <= shrunk <= 1 + 1e-9
    np.testing.assert_allclose(model.coef_, shrunk * w, rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, shrunk * b, rtol=1e-6, atol=1e-12)
    assert not hasattr(model, "gap_") and not hasattr(model, "dual_coef_")  # they speak of an answer that is no more
    assert model.sparsify().partial_fit(X, y).coef_.shape == (10,)
    assert model.fit(X, y).gap_ <= 1e-6  # and a fit begins anew


def test_partial_fit_refuses_what_fit_refuses_and_goes_on(diabetes):
    X, y = diabetes
    model = LinearSVR(random_state=0)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.partial_fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X, np.full(len(y), np.nan))
    model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, LinearSVR(random_state=0).partial_fit(X, y).coef_)
    with pytest.raises(ValueError, match="10 features"):
        model.partial_fit(X[:, :3], y)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_free_bias_finds_targets_that_lie_far_from_zero(C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = 1000.0 + X @ rng.standard_normal(8) + rng.standard_normal(300)
    for solver in ("sdca", "newton"):
        model = LinearSVR(C=C, epsilon=0.5, intercept="free", solver=solver, tol=1e-3).fit(X, y)
        assert model.gap_ <= 1e-3
        assert model.intercept_[0] == pytest.approx(1000.0, abs=1.0)
