"""Fingerprints of items and kernels: what must not change for stored kernel values to hold."""

import dis
import functools
import hashlib
import pickle
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Function, Kernel
from hinge.types import Stored


def fingerprint_of(items: Stored | Sequence[Any], kernel: Kernel | Callable | str | None) -> str:
    """64 hexadecimal digits that stand for the items, all their bytes, and the kernel.

    Items are told apart by the bytes of arrays, texts and numbers, and by what pickle writes of anything
    else; a function by its name and code, and by the plain values and functions it refers to. Nothing is
    ever unpickled.
    """
    digest = _Digest()
    if (isinstance(items, np.ndarray) and not items.dtype.hasobject) or sp.issparse(items):
        digest.add(items)
    else:
        digest.text(f"items {len(items)}")
        for i in range(len(items)):
            digest.add(items[i])
    if isinstance(kernel, Function):
        digest.text(f"on {kernel.on}")
        digest.function(kernel.function)
    elif isinstance(kernel, str) or not callable(kernel) or hasattr(kernel, "of_dots"):
        digest.text(f"kernel {kernel!r}")
    else:
        digest.function(kernel)
    return digest.sha.hexdigest()


class _Digest:
    def __init__(self) -> None:
        self.sha = hashlib.sha256()
        self._seen: set[int] = set()

    def text(self, words: str) -> None:
        self.raw(words.encode("utf-8", "surrogatepass"))

    def raw(self, data: bytes | bytearray | memoryview) -> None:
        """Bytes, with their number before them, so that no two sequences run together."""
        self.sha.update(len(data).to_bytes(8, "little"))
        self.sha.update(data)

    def add(self, thing: object) -> None:
        """Any item."""
        if not self.plain(thing):
            if isinstance(thing, list | tuple | set | frozenset):
                self.text(f"{type(thing).__name__} {len(thing)}")
                # Strings hash differently in every process, so the order of a set of them changes.
                for part in sorted(thing, key=repr) if isinstance(thing, set | frozenset) else thing:
                    self.add(part)
                return
            try:
                written = pickle.dumps(thing, protocol=4)
            except Exception as error:
                raise TypeError(
                    f"An item of type {type(thing).__name__!r} cannot be told apart from others, so its "
                    f"kernel values cannot be stored ({error}). Give arrays, texts, numbers, or what pickle "
                    "can write."
                ) from error
            self.text(f"pickle {type(thing).__qualname__}")
            self.raw(written)

    def plain(self, thing: object) -> bool:
        """An item whose bytes are evident; False if it is none."""
        if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
            self.text(f"array {thing.dtype.str} {thing.shape}")
            self.raw(np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data)
        elif sp.issparse(thing):
            rows = sp.csr_array(thing)
            self.text(f"sparse {rows.shape}")
            for part in (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)):
                self.plain(part)
        elif isinstance(thing, str):
            self.text("text")
            self.text(thing)
        elif isinstance(thing, bytes | bytearray):
            self.text("bytes")
            self.raw(thing)
        elif thing is None or isinstance(thing, bool | int | float | complex | np.generic):
            self.text(f"{type(thing).__name__} {thing!r}")
        else:
            return False
        return True

    def function(self, f: Callable) -> None:
        """Its name, its code, and what it refers to."""
        if id(f) in self._seen:
            return
        self._seen.add(id(f))
        if isinstance(f, functools.partial):
            self.function(f.func)
            for part in (*f.args, *sorted(f.keywords), *(f.keywords[name] for name in sorted(f.keywords))):
                self._referred(part, "")
            return
        owner = None
        if isinstance(f, types.MethodType):
            owner, f = f.__self__, f.__func__
        elif not isinstance(f, types.FunctionType):
            wrapped = getattr(f, "__wrapped__", None)
            if wrapped is None and not hasattr(f, "__qualname__"):
                owner, wrapped = f, type(f).__call__
            f = wrapped or f
        self.text(f"function {getattr(f, '__module__', '')} {f.__qualname__}")
        set_here: set[str] = set()
        if isinstance(f, types.FunctionType):
            code, package = f.__code__, str(f.__module__).partition(".")[0]
            names: set[str] = set()
            for part in _codes(code):
                self.raw(part.co_code)
                self.text(repr([c for c in part.co_consts if not isinstance(c, types.CodeType)]))
                self.text(" ".join(part.co_names))
                names.update(part.co_names)
                # What it sets itself, such as a count of its calls, is no parameter.
                set_here |= {str(step.argval) for step in dis.get_instructions(part) if step.opname in _STORES}
            cells = zip(code.co_freevars, f.__closure__ or (), strict=True)
            parts = {name: cell.cell_contents for name, cell in cells if _is_full(cell)}
            parts |= {name: f.__globals__[name] for name in names if name in f.__globals__}
            for value in (*(f.__defaults__ or ()), *(parts[name] for name in sorted(set(parts) - set_here))):
                self._referred(value, package)
        for name, value in sorted(getattr(owner, "__dict__", {}).items()):
            if name not in set_here:
                self.text(name)
                self._referred(value, "")

    def _referred(self, thing: object, package: str) -> None:
        """Plain values and functions of the package; of anything else the type, for it may change in use."""
        if isinstance(thing, types.FunctionType) and thing.__module__.partition(".")[0] == package:
            self.function(thing)
        elif not self.plain(thing):
            self.text(f"{type(thing).__qualname__} {getattr(thing, '__qualname__', '')}")


_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
