"""X of a kernel estimator: a matrix of numbers, a sequence of any items, or a matrix of kernel values."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d

from hinge.access import Points, as_points
from hinge.access.arrays import doubled, is_tensor, to_host
from hinge.access.gram.given_points import as_block
from hinge.access.streams.base import allowed_memory, resident
from hinge.access.streams.opening import is_source
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.parameters import Gamma, KernelChoice, KernelData
from hinge.kernels import Function, Gaussian, Kernel, Precomputed, registry
from hinge.types import Items, Stored

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch

T = TypeVar("T")

BLOCK_CELLS = 1 << 19
FEW_CELLS = 1 << 15
"""A sparse X of at most so many cells is made dense for a fit; for larger ones sparse products are faster."""


def is_precomputed(kernel: KernelChoice) -> bool:
    """Whether X holds kernel values in place of points."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def is_function(kernel: KernelChoice) -> bool:
    """Whether kernel values come from a Python function, which may take any items."""
    return isinstance(kernel, Function) or (callable(kernel) and not isinstance(kernel, Kernel))


def is_matrix(X: Items) -> bool:
    """Whether X is a matrix of numbers, rather than a sequence of other items."""
    if sp.issparse(X) or hasattr(X, "__dataframe__"):
        return True
    if not hasattr(X, "__array__"):
        first = X[0] if isinstance(X, list | tuple) and X else None
        if not (isinstance(first, list | tuple) or hasattr(first, "__array__")):
            return False
    try:
        array = np.asarray(X)
    except ValueError:  # rows of several lengths
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"


