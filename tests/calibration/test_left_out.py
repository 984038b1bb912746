import numpy as np
import pytest
from calibration.problems import drawn, gaussian, refitted, solved

from hinge.calibration.left_out import SolvedProblem, left_out, spans_by_kernel, spread_over


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
