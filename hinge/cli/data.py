"""The rows behind the argument DATA of a command: a data set by name or a file, to train and to test on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hinge.cli.options import ReadOptions
from hinge.cli.rows import STDIN, FileRows, ModelColumns, in_blocks, is_file, read_blocks, read_rows, stacked
from hinge.datasets import load
from hinge.datasets.base import inner_suffix, number_of, whole_labels


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
