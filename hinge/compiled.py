"""The decorator by which all functions are compiled, the cache of compiled code, and named scalars."""

import gc
import logging
import pickle
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

from hinge.tiers import Interpreter
from hinge.version import __version__

T = TypeVar("T")


def compiled(function: Callable | None = None, *, tiered: bool = False, **options: Any) -> Any:
    """`numba.njit` with the settings used throughout, as a decorator.

    Code is cached on disk, so that only the first process compiles; division follows NumPy (no exceptions inside a
    loop); the interpreter lock is released. If no folder can be written, neither beside the source nor in the user's
    cache, or the disk is full, every process compiles for itself. A `tiered` function is interpreted at first, see
    `hinge.tiers`.
    """
    if function is None:
        return lambda f: compiled(f, tiered=tiered, **options)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    settings: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}
    dispatcher: Any = njit(function, **settings)
    dispatcher.compile = _tiered(dispatcher) if tiered else _aside(dispatcher.compile)
    dispatcher.get_call_template = _of_plain_numbers(dispatcher.get_call_template)
    with suppress(RuntimeError):  # Numba found no place for its cache
        dispatcher._cache = _Cache(function)
    return dispatcher


class NotStored(Exception):
    """There is no code in the cache."""


stored_only: ContextVar[bool] = ContextVar("stored only", default=False)
"""Whether code that is not in the cache raises `NotStored` in this context."""
compiling_all: ContextVar[bool] = ContextVar("compiling all", default=False)
"""Whether nothing is interpreted in this context: `hinge.warm` compiles for later."""


def _tiered(dispatcher: Dispatcher) -> Callable:
    """What Numba calls for code of new types: it gets the code, or a function that interprets the call."""
    compile, interpreter = _aside(dispatcher.compile), Interpreter(dispatcher.py_func, _source)

    def stored(types: tuple) -> object:
        with assigned(stored_only, True):
            return work(types)

    work = dispatcher.compile
    load = _aside(stored)

    def code(types: tuple) -> object:
        if threading.current_thread().name == COMPILER or compiling_all.get() or interpreter.seconds_left(types) <= 0.0:
            return compile(types)
        try:
            if isinstance(dispatcher._cache, _Cache):  # type: ignore[attr-defined]
                return load(types)
        except NotStored:
            pass

        def call(*args: object) -> object:
            if interpreter.takes(args):
                with clock_stopped(), suppress(Exception):  # what is refused, or takes too long, is compiled
                    return interpreter.run(types, args)
            compile(types)
            return dispatcher(*args)

        return call

    return code


def _source(value: object) -> Callable | None:
    """The function that a compiled one was made of."""
    return value.py_func if isinstance(value, Dispatcher) else None


def _of_plain_numbers(find: Callable) -> Callable:
    """How compiled code finds the function for its arguments' types, without what is known of their values.

    Else there would be a function for each whole number that is written out where it is called.
    """
    return lambda args, named: find([*map(_plain, args)], {name: _plain(kind) for name, kind in named.items()})


def _plain(kind: types.Type) -> types.Type:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind


_field = np.void.__getitem__


class Scalars(np.record):  # type: ignore[misc]
    """A record of named numbers, see `scalars`."""

    if TYPE_CHECKING:  # fields have the types of their first values

        def __setattr__(self, name: str, value: Any, /) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        try:  # fields first: NumPy would search attributes before, which takes ten times as long
            return _field(self, name)
        except (ValueError, IndexError):
            return super().__getattribute__(name)

    def __reduce__(self) -> Any:
        # A record unpickled by NumPy ignores writes to its fields, so it is rebuilt from its bytes.
        return _unpickled, (self.dtype, self.tobytes())


def _unpickled(dtype: np.dtype, data: bytes) -> Scalars:
    return cast(Scalars, np.frombuffer(bytearray(data), dtype)[0])


def scalars(**values: float) -> Scalars:
    """Named numbers that compiled code changes in place: ``s = scalars(u=0.0, t=0)``, then ``s.u += 1.0``.

    A float becomes a float64, an int an int64, a bool a bool. Compiled code reads and writes a field as fast as an
    array's entry. Compilation and calls are faster than with a named tuple that is passed and returned; but passing it
    takes some microseconds, too many for a function that does little.
    """
    return cast(Scalars, scalars_array(**values)[()])


def copied(numbers: Scalars) -> Scalars:
    """A copy, independent of the original."""
    return _unpickled(numbers.dtype, numbers.tobytes())


def scalars_array(**values: float) -> np.ndarray:
    """The same as a zero-dimensional array, for functions that are called often: ``s[()]`` are the scalars.

    It is passed to compiled code as fast as any array.
    """
    return np.array(tuple(values.values()), _fields(tuple((k, type(v)) for k, v in values.items())))


@cache
def _fields(kinds: tuple[tuple[str, type], ...]) -> np.dtype:
    taken = [name for name, _ in kinds if hasattr(Scalars, name)]
    if taken:  # the attribute of that name would hide the field
        raise ValueError(f"A NumPy record has attributes of its own called {', '.join(taken)}.")
    return np.dtype((Scalars, [(name, {float: "f8", int: "i8", bool: "?"}[kind]) for name, kind in kinds]))


class _Clock:
    """The time spent compiling, by whatever thread waited for it, and the waits under way."""

    lock = threading.Lock()
    waits: ClassVar[set[object]] = set()
    since = seconds = 0.0


