import os
import signal
import threading
import time

import pytest

from hinge.monitoring.interrupts import PATIENCE, Interrupts, called_off_by

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
