"""The rows behind the argument DATA of a command: a data set by name or a file, all of it or a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.cli.options import ReadOptions
from hinge.cli.rows import (
    STDIN,
    FileRows,
    Kind,
    ModelColumns,
    check_count,
    choose_columns,
    column_of,
    is_file,
    labels_from,
    matrix_of,
    of_standard_input,
    read_rows,
    rows_of_frame,
    source_of,
    standard_input,
    text_columns,
    without_name,
)
from hinge.datasets import DataFormatError, load, read
from hinge.datasets.base import inner_suffix, number_of, smallest_float, whole_labels
from hinge.datasets.delimited import TextLayout, labels_of, parse_fast, parse_numbers, pieces_of
from hinge.datasets.frames import Frame, MixedRows, as_words, check_names, frame_of, is_words, read_parquet_frames
from hinge.datasets.readers import svmlight_blocks


class TrainingData(NamedTuple):
    """What to learn from, and what to test on where there is something."""

    name: str
    train: FileRows
    test: FileRows | None = None

    @property
    def unseen(self) -> FileRows:
        """The test part, or all where there is none."""
        return self.train if self.test is None else self.test


def training_data(
    data: str, test: str | None, how: ReadOptions, positive: str | None = None, labelled: bool = True
) -> TrainingData:
    """The training part and, where there is one, the test part, both with the same features."""
    if not is_file(data):
        found = _named(data, how, positive)
    elif inner_suffix(Path(data)) == ".train" and how == ReadOptions(fetch=how.fetch):  # its test file lies beside it
        found = _named(data, how, "all")
    else:
        name = "standard input" if data == STDIN else Path(data).name
        found = TrainingData(name, read_rows(data, how, labelled=labelled))
    if is_file(data) and positive is not None:
        found = _against_the_rest(found, positive, data)
    if test is None:
        return found
    if found.test is not None and not is_file(data):
        raise ValueError(f"{data} brings its own test rows: leave --test out.")
    return found._replace(test=_test_rows(test, found.train, how, data))


def blocks(data: str, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a file, or of the test part of a named set, for a model, a block at a time."""
    if is_file(data):
        return read_blocks(data, how, wanted)
    part = _named(data, how, None).unseen
    return in_blocks(part._replace(X=_widened(part.X, wanted.width)))


def _named(data: str, how: ReadOptions, positive: str | None) -> TrainingData:
    found = load(data, positive=positive, fetch=how.fetch)
    for option, value in (("label", how.label), ("labels", how.labels), ("sample-weight-column", how.weight)):
        if value is not None:
            raise ValueError(f"--{option} chooses from a file, but {data} is a set with a name.")
    test = None if found.X_test is None else FileRows(found.X_test, found.y_test)
    return TrainingData(found.name, FileRows(found.X_train, found.y_train), test)


def _test_rows(test: str, train: FileRows, how: ReadOptions, data: str) -> FileRows:
    if not is_file(test):
        part = _named(test, ReadOptions(fetch=how.fetch), None).unseen
    else:
        sparse = inner_suffix(Path(test)) not in (".csv", ".tsv", ".parquet", ".pq")
        part = read_rows(test, how) if sparse else stacked(read_blocks(test, how, train.columns))
    width = max(train.X.shape[1], part.X.shape[1])
    widths = [_widened(X, width).shape[1] for X in (train.X, part.X)]
    if min(widths) < width:
        raise ValueError(f"{data} has {widths[0]} features, but {test} has {widths[1]}: give both the same.")
    return part if train.y is None or part.y is None else part._replace(y=in_classes(part.y, np.unique(train.y)))


def _widened(X: Any, width: int | None) -> Any:
    """X with empty columns added in place up to `width`: sparse files do not mention trailing zeros."""
    if hasattr(X, "resize") and hasattr(X, "indptr") and width is not None and X.shape[1] < width:
        X.resize((X.shape[0], width))
    return X


# --- labels -------------------------------------------------------------------------------------


def rest_of(positive: str) -> str:
    """The name of all other classes together, where one class is learned against the rest."""
    return f"not {positive}"


