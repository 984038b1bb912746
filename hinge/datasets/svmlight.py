"""The svmlight (LIBSVM) text format: ``label index:value index:value ... # comment``."""

from __future__ import annotations

import io
import math
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge.datasets.base import DataFormatError, most_features, number_of, smallest_float, whole_labels
from hinge.datasets.compressed import opened

LARGEST_INDEX = 2**31 - 1
PIECE = 1 << 22
"""Bytes of text that are parsed at once where rows are read in blocks."""


def read_svmlight(
    path: Path, n_features: int | None = None, zero_based: bool = False
) -> tuple[sp.csr_matrix, NDArray[Any]]:
    """Rows and labels of an svmlight file; see :func:`hinge.datasets.read`."""
    with _text_of(path) as stream:
        data, indices, indptr, labels = _parse(stream, path, n_features, zero_based)
    if len(labels) == 0:
        raise DataFormatError(f"{path} holds no rows: expected lines such as '+1 3:0.5 7:1'.")
    widest = int(indices.max()) + 1 if len(indices) else 0
    if not (n_features or widest):
        raise DataFormatError(
            f"{path} holds labels but no index:value pair: give n_features if rows of zeros are meant."
        )
    if n_features is None and widest > most_features(len(indices)):
        raise DataFormatError(
            f"{path} has the index {widest - zero_based}, but only {len(indices)} entries in all: mend the"
            " index, or give n_features in Python if so many are meant."
        )
    X = sp.csr_matrix(
        (smallest_float(data), indices.astype(np.int32), indptr), shape=(len(labels), n_features or widest)
    )
    return X, whole_labels(labels)


def svmlight_blocks(
    path: Path, n_features: int, zero_based: bool = False
) -> Iterator[tuple[sp.csr_matrix, NDArray[Any]]]:
    """The same rows and labels, some megabytes of text at a time."""
    with _text_of(path) as stream:
        while text := stream.read(PIECE):
            lines = io.BytesIO(text + stream.readline())
            data, indices, indptr, labels = _parse(lines, path, n_features, zero_based)
            X = sp.csr_matrix((smallest_float(data), indices.astype(np.int32), indptr), shape=(len(labels), n_features))
            yield X, whole_labels(labels)


@contextmanager
def _text_of(path: Path) -> Iterator[BinaryIO]:
    """The lines of a file without the mark of their encoding, which editors of Windows write before the first."""
    with opened(path) as stream:
        if cast(io.BufferedReader, stream).peek(len(BOM_UTF8)).startswith(BOM_UTF8):
            stream.read(len(BOM_UTF8))
        yield stream


def _parse(
    stream: BinaryIO, path: Path, n_features: int | None, zero_based: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values, indices, ends of rows and labels of a file or of some lines of it."""
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
    return X.data, X.indices, X.indptr, y


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
        if index < 0 or (index == 0 and not zero_based):
            return _below_first(token, index)
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


def _below_first(token: bytes, index: int) -> str:
    if index == 0:
        return (
            f"found index 0 in {_show(token)}, but indices start at 1;"
            " pass zero_based=True (--zero-based on the command line) if this file counts from 0."
        )
    return f"the index in {_show(token)} is negative."


def _show(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")
