"""Time limits of nested runs: an inner run also ends at the limits of those around it. Compilation takes no time."""

import math
from contextvars import ContextVar

from hinge.compiled import assigned, now
from hinge.monitoring.interrupts import called_off

LEAST = 1e-9
"""Least seconds of any positive limit: enough for a first piece, so that there is an answer."""

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
