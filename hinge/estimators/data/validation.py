"""Validation of the estimators' data and labels."""

from functools import cache
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state, validate_data

from hinge.access.arrays import is_tensor
from hinge.access.streams.base import LARGEST, RowStream, free_memory
from hinge.access.streams.opening import as_stream
from hinge.access.structure import as_csr
from hinge.access.tables.oracle import as_oracle
from hinge.access.tables.table import Table
from hinge.estimators.fitting.parameters import RandomState, Source
from hinge.types import MatrixLike, Stored

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch

CLOSE = 1 << 16
"""Integer labels within a range smaller than this are found by counting, without sorting."""

WIDE = 1 << 27
"""Columns from which on vectors of all of them, of a gigabyte each, are compared with the free memory."""

TOO_LARGE = (
    f"X has values above {LARGEST:g}, whose squares overflow; scale the features down, for instance with "
    "sklearn.preprocessing.MaxAbsScaler."
)

NOT_NUMBERS = ("setting an array element", "could not convert", "float() argument", "int() argument")
"""Beginnings of NumPy's messages if something cannot be converted to an array of numbers."""


def generator_of(random_state: RandomState) -> np.random.RandomState:
    """The generator that `random_state` is, or one seeded by it."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, a whole number from 0 to {2**32 - 1} or a RandomState, got {random_state!r}."
        ) from error


def seed_of(random_state: RandomState) -> int:
    """A seed drawn from `random_state`; None counts as 0, so that the same call gives the same result."""
    if random_state is None or type(random_state) is int:
        return _first_draw(random_state or 0)
    return int(generator_of(random_state).randint(np.iinfo(np.int32).max))


@cache
def _first_draw(seed: int) -> int:
    """Cached, since creating a generator takes as long as a small fit."""
    return int(generator_of(seed).randint(np.iinfo(np.int32).max))


@overload
def validated(model: BaseEstimator, X: MatrixLike, *, reset: bool = True) -> Stored: ...


@overload
def validated(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike | None, *, reset: bool = True, already_valid: bool = False
) -> tuple[Stored, np.ndarray]: ...


def validated(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None = "no_validation",
    *,
    reset: bool = True,
    already_valid: bool = False,
) -> Any:
    """X, or X and y, as scikit-learn checks them: an array, or CSR by `as_csr`; copied only where needed.

    Numbers that are written as text are converted, as scikit-learn's kernel machines do. For predictions any table is
    accepted, and all its cells are read. `already_valid` states that the values of X have been checked already.
    """
    finite = already_valid
    table = as_oracle(X)
    if table is not None and reset:
        raise TypeError(
            f"{type(model).__name__} takes arrays and sparse matrices here, not a table of which some cells are read,"
            " as LinearSVC does: Oracle(X).block(numpy.arange(n), numpy.arange(d)) reads all of one."
        )
    if table is not None:
        X = table.block(np.arange(table.shape[0]), np.arange(table.shape[1]))
    if sp.issparse(X) and not already_valid:
        X, finite = as_csr(X)
        _check_width(X.shape[1])
    if is_tensor(X):
        return _validated_there(model, X, y, reset)
    if _are_plain(model, X, y, finite, reset):
        if reset:
            model.n_features_in_ = cast(Stored, X).shape[1]
            model.__dict__.pop("feature_names_in_", None)
        if finite and not already_valid:
            check_scale(cast(Stored, X))
        return X if isinstance(y, str) else (X, y)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if not isinstance(X, np.ndarray) and len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    try:
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        text = isinstance(X, np.ndarray) and X.dtype.kind in "US"  # numbers as read from a file are accepted
        with np.errstate(all="ignore"):  # its test for infinity sums X, which may overflow
            checked = validate_data(
                model,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                dtype=np.float64 if text else "numeric",
                order="C",
                accept_large_sparse=True,
                ensure_all_finite=not (finite and cast(Stored, X).dtype in (np.float32, np.float64)),
            )
    except (TypeError, ValueError) as error:
        if not str(error).startswith(NOT_NUMBERS):
            raise
        raise type(error)(f"X must be a table of numbers, and y one label a row: {error}") from error
    rows = checked if isinstance(y, str) else checked[0]
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got {rows.dtype}.")
    check_scale(rows)
    return checked


def _validated_there(model: BaseEstimator, X: "torch.Tensor", y: ArrayLike | None, reset: bool) -> Any:
    """The same for a tensor, which is validated where it lies: its least and its largest value come to the host."""
    if X.dim() != 2 or min(X.shape) == 0:
        raise ValueError(
            f"X must be a table of one row or more, and one column or more: got the shape {tuple(X.shape)}."
        )
    if X.is_complex():
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    if not reset and X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features as "
            "input."
        )
    X = X.byte() if X.element_size() == 1 and not X.dtype.is_floating_point and not X.dtype.is_signed else X
    low, high = (float(end) for end in X.aminmax())
    if not np.isfinite(low) or not np.isfinite(high):  # both are nan where any value is
        raise ValueError(f"Input X contains {'NaN' if np.isnan(low) else 'infinity'}: drop or fill such rows.")
    if max(high, -low) > LARGEST:
        raise ValueError(TOO_LARGE)
    if reset:
        model.n_features_in_ = X.shape[1]
        model.__dict__.pop("feature_names_in_", None)
    if isinstance(y, str):
        return X
    return X, _one_label_a_row(model, y, X.shape[0])


def _are_plain(model: BaseEstimator, X: MatrixLike, y: ArrayLike | None, finite: bool, reset: bool) -> bool:
    """Whether X and y are plain arrays that pass scikit-learn's checks, which take most of a millisecond.

    `finite`: whether the values of X are known to be finite. If not sure, False: scikit-learn's checks find the fault.
    """
    if sp.issparse(X):
        plain = finite and cast(Stored, X).dtype in (np.float32, np.float64)
    else:
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and X.flags.c_contiguous
    if not plain:
        return False
    rows = cast(Stored, X)
    if isinstance(y, str) and y != "no_validation":  # a string given for the labels is an error
        return False
    if not isinstance(y, str):
        if not (type(y) is np.ndarray and y.ndim == 1 and len(y) == rows.shape[0] and y.dtype.kind in "biuf"):
            return False
        if y.dtype.kind == "f" and not _is_moderate(y):
            return False
    if not reset and ("feature_names_in_" in vars(model) or vars(model).get("n_features_in_") != rows.shape[1]):
        return False
    return min(rows.shape) > 0 and (finite or _is_moderate(cast(np.ndarray, X)))


def _check_width(d: int) -> None:
    """One wrong index makes a matrix of two billion columns, which is small itself."""
    vectors = 4  # of all columns that a fit may hold: the weights, copies of them, and an index
    if d >= WIDE and 8 * vectors * d > (free := free_memory()):
        raise ValueError(
            f"X has {d:,} columns: a vector of that length takes {8e-9 * d:.1f} GB, of which {vectors} are needed, and "
            f"{1e-9 * free:.1f} GB are free. If a wrong index made it so wide, mend that; else number the columns that "
            "have entries anew, for example by numpy.unique(X.indices, return_inverse=True)."
        )


def _is_moderate(a: np.ndarray) -> bool:
    """Whether the sum of squares, and therefore every value, is finite and below `LARGEST`.

    By `einsum`, which warns of nothing, and not by BLAS, whose threads would take longer than a small fit.
    """
    flat = a.ravel()
    return float(np.einsum("i,i->", flat, flat)) <= LARGEST * LARGEST  # false for nan


def validated_labels(model: BaseEstimator, table: Table | RowStream, y: ArrayLike | None) -> np.ndarray:
    """y as an array with one label for each row of a table or stream; sets `n_features_in_`."""
    labels = _one_label_a_row(model, y, table.shape[0])
    model.n_features_in_ = table.shape[1]
    model.__dict__.pop("feature_names_in_", None)
    return labels


def _one_label_a_row(model: BaseEstimator, y: ArrayLike | None, n: int) -> np.ndarray:
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    labels: np.ndarray = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    if len(labels) != n:
        raise ValueError(f"There are {n} rows and {len(labels)} labels: one label a row is needed.")
    return labels


def check_no_name(y: ArrayLike | str | None) -> None:
    """Raise if y is the name of a column, where X is not a source that has named columns."""
    if isinstance(y, str):
        raise ValueError(f"y={y!r} is the name of a column, and X has no named columns: give y as an array.")


def labelled_stream(X: Source, y: ArrayLike | str | None, keep: int) -> tuple[RowStream, ArrayLike]:
    """A source of rows as a stream, and the labels: given ones, the named column, or the source's own."""
    stream = as_stream(X, y if isinstance(y, str) else None, keep)
    assert stream is not None
    labels = stream.labels() if y is None or isinstance(y, str) else y
    if labels is None:
        raise ValueError("The source has no labels of its own: give y, an array or the name of a column.")
    return stream, labels


