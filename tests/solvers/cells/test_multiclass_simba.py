import numpy as np
import pytest
from reference.simba import simba_of_classes
from sklearn.datasets import load_digits

from hinge.access import Table
from hinge.access.tables.table import EVERYWHERE, Line
from hinge.monitoring import Stop
from hinge.problems import MulticlassSlackConstrained, Regularized, SlackConstrained
from hinge.sampling import draw_unit, key_of
from hinge.solvers import MulticlassPegasos, MulticlassSimba, Simba, solve


def rows(n=50, d=8, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, np.argmax(X @ rng.standard_normal((d, k)) + 0.3 * rng.standard_normal((n, k)), axis=1)


def answer(solver, problem, n_iter, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), n_iter))


@pytest.mark.parametrize("nu", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(2))
def test_it_is_algorithm_1_over_pairs(nu, seed):
    X, y = rows()
    W, p = simba_of_classes(X, y, 4, nu, 200, lambda c: float(draw_unit(key_of(seed), c)))
    problem, solver = MulticlassSlackConstrained(X, y, nu, n_classes=4), MulticlassSimba(radius=1.0)
    state = solver.advance(problem, solver.init(problem, seed), 200)
    np.testing.assert_allclose(state.w_sum / 200, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.p_sum / 200, p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_for_two_classes_it_is_simba(scale):
    X, y = rows(k=2)
    two = answer(Simba("exact"), SlackConstrained(scale * X, 2 * y - 1, 0.1), 400, 3)
    several = answer(MulticlassSimba(), MulticlassSlackConstrained(scale * X, y, 0.1), 400, 3)
    np.testing.assert_allclose((several.w[:-1, 1] - several.w[:-1, 0]) / np.sqrt(2), two.w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(several.alpha.sum(axis=1), two.alpha, rtol=0, atol=1e-12)


def test_an_iteration_reads_a_row_and_a_column_whatever_the_number_of_classes():
    X, y = rows()
    problem, solver = MulticlassSlackConstrained(X, y, 0.1), MulticlassSimba()
    solver.advance(problem, solver.init(problem), 31)
    assert problem.reads == 31 * sum(X.shape)


def test_ten_classes_of_digits():
    X, y = load_digits(return_X_y=True)
    problem = MulticlassSlackConstrained(X[:1200], y[:1200], 0.01)
    result = solve(problem, MulticlassSimba(), stop=Stop(tol=0, max_iter=3000))
    assert ((X[:1200] @ result.solution.w[:-1]).argmax(axis=1) != y[:1200]).mean() < 0.1
    assert problem.nu < result.certificate.objective <= result.certificate.bound


class Elsewhere(Table):
    """Rows that are not in memory."""

    def __init__(self, X):
        super().__init__(X.shape)
        self.X = X

    def _row(self, i):
        return Line(EVERYWHERE, self.X[i])

    def _column(self, j):
        return Line(EVERYWHERE, self.X[:, j])

    def _block(self, rows, columns):
        raise NotImplementedError

    def held(self, rows):
        raise NotImplementedError


def test_rows_elsewhere_are_not_searched_for_the_longest():
    X, y = rows()
    problem = MulticlassSlackConstrained(Elsewhere(X), y, 0.1)
    result = solve(problem, MulticlassSimba(), stop=Stop(tol=0, max_iter=20))
    assert problem.reads == 20 * sum(X.shape) and result.certificate.gap == np.inf
    with pytest.raises(ValueError, match=r"Row \d+ has norm 3, and the rows were to lie in the ball of radius 1"):
        solve(MulticlassSlackConstrained(Elsewhere(3 * X), y, 0.1), MulticlassSimba(), stop=Stop(tol=0, max_iter=20))


def test_other_problems_are_refused():
    X, y = rows(k=2)
    with pytest.raises(ValueError, match="solves MulticlassSlackConstrained problems, not Regularized; use Simba"):
        solve(Regularized(X, 2 * y - 1, 0.1), MulticlassSimba())
    with pytest.raises(ValueError, match="MulticlassPegasos solves Multiclass problems"):
        solve(MulticlassSlackConstrained(X, y, 0.1), MulticlassPegasos())
