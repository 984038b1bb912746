"""What a data set is, its line in the catalog, the two errors of loading one, and opening its files.

Files may be compressed, and are not trusted: no code of theirs is run, and the memory that they take is bounded.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import io
import lzma
import math
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

DataMatrix: TypeAlias = "NDArray[Any] | sp.csr_matrix"
Preparation = Literal["as stored", "unit rows", "unit columns", "pixels"]


class DatasetNotFoundError(FileNotFoundError, LookupError):
    """The named data set is unknown, or known but not on this machine.

    Examples
    --------
    >>> from hinge.datasets import DatasetNotFoundError, load
    >>> try:
    ...     load("nothing of that name")
    ... except DatasetNotFoundError:
    ...     print("not here")
    not here
    """


class DataFormatError(ValueError):
    """A data file does not hold what its format promises.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge.datasets import DataFormatError, read
    >>> file = Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = file.write_text("+1 3:1 2:1")
    >>> try:
    ...     read(file)
    ... except DataFormatError:
    ...     print("refused")
    refused
    """


class Parts(NamedTuple):
    """The arrays of a data set before it has a name: the test part may be missing."""

    X_train: DataMatrix
    y_train: NDArray[Any]
    X_test: DataMatrix | None = None
    y_test: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set split into a training part and, where there is one, a test part.

    Attributes
    ----------
    name : str
        The name it was asked for by, in the catalog's spelling.
    X_train : ndarray or csr_matrix of shape (n_train, n_features)
        Training rows.
    y_train : ndarray of shape (n_train,)
        Training labels: -1 and +1 (int8) for a binary task, otherwise the classes.
    X_test, y_test : same kinds as the training part, or None
        Test rows and labels.
    description : str
        What the rows are.
    source : str
        Where this copy came from.
    license : str
        The terms of the data, or who to ask.

    Examples
    --------
    >>> from hinge.datasets import load
    >>> adult = load("adult")
    >>> adult.name, adult.X_train.shape, adult.license
    ('adult', (32561, 123), 'CC BY 4.0 (Barry Becker and Ronny Kohavi, 1996)')
    """

    name: str
    X_train: DataMatrix
    y_train: NDArray[Any]
    X_test: DataMatrix | None = None
    y_test: NDArray[Any] | None = None
    description: str = ""
    source: str = ""
    license: str = ""

    def __repr__(self) -> str:
        n, d = self.X_train.shape
        n_test = 0 if self.X_test is None else self.X_test.shape[0]
        kind = "sparse" if sp.issparse(self.X_train) else "dense"
        return f"<{type(self).__name__} {self.name!r}: {n:,} + {n_test:,} rows, {d:,} {kind} features>"


@dataclass(frozen=True)
class Entry:
    """One line of the catalog.

    Attributes
    ----------
    name : str
        What to pass to :func:`hinge.datasets.load`.
    rows : str
        Training and test rows.
    features : int
        Number of columns; 0 if only the file knows.
    description : str
        What the rows are.
    paper : str
        Which paper's experiments use it.
    task : str
        What +1 stands for.
    how : str
        How to get it.
    source, license : str
        Where it comes from and on what terms.
    positive : str or int or None
        The class that `load` makes +1 when the stored labels are not -1 and +1 already.
    preparation : str
        What is done to the rows: nothing, scaled to unit norm, columns to [0, 1], or pixels divided by 255.
    train_rows : int
        Where to cut a copy that comes without a test part, after a shuffle by a fixed seed; 0 for no cut.
    aliases : tuple of str
        Other names, also of files in the data folder.
    fetcher : str
        scikit-learn's function for it, if there is one.
    found : str
        "bundled", the file it would be read from, or nothing.
    stand_in : str
        What is like it and always at hand.

    Examples
    --------
    >>> from hinge.datasets import catalog
    >>> entry = next(entry for entry in catalog() if entry.name == "adult")
    >>> entry.features, entry.license
    (123, 'CC BY 4.0 (Barry Becker and Ronny Kohavi, 1996)')
    """

    name: str
    rows: str = ""
    features: int = 0
    description: str = ""
    paper: str = ""
    task: str = ""
    how: str = ""
    source: str = ""
    license: str = ""
    positive: str | int | None = None
    preparation: Preparation = "as stored"
    train_rows: int = 0
    aliases: tuple[str, ...] = ()
    fetcher: str = ""
    found: str = ""
    stand_in: str = ""


def no_column(source: object, name: str, names: Sequence[str]) -> DataFormatError:
    """The error for a column that `source` does not have, with the one that may have been meant."""
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(names[:20])}."
    return DataFormatError(f"{source} has no column {name!r}: {hint}")


def most_features(entries: int) -> int:
    """The largest number of features that a file with this number of entries may declare.

    A model has a number for each feature, and every evaluation is a pass over them: one damaged digit of an index must
    not take all memory, nor minutes.
    """
    return max(1 << 21, 1000 * entries)


def smallest_float(values: NDArray[Any]) -> NDArray[Any]:
    """`values` as float32 where that keeps seven digits of each, else as float64.

    Float32 is refused if a nonzero value lies outside its normal range or a whole number is not kept exactly.
    """
    if values.dtype == np.float32:
        return values
    values = values.astype(np.float64, copy=False)
    limits = np.finfo(np.float32)
    size = np.abs(values)
    if np.any((size > limits.max) | ((size < limits.tiny) & (size > 0))):
        return values
    single = values.astype(np.float32)
    lost = (single != values) & (values == np.rint(values))
    return values if lost.any() else single


def stack_rows(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """Blocks of rows below one another; the list is emptied as they are copied, so that few are in memory twice."""
    rest = blocks[::-1]
    blocks.clear()
    stacked = np.empty((sum(map(len, rest)), *rest[0].shape[1:]), np.result_type(*{block.dtype for block in rest}))
    at = 0
    while rest:
        block = rest.pop()
        stacked[at : at + len(block)] = block
        at += len(block)
    return stacked


def whole_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as int64 when all of them are whole numbers, else as float64."""
    labels = labels.astype(np.float64, copy=False)
    whole = bool(np.all(labels == np.rint(labels))) and bool(np.all(np.abs(labels) < 2.0**53))
    return labels.astype(np.int64) if whole else labels


def number_of(text: str | bytes) -> float | None:
    """The number that a text spells, None if it spells none. Python alone takes ``2019_20`` for one."""
    try:
        return None if "_" in str(text) else float(text)
    except ValueError:
        return None


def unit_rows(X: DataMatrix) -> DataMatrix:
    """Rows divided by their Euclidean norm; rows of zeros stay."""
    if sp.issparse(X):
        S = cast(sp.csr_matrix, X)
        norm = np.sqrt(np.asarray(S.multiply(S).sum(axis=1), dtype=np.float64).ravel())
        scale = (1 / np.where(norm > 0, norm, 1)).astype(S.dtype)
        data = S.data * np.repeat(scale, np.diff(S.indptr))
        return sp.csr_matrix((data, S.indices, S.indptr), shape=S.shape)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1)


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
    # In the order in which it was stored: the sums of BLAS depend on it.
    return array.reshape(shape, order="F" if by_columns else "C").copy(order="K")


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