def _against_the_rest(found: TrainingData, positive: str, data: str) -> TrainingData:
    """Labels that name one class and call all others not that; two classes keep their names."""
    if found.train.y is None:
        raise ValueError(f"--positive is one of the labels, and {data} has none.")
    classes = np.unique(found.train.y)
    if positive not in [str(value) for value in classes.tolist()]:
        some = ", ".join(str(value) for value in classes[:20].tolist())
        raise ValueError(f"{data} has no class {positive!r} to make positive: its classes are {some}.")
    if len(classes) == 2:
        return found
    two, test = np.array([positive, rest_of(positive)]), found.test
    if test is not None and test.y is not None:
        test = test._replace(y=in_classes(test.y, two))
    return TrainingData(found.name, found.train._replace(y=in_classes(found.train.y, two)), test)


def in_classes(y: np.ndarray, classes: np.ndarray, positive: str | None = None) -> np.ndarray:
    """Labels of a file in the terms of a model's classes.

    Where the model tells one class from all others, every other label is one of those.
    """
    if classes.dtype.kind not in "UO":
        if positive is not None and set(classes.tolist()) <= {-1, 1}:
            return np.where(y.astype(str) == positive, 1, -1)
        return y
    names = [str(name) for name in classes]
    found, codes = np.unique(y, return_inverse=True)
    texts = np.array([_class_spelled(str(value), names) for value in found.tolist()])[codes]
    for name, other in zip(names, reversed(names), strict=True) if len(names) == 2 else ():
        if other == rest_of(name):
            return np.where(texts == name, name, other)
    return texts


def _class_spelled(text: str, names: list[str]) -> str:
    """A label as the classes spell it: 1.0 and +1 are the class 1, unless there is one that is spelled so."""
    value = None if text in names else number_of(text)
    return text if value is None or not np.isfinite(value) else str(whole_labels(np.array([value]))[0])


def error_rate(classes: np.ndarray, predicted: np.ndarray, y: np.ndarray) -> float | None:
    """The share of wrong labels; None where the labels are not of the model's classes at all."""
    if set(np.unique(y).tolist()).isdisjoint(classes.tolist()):
        return None
    return float(np.mean(predicted != y))


BLOCK = 1 << 22
"""Numbers of a matrix that are read at once."""


