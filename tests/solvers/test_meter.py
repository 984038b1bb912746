"""What a run has spent."""

import time

import numpy as np
import pytest

from hinge import Regularized, Solution
from hinge.solvers.meter import Meter


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return Regularized(rng.standard_normal((30, 7)), np.where(rng.random(30) < 0.5, 1, -1), 0.05)


def test_it_counts_only_inside(problem):
    zero, meter, began = Solution(np.zeros(7)), Meter(problem), time.perf_counter()
    for _ in range(2):
        problem.certificate(zero)
        with meter:
            time.sleep(0.02)
            problem.matrix.responses(zero.w, 0, 10)
            inside = meter.spent
        time.sleep(0.1)
    assert meter.spent[1:] == inside[1:] == (140, 0, 0.0)
    assert 0.04 <= meter.spent.seconds < time.perf_counter() - began - 0.2


def test_reads_off_the_clock_stay_on_the_bill(problem):
    meter, began = Meter(problem), time.perf_counter()
    with meter:
        with meter.off_clock():
            time.sleep(0.1)
            problem.matrix.responses(np.zeros(7), 0, 10)
        assert meter.spent.reads == 70
    assert meter.spent.seconds <= time.perf_counter() - began - 0.1


def test_the_clock_goes_on_after_an_error_off_it(problem):
    meter = Meter(problem)
    with meter:
        with pytest.raises(RuntimeError), meter.off_clock():
            raise RuntimeError
        time.sleep(0.02)
        assert meter.spent.seconds >= 0.02
