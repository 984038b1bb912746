import math

import pytest

from hinge.monitoring.clock import LEAST, is_over, left_of, limited, now, within


def test_what_is_left_of_a_limit():
    began = now()
    assert left_of(None, began) is None
    assert 9.0 < left_of(10.0, began - 0.5) <= 9.5
    assert left_of(10.0, began - 11.0) == LEAST
    assert left_of(0.0, began) == 0.0  # no time stays no time


def test_runs_inside_end_with_the_one_around():
    assert limited(None) is None
    assert limited(3.0) == 3.0
    with within(5.0):
        assert 4.0 < limited(None) <= 5.0
        assert limited(1.0) == 1.0
        with within(100.0):  # a longer limit inside changes nothing
            assert 4.0 < limited(None) <= 5.0
        with within(2.0):
            assert 1.0 < limited(50.0) <= 2.0
        assert limited(None) > 2.0
    assert limited(None) is None


def test_a_limit_that_has_passed_leaves_time_for_a_first_piece():
    with within(-1.0):
        assert limited(None) == LEAST
        assert limited(9.0) == LEAST


def test_no_limit_is_none_and_an_error_restores_it():
    with within(None):
        assert limited(math.inf) == math.inf
    with pytest.raises(KeyError), within(1.0):
        raise KeyError
    assert limited(None) is None


def test_a_time_that_has_come():
    at = now()
    assert is_over(at) and not is_over(at + 60.0) and not is_over(None)
