"""How every compiled function of hinge is compiled, and how its code is kept on disk."""

import gc
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """`numba.njit` with the settings used throughout, as a decorator.

    Code is cached on disk, so that only the first process ever compiles; division follows NumPy (no
    exceptions inside a loop); the interpreter lock is released. Where no folder can be written, neither
    beside the source nor in the user's cache, or the disk is full, every process compiles for itself.
    """
    if function is None:
        return lambda f: compiled(f, **options)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    settings: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}
    dispatcher: Any = njit(function, **settings)
    dispatcher.compile = _aside(dispatcher.compile)
    dispatcher.get_call_template = _of_plain_numbers(dispatcher.get_call_template)
    with suppress(RuntimeError):  # Numba found no place for its cache
        dispatcher._cache = _Cache(function)
    return dispatcher


def _of_plain_numbers(find: Callable) -> Callable:
    """How compiled code finds the function for its arguments' types, without what is known of their values.

    Else there would be a function for each whole number that is written out where it is called.
    """
    return lambda args, named: find([*map(_plain, args)], {name: _plain(kind) for name, kind in named.items()})


def _plain(kind: types.Type) -> types.Type:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind


_field = np.void.__getitem__


class Scalars(np.record):  # type: ignore[misc]
    """Numbers by name, see `scalars`."""

    if TYPE_CHECKING:  # for type checkers: fields have the types they were made with

        def __setattr__(self, name: str, value: Any, /) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        try:  # fields first: NumPy asks for all else before, which takes ten times as long
            return _field(self, name)
        except (ValueError, IndexError):
            return super().__getattribute__(name)

    def __reduce__(self) -> Any:
        # What NumPy unpickles ignores what is written to its fields, so we rebuild it from its bytes.
        return _unpickled, (self.dtype, self.tobytes())


def _unpickled(dtype: np.dtype, data: bytes) -> Scalars:
    return cast(Scalars, np.frombuffer(bytearray(data), dtype)[0])


def scalars(**values: float) -> Scalars:
    """Numbers by name that compiled code changes in place: ``s = scalars(u=0.0, t=0)``, then ``s.u += 1.0``.

    A float becomes a float64, a whole number an int64, and True or False a bool. Compiled code reads and
    writes a field as fast as an array's entry. It compiles sooner, and is called sooner, than with a named
    tuple that it takes and returns; but a call takes some microseconds, too many where one does little.
    """
    return cast(Scalars, scalars_array(**values)[()])


def copied(numbers: Scalars) -> Scalars:
    """The same numbers once more: what is written to one is not in the other."""
    return _unpickled(numbers.dtype, numbers.tobytes())


def scalars_array(**values: float) -> np.ndarray:
    """The same in an array without dimensions, for functions that are called often: ``s[()]`` are the scalars.

    Compiled code takes it over as fast as any array.
    """
    return np.array(tuple(values.values()), _fields(tuple((k, type(v)) for k, v in values.items())))


@cache
def _fields(kinds: tuple[tuple[str, type], ...]) -> np.dtype:
    taken = [name for name, _ in kinds if hasattr(Scalars, name)]
    if taken:  # they would answer with the attribute of that name, not with the field
        raise ValueError(f"A NumPy record has attributes of its own called {', '.join(taken)}.")
    return np.dtype((Scalars, [(name, {float: "f8", int: "i8", bool: "?"}[kind]) for name, kind in kinds]))


def _aside(work: Callable) -> Callable:
    """The same in a thread that Ctrl-C cannot reach: Numba is not itself after an error in its midst.

    Who pressed it need not wait: the compilation goes on beside what follows, and what it made is used then.
    """

    @wraps(work)
    def run(*args: Any, **options: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return work(*args, **options)
        future: Future[Any] = Future()

        def compile() -> None:
            try:
                with _garbage_waits():
                    made = work(*args, **options)
                future.set_result(made)
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=compile, name="hinge compiler", daemon=True).start()
        return _waited_for(future)

    return run


@contextmanager
def _garbage_waits() -> Iterator[None]:
    """No search for garbage meanwhile: a compiler makes many objects that stay, and the searches take a tenth of it."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


PATIENCE = 1.0
"""Seconds of compiling after which somebody who waits is told."""


class _Waiting:
    """Who is told that a compilation takes a while, and for how long it has taken."""

    tell: Callable[[], None] | None = None
    seconds = 0.0


def when_waiting(tell: Callable[[], None] | None) -> None:
    """Call this once if the functions that are compiled from now on take more than a moment; None for nobody."""
    _Waiting.tell, _Waiting.seconds = tell, 0.0


def _waited_for(future: "Future[Any]") -> Any:
    if _Waiting.tell is None:
        return future.result()
    began = time.perf_counter()
    try:
        return future.result(max(0.0, PATIENCE - _Waiting.seconds))
    except TimeoutError:
        if not future.done():
            tell, _Waiting.tell = _Waiting.tell, None
            tell()
        return future.result()
    finally:
        _Waiting.seconds += time.perf_counter() - began


class _Cache(FunctionCache):
    """Numba's cache of a function; where it cannot be written, functions are compiled anew in each process."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _CacheFile

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # the disk is full, or was made read-only since
            super().save_overload(sig, data)


class _CacheFile(IndexDataCacheFile):
    """Numba's index and files of code, safe against processes that are killed or that write at once.

    Numba numbers the files, and names one in the index before it writes it: a process killed in between, or
    two that chose the same number, leave an index that names other code. Here every file has a name of its
    own and is written first; files that no index names go with the next write.
    """

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name_pattern.replace("{number:d}", secrets.token_hex(8))
        self._save_data(name, data)
        overloads = {**self._load_index(), key: name}
        self._save_index(overloads)
        for path in Path(self._cache_path).glob(self._data_name_pattern.replace("{number:d}", "*")):
            if path.name not in overloads.values():
                path.unlink(missing_ok=True)
