"""Kernel values on disk, so that values of an expensive kernel survive a restart.

A file belongs to one set of items and one kernel, by a fingerprint in its name and its header. It only
grows: a record is the number of a row, and columns with their values; both parts carry a checksum. Nothing
in it is ever executed.
"""

import contextlib
import dis
import errno
import functools
import hashlib
import mmap
import os
import pickle
import struct
import types
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Function, Kernel
from hinge.types import Stored


def fingerprint_of(items: Stored | Sequence[Any], kernel: Kernel | Callable | str | None) -> str:
    """64 hexadecimal digits that stand for the items, all their bytes, and the kernel.

    Items are distinguished by the bytes of arrays, texts and numbers, and by what pickle writes of anything
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


try:
    import fcntl
except ImportError:  # not a Unix system: no lock
    fcntl = None  # type: ignore[assignment]

VERSION = 1
_HEADER = struct.Struct("<16sIIQ32s")
_RECORD = struct.Struct("<qqII")
_MAGIC = b"hinge row store\n"
_COLUMN, _VALUE = np.dtype("<i8"), np.dtype("<f8")


def open_store(folder: str | Path, items: Stored | Sequence[Any], kernel: Kernel | Callable | str | None) -> "RowStore":
    """The store of these items and this kernel in a folder, which is made where it is missing.

    Parameters
    ----------
    folder : path
    items : array, sparse matrix or sequence
        Distinguished by all their bytes.
    kernel : Kernel, callable or str
        Distinguished by name, settings and code. What a function takes from elsewhere is seen only where that
        is a number, a text, an array or another function: use another folder when anything else changes.
    """
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    return RowStore(folder, n, fingerprint_of(items, kernel))


class RowStore:
    """Kernel values of one set of items, read and added to.

    One process at a time writes; others read what was there when they opened the file. Where a file cannot
    be written, a warning says so once, and nothing more is kept.

    Parameters
    ----------
    folder : path
    n : int
        Number of items.
    fingerprint : str
        Of the items and the kernel, 64 hexadecimal digits.
    what : str
        What is stored, for warnings.

    Attributes
    ----------
    path : Path
        The file, which is made when there is something to keep.
    read_only : bool
        Whether nothing is kept.
    taken : bool
        Whether that is because another store writes the file.
    """

    def __init__(
        self, folder: str | Path, n: int, fingerprint: str, *, read_only: bool = False, what: str = "kernel values"
    ) -> None:
        self.folder, self.n, self.fingerprint, self.read_only = Path(folder), n, fingerprint, read_only
        self.what, self.taken = what, False
        self._header = _HEADER.pack(_MAGIC, VERSION, 0, n, bytes.fromhex(fingerprint))
        self._fd = -1
        self._pid = os.getpid()
        self._end = 0
        self._map: mmap.mmap | None = None
        self._records: dict[int, list[tuple[int, int]]] = {}  # of each row: where, and how many values
        self.path, sound = self._choose()
        for record in sound:
            self.keep(*record)

    # --- what Gram uses -------------------------------------------------------------------

    def look_up(self, row: int, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which values K(row, columns) are known, in either order of the two, and all that are."""
        columns = np.asarray(columns, np.int64)
        found = np.full(self.n, np.nan)
        for at, count in self._records.get(row, ()):
            own, values = self._read(at, count)
            found[own] = values
        values = found[columns]
        for k in np.flatnonzero(np.isnan(values)).tolist():
            for at, count in self._records.get(int(columns[k]), ()):
                theirs, their_values = self._read(at, count)
                place = int(np.searchsorted(theirs, row))
                if place < count and theirs[place] == row:
                    values[k] = their_values[place]
        return ~np.isnan(values), values

    def keep(self, row: int, columns: np.ndarray, values: np.ndarray) -> None:
        """Add values K(row, columns); they are in the file when this returns."""
        if self.read_only or len(columns) == 0 or self._pid != os.getpid():  # a fork has the same lock
            return
        order = np.argsort(columns, kind="stable")
        body = np.asarray(columns)[order].astype(_COLUMN).tobytes()
        body += np.asarray(values)[order].astype(_VALUE).tobytes()
        numbers = struct.pack("<qq", row, len(order))
        record = numbers + struct.pack("<II", zlib.crc32(numbers), zlib.crc32(body)) + body
        try:
            if self._fd < 0 and not self._create():
                return
            _write(self._fd, record)
        except OSError as error:
            with contextlib.suppress(OSError):  # if it stays, the next opening drops it
                os.ftruncate(self._fd, self._end)
            self._give_up(error)
            return
        self._records.setdefault(row, []).append((self._end + _RECORD.size, len(order)))
        self._end += len(record)

    def records(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """All rows, columns and values, in no particular order."""
        for row, places in self._records.items():
            for at, count in places:
                yield row, *self._read(at, count)

    def close(self) -> None:
        """Let another process write; what is known stays known."""
        self.read_only = True
        if self._fd >= 0:
            if self._records:  # some may have come since the file was mapped
                self._map = mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ)
            self._closer()
            self._fd = -1

    # --- the file -------------------------------------------------------------------------

    def _choose(self) -> tuple[Path, list[tuple[int, np.ndarray, np.ndarray]]]:
        """The first file of this fingerprint that is sound, opened.

        Else a name that is free, and the records that come before the damage in others.
        """
        damaged: list[tuple[Path, str]] = []
        sound: list[tuple[int, np.ndarray, np.ndarray]] = []
        for k in range(1, 1000):
            path = self.folder / f"{self.fingerprint}{'' if k == 1 else f'-{k}'}.rows"
            try:
                if not path.exists():
                    break
                fault = self._open(path)
            except OSError as error:
                self.read_only = True
                _warn(f"The stored {self.what} in {path} cannot be read ({error}).")
                return path, []
            if fault is None:
                return path, []
            damaged.append((path, fault))
            sound += list(self.records())
            self._records, self._map, self._end = {}, None, 0
        for old, fault in damaged:
            _warn(
                f"The stored {self.what} in {old} are damaged ({fault}); those before that and new ones go "
                f"to {path.name}."
            )
        return path, sound

    def _open(self, path: Path) -> str | None:
        """Open a file and read where its records are; a sentence about what is wrong with it, if anything."""
        flags = getattr(os, "O_BINARY", 0)
        fd = -1
        if not self.read_only:
            try:
                fd = os.open(path, os.O_RDWR | os.O_APPEND | flags)
            except OSError as error:
                self._give_up(error)
        writes = fd >= 0
        if not writes:
            fd = os.open(path, os.O_RDONLY | flags)
        elif not _locked(fd):
            writes, self.read_only, self.taken = False, True, True
        try:
            size = os.fstat(fd).st_size
            if size:
                self._map = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
            fault = self._scan(size)
            if fault is None and writes:
                self._map = None
                if self._end < size:  # a record that was begun when its process ended
                    os.ftruncate(fd, self._end)
                if self._end < len(self._header):
                    os.ftruncate(fd, 0)
                    _write(fd, self._header)
                    self._end = len(self._header)
                self._hold(fd)
                fd = -1
            return fault
        finally:
            if fd >= 0:
                os.close(fd)

    def _create(self) -> bool:
        """Make the file; False where another process has just done so, and writes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        fd = os.open(self.path, flags, 0o644)
        if not _locked(fd) or os.fstat(fd).st_size:
            os.close(fd)
            self.read_only = self.taken = True
            return False
        self._hold(fd)
        _write(fd, self._header)
        self._end = len(self._header)
        return True

    def _hold(self, fd: int) -> None:
        self._fd = fd
        self._closer = weakref.finalize(self, _release, fd, self._pid)

    def _scan(self, size: int) -> str | None:
        """Find all records of the mapped file; `_end` is behind the last that is complete."""
        self._records, self._end = {}, 0
        head = self._map[: len(self._header)] if self._map is not None else b""
        if head != self._header[: len(head)]:
            return "its beginning belongs to other data, or to another version"
        if len(head) < len(self._header):
            return None
        assert self._map is not None
        at = len(self._header)
        while at + _RECORD.size <= size:
            row, count, head_sum, body_sum = _RECORD.unpack_from(self._map, at)
            begin, end = at + _RECORD.size, at + _RECORD.size + 16 * max(0, count)
            if zlib.crc32(self._map[at : at + 16]) != head_sum or not (0 <= row < self.n and count > 0):
                if not np.frombuffer(self._map, np.uint8, size - at, at).any():
                    break  # zeros: space that was allocated, but never written
                return f"record at byte {at}"
            if end > size:
                break
            if zlib.crc32(memoryview(self._map)[begin:end]) != body_sum:
                if end == size:
                    break
                return f"values at byte {begin}"
            columns, values = self._read(begin, count)
            ascend = (columns[1:] > columns[:-1]).all() and columns[0] >= 0 and columns[-1] < self.n
            if not (ascend and np.isfinite(values).all()):
                return f"values at byte {begin}"
            self._records.setdefault(row, []).append((begin, count))
            at = end
        self._end = at
        return None

    def _read(self, at: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        if self._map is None or at + 16 * count > len(self._map):
            self._map = mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ)
        columns = np.frombuffer(self._map, _COLUMN, count, at)
        return columns, np.frombuffer(self._map, _VALUE, count, at + 8 * count)

    def _give_up(self, error: OSError) -> None:
        if not self.read_only:
            self.read_only = True
            what = self.what[0].upper() + self.what[1:]
            _warn(f"{what} cannot be stored in {self.folder} ({error}): the fit goes on without.")

    def __getstate__(self) -> dict[str, Any]:
        """A copy can read the file, but not write to it."""
        return {"folder": self.folder, "n": self.n, "fingerprint": self.fingerprint, "what": self.what}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state, read_only=True)  # type: ignore[misc]


def _write(fd: int, content: bytes) -> None:
    """Write all bytes, or raise: a disk that is nearly full takes only a part of them."""
    if os.write(fd, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _locked(fd: int) -> bool:
    """Take the advisory lock; False where another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _release(fd: int, pid: int) -> None:
    """Close a file; a map of it has a descriptor of its own, which would keep the lock."""
    if fcntl is not None and pid == os.getpid():  # the lock of a fork is its parent's
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=3)