def as_items(X: Items, kernel: KernelChoice) -> list[Any]:
    """The items of a sequence as a list; integers if the kernel takes indices of items."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or not hasattr(X, "__iter__"):
        raise ValueError(f"X must be a sequence of items for the kernel, got {X!r}.")
    items = list(cast(Sequence[Any], X))
    if isinstance(kernel, Function) and kernel.on == "indices":
        try:
            numbers = np.asarray(X)
        except ValueError:  # rows of several lengths
            numbers = np.empty(0)
        if numbers.dtype.kind not in "iu" or numbers.shape not in ((len(items),), (len(items), 1)):
            raise ValueError(
                "A kernel on='indices' is called with indices of items: X must hold them, whole numbers of "
                f"shape (n,) or (n, 1), got shape {numbers.shape} of {numbers.dtype}."
            )
        return numbers.ravel().tolist()
    return items


def loaded(model: BaseEstimator, X: Any, y: ArrayLike | str | None) -> tuple[Any, Any, list[str] | None]:
    """X, y and the names of columns; if X is a source of rows on disk, its rows are loaded into memory.

    Any other X is returned unchanged, and so are lists (of items, here, even if they are paths) and memory maps.
    """
    if isinstance(X, np.ndarray | list | tuple) or is_function(model.kernel) or not is_source(X):
        checks.check_no_name(y)
        return X, y, None
    left = allowed_memory(model.max_memory) - resident()
    stream, y = checks.labelled_stream(X, y, left // 2)
    size = stream.shape[0] * stream.row_bytes
    if 2 * size > left:
        raise ValueError(
            f"The rows take {size:,} bytes, twice as much while they are loaded, and {max(0, left):,} are available: "
            "kernel estimators hold their rows in memory. Allow more by max_memory, or use LinearSVC, which does not."
        )
    return stream.load(), y, stream.names


def training_data(model: BaseEstimator, X: Items, y: ArrayLike | None) -> tuple[KernelData, np.ndarray]:
    """X and y of a fit, checked: X as an array, CSR, or a list of items."""
    if is_function(model.kernel) and not _is_by_rows(X, model.kernel):
        if y is None:
            raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
        X = as_items(X, model.kernel)
        labels = column_or_1d(y, warn=True)
        if not X:
            raise ValueError("X has no items: there is nothing to learn from.")
        check_consistent_length(X, labels)
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit
            model.__dict__.pop(name, None)
        return X, labels
    _check_given(X, model.kernel)
    X, y = checks.validated(model, X, y)
    return _square_if_given(model, X), y


def training_points(model: BaseEstimator, X: Items) -> KernelData:
    """X of a fit without labels, checked in the same way."""
    if is_function(model.kernel) and not _is_by_rows(X, model.kernel):
        X = as_items(X, model.kernel)
        return training_data(model, X, np.zeros(len(X)))[0]
    _check_given(X, model.kernel)
    return _square_if_given(model, checks.validated(model, X))


def new_data(model: BaseEstimator, X: Items) -> KernelData:
    """X of a prediction, checked against the fit."""
    if isinstance(model.support_vectors_, list):
        return as_items(X, model.kernel_)
    if not is_precomputed(model.kernel_):
        return checks.validated(model, X, reset=False)
    _check_given(X, model.kernel_)
    try:
        return checks.validated(model, X, reset=False)
    except ValueError as error:
        n = model.shape_fit_[0]
        if f"expecting {n} features" not in str(error):
            raise
        raise ValueError(
            f"{error} With a precomputed kernel these are kernel values: X holds K(x, z) of new points x and "
            f"all {n} training points z, so its shape must be (m, {n})."
        ) from error


def _is_by_rows(X: Items, kernel: KernelChoice) -> bool:
    return is_matrix(X) and not (isinstance(kernel, Function) and kernel.on == "indices")


def _check_given(X: Items, kernel: KernelChoice) -> None:
    if sp.issparse(X) and is_precomputed(kernel):
        raise TypeError("Sparse precomputed kernels are not supported: give a dense matrix, X.toarray().")


def _square_if_given(model: BaseEstimator, X: Stored) -> Stored:
    if is_precomputed(model.kernel) and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel is a square matrix, K(x, z) for all training points x and z; got shape {X.shape}."
        )
    return X


def kernel_of(model: BaseEstimator, X: KernelData) -> Kernel:
    """The kernel object that the parameters ask for, with the numbers that depend on X filled in."""
    kernel = model.kernel
    if isinstance(kernel, Kernel):
        numbers = {name: float(getattr(kernel, name)) for name in ("gamma", "coef0") if hasattr(kernel, name)}
        return replace(kernel, **numbers) if numbers else kernel
    if callable(kernel):
        return Function(kernel, on="pairs" if isinstance(X, list) else "blocks")
    named = registry.BY_NAME[kernel]
    has: dict[str, Callable[[], Any]] = {
        "degree": lambda: int(model.degree),
        "gamma": lambda: gamma_value(model.gamma, X),
        "coef0": lambda: float(model.coef0),
    }
    return named(**{field.name: has[field.name]() for field in fields(named) if field.name in has})


def run_with(kernel: Kernel, X: KernelData, run: Callable[[Kernel], T]) -> tuple[Kernel, T]:
    """The kernel, and the result of ``run(kernel)``.

    If X is not a matrix, a function is called with two items. If that fails, and the function takes two lists of items
    and returns a block of values, as scikit-learn would call it, it is run that way.
    """
    try:
        return kernel, run(kernel)
    except Exception:
        blocks = _in_blocks(kernel, X)
        if blocks is None:
            raise
    return blocks, run(blocks)


def _in_blocks(kernel: Kernel, X: KernelData) -> Kernel | None:
    """The kernel called with two lists of items, if that works; else None."""
    if not isinstance(X, list) or not isinstance(kernel, Function) or kernel.on != "pairs":
        return None
    some = X[:2]
    try:
        as_block(kernel.function(some, some), (len(some), len(some)))
    except Exception:  # a function that was not written for lists may raise anything
        return None
    return Function(kernel.function, on="blocks")


def gamma_value(gamma: Gamma, X: Stored) -> float:
    """gamma as a number; "scale" and "auto" are computed from X as in scikit-learn."""
    if gamma == "scale":
        spread = variance(X)
        if 0 < spread < 1e-200:  # the square of its inverse would overflow in later products
            raise ValueError(
                f"X has a variance of {spread:.1g}, too small for gamma='scale': scale the features up, for "
                "instance with sklearn.preprocessing.MaxAbsScaler, or give gamma."
            )
        return float(1.0 / (X.shape[1] * spread)) if spread > 0 else 1.0
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)


def variance(X: Stored) -> float:
    """The variance of all cells of a matrix, in float64 and a few rows at a time; exactly zero if all are equal."""
    if is_tensor(X):
        return _variance_there(X)
    cells = X.shape[0] * X.shape[1]
    values: np.ndarray = cast(sp.csr_array, X).data if sp.issparse(X) else X
    step = max(1, BLOCK_CELLS // (1 if values.ndim == 1 else max(1, X.shape[1])))
    parts = range(0, len(values), step)
    mean = sum(float(values[lo : lo + step].sum(dtype=np.float64)) for lo in parts) / cells
    if values.size == cells:  # the rounded mean of equal values can differ from them
        mean = min(max(mean, float(values.min())), float(values.max()))
    off = (np.subtract(values[lo : lo + step], mean, dtype=np.float64) for lo in parts)
    squares = sum(float(np.square(part).sum()) for part in off)
    return (squares + (cells - values.size) * mean**2) / cells


def _variance_there(X: "torch.Tensor") -> float:
    """The same of a tensor, where it lies."""
    low, high = X.aminmax()
    if bool(low == high):
        return 0.0
    parts = X.split(max(1, BLOCK_CELLS * 32 // max(1, X.shape[1])))
    mean = float(sum(doubled(part).sum() for part in parts)) / X.numel()
    return float(sum(((doubled(part) - mean) ** 2).sum() for part in parts)) / X.numel()


def points_on_host(X: KernelData) -> KernelData:
    """Points for the CPU; a small sparse matrix as an array: sparse and dense X then give bitwise equal results."""
    if is_tensor(X):
        return to_host(X)
    if isinstance(X, list) or not sp.issparse(X) or X.shape[0] * X.shape[1] > FEW_CELLS:
        return X
    return cast(sp.csr_array, X).toarray()


def batch_points(X: KernelData, kernel: Kernel, *, rounded: bool = False) -> Points:
    """The points of a batch, with values in float64 or, of a Gaussian kernel, `rounded` to float32.

    A function must get them as the user gave them.
    """
    if isinstance(kernel, Function):
        return as_points(X, kernel)
    rounded = rounded and isinstance(kernel, Gaussian)
    return as_points(points_on_host(X), kernel, exact=not rounded, double=rounded)


def part_of(X: KernelData, rows: np.ndarray | None, kernel: Kernel) -> KernelData:
    """Some rows of the data, and the same columns if it holds kernel values; everything if `rows` is None."""
    if rows is None:
        return X
    if isinstance(X, list):
        return [X[i] for i in rows.tolist()]
    return X[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else X[rows]


def of_items(kernel: Kernel) -> Kernel:
    """A kernel of two items, where X is a list of indices for ``Function(..., on="indices")``: these are the items."""
    if isinstance(kernel, Function) and kernel.on == "indices":
        return Function(kernel.function, on="pairs")
    return kernel


def shape_of(X: KernelData) -> tuple[int, ...]:
    """The shape of a matrix, or (length,) of a list."""
    return (len(X),) if isinstance(X, list) else tuple(X.shape)
