"""Opening plain and compressed files, and arrays from untrusted bytes: no code is run, and memory is bounded."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hinge.datasets.base import DataFormatError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_UNPACKED = 1000
"""Largest ratio of unpacked to packed size; real files stay below it, as zlib cannot do much better."""
READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def plain_array(content: bytes) -> NDArray[Any]:
    """The array of an .npy file given as bytes.

    Raises
    ------
    ValueError
        If it is none, holds objects, or declares another size than it has.
    """
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    if version not in READERS:
        raise ValueError(f"version {version} of the npy format is not that of plain numbers or text.")
    shape, by_columns, dtype = READERS[version](stream)
    if dtype.hasobject or dtype.names or dtype.itemsize == 0:
        raise ValueError(f"{dtype} is neither numbers nor text.")
    declared, found = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if declared != found or min(shape, default=1) < 0:
        raise ValueError(f"an array of shape {shape} has {declared} bytes, but {found} are there.")
    array = np.frombuffer(content, dtype, offset=stream.tell())
    if dtype.kind == "U" and array.size and array.view(dtype.byteorder.replace("|", "=") + "u4").max() > sys.maxunicode:
        raise ValueError("it holds text of letters that there are not.")
    return array.reshape(shape, order="F" if by_columns else "C").copy()


def members_of(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The contents of a zip archive, unless they would be vast when unpacked, compared with its size in bytes."""
    members = archive.infolist()
    packed, unpacked = (sum(getattr(m, name) for m in members) for name in ("compress_size", "file_size"))
    if packed > size or unpacked > MOST_UNPACKED * size:
        raise ValueError(f"its members would unpack to {unpacked} bytes from {size}.")
    return {member.filename: archive.read(member) for member in members}


SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
UNPACK: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda raw: gzip.GzipFile(fileobj=raw),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
LEAST = 1 << 26
"""Any file may unpack to this many bytes, whatever its size."""
BUFFER = 1 << 17


def inner_suffix(path: Path) -> str:
    """The extension that tells the format, without the one that tells the compression."""
    inner = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    return inner.suffix.lower()


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The decompressed bytes of `path`; damage found while reading becomes a `DataFormatError`."""
    if path.is_dir():
        raise DataFormatError(f"{path} is a folder, but a data file is needed: name one of the files in it.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the name and the current folder.")
    kind = SUFFIXES.get(path.suffix.lower())
    with path.open("rb") as raw:
        if kind is None:
            yield cast(BinaryIO, raw)
            return
        try:
            with UNPACK[kind](raw) as stream:
                most = max(LEAST, MOST_UNPACKED * path.stat().st_size)
                yield cast(BinaryIO, io.BufferedReader(_Bounded(stream, most, path), BUFFER))
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise _damaged(path, kind) from error
        except OSError as error:
            if error.errno is not None:  # the disk's complaint, not the decompressor's
                raise
            raise _damaged(path, kind) from error


class _Bounded(io.RawIOBase):
    """An unpacked stream that raises once it is longer than `most` bytes."""

    def __init__(self, stream: io.BufferedIOBase, most: int, path: Path) -> None:
        self._stream, self._left, self._path = stream, most, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._stream.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise DataFormatError(
                f"{self._path} unpacks to more than {MOST_UNPACKED} times its size: unpack it by hand if that is meant."
            )
        return count


def _damaged(path: Path, kind: str) -> DataFormatError:
    return DataFormatError(
        f"{path} is not a whole {kind} file: it is cut short or damaged, so download or compress it again."
    )
