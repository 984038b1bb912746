"""Reading one data file, whatever its format."""

from __future__ import annotations

import io
import math
import os
import zipfile
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.datasets.base import (
    DataFormatError,
    DataMatrix,
    Parts,
    inner_suffix,
    members_of,
    most_features,
    number_of,
    opened,
    plain_array,
    smallest_float,
    whole_labels,
)
from hinge.datasets.delimited import read_delimited

LARGEST_INDEX = 2**31 - 1
PIECE = 1 << 22
"""Bytes of text that are parsed at once where rows are read in blocks."""


def read_svmlight(
    path: Path, n_features: int | None = None, zero_based: bool = False
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Rows and labels of an svmlight file; see :func:`hinge.datasets.read`."""
    with _text_of(path) as stream:
        X, y = _parse(stream, path, n_features, zero_based)
    if len(y) == 0:
        raise DataFormatError(f"{path} holds no rows: expected lines such as '+1 3:0.5 7:1'.")
    if X.shape[1] == 0:
        raise DataFormatError(
            f"{path} holds labels but no index:value pair: give n_features if rows of zeros are meant."
        )
    if n_features is None and X.shape[1] > most_features(X.nnz):
        raise DataFormatError(
            f"{path} has the index {X.shape[1] - zero_based}, but only {X.nnz} entries in all: mend the"
            " index, or give n_features in Python if so many are meant."
        )
    return X, y


def svmlight_blocks(
    path: Path, n_features: int, zero_based: bool = False
) -> Iterator[tuple[sp.csr_matrix, NDArray[Any]]]:
    """The same rows and labels, some megabytes of text at a time."""
    with _text_of(path) as stream:
        while text := stream.read(PIECE):
            yield _parse(io.BytesIO(text + stream.readline()), path, n_features, zero_based)


@contextmanager
def _text_of(path: Path) -> Iterator[BinaryIO]:
    """The lines of a file without the mark of their encoding, which editors of Windows write before the first."""
    with opened(path) as stream:
        if cast(io.BufferedReader, stream).peek(len(BOM_UTF8)).startswith(BOM_UTF8):
            stream.read(len(BOM_UTF8))
        yield stream


def _parse(
    stream: BinaryIO, path: Path, n_features: int | None, zero_based: bool
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Rows and labels of a file or of some lines of it."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(stream, zero_based=zero_based)
    except DataFormatError:
        raise
    except (ValueError, OverflowError) as error:
        _explain(path, n_features, zero_based)
        raise DataFormatError(f"{path} could not be read as svmlight text: {error}") from error
    widest = int(X.indices.max()) + 1 if len(X.indices) else 0
    finite = np.isfinite(X.data).all() and np.isfinite(y).all()
    if not finite or widest > (n_features or LARGEST_INDEX):
        _explain(path, n_features, zero_based)
    parts = smallest_float(X.data), X.indices.astype(np.int32), X.indptr
    return sp.csr_matrix(parts, shape=(len(y), n_features or widest)), whole_labels(y)


def _explain(path: Path, n_features: int | None, zero_based: bool) -> None:
    """Raise a sentence about the first broken line, if there is one."""
    with _text_of(path) as stream:
        for number, line in enumerate(stream, 1):
            fault = fault_of(line, n_features, zero_based)
            if fault:
                raise DataFormatError(f"{path}, line {number}: {fault}")


def fault_of(line: bytes, n_features: int | None, zero_based: bool) -> str:
    """What is wrong with one line, or nothing."""
    tokens = line.split(b"#", 1)[0].split()
    if not tokens:
        return ""
    if b"\0" in line:
        return "there is a zero byte, so this looks like binary data and not svmlight text."
    label = number_of(tokens[0])
    if label is None:
        return f"found {_show(tokens[0])} where a label was expected, a number such as +1 or -1."
    if not math.isfinite(label):
        return f"the label {_show(tokens[0])} is not finite; drop the row or give it a class."
    pairs = tokens[2:] if tokens[1:2] and tokens[1].startswith(b"qid:") else tokens[1:]
    previous = None
    for token in pairs:
        index_text, colon, value_text = token.partition(b":")
        try:
            index = int(index_text)
        except ValueError:
            colon = b""
        if not colon:
            return f"found {_show(token)} where a pair index:value was expected, such as 3:0.5."
        if index < 0:
            return f"the index in {_show(token)} is negative."
        if index == 0 and not zero_based:
            return (
                f"found index 0 in {_show(token)}, but indices start at 1;"
                " pass zero_based=True (--zero-based on the command line) if this file counts from 0."
            )
        if index + zero_based > LARGEST_INDEX:
            return f"the index in {_show(token)} is larger than {LARGEST_INDEX}, the largest that is supported."
        if n_features is not None and index + zero_based > n_features:
            return (
                f"the index in {_show(token)} lies beyond the {n_features} features asked for, or of the model;"
                " leave it out, give a larger n_features, or train on rows that have it."
            )
        if previous is not None and index <= previous:
            return f"{_show(token)} follows index {previous}, but indices must ascend within a line."
        value = number_of(value_text)
        if value is None:
            return f"the value in {_show(token)} is not a number."
        if not math.isfinite(value):
            return f"the value in {_show(token)} is not finite; fill or drop missing values first."
        previous = index
    return ""


def _show(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


EXPECTED = "X and y, or data, indices, indptr, shape and y, or X_train, y_train, X_test and y_test"
COVERTYPE = {"num", "wilderness", "soil", "cover_type"}


def parse_archive(content: bytes, name: str, label: str | None = None) -> Parts:
    """The parts of an .npz file given as bytes, see :func:`hinge.datasets.read` for the keys; for messages its name."""
    arrays = _arrays(content, name)
    try:
        return _parts(arrays, label)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataFormatError(f"{name} does not fit together: {error}") from error


def _arrays(content: bytes, name: str) -> dict[str, NDArray[Any]]:
    if not content:
        raise DataFormatError(f"{name} is empty: expected a NumPy archive.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = members_of(archive, len(content))
        return {name.removesuffix(".npy"): plain_array(member) for name, member in members.items()}
    except Exception as error:  # the zip, zlib and header parsers raise more kinds than can be listed
        raise DataFormatError(
            f"{name} is not a readable NumPy archive of plain arrays: write it again with numpy.savez."
        ) from error


def _parts(arrays: dict[str, NDArray[Any]], label: str | None) -> Parts:
    if set(arrays) >= COVERTYPE:
        return Parts(_covertype(arrays), arrays["cover_type"])
    split = "X_train" in arrays or "X_train_indptr" in arrays
    if split:
        train = _matrix(arrays, "X_train"), _labels(arrays, label or "y_train")
    else:
        dense_or_prefixed = "X" in arrays or "X_indptr" in arrays
        train = _matrix(arrays, "X" if dense_or_prefixed else ""), _labels(arrays, label or "y")
    _same_length(*train)
    if not split or not ("X_test" in arrays or "X_test_indptr" in arrays):
        return Parts(*train)
    test = _matrix(arrays, "X_test"), _labels(arrays, "y_test")
    _same_length(*test)
    if test[0].shape[1] != train[0].shape[1]:
        raise ValueError(f"{train[0].shape[1]} features in the training part but {test[0].shape[1]} in the test part.")
    return Parts(*train, *test)


def _matrix(arrays: dict[str, NDArray[Any]], key: str) -> DataMatrix:
    if key in arrays:
        X = arrays[key]
        if X.ndim < 2 or X.size == 0:
            raise ValueError(f"{key} has shape {X.shape}, but rows and columns are needed.")
        X = _floats(X.reshape(len(X), -1), key)
    else:
        X = _csr(arrays, f"{key}_" if key else "")
    return X


def _floats(values: NDArray[Any], key: str) -> NDArray[Any]:
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{key} holds {values.dtype}, but numbers are needed.")
    # float32 holds all values of these types exactly, and checking 47 million pixels takes long.
    exact = values.dtype.kind == "b" or values.dtype.itemsize <= (4 if values.dtype.kind == "f" else 2)
    floats = values.astype(np.float32) if exact else smallest_float(values)
    if not np.isfinite(floats).all():
        raise ValueError(f"{key} holds NaN or infinite values; fill or drop them first.")
    return floats


def _csr(arrays: dict[str, NDArray[Any]], prefix: str) -> sp.csr_matrix:
    needed = [prefix + piece for piece in ("data", "indices", "indptr", "shape")]
    absent = [key for key in needed if key not in arrays]
    if absent:
        raise ValueError(
            f"there is no {absent[0]!r} among {', '.join(sorted(arrays)) or 'its keys'}; expected {EXPECTED}."
        )
    data, indices, indptr, shape = (arrays[key] for key in needed)
    stored_as = arrays.get(prefix + "format")
    if stored_as is not None and stored_as.item() not in (b"csr", "csr"):
        raise ValueError(f"the matrix is stored as {stored_as.item()!r}, but only csr is read.")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu" or shape.dtype.kind not in "iu":
        raise ValueError("indices, indptr and shape must be whole numbers.")
    n, d = (int(size) for size in shape)
    if min(n, d) < 1:
        raise ValueError(f"the shape {n} by {d} leaves no room for data.")
    if d > most_features(len(indices)):
        raise ValueError(f"it declares {d} features, but has {len(indices)} entries.")
    if len(indptr) == n:
        indptr = np.concatenate([[0], np.cumsum(indptr, dtype=np.int64)])
        indices = _summed(indices, indptr)
    values = _floats(data, prefix + "data")
    if values.size == 1:
        values = np.full(len(indices), values.ravel()[0])
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < d:
        raise ValueError(f"a feature index lies outside 0..{d - 1}.")
    X = sp.csr_matrix((values, indices.astype(np.int32), indptr), shape=(n, d))
    X.check_format(full_check=True)
    X.sum_duplicates()
    return X


def _summed(steps: NDArray[Any], indptr: NDArray[Any]) -> NDArray[Any]:
    """Indices from their steps within each row."""
    if indptr[-1] != len(steps):
        raise ValueError(f"the rows claim {indptr[-1]} entries, but {len(steps)} are stored.")
    total = np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])
    return total[1:] - np.repeat(total[indptr[:-1]], np.diff(indptr))


def _covertype(arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Ten measurements and the one-of-4 and one-of-40 codes of Covertype, as its 54 columns."""
    n = len(arrays["cover_type"])
    X = np.zeros((n, 54), np.float32)
    X[:, :10] = arrays["num"]
    X[np.arange(n), 10 + arrays["wilderness"].astype(np.intp)] = 1
    X[np.arange(n), 14 + arrays["soil"].astype(np.intp)] = 1
    return X


def _labels(arrays: dict[str, NDArray[Any]], key: str) -> NDArray[Any]:
    if key not in arrays:
        raise ValueError(
            f"there are no labels {key!r} among {', '.join(sorted(arrays)) or 'its keys'}; expected {EXPECTED}."
        )
    y = arrays[key]
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"{key} has shape {y.shape}, but one label for each row is needed.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"{key} holds a label that is not finite.")
        return whole_labels(y)
    if y.dtype.kind not in "iubU":
        raise ValueError(f"{key} holds {y.dtype}, but numbers or text are needed.")
    return y


def _same_length(X: DataMatrix, y: NDArray[Any]) -> None:
    if X.shape[0] != len(y):
        raise ValueError(f"{X.shape[0]} rows but {len(y)} labels.")


# The last four are the ways LIBSVM's collection names its files.
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt", ".train", ".test", ".dat", ".t", ".binary", ".scale", "")
DELIMITED = (".csv", ".tsv")


def read(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    label: str | int | None = None,
    zero_based: bool = False,
    header: bool | None = None,
) -> tuple[DataMatrix, NDArray[Any]]:
    """Read rows and labels from a file whose extension tells the format.

    ===========  ==================================================  =================================
    format       extensions                                          X
    ===========  ==================================================  =================================
    svmlight     .svm .svmlight .libsvm .txt .train .test .dat       CSR, int32 indices
                 .t .binary .scale, or none
    csv, tsv     .csv .tsv                                           dense
    npz          .npz with X and y, or data, indices, indptr,        as stored
                 shape and y
    ===========  ==================================================  =================================

    Each may be compressed: .gz, .bz2 or .xz after the extension.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, optional
        Number of columns. Give the training set's to a test file whose last features never occur. A file with
        more is refused.
    label : str or int, optional
        For csv and tsv: the label column by name or position. By default the column called label, target,
        class or y, otherwise the last. For npz: the key of the labels, y by default.
    zero_based : bool, default=False
        For svmlight: whether feature indices count from 0 and not, as the format has it, from 1.
    header : bool, optional
        For csv and tsv: whether the first line names the columns. By default the file is examined.

    Returns
    -------
    X : csr_matrix or ndarray of shape (n_rows, n_features)
        float32, but float64 if a value is outside float32's normal range or a whole number beyond 24 bits.
    y : ndarray of shape (n_rows,)
        int64 if all labels are whole numbers, float64 if all are numbers, text otherwise; whole numbers of an
        npz file stay in the type they are stored in.

    Raises
    ------
    DataFormatError
        If the file does not hold what its extension promises. The message names the line and what is wrong.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    In csv the first line is taken for a header if it holds the column `label`, or a cell that reads label, target or
    class, or else if it is unlike the rows beneath: names of words above numbers, or above words that recur where the
    names do not; and distinct whole numbers, such as years, beside such names. Where that is doubtful, the file is
    refused unless `header` is given. Missing values are refused, never filled.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge.datasets import read
    >>> file = Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = file.write_text("+1 1:0.5 3:2" + chr(10) + "-1 2:1" + chr(10))
    >>> X, y = read(file)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, -1])
    """
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1, but is {n_features}.")
    path = Path(path)
    suffix = inner_suffix(path)
    if suffix == ".npz" and header is None:
        parts = read_parts([path], label)
        if parts.X_test is not None:
            raise DataFormatError(f"{path} holds a training and a test part: use hinge.datasets.load for both.")
        X, y = parts.X_train, parts.y_train
        if n_features is not None and X.shape[1] != n_features:
            raise DataFormatError(f"{path} has {X.shape[1]} features, but {n_features} were asked for.")
        return X, y
    if suffix in DELIMITED:
        return read_delimited(path, n_features, label, header=header)
    if header is not None:
        raise ValueError(f"header is for csv and tsv files, and {path} is neither.")
    if suffix in SVMLIGHT:
        if label is not None:
            raise ValueError("label chooses a column of csv or npz files; in svmlight files the label stands first.")
        return read_svmlight(path, n_features, zero_based)
    raise DataFormatError(
        f"The extension {suffix!r} of {path} names no format known here: use .svm, .csv, .tsv or .npz,"
        " each optionally followed by .gz, .bz2 or .xz."
    )


def read_parts(files: list[Path], label: str | int | None = None) -> Parts:
    """The parts of a data set from one file, or from a training and a test file."""
    path = files[0]
    if inner_suffix(path) == ".npz":
        if label is not None and not isinstance(label, str):
            raise ValueError(f"label must be the name of an array of the npz file, but is {label!r}.")
        with opened(path) as stream:
            return parse_archive(stream.read(), str(path), label)
    X, y = read(path, label=label)
    if len(files) == 1:
        return Parts(X, y)
    test_path = files[1]
    X_test, y_test = read(test_path, label=label)
    # A feature that occurs in one part only makes the other part narrower than it is.
    d = max(X.shape[1], X_test.shape[1])
    for part in (X, X_test):
        if part.shape[1] < d and not sp.issparse(part):
            raise DataFormatError(
                f"{path} has {X.shape[1]} features but {test_path} has {X_test.shape[1]}: give both the same columns."
            )
        if part.shape[1] < d:
            part.resize((part.shape[0], d))
    return Parts(X, y, X_test, y_test)
