import numpy as np
import pytest
from calibration.problems import drawn, gaussian, refitted, solved
from scipy.stats import norm

from hinge import SVR, LinearSVC, LinearSVR
from hinge.calibration.left_out import (
    SolvedProblem,
    error_in_words,
    error_interval,
    left_out,
    spans_by_kernel,
    spread_over,
)
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.selection.without_rows import estimate, left_out_scores


def by_kernel(K):
    return lambda asked: spans_by_kernel(lambda i, j: K[np.ix_(i, j)], lambda i: K[i, i], True, asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "C", "share"),
    [("rbf", 0.1, 0.35), ("rbf", 1.0, 0.35), ("rbf", 10.0, 0.35), ("linear", 0.1, 0.8), ("linear", 1.0, 0.8)],
)
def test_values_are_those_of_machines_trained_without_the_row(kernel, C, share):
    """How far they are off is less than a share of how far the rows move: training values would have all of it."""
    X, y = drawn(80, 4)
    K = gaussian(X) if kernel == "rbf" else X @ X.T
    one, truth = solved(K, y, C), refitted(K, y, C)
    found = left_out(one, by_kernel(K))
    moved = np.abs(one.f - truth).mean()
    assert np.abs(found.f - truth).mean() < share * moved
    assert np.abs(np.mean(y * (found.f - truth))) < 0.5 * np.mean(y * (one.f - truth))  # nor on one side
    np.testing.assert_array_equal(found.rows, np.arange(80))
    assert (found.stands_for == 1).all()


def test_rows_without_a_weight_stay_where_they_are():
    X, y = drawn(80, 4)
    K = gaussian(X)
    one = solved(K, y, 1.0)
    found = left_out(one, by_kernel(K))
    still = one.a == 0
    assert still.any()
    np.testing.assert_array_equal(found.f[still], one.f[still])
    assert (y * (one.f - found.f) >= 0).all()  # none is better off without itself


def test_of_many_rows_some_stand_for_their_neighbours():
    X, y = drawn(400, 4)
    K = gaussian(X)
    one = solved(K, y, 1.0)
    every = left_out(one, by_kernel(K))
    some = left_out(one, by_kernel(K), most_judged=50, most_idle=20)
    assert len(some.rows) == 140 and np.count_nonzero(one.a[some.rows] > 0) == 100
    assert len(left_out(one, by_kernel(K), every=True).rows) == 400
    np.testing.assert_array_equal(some.f, every.f[some.rows])
    for label in (-1, 1):
        own = y[some.rows] == label
        assert some.stands_for[own].sum() == np.count_nonzero(y == label)
        mean = np.average(some.f[own], weights=some.stands_for[own])
        assert mean == pytest.approx(every.f[y == label].mean(), abs=0.03)


def test_the_only_row_of_a_class_is_taken_for_the_other():
    f, y = np.array([1.0, -1.0, -1.2]), np.array([1, -1, -1])
    found = left_out(
        SolvedProblem(f, y, np.array([0.5, 0.5, 0.0]), np.ones(3)), lambda asked: np.ones(len(asked.judged))
    )
    np.testing.assert_allclose(found.f, [-1.0, -0.5, -1.2])


def test_no_row_moves_without_end():
    f, y = np.array([1.0, 1.0, -1.0, -2.0]), np.array([1, 1, -1, -1])
    problem = SolvedProblem(f, y, np.full(4, 1e6), np.full(4, 1e7))
    for spans in (np.inf, np.nan):
        found = left_out(problem, lambda asked, spans=spans: np.full(len(asked.judged), spans))
        assert (np.abs(found.f) <= 3.0).all()


def test_rows_of_weight_zero_are_not_on_the_margin():
    seen = []
    f, y = np.array([1.0, 1.0, -1.0, -1.0, 1.0]), np.array([1, 1, -1, -1, 1])
    bound = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    left_out(
        SolvedProblem(f, y, np.array([0.5, 0.5, 0.5, 0.5, 0.0]), bound),
        lambda asked: seen.append(asked) or np.zeros(len(asked.judged)),
    )
    np.testing.assert_array_equal(seen[0].free, [0, 1, 2, 3])
    np.testing.assert_array_equal(seen[0].judged, [0, 1, 2, 3])


