import math
import os
import signal
import threading
import time
from contextlib import suppress

import pytest

from hinge.monitoring.interrupts import (
    LEAST,
    PATIENCE,
    Interrupts,
    attempt,
    called_off,
    called_off_by,
    is_over,
    keep_results_on_interrupt,
    left_of,
    limited,
    now,
    within,
)

pytestmark = pytest.mark.usefixtures("interruptible")


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_what_can_be_dropped_is_broken_off_at_once():
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt), interrupts.heeded():
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_to_be_kept_is_waited_for():
    interrupts = Interrupts()
    interrupts.kept = True
    with interrupts.heeded():
        assert not interrupts.pressed
        press()
        assert interrupts.pressed
    with interrupts.heeded(), pytest.raises(KeyboardInterrupt):
        interrupts._over = False
        press()  # a second one does not wait


@pytest.mark.slow
def test_with_a_state_to_go_back_to_it_does_not_wait_long():
    interrupts = Interrupts()
    interrupts.kept = interrupts.spare = True
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), interrupts.heeded():
        press()
        while time.perf_counter() - began < 20 * PATIENCE:
            time.sleep(0.01)
    assert PATIENCE * 0.9 < time.perf_counter() - began < 10 * PATIENCE


def test_the_handler_before_is_put_back():
    def mine(signum, frame):
        raise AssertionError

    signal.signal(signal.SIGINT, mine)
    with Interrupts().heeded():
        assert signal.getsignal(signal.SIGINT) is not mine
    assert signal.getsignal(signal.SIGINT) is mine


def test_an_event_calls_runs_off_in_any_thread():
    event, seen = threading.Event(), []

    def run():
        with called_off_by(event):
            interrupts = Interrupts()
            with interrupts.heeded():  # no signal reaches this thread, and none is taken over
                seen.append(interrupts.pressed)
                event.set()
                seen.append(interrupts.pressed)
        seen.append(Interrupts().pressed)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [False, True, False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_it_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts().heeded(), keep_results_on_interrupt():
        press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN and not called_off()


def test_a_press_as_the_run_ends_is_for_the_code_after_it():
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt), interrupts.heeded():
        interrupts._over = True  # as if the run had ended just before
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_was_sent_again_for_a_step_that_has_ended_is_not():
    interrupts = Interrupts()
    with interrupts.heeded():
        interrupts._over = True
        interrupts._press()
        time.sleep(0)  # lets the handler run


def test_an_exception_that_was_lost_is_remembered():
    interrupts = Interrupts()
    with interrupts.heeded():
        with suppress(KeyboardInterrupt):  # as Python does for what is raised in a destructor
            press()
        assert interrupts.pressed


@pytest.mark.parametrize("presses", [1, 2])
def test_what_is_kept_is_called_off_by_the_first_and_broken_off_by_the_second(presses):
    try:
        with keep_results_on_interrupt():
            for _ in range(presses):
                press()
            assert called_off()
        assert presses == 1
    except KeyboardInterrupt:
        assert presses == 2
    assert not called_off()


@pytest.mark.parametrize("before", [True, False])
def test_an_attempt_is_ended_by_the_first_and_what_is_kept_goes_on(before):
    seen = []

    def work():
        seen.append("begun")
        press()
        seen.append("ended")

    with keep_results_on_interrupt():
        if before:
            press()
        assert not attempt(work)
        assert called_off()
        assert not attempt(work)
    assert seen == ([] if before else ["begun"])


def test_an_attempt_where_nothing_is_kept_is_ended_by_an_exception():
    assert attempt(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        attempt(press)
    with keep_results_on_interrupt():
        assert attempt(lambda: None)


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
