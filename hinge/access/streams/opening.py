"""Opening a source of rows: the stream for each type of source, and for each kind of file."""

import glob
import math
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hinge.access.matrix import float_for
from hinge.access.streams.base import RowStream, WatchedFiles, hash_of, sampled_hash
from hinge.access.streams.parquet import ParquetStream, dataset_stream, lazy_frame_stream
from hinge.access.streams.text import DelimitedStream, SvmlightStream
from hinge.datasets.base import READERS, inner_suffix
from hinge.datasets.frames import PARQUET
from hinge.datasets.readers import DELIMITED, SVMLIGHT

if TYPE_CHECKING:
    import zarr


class NpyStream(RowStream):
    """A .npy file of a row-major matrix, read by plain reads: the pages of a map would count as memory.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as stream:
            try:
                shape, columnwise, self._kind = READERS[np.lib.format.read_magic(stream)](stream)
            except Exception as error:  # the header's parser raises too many kinds to list
                raise ValueError(f"{path} is not a NumPy array of numbers, or damaged: {error}") from error
            self._start = stream.tell()
        if len(shape) != 2 or 0 in shape or self._kind.kind not in "fiub" or columnwise:
            raise ValueError(
                f"{path} holds an array of the shape {shape} and of {self._kind}{' by columns' * columnwise}: a matrix "
                "of numbers in the order of its rows is needed (numpy.ascontiguousarray, then numpy.save)."
            )
        needed = self._start + shape[0] * shape[1] * self._kind.itemsize
        if path.stat().st_size < needed:
            raise ValueError(f"{path} is cut short: {path.stat().st_size} bytes, of the {needed} that it declares.")
        self.shape, self.dtype = (int(shape[0]), int(shape[1])), float_for(self._kind)
        self._files = WatchedFiles([path])

    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> np.ndarray:
        self._files.check(self.path)
        n, d = hi - lo, self.shape[1]
        out = np.empty((n, d), self.dtype) if out is None else out
        rows = out if self._kind == self.dtype and out.flags.c_contiguous else np.empty((n, d), self._kind)
        with self.path.open("rb", buffering=0) as stream:
            stream.seek(self._start + lo * d * self._kind.itemsize)
            left = rows.reshape(-1).view(np.uint8).data
            while left and (count := stream.readinto(left)):
                left = left[count:]
        self._files.check(self.path)  # it may have changed during the read
        if left:
            raise OSError(f"{self.path} ends before row {hi}: it was cut short.")
        if rows is not out:
            out[:] = rows
        return out

    def fingerprint(self) -> str:
        return sampled_hash(self.path)


def map_array(path: Path) -> np.ndarray:
    """The matrix of an .npy file as a memory map; NumPy checks that the file has the declared size."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: check the name and the current folder.")
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header's parser and the map raise too many kinds to list
        raise ValueError(f"{path} is not a NumPy array of numbers, or damaged: {error}") from error
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"{path} is not a matrix of numbers: rows and columns are needed.")
    return X


