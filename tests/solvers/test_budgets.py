"""Which solvers can read data that is not in memory, and how much of it may be read."""

import numpy as np
import pytest
from access.tables.made_up import Seller

from hinge.access import DenseTable
from hinge.access.tables.oracle import Oracle
from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.solvers import SDCA, Frugal
from hinge.solvers.base import cannot_read
from hinge.solvers.driver import within_budget


def test_who_may_read_what_is_not_in_memory(tiny):
    X, y = tiny
    near, far = Regularized(X, y, 0.1), Regularized(Oracle(Seller(X)), y, 0.1)
    assert cannot_read(near, SDCA()) is None
    assert cannot_read(far, Frugal()) is None
    assert "SDCA takes rows of arrays in memory, not those of Oracle" in cannot_read(far, SDCA())


class Owned:
    reads, cost = 30, 2.0

    def __init__(self, reads, cost):
        self.budget = reads, cost


@pytest.mark.parametrize(
    ("owner", "asked", "expected"),
    [
        ((100, None), None, 70),
        ((100, None), 50, 50),
        ((100, None), 90, 70),
        ((10, None), None, 0),
        ((None, None), 7, 7),
    ],
)
def test_the_smaller_limit_of_reads_counts(owner, asked, expected):
    assert within_budget(Stop(max_reads=asked), Owned(*owner)).max_reads == expected


@pytest.mark.parametrize(("owner", "asked", "expected"), [(5.0, None, 3.0), (5.0, 1.0, 1.0), (1.0, None, 0.0)])
def test_the_smaller_limit_of_cost_counts(owner, asked, expected):
    stop = within_budget(Stop(max_cost=asked), Owned(None, owner))
    assert stop.max_cost == expected
    assert stop.max_reads is None


def test_a_table_without_an_owner_limits_nothing(tiny):
    X, y = tiny
    stop = Stop(max_reads=9)
    assert within_budget(stop, Regularized(DenseTable(X, np.ascontiguousarray(X.T)), y, 0.1)) == stop