def test_rows_that_were_not_looked_at_move_as_their_neighbours():
    f, y = np.array([0.0, 1.0, 1.1, 5.0, 0.1, 9.0]), np.array([1, 1, 1, 1, -1, 0])
    values = spread_over(f, y, np.array([0, 3, 4]), np.array([-1.0, 4.5, 0.3]))
    np.testing.assert_allclose(values, [-1.0, 0.0, 0.1, 4.5, 0.3, 9.0])
    np.testing.assert_allclose(spread_over(f, y, np.array([1]), np.array([0.5])), f - 0.5 * (y == 1))


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + 0.5 * rng.standard_normal(n)


def without(model, X, t):
    """Predictions by machines that are fitted without the row."""
    rest = [np.arange(len(t)) != i for i in range(len(t))]
    return np.array([model.fit(X[keep], t[keep]).predict(X[~keep])[0] for keep in rest])


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_squared_losses_do_not_depend_on_the_unit_of_targets(unit):
    X, t = problem(40, 5)
    model = LinearSVR(loss="squared_epsilon_insensitive", tol=1e-9).fit(X, unit * t)
    found, truth = model._left_out_scores(FittedRows(X, unit * t), every=True)[0][:, 0], without(model, X, unit * t)
    np.testing.assert_allclose(found, truth, atol=1e-3 * unit)


def test_a_prediction_moves_as_far_as_targets_do_where_every_target_is_reached():
    """All residuals are ε, so that their size says nothing about how far a prediction moves without its row."""
    X, t = problem(60, 10)
    model = SVR(C=1e4, epsilon=1e-3, tol=1e-6).fit(X, t)
    assert np.abs(model.predict(X) - t).max() < 0.01
    found, truth = model._left_out_scores(FittedRows(X, t))[0][:, 0], without(model, X, t)
    assert np.abs(found - truth).mean() < 0.1 * np.abs(t - truth).mean()


def test_coefficients_of_targets_that_are_nearly_reached_are_not_taken_from_residuals():
    """With 40 times as many features as rows, residuals are as small as the error that the tolerance allows."""
    X, t = problem(40, 1600)
    model = LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1).fit(X, t)
    found = model._left_out_scores(FittedRows(X, t))[0][:, 0]
    truth = without(LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=1e-8), X, t)
    assert np.abs(found - truth).mean() < 0.05 * np.abs(t - truth).mean()


def test_ends_are_possible_errors():
    z = norm.ppf(0.975)
    assert error_interval(0.01, 0.02, 1.0) == (0.0, pytest.approx(0.01 + 0.02 * z))
    assert error_interval(0.99, 0.02, 1.0)[1] == 1.0
    assert error_interval(7.0, 1.0) == (pytest.approx(7.0 - z), pytest.approx(7.0 + z))


def test_words():
    assert error_in_words(0.1, 0.01, True) == "10.00% (95% interval: 8.04% to 11.96%)"
    assert error_in_words(12.0, 1.0, False) == "12 (95% interval: 10.04 to 13.96)"


@pytest.mark.slow
def test_the_interval_has_the_error_on_new_rows():
    """In 95 of 100 samples; less than 85 of 100 would happen once in 20,000 times."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        X = rng.standard_normal((5200, 5))
        y = np.where(X[:, 0] + 0.7 * rng.standard_normal(5200) > 0, 1, -1)
        model = LinearSVC().fit(X[:200], y[:200])
        found = estimate(model, y[:200], left_out_scores(model, X[:200], y[:200]), None)
        low, high = error_interval(*found, 1.0)
        held += low <= np.mean(model.predict(X[200:]) != y[200:]) <= high
    assert held >= 85
