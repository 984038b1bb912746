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
        ({"epsilon": -1}, "epsilon must be a number at least 0"),
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
