import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.kernels import Gaussian
from hinge.problems import KernelRegularized, NormConstrained, OneClass, Regularized, SlackConstrained
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, ActiveSet, Adaptive, BlockDual, FiniteNewton, Frugal, Newton, choose
from hinge.solvers.choice.auto import ascent_for


def problem(n, d, lam=0.1, cells=None, loss=HINGE):
    """Rows of unit variance in all cells, or in a few."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) if cells is None else sp.random_array((n, d), density=cells / d, rng=rng).tocsr()
    return Regularized(X.astype(np.float32), np.where(np.arange(n) % 2, 1, -1), lam, loss=loss)


ASCENT, NEWTON = "ascent", "newton"


@pytest.mark.parametrize(
    ("n", "d", "lam", "cells", "begins"),
    [
        (10_000, 20, 1e-4, None, NEWTON),  # ill-conditioned for the ascent, and few features
        (10_000, 20, 10.0, None, ASCENT),  # a few passes of the ascent will do
        (6000, 300, 1e-4, None, NEWTON),
        (2000, 300, 1.0, None, ASCENT),
        (3000, 800, 0.3, None, ASCENT),
        (20_000, 300, 1e-3, 10, ASCENT),  # short rows
        (20_000, 300, 1e-7, 10, NEWTON),
        (1000, 50_000, 1e-4, 50, None),  # text: nobody forms a Hessian of that
        (499, 5000, 1e-4, None, ASCENT),  # nearly orthogonal
        (100, 5, 1.0, None, None),  # done before Newton's method has begun
    ],
)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_the_choice_and_its_reason(n, d, lam, cells, begins, loss):
    made = problem(n, d, lam, cells, loss)
    choice = choose(made)
    if begins is not None:
        assert getattr(choice.solver, "begin", ASCENT) == begins  # SDCA alone where there is no doubt
    elif loss is HINGE or d > 5:
        assert choice.solver == ascent_for(made, alone=True)
    else:
        assert isinstance(choice.solver, FiniteNewton)
    assert str(d) in choice.reason
    assert choice.solver.rejects(made) is None


@pytest.mark.parametrize(
    ("n", "d", "lam", "loss", "by_newton"),
    [
        (500, 20, 2e-3, SQUARED_HINGE, True),
        (150, 4, 1 / 150, SQUARED_HINGE, True),
        (500, 20, 0.2, SQUARED_HINGE, True),
        (500, 20, 2e-3, HINGE, False),  # a smoothed loss takes more steps
        (60, 20, 1 / 60, SQUARED_HINGE, False),  # few rows for each feature: steps are cut short
        (3000, 50, 0.03, SQUARED_HINGE, False),  # no small fit
    ],
)
def test_small_fits_with_a_square_are_newtons(n, d, lam, loss, by_newton):
    assert isinstance(choose(problem(n, d, lam, None, loss)).solver, FiniteNewton) is by_newton


def test_the_tolerance_is_handed_on_and_a_smaller_one_speaks_for_newton():
    made = problem(5000, 100, 0.1)
    assert choose(made, tol=1e-9).solver.tol == 1e-9
    begins = [getattr(choose(made, tol=tol).solver, "begin", ASCENT) for tol in (1e-1, 1e-12)]
    assert begins == [ASCENT, NEWTON]


def test_a_level_that_is_free_is_left_to_one_of_the_two():
    X = np.random.default_rng(0).standard_normal((400, 5)) + 2.0
    assert type(choose(OneClass(X, 0.1)).solver) in (SDCA, Newton)


def test_regression_under_a_limit_of_reads_is_not_left_to_a_learner_of_classes():
    X = np.random.default_rng(0).standard_normal((50, 4))
    made = Regularized(X, X[:, 0], 0.1, loss=epsilon_insensitive(0.1))
    assert type(choose(made, max_reads=100).solver) is SDCA


def test_where_reads_are_limited():
    for passes, solver in ((0.5, Frugal()), (1, Frugal(flips=0.0)), (7.9, Frugal(flips=0.0)), (8, SDCA())):
        X = np.ones((100, 5))
        choice = choose(Regularized(X, np.resize([1, -1], 100), 0.1), max_reads=int(passes * 500))
        assert choice.solver == solver
        assert "reads are limited" in choice.reason


def test_where_the_data_is_not_in_memory(tmp_path):
    write_pair(np.ones((100, 5)), tmp_path / "pair")
    choice = choose(Regularized(open_pair(tmp_path / "pair"), np.resize([1, -1], 100), 0.1))
    assert type(choice.solver) is Frugal and "not in memory" in choice.reason


def test_where_cells_have_prices():
    table = DenseTable(np.ones((100, 5)), prices=np.arange(5.0))
    choice = choose(Regularized(table, np.resize([1, -1], 100), 0.1))
    assert type(choice.solver) is Frugal and "prices" in choice.reason


@pytest.mark.parametrize("other", [lambda X, y: NormConstrained(X, y, 1.0), lambda X, y: SlackConstrained(X, y, 0.1)])
def test_other_problems_get_a_sentence(tiny, other):
    with pytest.raises(ValueError, match="for a norm bound use SGD, for a slack bound solve_slack"):
        choose(other(*tiny))


@pytest.mark.parametrize(("C", "n", "kind"), [(1.0, 1500, BlockDual), (10.0, 1500, ActiveSet), (10.0, 6000, BlockDual)])
def test_regression_whose_coefficients_meet_no_bound_is_left_to_newton_steps(C, n, kind):
    rng = np.random.default_rng(0)
    X, t = rng.standard_normal((n, 4)), rng.standard_normal(n)
    problem = KernelRegularized.from_C(X, t, C, Gaussian(0.2), bias="free", loss=epsilon_insensitive(0.1))
    choice = choose(problem)
    assert isinstance(choice.solver, kind) and choice.solver.rejects(problem) is None
    labels = KernelRegularized.from_C(X, np.where(t > 0, 1, -1), C, Gaussian(0.2), bias="free")
    assert isinstance(choose(labels).solver, BlockDual)


@pytest.mark.parametrize(("n", "watched"), [(20_000, True), (4_000, False)])
def test_the_ascent_is_watched_where_rows_are_many_for_each_of_many_features(n, watched):
    choice = choose(problem(n, 1500, 1e-7, 10))
    assert isinstance(choice.solver, Adaptive) == watched
    if watched:
        assert choice.solver.begin == ASCENT and choice.solver.price < 100


@pytest.mark.parametrize(("n", "loss", "begins"), [(2000, HINGE, ASCENT), (2000, SQUARED_HINGE, NEWTON)])
def test_the_ascent_is_tried_first_where_a_plane_may_separate_the_rows(n, loss, begins):
    choice = choose(problem(n, 300, 1e-6, loss=loss))
    assert choice.solver.begin == begins
    assert choose(problem(6000, 300, 1e-6, loss=loss)).solver.begin == NEWTON
