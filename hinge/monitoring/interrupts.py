"""Ctrl-C during a run."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PATIENCE = 0.4
"""Seconds that Ctrl-C waits for the end of a step before it interrupts the step."""


_called_off: ContextVar[threading.Event | None] = ContextVar("called off", default=None)


@contextmanager
def called_off_by(event: threading.Event | None) -> Iterator[None]:
    """All runs that start inside end when the event is set, as if Ctrl-C had been pressed in their thread."""
    token = _called_off.set(event)
    try:
        yield
    finally:
        _called_off.reset(token)


class Interrupts:
    """Handling of Ctrl-C: a step whose state is not needed is interrupted at once; otherwise its end is awaited.

    Attributes
    ----------
    kept : bool
        Whether a step is running whose state is needed: then Ctrl-C waits for its end.
    spare : bool
        Whether there is a copy of the state to return to: then it waits no longer than `PATIENCE`.
    """

    def __init__(self) -> None:
        self.kept = self.spare = self._pressed = self._over = False
        self._again: threading.Timer | None = None
        self._called_off = _called_off.get()

    @property
    def pressed(self) -> bool:
        """Whether a Ctrl-C is waiting for the end of the step."""
        return self._pressed or (self._called_off is not None and self._called_off.is_set())

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Handle Ctrl-C inside, if this is the main thread: other threads receive no signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            self._over = True  # a signal that arrives late must not hit the code after the run
            if self._again is not None:
                self._again.cancel()
                self._again.join()
            signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if self._over:
            return
        if self._pressed or not self.kept:
            raise KeyboardInterrupt
        self._pressed = True
        if self.spare:
            self._again = threading.Timer(PATIENCE, _press)
            self._again.daemon = True
            self._again.start()


def _press() -> None:
    """Send Ctrl-C again, so that the main thread wakes up even if it waits in a system call."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
