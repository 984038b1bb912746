"""What Numba makes of a function, and the cache of compiled code; importing this module imports Numba."""

import pickle
import secrets
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile

from hinge.version import __version__


def dispatcher_of(function: Callable, options: dict[str, Any]) -> Any:
    """A Numba dispatcher with the settings used throughout."""
    settings: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}
    dispatcher: Any = njit(function, **settings)
    dispatcher.get_call_template = _of_plain_numbers(dispatcher.get_call_template)
    with suppress(RuntimeError):  # Numba found no place for its cache
        dispatcher._cache = _Cache(function)
    return dispatcher


class NotStored(Exception):
    """There is no code in the cache."""


_only_stored: ContextVar[bool] = ContextVar("only stored", default=False)


def only_stored(compile: Callable) -> Callable:
    """A dispatcher's `compile` that loads code from the cache, or raises `NotStored`."""

    def load(kinds: tuple) -> object:
        if not isinstance(compile.__self__._cache, _Cache):  # type: ignore[attr-defined]
            raise NotStored
        token = _only_stored.set(True)
        try:
            return compile(kinds)
        finally:
            _only_stored.reset(token)

    return load


def _of_plain_numbers(find: Callable) -> Callable:
    """How compiled code finds the function for its arguments' types, without what is known of their values.

    Else there would be a function for each whole number that is written out where it is called.
    """
    return lambda args, named: find([*map(_plain, args)], {name: _plain(kind) for name, kind in named.items()})


def _plain(kind: types.Type) -> types.Type:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind


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
        if code is None and _only_stored.get():
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