class ArrayStream(RowStream):
    """Anything that can be sliced by rows: a memory map, or a Zarr array, whose stretches are whole chunks.

    Parameters
    ----------
    array : ndarray or zarr.Array
    """

    def __init__(self, array: "np.ndarray | zarr.Array") -> None:
        self.array: Any = array if isinstance(array, np.ndarray) else array_of(array)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ValueError(f"A matrix of numbers is needed, but this is {array.ndim}-dimensional, of {array.dtype}.")
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.dtype = float_for(array.dtype)
        chunks = getattr(array, "chunks", None)
        self._tall = int(chunks[0]) if chunks else 1
        self._map = _map_of(array)
        name = array.filename if isinstance(array, np.memmap) else None
        # A map may outlive its file's name.
        self._files = WatchedFiles([Path(name)] if name and Path(name).exists() else [])

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        n = self.shape[0]
        if self._tall > most:  # a chunk is then read again for each of its parts
            return super().stretches(rows, most)
        step = max(1, min(rows, most) // self._tall) * self._tall
        return [(lo, min(lo + step, n)) for lo in range(0, n, step)]

    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> np.ndarray:
        for path in self._files.paths:
            self._files.check(path)
        try:
            found = np.asarray(self.array[lo:hi])
        except (OSError, MemoryError):
            raise
        except Exception as error:  # codecs raise too many kinds to list
            raise ValueError(f"Rows {lo} to {hi} of the array are damaged: {error}") from error
        out = np.empty(found.shape, self.dtype) if out is None else out
        out[:] = found
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)  # pages that were read count as memory of this process
        return out

    def fingerprint(self) -> str:
        n = self.shape[0]
        rows = [self.read(i, i + 1) for i in sorted({(n - 1) * k // 64 for k in range(65)})]  # evenly spaced
        return hash_of(f"{self.shape} {self.array.dtype}", np.concatenate(rows))


def _map_of(array: object) -> mmap.mmap | None:
    """The map of an array, if its pages can be released: not if changes to it exist in memory only."""
    if not (isinstance(array, np.memmap) and array.mode in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED")):
        return None
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    return base


class ExpectedFeatures(NamedTuple):
    """The features that a model was fitted on, for rows to be predicted: their number, and their names if known."""

    width: int
    names: Sequence[str] | None


def as_stream(
    source: Any, label: str | None = None, keep: int = 0, features: ExpectedFeatures | None = None
) -> RowStream | None:
    """The stream of a source; None if it is not one, such as an array in memory.

    Parameters
    ----------
    source : RowStream, path, list of paths, memory map, Zarr array, Arrow dataset or polars LazyFrame
        A path may be a pattern with ``*``, or a folder of Parquet files or of a Zarr array.
    label : str, optional
        Name of the column of labels.
    keep : int
        Bytes of rows that may stay in memory while a text file is parsed at opening.
    features : Features, optional
        The features wanted: columns of Parquet are selected by name, and svmlight text gets this width.
    """
    only = None if features is None else features.names
    if not is_source(source):
        return None
    if isinstance(source, RowStream):
        return source
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fspath(source), label, keep, features)
    if isinstance(source, list | tuple):
        return ParquetStream([Path(path) for path in source], label, only)
    if hasattr(source, "get_fragments"):
        return dataset_stream(source, label, only)
    if hasattr(source, "sink_parquet"):
        return lazy_frame_stream(source, label, only)
    _no_label(label, "an array")
    return ArrayStream(source)


def is_source(source: object) -> bool:
    """Whether `as_stream` opens it; fast for arrays in memory, which are not sources."""
    if isinstance(source, np.ndarray):
        return isinstance(source, np.memmap)
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(path, str | os.PathLike) for path in source)
    if isinstance(source, RowStream | str | os.PathLike):
        return True
    marks = {"zarr": "chunks", "pyarrow": "get_fragments", "polars": "sink_parquet"}
    mark = marks.get(type(source).__module__.partition(".")[0])
    return mark is not None and hasattr(source, mark)


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array."""
    return path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray"))


def _of_path(text: str, label: str | None, keep: int, features: ExpectedFeatures | None) -> RowStream:
    width, only = (None, None) if features is None else features
    if glob.has_magic(text) and not os.path.exists(text):
        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise FileNotFoundError(f"There is no file {text}: check the pattern.")
        return ParquetStream([Path(path) for path in found], label, only)
    path = Path(text)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}: check the name.")
    if is_zarr(path):
        _no_label(label, "a Zarr array")
        return ArrayStream(array_of(path))
    if path.is_dir() or path.suffix.lower() in PARQUET:
        return ParquetStream(path, label, only)
    if path.suffix.lower() == ".npy":
        _no_label(label, "an array")
        return NpyStream(path)
    suffix = inner_suffix(path)
    if suffix in DELIMITED:
        return DelimitedStream(path, label, keep)
    if suffix in SVMLIGHT:
        if label is not None:
            raise ValueError(f"There is no column {label!r}: in svmlight files such as {path} labels stand first.")
        return SvmlightStream(path, width, keep=keep)
    raise ValueError(
        f"{path} is not a kind of file that is read by rows: .parquet, .npy, .svm, .csv, .tsv, or a folder of Parquet "
        "files or of Zarr."
    )


def _no_label(label: str | None, what: str) -> None:
    if label is not None:
        raise ValueError(f"There is no column {label!r}: {what} has no names. Give y as an array.")


ANY, MOST_UNPACKED = 1 << 28, 10_000
"""Bytes that any zarr array may declare, and the largest multiple of the stored bytes that a larger one may declare."""


def array_of(source: "str | os.PathLike | zarr.Array") -> "zarr.Array":
    """The array, validated: two-dimensional, and of numbers."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("Zarr arrays need zarr: pip install hinge[zarr].") from error
    stored = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.exists():
            raise FileNotFoundError(f"There is no zarr array {path}: check the name.")
        stored = sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size
        try:
            source = zarr.open_array(os.fspath(source), mode="r")
        except Exception as error:  # stores and codecs raise too many kinds to list
            raise ValueError(f"{path} is not a zarr array, or damaged: {error}") from error
    if not isinstance(source, zarr.Array):
        raise TypeError(f"A {type(source).__name__} is neither the path of a zarr array nor such an array.")
    if source.ndim != 2:
        raise ValueError(f"A matrix has two dimensions, but this array has {source.ndim}.")
    if 0 in source.shape:
        raise ValueError(f"This array has the shape {source.shape}: there are no cells to read.")
    if 0 in source.chunks:
        raise ValueError(f"This array is damaged: its chunks have the shape {source.chunks}, without any cells.")
    if source.dtype.kind not in "fiub":
        raise ValueError(f"Cells are numbers, but those of this array are {source.dtype}.")
    declared = max(math.prod(source.shape), math.prod(source.chunks)) * source.dtype.itemsize
    if stored is not None and declared > max(ANY, MOST_UNPACKED * stored):
        raise ValueError(f"{source.shape} cells in chunks of {source.chunks} are declared, in {stored} bytes.")
    chunks = math.prod(-(-n // size) for n, size in zip(source.shape, source.chunks, strict=True))
    # A larger number of chunks must not exceed the stored bytes, since each takes time.
    if stored is not None and chunks > max(10_000, stored):
        raise ValueError(f"{chunks} chunks are declared, in {stored} bytes: most would be empty. Use larger chunks.")
    return source
