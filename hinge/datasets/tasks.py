"""From stored rows and classes to the rows and labels of a task."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .base import DataMatrix, Parts
from .entries import Preparation

CUT_SEED = 0


def cut(parts: Parts, train_rows: int) -> Parts:
    """Shuffle by a fixed seed and cut a test part off, unless there is one or too few rows."""
    n = parts.X_train.shape[0]
    if parts.X_test is not None or not 0 < train_rows < n:
        return parts
    order = np.random.default_rng(CUT_SEED).permutation(n)
    train, test = order[:train_rows], order[train_rows:]
    X, y = parts.X_train, parts.y_train
    return Parts(X[train], y[train], X[test], y[test])


def prepare(parts: Parts, preparation: Preparation) -> Parts:
    """Scale the rows the way the papers have them."""
    if preparation == "as stored":
        return parts
    if preparation == "unit rows":
        X, X_test = (None if part is None else unit_rows(part) for part in (parts.X_train, parts.X_test))
    elif preparation == "pixels":
        scale = 255 if parts.X_train.max() > 1 else 1
        X, X_test = (None if part is None else part / np.float32(scale) for part in (parts.X_train, parts.X_test))
    else:
        X, X_test = _unit_columns(parts.X_train, parts.X_test)
    return parts._replace(X_train=X, X_test=X_test)


def unit_rows(X: DataMatrix) -> DataMatrix:
    """Rows divided by their Euclidean norm; rows of zeros stay."""
    if sp.issparse(X):
        S = cast(sp.csr_matrix, X)
        norm = np.sqrt(np.asarray(S.multiply(S).sum(axis=1), dtype=np.float64).ravel())
        scale = (1 / np.where(norm > 0, norm, 1)).astype(S.dtype)
        data = S.data * np.repeat(scale, np.diff(S.indptr))
        return sp.csr_matrix((data, S.indices, S.indptr), shape=S.shape)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1)


def _unit_columns(X: DataMatrix, X_test: DataMatrix | None) -> tuple[DataMatrix, DataMatrix | None]:
    """Columns to [0, 1] by the training rows' extremes."""
    full = _full(X)
    low = full.min(axis=0)
    span = full.max(axis=0) - low
    span[span == 0] = 1
    return (full - low) / span, None if X_test is None else (_full(X_test) - low) / span


def _full(X: DataMatrix) -> NDArray[Any]:
    return cast(sp.csr_matrix, X).toarray() if sp.issparse(X) else X


def binary(parts: Parts, positive: str | int | None, default: str | int | None, name: str) -> Parts:
    """Labels -1 and +1 (int8) if a class was chosen or they are those already; otherwise as they are."""
    classes = np.unique(parts.y_train)
    signs = classes.dtype.kind in "iuf" and set(classes.tolist()) <= {-1, 1}
    if positive == "all":
        return parts
    if positive is None and (signs or default is None):
        return _relabelled(parts, 1) if signs else parts
    wanted = default if positive is None else positive
    match = [value for value in classes.tolist() if str(value) == str(wanted) or value == wanted]
    if not match:
        some = ", ".join(str(value) for value in classes[:20].tolist())
        raise ValueError(f"{name} has no class {wanted!r} to make positive: its classes are {some}.")
    return _relabelled(parts, match[0])


def _relabelled(parts: Parts, positive: str | float) -> Parts:
    def sign(y: NDArray[Any]) -> NDArray[Any]:
        return np.where(y == positive, 1, -1).astype(np.int8)

    return parts._replace(y_train=sign(parts.y_train), y_test=None if parts.y_test is None else sign(parts.y_test))
