"""Rows that are spread over a cluster: chunks as they are given, and the parts that a worker holds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from dask import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Future
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from hinge.access import as_matrix
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.tasks import class_weights, row_weights
from hinge.problems import Regularized
from hinge.problems.svm.examples import spread_of
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.threads import stretches
from hinge.types import MatrixLike, Stored


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
    """The chunks of X, and the chunks of y and of the weights that go with them.

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
    """Chunks of y, or of weights, that go with the chunks of X."""
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
    return chunk if isinstance(chunk, Delayed | Future) else delayed(chunk, pure=False)


class Part(NamedTuple):
    """Rows that are worked on together, by their number: an array or CSR, codes of labels or targets, weights if any.

    Rows of chunks that weigh nothing are left out; `sq` are squared norms, nan where they are not known yet.
    """

    number: int
    X: Stored
    y: np.ndarray
    weight: np.ndarray | None
    sq: np.ndarray

    @property
    def n(self) -> int:
        """Its rows."""
        return len(self.y)


class Facts(NamedTuple):
    """What the client has to know of a part.

    `masses` are the weights of all rows with each of the `labels`, or of all rows where y are targets; `columns` and
    `names` come from its first chunk, `typical` is a squared norm; targets lie about `centre`, within `spread`.
    """

    rows: int
    cells: int
    columns: int
    names: tuple[str, ...] | None
    labels: np.ndarray
    masses: np.ndarray
    typical: float
    centre: float = 0.0
    spread: float = 1.0


def stacked(parts: Sequence[Any]) -> Stored:
    """Rows below one another: CSR where some are sparse; no copy of a single one."""
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts, format="csr")) if any(map(sp.issparse, parts)) else np.concatenate(parts)


class ClusterTask(NamedTuple):
    """One binary problem, or one of regression, over the rows of all parts.

    `code` is the positive class, `per_class` the weights of classes; `total` is Σ s over all parts;
    `kappa` is the κ to begin with, see :mod:`hinge.dask.rounds`; `parts` is the number of parts.
    """

    code: int
    per_class: np.ndarray | None
    lam: float
    total: float
    loss: Loss
    bias: Bias
    bias_scale: float
    kappa: float
    parts: int

    @property
    def Lam(self) -> float:
        """Λ = λ Σ s."""
        return self.lam * self.total

    @property
    def constant_sq(self) -> float:
        """Square of the constant feature's value, 0 where there is none."""
        return self.bias_scale**2 if self.bias == "penalized" else 0.0

    @property
    def free(self) -> bool:
        """Whether the bias is free."""
        return self.bias == "free"


def prepared(
    number: int,
    targets: bool,
    Xs: Sequence[MatrixLike],
    ys: Sequence[ArrayLike],
    sample_weights: Sequence[ArrayLike] | None,
) -> tuple[Part, Facts]:
    """A part made of chunks, with what is to be known of it; errors name the part. It costs a pass."""
    chunks, columns, names = [], [], []
    for k, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        where = f"Part {number}" if len(Xs) == 1 else f"Part {number}, chunk {k} of it"
        try:
            shape = np.shape(X) if not hasattr(X, "shape") else X.shape
            if len(shape) == 2:
                columns.append(int(shape[1]))
                names.append(_names_of(X))
            if columns and (columns[-1] != columns[0] or names[-1] != names[0]):
                raise ValueError(
                    f"its columns are {_shown(columns[-1], names[-1])}, not {_shown(columns[0], names[0])}"
                )
            chunk = _checked(X, y, None if sample_weights is None else sample_weights[k], targets)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from error
        if chunk is not None:
            chunks.append(chunk)
    nothing = Part(number, np.empty((0, columns[0])), np.empty(0), None, np.empty(0))
    part = joined(number, chunks) if chunks else nothing
    return part, _facts(part, names[0], targets)


def part_of(loaded: tuple[Part, Facts], classes: np.ndarray | None) -> Part:
    """The part; with the numbers of its labels among all classes in place of the labels, where there are classes."""
    part, _ = loaded
    if classes is None:
        return part
    return part._replace(y=np.searchsorted(classes, part.y).astype(np.min_scalar_type(len(classes))))


Checked = tuple[Stored, np.ndarray, np.ndarray | None]
"""Rows, labels or targets, and weights where there are any, of a chunk."""


def _checked(X: Any, y: Any, weight: Any, targets: bool) -> Checked | None:
    """A chunk as scikit-learn checks it; None where it has no rows, or none that weighs anything."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    y = _one_column(y)
    if y.shape != (rows,):
        raise ValueError(f"X has {rows} rows and y has the shape {y.shape}: one label a row is needed")
    if rows == 0:
        return None
    X, y = checks.validated(BaseEstimator(), X, y)
    if targets:
        y = checks.checked_targets(y)
    else:
        checks.check_labels(y)
    if weight is not None:
        weight = _one_column(weight)
        if weight.shape == (rows,) and weight.dtype.kind in "biuf" and (weight <= 0).all():
            return None
        weight = row_weights(weight, X)
    return X, y, weight


def _one_column(values: ArrayLike) -> np.ndarray:
    """Labels or weights, which a frame may hold as a table of one column."""
    values = np.asarray(values)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def joined(number: int, chunks: Sequence[Checked]) -> Part:
    """One part of all rows of these chunks."""
    Xs, ys, weights = zip(*chunks, strict=True)
    rows = as_matrix(stacked(Xs), checked=True)  # converts what compiled code cannot read, once for all rounds
    weight = None
    if any(own is not None for own in weights):
        weight = np.concatenate([np.ones(len(y)) if own is None else own for y, own in zip(ys, weights, strict=True)])
    return Part(number, rows.whole(), np.concatenate(ys), weight, np.full(rows.n, np.nan))


def _facts(part: Part, names: tuple[str, ...] | None, targets: bool) -> Facts:
    """Labels of this part only: the client merges the labels of all parts."""
    columns = part.X.shape[1]
    if not part.n:
        return Facts(0, 0, columns, names, np.zeros(0), np.zeros(0), 0.0)
    matrix = as_matrix(part.X, checked=True)
    typical = matrix.typical_sq_norm(16)  # sets the scale of a free bias
    mass = np.ones(part.n) if part.weight is None else part.weight
    facts = Facts(part.n, matrix.n_cells, columns, names, part.y[:0], mass.sum(keepdims=True), typical)
    if targets:
        return facts._replace(centre=float(np.median(part.y)), spread=spread_of(part.y))
    labels, codes = np.unique(part.y, return_inverse=True)
    return facts._replace(labels=labels, masses=np.bincount(codes, mass, len(labels)))


def problem_of(part: Part, task: ClusterTask) -> Regularized | None:
    """The problem of the task over a part, whose means are shares of those over all parts; None if no row weighs."""
    if task.loss.two_sided:
        y, weight = part.y, part.weight
    else:
        positive = part.y == task.code
        y = np.where(positive, np.int8(1), np.int8(-1))
        weight = class_weights(positive, part.weight, task.per_class, task.code)
    if not part.n or (weight is not None and not weight.any()):
        return None
    rows, scale = as_matrix(part.X, checked=True), task.bias_scale
    problem = Regularized(rows, y, task.lam, weight=weight, bias=task.bias, bias_scale=scale, loss=task.loss)
    problem.total = task.total
    return problem


def _names_of(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def _shown(columns: int, names: tuple[str, ...] | None) -> str:
    return f"{columns}" if names is None else f"{columns} ({', '.join(names[:8])}{', ...' if columns > 8 else ''})"
