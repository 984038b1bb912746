"""Tiered compilation: functions of small fits are interpreted, as long as that costs little beside compiling them.

Compiling what `SVC` needs takes a dozen seconds; a fit of a hundred rows, a fraction of one in the interpreter. So
where no compiled code is stored, calls are interpreted until those of one signature have taken `A_WHILE`, and only then
compiled; and until a process has spent `A_MOMENT` on them it does not even import Numba to look for code. Whoever fits
toy data never waits, and nobody waits longer than by that while. A call that exceeds it is undone and begins anew,
compiled.

Both tiers give the same bits, or the answer would depend on what has been compiled before: tiered functions, and those
that they call, keep the order of sums (no `fastmath`), and are not interpreted on arrays whose arithmetic the
interpreter has rules of its own for, as for single precision and short integers.
"""

import threading
import time
from collections.abc import Callable, Iterable
from functools import wraps
from types import CellType, CodeType, FunctionType
from typing import Any, ClassVar

import numpy as np

A_WHILE = 2.0
"""Seconds for which calls of one signature are interpreted: less than half of what these functions need to be compiled,
which `python benchmarks/footprint.py first` prints in its last column."""
A_MOMENT = 0.3
"""Seconds for which a process interprets such calls before it imports Numba, which takes as long."""
CELLS = 1 << 20
"""Numbers in the arguments above which nothing is interpreted: it would not end in a while."""
PLAIN = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_)))


Source = Callable[[Any], Callable | None]


class NotInterpreted(Exception):
    """Calls have been interpreted for long enough, or this one is not to be."""


class _Deadline(threading.local):
    until = np.inf


_deadline = _Deadline()


class Interpreter:
    """Calls a function without compiling it, and counts the time.

    Parameters
    ----------
    function : callable
        A function whose globals may be compiled functions.
    source : callable
        The Python function of a compiled one; None for any other object.
    twin : callable, optional
        What is called in place of the function.
    """

    without_numba: ClassVar[dict[Any, float]] = {"process": 0.0}
    """Seconds that the process has spent without Numba."""

    def __init__(self, function: Callable, source: Source, twin: Callable | None = None) -> None:
        self.function, self.source, self.twin = function, source, twin
        self.spent: dict[object, float] = {}

    def seconds_left(self, signature: object) -> float:
        """The seconds that calls of a signature may still take."""
        return A_WHILE - self.spent.get(signature, 0.0)

    def run(self, signature: object, args: tuple) -> Any:
        """The result; raises what the interpreter raises, or `NotInterpreted`, with all arrays as they were."""
        return self._run(args, self.spent, signature, self.seconds_left(signature))

    def run_at_first(self, args: tuple) -> Any:
        """The same as long as the process has time for calls without Numba."""
        return self._run(args, Interpreter.without_numba, "process", A_MOMENT - Interpreter.without_numba["process"])

    def _run(self, args: tuple, spent: dict[Any, float], key: object, seconds: float) -> Any:
        if seconds <= 0.0 or not are_plain(args):
            raise NotInterpreted
        if self.twin is None:
            self.twin = interpreted(self.function, self.source, {})
        before = [(a, a.copy()) for a in _arrays(args) if a.flags.writeable]
        began, outer = time.perf_counter(), _deadline.until
        _deadline.until = min(outer, began + seconds)
        try:
            with np.errstate(all="ignore"):
                return _plain(self.twin(*args))
        except BaseException:
            for a, old in before:
                a[...] = old
            raise
        finally:
            _deadline.until = outer
            spent[key] = spent.get(key, 0.0) + time.perf_counter() - began


def are_plain(args: tuple) -> bool:
    """Whether all arrays are small, and of kinds whose arithmetic is that of compiled code."""
    arrays = list(_arrays(args))
    fields = [a.dtype.fields for a in arrays]
    kinds = {
        kind for a, f in zip(arrays, fields, strict=True) for kind in ([k for k, *_ in f.values()] if f else [a.dtype])
    }
    return kinds <= PLAIN and sum(a.size for a in arrays) <= CELLS


def interpreted(function: Callable, source: Source, made: dict[Callable, Callable]) -> Callable:
    """The function, and those that it calls, with interpreted ones for compiled ones; `made` has those already made."""

    def twin_of(value: object) -> object:
        inner = source(value)
        return value if inner is None else made.get(inner) or _timed(interpreted(inner, source, made))

    code, given = function.__code__, dict(function.__globals__)
    cells = tuple(CellType() for _ in code.co_freevars)
    made[function] = twin = FunctionType(code, given, function.__name__, function.__defaults__, cells)
    for own, cell in zip(cells, function.__closure__ or (), strict=True):
        own.cell_contents = twin_of(cell.cell_contents)
    for name in _names(code) & given.keys():
        given[name] = twin_of(given[name])
    return twin


def _timed(function: Callable) -> Callable:
    """The function; calls begin before the deadline only."""

    @wraps(function)
    def call(*args: object, **named: object) -> object:
        if time.perf_counter() > _deadline.until:
            raise NotInterpreted
        return function(*args, **named)

    return call


def _names(code: CodeType) -> set[str]:
    """The global names that a function refers to, and the functions inside it."""
    inner = (_names(value) for value in code.co_consts if isinstance(value, CodeType))
    return set(code.co_names).union(*inner)


def _arrays(values: Iterable[object]) -> Iterable[np.ndarray]:
    """All arrays in the arguments, those in tuples included."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


def _plain(result: object) -> object:
    """Scalars as compiled code returns them, which are Python's."""
    if isinstance(result, tuple):
        plain = tuple(map(_plain, result))
        return result._make(plain) if hasattr(result, "_make") else plain
    return result.item() if isinstance(result, np.generic) and result.dtype.fields is None else result
