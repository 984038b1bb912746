"""Data sets of hinge in the form that benchopt wants."""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.datasets import Dataset, DatasetNotFoundError, load

TEST_SHARE = 0.25  # of a set that comes without test rows


def stored(name: str, positive: str | int | None = None) -> dict[str, Any]:
    """A set of the catalog; where it is not on this machine, the sentence that says what to put where."""
    try:
        return parts(load(name, positive=positive))
    except DatasetNotFoundError as missing:
        return {"X": None, "y": None, "X_test": None, "y_test": None, "missing": " ".join(str(missing).split())}


def parts(data: Dataset) -> dict[str, Any]:
    """Training and test rows; where no test rows are given, a random quarter of all.

    Training rows come in one random order: some files are sorted by class, and not every peer shuffles.
    """
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    order = np.random.default_rng(0).permutation(len(y))
    if X_test is None:
        cut = int(TEST_SHARE * len(y))
        X_test, y_test, order = X[order[:cut]], y[order[:cut]], order[cut:]
    return {"X": X[order], "y": y[order], "X_test": X_test, "y_test": y_test}
