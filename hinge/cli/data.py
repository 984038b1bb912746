"""The rows behind the argument DATA of a command: a data set by name, or a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hinge.datasets import Dataset, load, read
from hinge.datasets.base import Parts, smallest_float
from hinge.datasets.compressed import inner_suffix
from hinge.datasets.entries import ENTRIES
from hinge.datasets.readers import DELIMITED, read_parts
from hinge.datasets.tasks import binary
from hinge.types import Stored

HELD_OUT = 0.2
LARGEST = 1e100


def training_data(
    data: str,
    test: str | None,
    label: str | None,
    positive: str | None,
    *,
    fetch: bool = False,
    zero_based: bool = False,
) -> Dataset:
    """The training part and, where there is one, the test part, both with the same number of features."""
    if label is not None and _is_file(data):
        parts = read_parts([Path(data)], _column(label))
        found = Dataset(Path(data).name, *binary(parts, positive, None, data))
    elif zero_based and _is_file(data):
        X, y = read(data, zero_based=True)
        found = Dataset(Path(data).name, *binary(Parts(X, y, None, None), positive, None, data))
    else:
        found = _named(data, label, positive, fetch)
    if test is None:
        return found
    if found.X_test is not None and not _is_file(data):
        raise ValueError(f"{data} brings its own test rows: leave --test out.")
    X_test, y_test = rows(test, label, positive, zero_based=zero_based)
    width = max(found.X_train.shape[1], X_test.shape[1])
    widths = [_widened(X, width).shape[1] for X in (found.X_train, X_test)]
    if min(widths) < width:
        raise ValueError(f"{data} has {widths[0]} features, but {test} has {widths[1]}: give both the same.")
    return replace(found, X_test=X_test, y_test=y_test)


def rows(
    data: str, label: str | None, positive: str | None, n_features: int | None = None, zero_based: bool = False
) -> tuple[Stored, np.ndarray]:
    """The rows and labels of a file, or of the test part of a set."""
    if _is_file(data):
        X, y = read(data, n_features=n_features, label=_column(label), zero_based=zero_based)
        return X, y if positive is None else np.where(y.astype(str) == positive, 1, -1)
    found = _named(data, label, positive)
    if found.X_test is None or found.y_test is None:
        return _widened(found.X_train, n_features), found.y_train
    return _widened(found.X_test, n_features), found.y_test


def unlabelled_rows(data: str, n_features: int) -> np.ndarray:
    """The rows of a csv or tsv file of features only: its first column is read as if it were the label."""
    if inner_suffix(Path(data)) not in DELIMITED:
        raise ValueError("--no-labels is for csv and tsv files; in svmlight files put 0 for unknown labels.")
    X, first = read(data, label=0)
    if first.dtype.kind not in "if":
        raise ValueError(f"{data}, column 1: found text where numbers were expected.")
    if X.shape[1] + 1 != n_features:
        raise ValueError(f"{data} has {X.shape[1] + 1} columns, but the model has {n_features} features.")
    return smallest_float(np.column_stack([first, X]))


def _named(data: str, label: str | None, positive: str | None, fetch: bool = False) -> Dataset:
    found = load(data, positive=positive, fetch=fetch)
    if label is not None:
        raise ValueError(f"--label chooses a column of a file, but {data} is a set with a name.")
    return found


def _is_file(data: str) -> bool:
    """Whether `load` takes it for a file: names of the catalog come first."""
    return Path(data).is_file() and all(data.lower() not in (e.name, *e.aliases) for e in ENTRIES)


def _column(label: str | None) -> str | int | None:
    """A label column by position if that is a number, else by name."""
    return int(label) if label is not None and label.removeprefix("-").isdecimal() else label


def _widened(X: Stored, width: int | None) -> Stored:
    """X with empty columns added in place up to `width`: sparse files do not mention trailing zeros."""
    if not isinstance(X, np.ndarray) and width is not None and X.shape[1] < width:
        X.resize((X.shape[0], width))
    return X


def two_classes(
    data: str, test: str | None, label: str | None, positive: str | None, fetch: bool, seed: int
) -> tuple[Stored, np.ndarray, Stored, np.ndarray, str]:
    """Training rows and labels of two classes, -1 and +1, test rows and labels, and the name of the data."""
    from hinge.experiments.sets import held_out

    found = training_data(data, test, label, positive, fetch=fetch)
    classes = np.unique(found.y_train)
    if len(classes) == 1:
        raise ValueError(f"{data} has rows of one class only, and two are needed.")
    if len(classes) != 2:
        raise ValueError(
            f"{data} has {len(classes)} classes, and two are needed: name one with --positive, to be told "
            "from all others."
        )

    def signed(y: np.ndarray) -> np.ndarray:
        return np.where(y == classes[1], 1, -1).astype(np.int8)

    X, y = found.X_train, signed(found.y_train)
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if largest > LARGEST:
        raise ValueError(f"{data} has values up to {largest:.1g}, whose squares overflow: scale them first.")
    if found.X_test is not None and found.y_test is not None:
        if set(np.unique(found.y_test).tolist()).isdisjoint(classes.tolist()):
            raise ValueError(f"No label of the test rows is one of {data}'s: {classes[0]} and {classes[1]}.")
        return X, y, found.X_test, signed(found.y_test), found.name
    X, y, X_test, y_test = held_out(X, y, HELD_OUT, seed)
    return X, y, X_test, y_test, f"{found.name} (a fifth held out)" if len(y_test) else found.name


def error_rate(classes: np.ndarray, predicted: np.ndarray, y: np.ndarray) -> float | None:
    """The share of wrong labels; None where the labels are not of the model's classes at all."""
    if set(np.unique(y).tolist()).isdisjoint(classes.tolist()):
        return None
    return float(np.mean(predicted != y))