def now() -> float:
    """The seconds of a clock that stands still while any thread waits for compilation.

    Time limits and histories use it, so that a first fit has the time that any later one has.
    """
    with _Clock.lock:
        return (_Clock.since if _Clock.waits else time.perf_counter()) - _Clock.seconds


def _stop_clock(wait: object) -> None:
    with _Clock.lock:
        if not _Clock.waits:
            _Clock.since = time.perf_counter()
        _Clock.waits.add(wait)


def _start_clock(wait: object) -> None:
    with _Clock.lock:
        if wait in _Clock.waits:
            _Clock.waits.remove(wait)
            _Clock.seconds += 0.0 if _Clock.waits else time.perf_counter() - _Clock.since


@contextmanager
def clock_stopped() -> Iterator[None]:
    """A wait during which `now` stands still."""
    token = object()
    try:
        _stop_clock(token)
        yield
    finally:
        _start_clock(token)


LOGGER = logging.getLogger("hinge")

COMPILER = "hinge compiler"
"""Name of the threads that compile for others."""

calling_off: ContextVar[threading.Event | None] = ContextVar("calling off", default=None)
"""An event that ends the runs of a thread as Ctrl-C does (`hinge.monitoring.interrupts`): they wait no longer."""


class assigned(Generic[T]):  # a context, named like a function
    """A context in which a variable has a value."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self.variable, self.value = variable, value

    def __enter__(self) -> None:
        self.token = self.variable.set(self.value)

    def __exit__(self, *error: object) -> None:
        self.variable.reset(self.token)


def _aside(work: Callable) -> Callable:
    """Run a function in a thread that Ctrl-C does not reach, since Numba is in an invalid state if interrupted.

    After Ctrl-C, or once it is called off, the caller does not wait: compilation continues in the background, and its
    result is used later.
    """

    @wraps(work)
    def run(*args: Any, **options: Any) -> Any:
        if threading.current_thread().name == COMPILER:  # what is compiled calls another compiled function
            return work(*args, **options)
        future: Future[Any] = Future()

        def compile() -> None:
            try:
                with _garbage_waits():
                    made = work(*args, **options)
                future.set_result(made)
            except BaseException as error:
                future.set_exception(error)

        with clock_stopped():
            threading.Thread(target=compile, name=COMPILER, daemon=True).start()
            return _waited_for(future)

    return run


@contextmanager
def _garbage_waits() -> Iterator[None]:
    """Disable garbage collection: compilation creates many objects that stay, and collections take a tenth of it."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


PATIENCE = 0.5
"""Seconds of compilation after which the waiting user is informed, and those who were called off do not wait."""
PULSE = 0.1
"""Seconds after which a thread that waits checks for Ctrl-C, if no signal has woken it: a signal may come to another
thread, or just before the wait begins."""


_told = threading.Event()
"""Set once the user has been informed of compilation: once in a process, and not in its worker processes."""


def _waited_for(future: "Future[Any]") -> Any:
    began, off = time.perf_counter(), calling_off.get()
    while not wait([future], PULSE).done:
        waited = time.perf_counter() - began
        if off is not None and off.is_set() and waited > PATIENCE:
            raise KeyboardInterrupt  # it is no code from the cache, which is soon there
        if waited > PATIENCE and not _told.is_set():
            _told.set()
            if parent_process() is None:
                LOGGER.warning(
                    "hinge is compiling for this machine: the first fit of each kind waits for it, once (hinge.warm() "
                    "does all of it beforehand; logging.getLogger('hinge').setLevel('ERROR') hides this line)."
                )
    return future.result()


class _Cache(FunctionCache):
    """Numba's cache of a function; if it cannot be written, each process compiles for itself."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _CacheFile

    def load_overload(self, sig: object, target_context: object) -> Any:
        code = None
        # It may refer to a module or class that has another name now: compiled anew.
        with suppress(AttributeError, EOFError, ImportError, TypeError, ValueError, pickle.UnpicklingError):
            code = super().load_overload(sig, target_context)
        if code is None and stored_only.get():
            raise NotStored
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # the disk is full, or has become read-only
            super().save_overload(sig, data)


class _CacheFile(IndexDataCacheFile):
    """Numba's cache files, safe against processes that are killed or that write concurrently.

    Numba numbers the code files, and enters a file in the index before it is written: a process killed in between, or
    two processes that chose the same number, leave an index that refers to wrong code. Here each file has a unique name
    and is written first; files that are not in the index are deleted with the next write. An index that cannot be read,
    as of an earlier version that had other classes, is empty; so is one of another release, whose functions may contain
    functions of other files that have changed since: Numba checks a function's own file alone.
    """

    @property
    def _source_stamp(self) -> tuple[Any, str]:
        return self.__dict__["_source_stamp"], __version__

    def _load_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = super()._load_index()
        except (AttributeError, EOFError, ImportError, IndexError, TypeError, ValueError, pickle.UnpicklingError):
            return {}
        return found

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name_pattern.replace("{number:d}", secrets.token_hex(8))
        self._save_data(name, data)
        overloads = {**self._load_index(), key: name}
        self._save_index(overloads)
        for path in Path(self._cache_path).glob(self._data_name_pattern.replace("{number:d}", "*")):
            if path.name not in overloads.values():
                path.unlink(missing_ok=True)
