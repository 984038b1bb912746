"""The rows behind the argument DATA of a command: a data set by name, or a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hinge.cli.blocks import in_blocks, read_blocks, stacked
from hinge.cli.rows import STDIN, Columns, Reading, Rows, is_file, read_rows
from hinge.datasets import load
from hinge.datasets.base import number_of, whole_labels
from hinge.datasets.compressed import inner_suffix
from hinge.types import Stored

HELD_OUT = 0.2
LARGEST = 1e100


class Training(NamedTuple):
    """What to learn from, and what to test on where there is something."""

    name: str
    train: Rows
    test: Rows | None = None


def training_data(
    data: str, test: str | None, how: Reading, positive: str | None = None, labelled: bool = True
) -> Training:
    """The training part and, where there is one, the test part, both with the same features."""
    if not is_file(data):
        found = _named(data, how, positive)
    elif inner_suffix(Path(data)) == ".train" and how == Reading(fetch=how.fetch):  # its test file lies beside it
        found = _named(data, how, "all")
    else:
        name = "standard input" if data == STDIN else Path(data).name
        found = Training(name, read_rows(data, how, labelled=labelled))
    if is_file(data) and positive is not None:
        found = _against_the_rest(found, positive, data)
    if test is None:
        return found
    if found.test is not None and not is_file(data):
        raise ValueError(f"{data} brings its own test rows: leave --test out.")
    return found._replace(test=_test_rows(test, found.train, how, data))


def blocks(data: str, how: Reading, wanted: Columns) -> Iterator[Rows]:
    """The rows of a file for a model, or those of the test part of a set, a block at a time."""
    if is_file(data):
        return read_blocks(data, how, wanted)
    found = _named(data, how, None)
    part = found.train if found.test is None else found.test
    return in_blocks(part._replace(X=_widened(part.X, wanted.width)))


def _named(data: str, how: Reading, positive: str | None) -> Training:
    found = load(data, positive=positive, fetch=how.fetch)
    for option, value in (("label", how.label), ("labels", how.labels), ("sample-weight-column", how.weight)):
        if value is not None:
            raise ValueError(f"--{option} chooses from a file, but {data} is a set with a name.")
    test = None if found.X_test is None else Rows(found.X_test, found.y_test)
    return Training(found.name, Rows(found.X_train, found.y_train), test)


def _test_rows(test: str, train: Rows, how: Reading, data: str) -> Rows:
    if not is_file(test):
        found = _named(test, Reading(fetch=how.fetch), None)
        part = found.train if found.test is None else found.test
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
    """What all other classes are called, where one is told from them."""
    return f"not {positive}"


def _against_the_rest(found: Training, positive: str, data: str) -> Training:
    """Labels that name one class and call all others not that; two classes keep their names."""
    if found.train.y is None:
        raise ValueError(f"--positive is one of the labels, and {data} has none.")
    classes = np.unique(found.train.y)
    if positive not in [str(value) for value in classes.tolist()]:
        some = ", ".join(str(value) for value in classes[:20].tolist())
        raise ValueError(f"{data} has no class {positive!r} to make positive: its classes are {some}.")
    if len(classes) == 2:
        return found
    two = np.array([positive, rest_of(positive)])
    parts = [
        None if part is None or part.y is None else part._replace(y=in_classes(part.y, two))
        for part in (found.train, found.test)
    ]
    assert parts[0] is not None
    return Training(found.name, parts[0], parts[1])


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


# --- two classes --------------------------------------------------------------------------------


class TwoClasses(NamedTuple):
    """Rows and labels -1 and +1, to train on and to test on."""

    X: Stored
    y: np.ndarray
    X_test: Stored
    y_test: np.ndarray
    name: str


def two_classes(
    data: str, test: str | None, how: Reading, positive: str | None, seed: int, impute: str | None = None
) -> TwoClasses:
    """Training rows and labels of two classes, -1 and +1, test rows and labels, and the name of the data."""
    from hinge.cli.preparation import check_missing, preparation_of
    from hinge.experiments.sets import hold_out

    found = training_data(data, test, how, positive)
    train, y_all = found.train, found.train.y
    if hasattr(train.X, "row_blocks"):
        raise ValueError(f"{data} is a pair, which is for hinge train: give the file that it was made from.")
    assert y_all is not None
    classes = np.unique(y_all)
    if len(classes) == 1:
        raise ValueError(f"{data} has rows of one class only, and two are needed.")
    if len(classes) != 2:
        raise ValueError(
            f"{data} has {len(classes)} classes, and two are needed: name one with --positive, to be told "
            "from all others."
        )

    def signed(y: np.ndarray) -> np.ndarray:
        one = positive if positive in [str(value) for value in classes.tolist()] else str(classes[1])
        return np.where(np.array([str(value) for value in y.tolist()]) == one, 1, -1).astype(np.int8)

    preparation = preparation_of(train, impute)
    if impute is None:
        for part in (train, found.test):
            if part is not None:
                check_missing(part)
    X, y = train.X if preparation is None else preparation.fit_transform(train.X), signed(y_all)
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if largest > LARGEST:
        raise ValueError(f"{data} has values up to {largest:.1g}, whose squares overflow: scale them first.")
    if found.test is not None and found.test.y is not None:
        if set(np.unique(found.test.y).tolist()).isdisjoint(classes.tolist()):
            raise ValueError(f"No label of the test rows is one of {data}'s: {classes[0]} and {classes[1]}.")
        X_test = found.test.X if preparation is None else preparation.transform(found.test.X)
        return TwoClasses(X, y, X_test, signed(found.test.y), found.name)
    X, y, X_test, y_test = hold_out(X, y, HELD_OUT, seed)
    return TwoClasses(X, y, X_test, y_test, f"{found.name} (a fifth held out)" if len(y_test) else found.name)
