"""Reading one data file, whatever its format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

from .archive import read_archive
from .base import DataFormatError, DataMatrix, Parts
from .compressed import inner_suffix
from .delimited import read_delimited
from .svmlight import read_svmlight

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
        For csv and tsv: whether the first line names the columns. By default that is told from the file.

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
        return read_archive(path, label)
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
