"""NumPy archives: dense arrays, CSR pieces, and the compact layout of the bundled data.

In the compact layout ``P_indptr`` holds the number of entries of each row instead of row ends, ``P_indices``
the step from the previous index of the same row, and ``P_data`` one number if all entries are equal.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .base import DataFormatError, DataMatrix, Parts, most_features, smallest_float, whole_labels
from .compressed import opened
from .plain_arrays import members_of, plain_array

EXPECTED = "X and y, or data, indices, indptr, shape and y, or X_train, y_train, X_test and y_test"
COVERTYPE = {"num", "wilderness", "soil", "cover_type"}


def read_archive(path: Path, label: str | None = None) -> Parts:
    """The parts of an .npz file; see :func:`hinge.datasets.read` for the keys."""
    with opened(path) as stream:
        content = stream.read()
    return parse_archive(content, str(path), label)


def parse_archive(content: bytes, name: str, label: str | None = None) -> Parts:
    """The parts of an .npz file given as bytes; `name` is used in messages."""
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
