"""Ctrl-C during a run."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

PATIENCE = 0.4
"""Seconds that a Ctrl-C waits for the end of a step before it breaks it off."""


_called_off: ContextVar[threading.Event | None] = ContextVar("called off", default=None)


@contextmanager
def called_off_by(event: threading.Event | None) -> Iterator[None]:
    """Let all runs that begin inside end when the event is set, as if Ctrl-C had reached their thread."""
    token = _called_off.set(event)
    try:
        yield
    finally:
        _called_off.reset(token)


class Interrupts:
    """What becomes of Ctrl-C: it breaks off at once what can be dropped, and waits for what is to be kept.

    Attributes
    ----------
    kept : bool
        Whether a step is under way whose state is wanted: then Ctrl-C waits for its end.
    spare : bool
        Whether there is another state to go back to: then it does not wait long.
    """

    def __init__(self) -> None:
        self.kept = self.spare = self._pressed = self._over = False
        self._again: threading.Timer | None = None
        self._called_off = _called_off.get()

    @property
    def pressed(self) -> bool:
        """Whether a Ctrl-C waits for the end of the step."""
        return self._pressed or (self._called_off is not None and self._called_off.is_set())

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Take over Ctrl-C, where there is one to take: only the main thread receives signals."""
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
    """Ctrl-C once more, so that the main thread wakes up even where it waits for the system."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