def read_blocks(data: str, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a file, a folder, a pattern with ``*``, or standard input, in blocks of some megabytes.

    Parameters
    ----------
    data : str
    how : ReadOptions
    wanted : ModelColumns
        Those of the model that the rows are for: taken by name where both have names. Such rows may lack labels.
    """
    if data == STDIN:
        yield from _of_standard_input(how, wanted)
        return
    kind, path = source_of(data, how)
    if kind is Kind.PAIR:
        raise ValueError(f"{path} is a pair, which is for training: give the file that it was made from.")
    if kind is Kind.TABLE:
        blocks = _of_parquet(path, how, wanted)
    elif kind is Kind.DELIMITED:
        blocks = _of_text(path, how, wanted)
    elif kind is Kind.OTHER and inner_suffix(path) != ".npz" and how.label is None:
        blocks = (FileRows(X, y) for X, y in svmlight_blocks(path, wanted.width, how.zero_based))
    elif kind is Kind.OTHER:
        X, y = read(path, n_features=wanted.width, label=column_of(how.label), zero_based=how.zero_based)
        blocks = in_blocks(FileRows(X, y))
    else:
        X, own, label = matrix_of(kind, path, how._replace(labels=None), labelled=False)
        blocks = in_blocks(FileRows(X, own, label=label), None if label is None else int(label))
    filled = _not_empty(blocks, data)
    yield from filled if how.labels is None else _with_labels(filled, how.labels)


def _not_empty(blocks: Iterator[FileRows], data: str) -> Iterator[FileRows]:
    """Those blocks that have rows, of which there must be some."""
    n = 0
    for rows in blocks:
        if rows.X.shape[0]:
            n += rows.X.shape[0]
            yield rows
    if n == 0:
        raise DataFormatError(f"{data} holds no rows.")


def in_blocks(rows: FileRows, label: int | None = None) -> Iterator[FileRows]:
    """Rows of a matrix, without its column of labels, some at a time."""
    n, d = rows.X.shape
    step = max(1, BLOCK // max(1, d))
    for lo in range(0, n, step):
        X = rows.X[lo : lo + step]
        if label is not None:
            X = np.ascontiguousarray(np.delete(X, label, axis=1))
        y = None if rows.y is None else rows.y[lo : lo + step]
        yield rows._replace(X=X if sp.issparse(X) else np.asarray(X), y=y, place=_counted_from(lo))


def stacked(blocks: Iterable[FileRows]) -> FileRows:
    """All rows of the blocks in one array."""
    parts = list(blocks)
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    y, weight = ([getattr(part, name) for part in parts] for name in ("y", "weight"))
    return parts[0]._replace(
        X=sp.vstack(X, format="csr") if sp.issparse(X[0]) else _concatenate(X),
        y=None if y[0] is None else np.concatenate(y),
        weight=None if weight[0] is None else np.concatenate(weight),
        place=None,
    )


def _concatenate(blocks: list[MixedRows] | list[np.ndarray]) -> MixedRows | np.ndarray:
    if isinstance(blocks[0], MixedRows):
        return MixedRows([np.concatenate(parts) for parts in zip(*(block.columns for block in blocks), strict=True)])
    return np.concatenate(blocks)


def _counted_from(start: int) -> Callable[[int], str]:
    return lambda row: f"Row {start + row + 1}"


def _of_standard_input(how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    path = standard_input()
    with of_standard_input(path):
        for rows in read_blocks(str(path), how, wanted):
            yield without_name(rows)


def _with_labels(blocks: Iterator[FileRows], path: Path) -> Iterator[FileRows]:
    """The same rows with labels from a file of their own."""
    y, n = labels_from(path), 0
    for rows in blocks:
        lo, n = n, n + rows.X.shape[0]
        if n > len(y):
            n += sum(rest.X.shape[0] for rest in blocks)
            break
        yield rows._replace(y=y[lo:n])
    check_count(path, len(y), n)


def _of_parquet(files: Path | list[Path], how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    chosen: list[tuple[int | None, int | None, list[int]]] = []

    def choose(names: list[str], source: str) -> list[str]:
        check_names(names, source)
        chosen.append(choose_columns(names, True, source, how, wanted, True))
        return [names[j] for j in _needed(*chosen[0])]

    for frame in read_parquet_frames(files, choose):
        yield _of_frame(frame, wanted, *chosen[0])


def _of_text(path: Path, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a csv or tsv file: by NumPy's parser until a piece of it holds words or gaps."""
    layout, (label, weight, features) = text_columns(path, how, wanted)
    texts = {features[k] for k in wanted.words}
    if wanted.spelled and label is not None:
        texts.add(label)
    needed = _needed(label, weight, features)
    fast = not wanted.words and weight is None
    for piece, above in pieces_of(path, layout.skip):
        rows = _numbers_in(piece, layout, label, features, wanted.spelled) if fast else None
        fast = rows is not None
        if rows is None:
            frame = frame_of(partial(iter, [(piece, above)]), layout, path, texts, needed)
            rows = _of_frame(frame, wanted, label, weight, features)
        named = [layout.names[j] for j in features] if layout.header else None
        yield rows._replace(names=named, label=None if label is None else layout.names[label])


def _numbers_in(
    text: str, layout: TextLayout, label: int | None, features: list[int], spelled: bool
) -> FileRows | None:
    """The rows of a piece that holds nothing but numbers and labels; None where it does not."""
    if not text.strip():
        return FileRows(np.zeros((0, len(features)), np.float32), None)
    if label is None:
        table = parse_numbers(text, layout)
        return None if table is None else FileRows(np.ascontiguousarray(smallest_float(table[:, features])), None)
    found = parse_fast(text, layout._replace(label=label), spelled)
    if found is None:
        return None
    table, names = found
    codes = table[:, label].astype(np.intp)
    y = np.array(names)[codes] if spelled else labels_of(codes, names)
    return FileRows(np.ascontiguousarray(smallest_float(table[:, features])), y)


def _of_frame(
    frame: Frame, wanted: ModelColumns, label: int | None, weight: int | None, features: list[int]
) -> FileRows:
    """The rows of a frame, with words in the columns in which the model has words."""
    columns = list(frame.columns)
    for k, j in enumerate(features):
        if is_words(columns[j]) and k not in wanted.words:
            raise ValueError(f"{frame.source}, column {frame.names[j]}: holds words, but numbers when it was learned.")
        if k in wanted.words and not is_words(columns[j]):
            columns[j] = as_words(columns[j])
    return rows_of_frame(frame._replace(columns=columns), label, weight, features)


def _needed(label: int | None, weight: int | None, features: list[int]) -> set[int]:
    return {j for j in (label, weight, *features) if j is not None}
