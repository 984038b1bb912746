import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import NormConstrained, Regularized, SlackConstrained
from hinge.solvers import SDCA, Newton, choose
from hinge.solvers.auto import MOST_FEATURES
from hinge.solvers.newton import DIRECT


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
    choice = choose(problem(10_000, 20), max_reads=10**6)
    assert type(choice.solver) is SDCA
    assert "reads are limited" in choice.reason


@pytest.mark.parametrize(
    "other", [lambda X, y: NormConstrained(X, y, 1.0), lambda X, y: SlackConstrained(X, y, 0.1)]
)
def test_other_problems_get_a_sentence(tiny, other):
    with pytest.raises(ValueError, match="for a norm bound use SGD, for a slack bound solve_slack"):
        choose(other(*tiny))
