"""What a fit is given: dask arrays, dask frames, or lists of parts; all become chunks of rows with their labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from dask import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Future

from hinge.threads import stretches


class Chunks(NamedTuple):
    """Chunks of rows, of labels and of weights, where there are such, in the same order."""

    Xs: list[Any]
    ys: list[Any]
    weights: list[Any] | None

    def grouped(self, count: int) -> "list[Chunks]":
        """So many groups of neighbours, or one for each chunk."""
        ends = stretches(len(self.Xs), min(count, len(self.Xs)))
        weights = self.weights
        return [Chunks(self.Xs[lo:hi], self.ys[lo:hi], None if weights is None else weights[lo:hi]) for lo, hi in ends]


def is_distributed(X: object) -> bool:
    """Whether X is in chunks: a dask collection, or a list of things that are, or that will be computed."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(chunk, Future) or is_dask_collection(chunk) for chunk in X)
    return is_dask_collection(X)


def chunks_of(X: Any, y: Any, sample_weight: Any = None) -> Chunks:
    """The chunks of X, and those of y and of the weights that go with them.

    Parameters
    ----------
    X : dask array, dask DataFrame, or list
        Chunks of an array may be NumPy's or SciPy's sparse ones. Chunks of columns are put together. A list has
        delayed values, futures, or arrays.
    y, sample_weight : dask array, dask Series, list, or an array, if X knows how many rows its chunks have
    """
    Xs, rows = row_chunks(X)
    ys = _beside(y, rows, len(Xs), "y")
    return Chunks(Xs, ys, None if sample_weight is None else _beside(sample_weight, rows, len(Xs), "sample_weight"))


def row_chunks(X: Any) -> tuple[list[Any], tuple[float, ...] | None]:
    """The chunks of X, and how many rows each has where that is known."""
    if isinstance(X, list | tuple) and len(X):
        if any(isinstance(chunk, Future) or is_dask_collection(chunk) or np.ndim(chunk) == 2 for chunk in X):
            return [_delayed(chunk) for chunk in X], None
    elif is_dask_collection(X) and hasattr(X, "chunks") and hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"X must be a table with one row per example, got a dask array of {X.ndim} dimension(s).")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        rows = X.chunks[0]
        return list(X.to_delayed().ravel()), None if np.isnan(rows).any() else rows
    elif is_dask_collection(X) and hasattr(X, "columns") and hasattr(X, "to_delayed"):
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "biuf":
                raise ValueError(
                    f"Column {name!r} of X has the type {dtype}, and must hold numbers: encode it first, for instance "
                    "with dask.dataframe.get_dummies, or drop it."
                )
        return list(X.to_delayed()), None
    raise TypeError(
        f"X must be a dask array, a dask DataFrame or a list of parts, got {type(X).__name__}: hinge.LinearSVC and "
        "hinge.LinearSVR take what lies in this process."
    )


def _beside(values: Any, rows: tuple[float, ...] | None, count: int, name: str) -> list[Any]:
    """Chunks of y, or of weights, that go with those of X."""
    if values is None:
        raise ValueError("The target y is None: one label or number a row is needed.")
    if is_dask_collection(values) and hasattr(values, "rechunk"):
        known = not np.isnan(values.chunks[0]).any()
        if rows is not None and known:
            if sum(values.chunks[0]) != sum(rows):
                raise ValueError(f"X has {sum(rows)} rows and {name} has {sum(values.chunks[0])}: one a row is needed.")
            values = values.rechunk({0: rows})
        pieces = list(values.to_delayed().ravel())
    elif is_dask_collection(values) and hasattr(values, "to_delayed"):
        pieces = list(values.to_delayed())
    elif rows is None or (isinstance(values, list | tuple) and len(values) == count and _are_parts(values)):
        if not isinstance(values, list | tuple):
            raise TypeError(
                f"{name} must be in chunks as X is, a dask array or Series, or a list of parts, got "
                f"{type(values).__name__}: how many rows the chunks of X have is not known."
            )
        pieces = [_delayed(piece) for piece in values]
    else:
        values = np.asarray(values)
        if len(values) != sum(rows):
            raise ValueError(f"X has {sum(rows)} rows and {name} has {len(values)}: one a row is needed.")
        pieces = [_delayed(piece) for piece in np.split(values, np.cumsum(rows)[:-1].astype(int))]
    if len(pieces) != count:
        raise ValueError(f"X has {count} chunks of rows and {name} has {len(pieces)}: give both the same ones.")
    return pieces


def _are_parts(values: Sequence[Any]) -> bool:
    return all(isinstance(piece, Future) or is_dask_collection(piece) or np.ndim(piece) >= 1 for piece in values)


def _delayed(chunk: Any) -> Any:
    """Something that jobs can take as an argument."""
    return (
        chunk if isinstance(chunk, Delayed) else delayed(chunk, pure=False) if not isinstance(chunk, Future) else chunk
    )