def check_scale(X: Stored) -> None:
    """Raise if X has values above `LARGEST`; float32 cannot hold any."""
    values: np.ndarray = cast(sp.csr_array, X).data if sp.issparse(X) else X
    if values.dtype.kind == "f" and values.itemsize > 4 and values.size and max(values.max(), -values.min()) > LARGEST:
        raise ValueError(TOO_LARGE)


def checked_targets(y: np.ndarray) -> np.ndarray:
    """Targets of a regression, in float64."""
    try:
        targets = np.asarray(y, np.float64) if y.dtype.kind != "c" else np.full(1, np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold one number for each row: {error}.") from error
    if not np.isfinite(targets).all():
        raise ValueError("y must hold one finite number for each row; drop rows whose target is missing.")
    if np.abs(targets).max(initial=0.0) > LARGEST:
        raise ValueError(f"y has values above {LARGEST:g}, whose squares overflow; divide y by a constant.")
    return targets


def check_labels(y: np.ndarray) -> None:
    """Raise if y has continuous values rather than classes, or labels that cannot be sorted."""
    if y.dtype.kind == "V":
        raise ValueError(f"y must hold one label for each row: numbers or strings, not {y.dtype}.")
    if y.dtype.kind not in "fcO":  # integers, booleans and strings are always labels
        return
    try:
        check_classification_targets(y)
        np.unique(y)
    except TypeError as error:
        raise ValueError(f"y mixes labels that cannot be compared: use numbers or strings only ({error}).") from error


def _few_numbers(y: np.ndarray) -> np.ndarray | None:
    """The sorted labels, if they are two whole numbers or lie in a small range: found without sorting or hashing."""
    if y.dtype.kind not in "biuf" or not y.size:
        return None
    low, high = y.min(), y.max()
    if y.dtype.kind == "f" and not (float(low).is_integer() and float(high).is_integer()):
        return None
    if low < high and np.count_nonzero(y == low) + np.count_nonzero(y == high) == len(y):
        return np.array([low, high])
    first, last = int(low), int(high)
    if y.dtype.kind in "iu" and last - first < min(len(y), CLOSE) and last < 1 << 62:
        return (np.flatnonzero(np.bincount(y.astype(np.int64) - first)) + first).astype(y.dtype)
    return None


def encoded_labels(y: np.ndarray, classes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes, and the index of each row's class; there must be two or more classes."""
    found = _few_numbers(y)
    if found is None:
        check_labels(y)
    known = classes is not None
    if classes is None:
        classes = np.unique(y) if found is None else found
    if len(classes) == 2 and not known:
        return classes, (y == classes[1]).view(np.uint8)
    try:
        codes = np.searchsorted(classes, y)
    except TypeError as error:
        raise ValueError(f"y has labels that are not among the classes {classes.tolist()}: {error}.") from error
    if known:
        codes[codes == len(classes)] = 0
        unknown = classes[codes] != y
        if unknown.any():
            label = y[unknown].tolist()[0]
            raise ValueError(f"y has the label {label!r}, which is not among the classes {classes.tolist()}.")
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: a classifier needs 2 classes or more.")
    return classes, codes.astype(np.min_scalar_type(len(classes)))


def stream_classes(classes: ArrayLike | None, known: np.ndarray | None) -> np.ndarray:
    """The classes given in the first call of `partial_fit`; later calls may repeat them, not change them."""
    if known is None and classes is None:
        raise ValueError("classes must be given in the first call of partial_fit: later rows may have other labels.")
    if classes is not None:
        check_labels(np.asarray(classes))
    if known is None:
        return np.unique(np.asarray(classes))
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(f"classes={classes!r} are not those of the first call, {known.tolist()}.")
    return known


def held_out(codes: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Indices of a random fraction of the rows, stratified; at least one row of each class is left for training.

    In regression all rows are of one class.
    """
    rng = np.random.default_rng(seed)
    picked = []
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        picked.append(rng.permutation(rows)[: min(len(rows) - 1, round(fraction * len(rows)))])
    rows = np.sort(np.concatenate(picked))
    if len(rows) == 0:
        raise ValueError(
            f"validation_fraction={fraction:g} of {len(codes)} rows leaves none to measure target_error on."
        )
    return rows.astype(np.int64)
