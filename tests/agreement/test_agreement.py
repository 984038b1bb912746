"""The short form of ``python -m tests.agreement``: a few problems of every machine."""

import numpy as np
import pytest

from tests.agreement.machines import MACHINES, Comparison, compared

PROBLEMS = 20


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_no_objective_is_above_scikit_learns_by_more_than_was_certified(machine):
    found = [compared(machine, 1, number) for number in range(PROBLEMS)]
    assert [number for number, one in enumerate(found) if one.violated] == []
    assert sum(np.isfinite(float(one.certified)) for one in found) > 0.9 * PROBLEMS
    assert np.quantile([one.below for one in found], 0.25) < 1e-6, "theirs has not converged, and proves nothing"


@pytest.mark.sampled
@pytest.mark.parametrize("machine", MACHINES[::4], ids=str)
def test_a_problem_is_its_number(machine):
    first, again = compared(machine, 0, 3), compared(machine, 0, 3)
    assert first == again and not first.violated
    assert first != compared(machine, 0, 4)


def test_an_objective_above_the_certificate_is_seen():
    assert Comparison(1.1, 1.0, 0.05, 0.0).violated
    assert Comparison(1.1, 1.0, 0.05, 0.0).above == pytest.approx(2.0)
    assert not Comparison(1.1, 1.0, 0.05, 0.06).violated
    assert not Comparison(1.0, 1.1, 0.0, 0.0).violated
    assert Comparison(1.0, 1.1, 0.0, 0.0).below == pytest.approx(0.1)
