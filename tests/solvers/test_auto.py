import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.problems import NormConstrained, Regularized, SlackConstrained
from hinge.solvers import SDCA, Frugal, Newton, choose
from hinge.solvers.auto import MOST_FEATURES
from hinge.solvers.linear.newton import DIRECT


def problem(n, d):
    return Regularized(sp.csr_array((n, d), dtype=np.float32), np.where(np.arange(n) % 2, 1, -1), 0.1)


@pytest.mark.parametrize(
    ("n", "d", "kind"),
    [
        (10_000, 20, Newton),
        (100, DIRECT, Newton),
        (500, 500, Newton),
        (499, 500, SDCA),
        (20 * MOST_FEATURES, MOST_FEATURES + 1, SDCA),
        (1000, 50_000, SDCA),
    ],
)
def test_the_choice_and_its_reason(n, d, kind):
    choice = choose(problem(n, d))
    assert type(choice.solver) is kind
    assert str(d) in choice.reason
    assert choice.solver.rejects(problem(n, d)) is None


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
