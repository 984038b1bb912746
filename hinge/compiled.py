"""The decorator by which all functions are compiled, the clock that stands still meanwhile, and named scalars.

Numba is imported when the first of these functions is called, or compiled: many small fits need none.

**Tiers.** Compiling what `SVC` needs takes a dozen seconds; a fit of a hundred rows, a fraction of one in the
interpreter. So where no compiled code is stored, calls of tiered functions are interpreted until those of one signature
have taken `A_WHILE`, and only then compiled; and until a process has spent `A_MOMENT` on them it does not even import
Numba to look for code. A call that exceeds it is undone and begins anew, compiled.

Both tiers give the same bits, or the answer would depend on what has been compiled before: tiered functions, and those
that they call, keep the order of sums (no `fastmath`), and are not interpreted on arrays whose arithmetic the
interpreter has rules of its own for, as for single precision and short integers.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, update_wrapper, wraps
from multiprocessing import parent_process
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

A_WHILE = 2.0
"""CPU seconds, which other processes do not use up, for which calls of one signature are interpreted: less than half of
what these functions need to be compiled, which `python benchmarks/footprint.py first` prints in its last column."""
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
        began, outer = time.thread_time(), _deadline.until
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
            spent[key] = spent.get(key, 0.0) + time.thread_time() - began


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
        if time.thread_time() > _deadline.until:
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


T = TypeVar("T")

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether functions are compiled at all."""


def compiled(function: Callable | None = None, *, tiered: bool | Callable = False, **options: Any) -> Any:
    """`numba.njit` with the settings used throughout, as a decorator.

    Code is cached on disk, so that only the first process compiles; division follows NumPy (no exceptions inside a
    loop); the interpreter lock is released. If no folder can be written, neither beside the source nor in the user's
    cache, or the disk is full, every process compiles for itself. A `tiered` function is interpreted at first, as
    described above; or one with the same results, if that is given, is called at first.
    """
    if function is None:
        return lambda f: compiled(f, tiered=tiered, **options)
    return Compiled(function, tiered, options) if JIT else function


class Compiled:
    """A function that Numba compiles, once it is called; compiled code can call it too.

    Parameters
    ----------
    function : callable
    tiered : bool or callable
        Whether it is interpreted at first, or what is called instead.
    options : dict
        For `numba.njit`.

    Attributes
    ----------
    py_func : callable
        The function itself.
    """

    _making = threading.Lock()

    def __init__(self, function: Callable, tiered: bool | Callable, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options
        twin = tiered if callable(tiered) else None
        self._interpreter = Interpreter(function, _source, twin) if tiered else None
        self._call: Callable = self._first
        self._dispatcher: Any = None

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str | tuple:
        if "<locals>" not in self.__qualname__:
            return self.__qualname__
        return Compiled, (self.py_func, self._interpreter is not None, self.options)

    def _first(self, *args: Any) -> Any:
        """A call before there is a dispatcher: interpreted without Numba, if little time has gone into such calls."""
        interpreter = self._interpreter
        if interpreter is not None and not compiling_all.get() and not _ready.cache_info().currsize:
            with clock_stopped(), suppress(Exception):
                return interpreter.run_at_first(args)
        return self.dispatcher(*args)

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function."""
        if self._dispatcher is None:
            module = _ready()
            with Compiled._making:
                if self._dispatcher is None:
                    made = module.dispatcher_of(self.py_func, self.options)
                    made.compile = _aside(made.compile) if self._interpreter is None else self._tiers(made, module)
                    self._dispatcher = self._call = made
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """How Numba sees the function where compiled code refers to it."""
        return self.dispatcher._numba_type_

    def _tiers(self, dispatcher: Any, module: ModuleType) -> Callable:
        """What Numba calls for code of new types: it gets the code, or a function that interprets the call."""
        interpreter, work = cast(Interpreter, self._interpreter), dispatcher.compile
        compile, load = _aside(work), _aside(module.only_stored(work))
        missing = set[tuple]()  # types for which no code was stored, which is not asked again

        def code(types: tuple) -> object:
            inner = threading.current_thread().name == COMPILER
            if inner or compiling_all.get() or interpreter.seconds_left(types) <= 0.0:
                return compile(types)
            if types not in missing:
                with suppress(module.NotStored):
                    return load(types)
                missing.add(types)

            def call(*args: object) -> object:
                # What is refused, or takes too long, is compiled.
                with clock_stopped(), suppress(Exception):
                    return interpreter.run(types, args)
                compile(types)
                return dispatcher(*args)

            return call

        return code


compiling_all: ContextVar[bool] = ContextVar("compiling all", default=False)
"""Whether nothing is interpreted in this context: `hinge.warm` compiles for later."""

_extensions: list[Callable[[], None]] = []
_extending = threading.RLock()


def extends_compiler(register: Callable[[], None]) -> Callable[[], None]:
    """A decorator of functions that register something with Numba: called once, before anything is compiled."""
    _extensions.append(register)
    if _ready.cache_info().currsize:
        _extend()
    return register


def _extend() -> None:
    """Register what has not been registered yet: once, whoever else begins to compile, or was interrupted."""
    with _extending:
        while _extensions:
            _extensions.pop(0)()


@cache
def _ready() -> ModuleType:
    """`hinge.machine_code`, with Numba ready to compile."""

    def begin() -> ModuleType:
        import hinge.machine_code

        _extend()
        return hinge.machine_code

    return cast(ModuleType, _aside(begin)())


def _source(value: object) -> Callable | None:
    """The function that a compiled one was made of."""
    return value.py_func if isinstance(value, Compiled) else None


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
