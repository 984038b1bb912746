"""Ctrl-C during a run."""

import _thread
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from hinge.compiled import assigned, calling_off, now

PATIENCE = 0.4
"""Seconds that Ctrl-C waits for the end of a step before it interrupts the step."""

_attempting: ContextVar[bool | None] = ContextVar("attempting", default=None)
"""Whether an `attempt` is under way; None where nothing is kept."""


def called_off() -> bool:
    """Whether runs that start here should end immediately."""
    event = calling_off.get()
    return event is not None and event.is_set()


def called_off_by(event: threading.Event | None) -> assigned[threading.Event | None]:
    """All runs that start inside end when the event is set, as if Ctrl-C had been pressed in their thread."""
    return assigned(calling_off, event)


class Interrupts:
    """Handling of Ctrl-C: work whose result is not needed is interrupted immediately; otherwise its end is awaited.

    Attributes
    ----------
    kept : bool
        Whether something is under way whose result is needed: then Ctrl-C waits for its end.
    spare : bool
        Whether there is a copy of the state to return to: then it waits no longer than `PATIENCE`.
    """

    def __init__(self) -> None:
        self.kept = self.spare = self._pressed = self._over = self._sent = self._late = False
        self._again: threading.Timer | None = None
        self._called_off = calling_off.get()

    @property
    def pressed(self) -> bool:
        """Whether a Ctrl-C is waiting for the end of the step."""
        return self._pressed or (self._called_off is not None and self._called_off.is_set())

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Handle Ctrl-C inside, where this thread receives signals and they are not ignored."""
        if not _reach_this_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            self._over = True
            if self._again is not None:
                self._again.cancel()
                self._again.join()
            signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)
            if self._late:
                signal.raise_signal(signal.SIGINT)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        own, self._sent = self._sent, False
        if self._over:  # it is for the code after the run, unless it was sent here, to a step that has ended
            self._late |= not own
            return
        again, self._pressed = self._pressed, True  # noted in any case: an exception in a destructor is lost
        if self._called_off is not None:
            self._called_off.set()
        if again or not self.kept:
            raise KeyboardInterrupt
        if self.spare:
            self._again = threading.Timer(PATIENCE, self._press)
            self._again.daemon = True
            self._again.start()

    def _press(self) -> None:
        """Send Ctrl-C again, so that the main thread wakes up even if it waits in a system call."""
        self._sent = True
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, signal.SIGINT)
        else:
            _thread.interrupt_main()


@contextmanager
def keep_results_on_interrupt() -> Iterator[None]:
    """Inside, a first Ctrl-C calls off all runs, those to come too, and raises nothing; a second one raises.

    For all that is done around the runs of a fit: what was found so far is not lost to a Ctrl-C that comes before the
    first run has an answer, or after the last. Compilation is not waited for, though: if an answer needs it, the
    first one raises, too. What the answer does not need is an `attempt`.
    """
    event = threading.Event()
    if not _reach_this_thread():
        yield
        return

    def note(signum: int, frame: FrameType | None) -> None:
        again = event.is_set()
        event.set()
        if again or _attempting.get():
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, note)
    token = _attempting.set(False)
    try:
        with called_off_by(event):
            yield
    finally:
        _attempting.reset(token)
        signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)


def attempt(work: Callable[[], None]) -> bool:
    """Do what a fit that is `kept` can do without: a first Ctrl-C, before or meanwhile, ends that and no more.

    Elsewhere Ctrl-C raises, as always. Returns whether the work was done.
    """
    if _attempting.get() is None:
        work()
        return True
    token = _attempting.set(True)
    try:
        if not called_off():
            work()
            return True
    except KeyboardInterrupt:
        pass
    finally:
        _attempting.reset(token)
    return False


def _reach_this_thread() -> bool:
    """Whether Ctrl-C comes here: not to other threads than the main one, nor where it is ignored.

    A shell lets what a script starts in the background ignore it, since Ctrl-C is meant for the foreground.
    """
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


LEAST = time.get_clock_info("perf_counter").resolution
"""Least seconds of any positive limit, one tick of the clock: enough for a first piece, so that there is an answer."""

_ends: ContextVar[float] = ContextVar("ends", default=math.inf)


def left_of(max_time: float | None, began: float) -> float | None:
    """The remaining part of a limit that counts from `began` by `now`."""
    if max_time is None:
        return None
    return min(max_time, max(LEAST, max_time - (now() - began)))


def within(seconds: float | None) -> assigned[float]:
    """All runs that start inside end within this number of seconds, whatever their own limits."""
    ends = math.inf if seconds is None else now() + seconds
    return assigned(_ends, min(ends, _ends.get()))


def limited(max_time: float | None) -> float | None:
    """The limit of a run that starts now: its own, or the limit of the runs around it."""
    left = max(LEAST, _ends.get() - now())
    return max_time if left == math.inf else left if max_time is None else min(max_time, left)


def is_over(ends: float | None) -> bool:
    """Whether a time by `now` has passed, if it is not None, or the runs of this thread were called off."""
    return called_off() or (ends is not None and now() >= ends)


_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


def hurry() -> assigned[bool]:
    """Inside, anything that takes long is skipped, since the user has pressed Ctrl-C."""
    return assigned(_hurried, True)


def hurried() -> bool:
    """Whether anything that takes long should be skipped."""
    return _hurried.get()
