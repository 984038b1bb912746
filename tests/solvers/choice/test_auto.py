import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.kernels import Gaussian
from hinge.problems import (
    KernelRegularized,
    L1Regularized,
    Multiclass,
    NormConstrained,
    OneClass,
    Regularized,
    SlackConstrained,
)
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import (
    CDN,
    SDCA,
    ActiveSet,
    BlockDual,
    CentralPath,
    FiniteNewton,
    Frugal,
    MulticlassNewton,
    MulticlassSDCA,
    Newton,
    Pegasos,
    Switch,
    choose,
)
from hinge.solvers.choice.auto import PART_CELLS, ascent_for, in_parts
from hinge.solvers.newton.row_sums import A_ROW


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
        (100, 5, 1.0, None, ASCENT),
    ],
)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_the_choice_and_its_reason(n, d, lam, cells, begins, loss):
    made = problem(n, d, lam, cells, loss)
    choice = choose(made)
    if begins is None:
        assert choice.solver == ascent_for()
    elif loss is SQUARED_HINGE and isinstance(choice.solver, FiniteNewton):
        assert n * d < 10_000 or begins == NEWTON
    elif isinstance(choice.solver, CentralPath):
        assert loss is HINGE and n * d < 10_000
    else:
        assert choice.solver.begin == begins
    assert str(d) in choice.reason
    assert choice.solver.rejects(made) is None


@pytest.mark.parametrize(
    ("n", "d", "lam", "loss", "by_newton"),
    [
        (500, 20, 2e-3, SQUARED_HINGE, True),
        (150, 4, 1 / 150, SQUARED_HINGE, True),
        (500, 20, 0.2, SQUARED_HINGE, True),
        (500, 20, 2e-3, HINGE, False),  # a smoothed loss takes more steps
        (60, 20, 1 / 60, SQUARED_HINGE, True),
        (100, 100, 1e-5, SQUARED_HINGE, True),  # whatever separates them
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


def test_regression_from_few_reads_is_not_left_to_a_learner_of_classes():
    X = np.random.default_rng(0).standard_normal((50, 4))
    made = Regularized(X, X[:, 0], 0.1, loss=epsilon_insensitive(0.1))
    assert type(choose(made, few_reads=True).solver) is SDCA


def test_where_few_reads_are_wanted():
    choice = choose(Regularized(np.ones((100, 5)), np.resize([1, -1], 100), 0.1), few_reads=True, tol=0.1)
    assert choice.solver == Frugal(flips=0.0, tol=0.1) and "few reads are wanted" in choice.reason


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


def test_newton_begins_where_a_raw_column_lies_beside_categories():
    rng = np.random.default_rng(0)
    hot = sp.csr_array((np.ones(30_000), rng.integers(0, 1300, 30_000), np.arange(30_001)), shape=(30_000, 1300))
    X = sp.hstack([sp.csr_array(1e4 * rng.standard_normal((30_000, 1))), hot], format="csr")
    y = np.where(rng.random(30_000) < 0.5, 1, -1)
    assert choose(Regularized(X, y, 1e-4)).solver.begin == NEWTON
    assert choose(Regularized(hot, y, 1e-1)).solver.begin == ASCENT


def of_cells(cells, n=1000):
    """A problem whose rows take as long as so many cells; its values are never read."""
    d = max(1, cells // n - A_ROW)
    return Regularized(np.broadcast_to(np.float32(0.0), (n, d)).copy(), np.resize([1, -1], n), 1e-3)


def test_many_cells_are_shared():
    problem = of_cells(3 * PART_CELLS + 10_000)
    assert in_parts(Newton(), problem, 8) == Newton(parts=3)
    assert in_parts(Newton(width=0.2), problem, 2) == Newton(width=0.2, parts=2)


def test_dual_ascent_is_not_shared_and_newtons_method_beside_it_is():
    found = in_parts(Switch(1e-4, "newton"), of_cells(3 * PART_CELLS + 10_000), 2)
    assert found == Switch(1e-4, "newton", newton=Newton(parts=2))


def test_few_are_not():
    problem = of_cells(2 * PART_CELLS - 20_000)
    assert in_parts(SDCA(), problem, 8) == SDCA()
    assert in_parts(Newton(), problem, 8) == Newton()


def test_nor_are_those_of_many_features():
    n, d = 30_000, 50_000  # as many cells as before, which would do for two parts if v were shorter
    X = sp.csr_array((np.ones(80 * n, np.float32), np.arange(80 * n) % d, np.arange(n + 1) * 80), shape=(n, d))
    problem = Regularized(X, np.resize([1, -1], n), 1e-3)
    assert X.nnz > 2 * PART_CELLS
    assert in_parts(SDCA(), problem, 2) == SDCA()
    assert in_parts(Newton(), problem, 2) == Newton(parts=2)


def test_one_thread_is_one_part():
    assert in_parts(SDCA(), of_cells(4 * PART_CELLS), 1) == SDCA()


def test_other_methods_and_problems_are_left_alone():
    problem = of_cells(4 * PART_CELLS)
    assert in_parts(Pegasos(), problem, 2) == Pegasos()
    assert in_parts(CDN(), L1Regularized(problem.matrix, problem.y, 0.1), 2) == CDN()


def test_data_that_is_not_in_memory_is_read_by_one(tmp_path):
    write_pair(np.eye(4), tmp_path / "pair")
    problem = Regularized(open_pair(tmp_path / "pair"), np.resize([1, -1], 4), 0.1)
    assert in_parts(SDCA(), problem, 2) == SDCA()


def test_several_classes_at_once_are_left_to_newton_where_it_can():
    few = Multiclass(np.ones((20, 3)), np.arange(20) % 4, 0.1)
    many = Multiclass(sp.csr_array((20, 3000)), np.arange(20) % 4, 0.1)
    assert choose(few, tol=1e-2).solver == Switch(1e-2, ascent=MulticlassSDCA(), newton=MulticlassNewton())
    assert choose(few, few_reads=True).solver == choose(many).solver == MulticlassSDCA()
