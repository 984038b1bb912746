"""Limits of a run."""

import numpy as np
import pytest

from hinge.monitoring import Status, Stop


def test_each_status_is_a_sentence_of_its_own():
    words = [status.value for status in Status]
    assert len(set(words)) == len(words)
    assert all(word[0].islower() and not word.endswith(".") for word in words)


def test_what_counts_as_success():
    cut_off = {"MAX_ITER", "MAX_TIME", "MAX_READS", "MAX_KERNEL_EVALS", "MAX_COST", "STALLED", "INTERRUPTED"}
    cut_off.add("DATA_CHANGED")
    assert {status.name for status in Status if not status.is_success} == cut_off


@pytest.mark.parametrize("name", ["tol", "max_iter", "max_time", "max_reads", "target", "max_kernel_evals", "max_cost"])
def test_limits_are_numbers_that_are_not_negative(name):
    for bad in (-1, -0.5, "3", np.nan, [1]):
        with pytest.raises(ValueError, match=f"{name} must be a number that is not negative"):
            Stop(**{name: bad})
    for good in (0, 1, 2.5, np.float32(0.5), np.int64(3)):
        assert getattr(Stop(**{name: good}), name) == good


def test_a_tolerance_is_needed_and_the_rest_is_not():
    assert Stop() == Stop(1e-3, None, None, None, None, None, None)
    with pytest.raises(ValueError, match="tol must be"):
        Stop(None)
