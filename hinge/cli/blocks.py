"""Rows for a model a block at a time, so that files of any size are predicted in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hinge.cli.rows import (
    STDIN,
    Columns,
    Kind,
    Reading,
    Rows,
    check_count,
    choose_columns,
    column_of,
    known_names,
    labels_from,
    matrix_of,
    of_standard_input,
    rows_of_frame,
    source_of,
    standard_input,
    without_name,
)
from hinge.datasets import DataFormatError, read
from hinge.datasets.base import smallest_float
from hinge.datasets.compressed import inner_suffix
from hinge.datasets.delimited import Layout, labels_of, layout_of, parse_fast, parse_numbers, pieces_of
from hinge.datasets.frames import Frame, as_words, check_names, frame_in, is_words, read_parquet_frames
from hinge.datasets.svmlight import svmlight_blocks

BLOCK = 1 << 22
"""Numbers of a matrix that are read at once."""


def read_blocks(data: str, how: Reading, wanted: Columns) -> Iterator[Rows]:
    """The rows of a file, a folder, a pattern with ``*``, or standard input, in blocks of some megabytes.

    Parameters
    ----------
    data : str
    how : Reading
    wanted : Columns
        Those of the model that the rows are for: taken by name where both have names. Such rows may lack labels.
    """
    if data == STDIN:
        yield from _of_standard_input(how, wanted)
        return
    kind, path, files = source_of(data, how)
    if kind is Kind.PAIR:
        raise ValueError(f"{path} is a pair, which is for training: give the file that it was made from.")
    if kind is Kind.TABLE:
        blocks = _of_parquet(files, how, wanted)
    elif kind is Kind.DELIMITED:
        blocks = _of_text(path, how, wanted)
    elif kind is Kind.OTHER and inner_suffix(path) != ".npz" and how.label is None:
        blocks = (Rows(X, y) for X, y in svmlight_blocks(path, wanted.width, how.zero_based))
    elif kind is Kind.OTHER:
        X, y = read(path, n_features=wanted.width, label=column_of(how.label), zero_based=how.zero_based)
        blocks = in_blocks(Rows(X, y))
    else:
        blocks = _of_matrix(kind, path, how)
    filled = _not_empty(blocks, data)
    yield from filled if how.labels is None else _with_labels(filled, how.labels)


def _not_empty(blocks: Iterator[Rows], data: str) -> Iterator[Rows]:
    """Those blocks that have rows, of which there must be some."""
    n = 0
    for rows in blocks:
        if rows.X.shape[0]:
            n += rows.X.shape[0]
            yield rows
    if n == 0:
        raise DataFormatError(f"{data} holds no rows.")


def in_blocks(rows: Rows, label: int | None = None) -> Iterator[Rows]:
    """Rows of a matrix, without its column of labels, some at a time."""
    n, d = rows.X.shape
    step = max(1, BLOCK // max(1, d))
    for lo in range(0, n, step):
        X = rows.X[lo : lo + step]
        if label is not None:
            X = np.ascontiguousarray(np.delete(X, label, axis=1))
        y = None if rows.y is None else rows.y[lo : lo + step]
        yield rows._replace(X=X if sp.issparse(X) else np.asarray(X), y=y, place=_counted_from(lo))


def stacked(blocks: Iterable[Rows]) -> Rows:
    """All rows at once."""
    parts = list(blocks)
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    y, weight = ([getattr(part, name) for part in parts] for name in ("y", "weight"))
    return parts[0]._replace(
        X=sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X),
        y=None if y[0] is None else np.concatenate(y),
        weight=None if weight[0] is None else np.concatenate(weight),
        place=None,
    )


def _counted_from(start: int) -> Callable[[int], str]:
    return lambda row: f"Row {start + row + 1}"


def _of_standard_input(how: Reading, wanted: Columns) -> Iterator[Rows]:
    path = standard_input()
    with of_standard_input(path):
        for rows in read_blocks(str(path), how, wanted):
            yield without_name(rows)


def _with_labels(blocks: Iterator[Rows], path: Path) -> Iterator[Rows]:
    """The same rows with labels from a file of their own."""
    y, n = labels_from(path), 0
    for rows in blocks:
        lo, n = n, n + rows.X.shape[0]
        if n > len(y):
            n += sum(rest.X.shape[0] for rest in blocks)
            break
        yield rows._replace(y=y[lo:n])
    check_count(path, len(y), n)


def _of_matrix(kind: Kind, path: Path, how: Reading) -> Iterator[Rows]:
    X, y, label = matrix_of(kind, path, how._replace(labels=None), labelled=False)
    yield from in_blocks(Rows(X, y, label=label), None if label is None else int(label))


def _of_parquet(files: Path | list[Path], how: Reading, wanted: Columns) -> Iterator[Rows]:
    chosen: list[tuple[int | None, int | None, list[int]]] = []

    def choose(names: list[str], source: str) -> list[str]:
        check_names(names, source)
        chosen.append(choose_columns(names, True, source, how, wanted, True))
        return [names[j] for j in _needed(*chosen[0])]

    for frame in read_parquet_frames(files, choose):
        yield _of_frame(frame, wanted, *chosen[0])


def _of_text(path: Path, how: Reading, wanted: Columns) -> Iterator[Rows]:
    """The rows of a csv or tsv file: by NumPy's parser until a piece of it holds words or gaps."""
    layout = layout_of(path, 0, known_names(how, wanted), how.header)
    names = layout.header or [str(j + 1) for j in range(layout.width)]
    check_names(names, str(path))
    label, weight, features = choose_columns(names, layout.header is not None, str(path), how, wanted, True)
    texts = {features[k] for k in wanted.words}
    if wanted.spelled and label is not None:
        texts.add(label)
    fast = not wanted.words and weight is None
    for piece, above in pieces_of(path, layout.skip):
        rows = _numbers_in(piece, layout, label, features, wanted.spelled) if fast else None
        fast = rows is not None
        if rows is None:
            frame = frame_in(piece, layout, path, above, texts, _needed(label, weight, features))
            rows = _of_frame(frame, wanted, label, weight, features)
        named = [names[j] for j in features] if layout.header else None
        yield rows._replace(names=named, label=None if label is None else names[label])


def _numbers_in(text: str, layout: Layout, label: int | None, features: list[int], spelled: bool) -> Rows | None:
    """The rows of a piece that holds nothing but numbers and labels; None where it does not."""
    if not text.strip():
        return Rows(np.zeros((0, len(features)), np.float32), None)
    if label is None:
        table = parse_numbers(text, layout)
        return None if table is None else Rows(np.ascontiguousarray(smallest_float(table[:, features])), None)
    found = parse_fast(text, layout._replace(label=label), spelled)
    if found is None:
        return None
    table, names = found
    codes = table[:, label].astype(np.intp)
    y = np.array(names)[codes] if spelled else labels_of(codes, names)
    return Rows(np.ascontiguousarray(smallest_float(table[:, features])), y)


def _of_frame(frame: Frame, wanted: Columns, label: int | None, weight: int | None, features: list[int]) -> Rows:
    """The rows of a frame whose words are those of the model."""
    columns = list(frame.columns)
    for k, j in enumerate(features):
        if is_words(columns[j]) and k not in wanted.words:
            raise ValueError(f"{frame.source}, column {frame.names[j]}: holds words, but numbers when it was learned.")
        if k in wanted.words and not is_words(columns[j]):
            columns[j] = as_words(columns[j])
    return rows_of_frame(frame._replace(columns=columns), label, weight, features)


def _needed(label: int | None, weight: int | None, features: list[int]) -> set[int]:
    return {j for j in (label, weight, *features) if j is not None}
