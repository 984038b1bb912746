"""The binary problems of a fit (tasks): weights of rows and classes, class pairs, and LIBSVM's layout of them."""

from collections.abc import Sequence
from itertools import accumulate, combinations
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, compute_class_weight

from hinge.access.arrays import zeros
from hinge.access.streams.base import RowStream
from hinge.access.tables.table import Table
from hinge.constraints import FAR, scale
from hinge.estimators.data.validation import NOT_NUMBERS
from hinge.estimators.fitting.parameters import ClassWeight, KernelData
from hinge.kernels import Function, Kernel, namespace
from hinge.solvers.kernel.active_rounds import LARGEST_PAIR, MOST
from hinge.types import Array


class Task(NamedTuple):
    """A binary problem, of one class against another or against the rest; or the problem of a regression.

    Attributes
    ----------
    rows : ndarray, optional
        The rows that take part; None for all.
    y : ndarray
        Their labels, -1 and +1, in int8; or their targets in float64.
    weight : ndarray, optional
        Their weights; zero for held-out rows.
    aside : ndarray, optional
        The held-out rows, as indices among those that take part.
    """

    rows: np.ndarray | None
    y: np.ndarray
    weight: np.ndarray | None
    aside: np.ndarray | None


class PackedTasks(NamedTuple):
    """Several tasks as concatenated arrays: member k has the entries from ``cuts[k]`` to ``cuts[k + 1]``."""

    rows: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    weight: np.ndarray


class PairTasks(Sequence[Task]):
    """The tasks of all class pairs, which are parts of concatenated arrays."""

    def __init__(self, packed: PackedTasks, aside: np.ndarray | None, weighted: bool) -> None:
        self.packed, self.aside, self.weighted = packed, aside, weighted

    def __len__(self) -> int:
        return len(self.packed.cuts) - 1

    def __getitem__(self, k: Any) -> Any:
        """Task k; the tasks of a slice as a list."""
        if isinstance(k, slice):
            return [self[one] for one in range(*k.indices(len(self)))]
        rows, cuts, y, weight = self.packed
        part = slice(cuts[k], cuts[range(len(self))[k] + 1])
        outside = None if self.aside is None else np.flatnonzero(np.isin(rows[part], self.aside))
        return Task(rows[part], y[part], weight[part] if self.weighted else None, outside)


def tasks_of(
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    per_class: np.ndarray | None,
    aside: np.ndarray | None,
    *,
    one_vs_one: bool,
    by_class: bool = False,
) -> Sequence[Task]:
    """The binary problems of a fit. Rows of weight zero are left out, except held-out rows (`aside`).

    `by_class` if the rows of a class pair may be sorted by class, rather than by their number.
    """
    kept = np.ones(len(codes), bool) if weight is None else weight > 0
    if aside is not None:
        weight = np.ones(len(codes)) if weight is None else weight.copy()
        weight[aside] = 0.0
    if not one_vs_one:
        rows = None if kept.all() else np.flatnonzero(kept)
        each = positive_classes(n_classes)
        return [_task(rows, codes == k, class_weights(codes == k, weight, per_class, k), aside) for k in each]
    if per_class is not None:
        weight = per_class[codes] if weight is None else weight * per_class[codes]
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    sizes = np.bincount(codes[rows], minlength=n_classes)
    sides = np.array(class_pairs(n_classes)).ravel()  # of all pairs, one after the other
    counts, ends = sizes[sides], np.cumsum(sizes)[sides]
    last = np.cumsum(counts)
    rows = rows[np.arange(last[-1]) + np.repeat(ends - last, counts)]
    y = np.repeat(np.tile(np.array([1, -1], np.int8), len(sides) // 2), counts)
    packed = PackedTasks(rows, np.append(0, last[1::2]), y, np.ones(len(rows)) if weight is None else weight[rows])
    tasks = PairTasks(packed, aside, weight is not None)
    return tasks if by_class else [sort_rows(task) for task in tasks]


def sort_rows(task: Task) -> Task:
    """The task with its rows in ascending order."""
    rows, y, weight, aside = task
    if rows is None or (rows[1:] > rows[:-1]).all():
        return task
    order = np.argsort(rows)
    aside = None if aside is None else np.flatnonzero(np.isin(order, aside))
    return Task(rows[order], y[order], None if weight is None else weight[order], aside)


def regression_task(t: np.ndarray, weight: np.ndarray | None, aside: np.ndarray | None) -> Task:
    """The problem of a regression; rows of weight zero are left out, except held-out rows (`aside`)."""
    rows = None if weight is None or weight.all() else np.flatnonzero(weight)
    if aside is not None:
        weight = np.ones(len(t)) if weight is None else weight.copy()
        weight[aside] = 0.0
        if not weight.any():
            raise ValueError("All rows of positive weight are held out: give a smaller validation_fraction.")
    if rows is None:
        return Task(None, t, weight, aside)
    assert weight is not None
    return Task(rows, t[rows], weight[rows], None if aside is None else np.searchsorted(rows, aside))


def _task(rows: np.ndarray | None, positive: np.ndarray, weight: np.ndarray | None, aside: np.ndarray | None) -> Task:
    if rows is not None:
        positive, weight = positive[rows], None if weight is None else weight[rows]
        aside = None if aside is None else np.flatnonzero(np.isin(rows, aside))
    return Task(rows, 2 * positive.view(np.int8) - np.int8(1), weight, aside)


def pack_tasks(tasks: Sequence[Task], *, by_class: bool = False) -> PackedTasks:
    """The tasks as concatenated arrays; `by_class` if the rows of the positive class come first in each."""
    if isinstance(tasks, PairTasks):
        return tasks.packed
    rows = np.concatenate([np.arange(len(task.y)) if task.rows is None else task.rows for task in tasks])
    y, weight = np.concatenate([task.y for task in tasks]), np.ones(len(rows))
    if any(task.weight is not None for task in tasks):
        weight = np.concatenate([np.ones(len(task.y)) if task.weight is None else task.weight for task in tasks])
    packed = PackedTasks(rows, np.array([0, *accumulate(len(task.y) for task in tasks)]), y, weight)
    if by_class and any((task.y[1:] > task.y[:-1]).any() for task in tasks):
        order = np.argsort(2 * np.repeat(np.arange(len(tasks)), np.diff(packed.cuts)) + (y < 0), kind="stable")
        packed = PackedTasks(rows[order], packed.cuts, y[order], weight[order])
    return packed


def fits_in_batch(
    tasks: Sequence[Task],
    n: int,
    kernel: Kernel,
    cache_bytes: float,
    *,
    copies: int = 1,
    many_pairs: int = 10,
    rounded: bool = False,
) -> bool:
    """Whether every task is small, and the Gram matrix of all n rows fits into the cache; of class pairs its parts.

    Every row takes part in `copies` copies. From `many_pairs` class pairs on (five classes), each kernel value serves
    several of them, and they may be twice as large; four times, where values are `rounded` to single precision.
    """
    by_value, cells = isinstance(kernel, Function) and kernel.on != "blocks", float(copies * n) ** 2
    if by_value:
        return False
    pairs = len(tasks) >= many_pairs and tasks[0].rows is not tasks[1].rows
    sizes = np.diff(tasks.packed.cuts) if isinstance(tasks, PairTasks) else np.array([len(task.y) for task in tasks])
    largest, most = int(sizes.max()), (1 + rounded) * LARGEST_PAIR if pairs else MOST
    if pairs and not isinstance(kernel, Function):  # values of classes with themselves, and those of two at a time
        cells = min(cells, float(n * largest + largest**2))
    return 8.0 * cells <= cache_bytes and bool(copies * largest <= most)


def check_mass(mass: np.ndarray, labels: list[Any]) -> None:
    """Raise if a class has no row of positive weight; `mass` is the total weight of each."""
    missing = np.flatnonzero(mass <= 1e-12 * mass.sum())
    if len(missing) == len(labels) - 1:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class: 2 classes or more must "
            f"have one, and {labels[missing[0]]!r} has none."
        )
    if len(missing):
        raise ValueError(
            f"No row of class {labels[missing[0]]!r} has a positive weight: 2 classes or more must have one."
        )


# --- weights ------------------------------------------------------------------------------


def row_weights(sample_weight: ArrayLike | None, X: KernelData | Table | RowStream) -> np.ndarray | None:
    """`sample_weight`, validated; None if all weights are 1.

    Rows of negative weight are ignored, like rows of weight zero, as in scikit-learn.
    """
    if sample_weight is None:
        return None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    try:
        rows = check_array(sample_weight, dtype=np.float64, ensure_2d=False, allow_nd=True, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        if not str(error).startswith(NOT_NUMBERS):
            raise
        raise type(error)(f"sample_weight must be numbers, one for each row: {error}.") from error
    if rows.shape != (n,):
        raise ValueError(f"sample_weight must be one number for each of the {n} rows, got the shape {rows.shape}.")
    infinite = ~np.isfinite(rows)
    if infinite.any():
        raise ValueError(
            f"sample_weight contains {'NaN' if np.isnan(rows).any() else 'infinity'}, in {infinite.sum()} of {n} rows. "
            "Give a row that may have no loss a weight far above all others, such as 1e10, and one to leave out 0."
        )
    rows = np.maximum(rows, 0.0)
    if not rows.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: there is nothing to learn from. "
            "sample_weight needs a positive number for some rows."
        )
    if not 1 / FAR <= rows.max() <= FAR:
        raise ValueError(
            f"The largest sample_weight is {rows.max():g}, and must lie between {1 / FAR:g} and {FAR:g}: "
            "divide all by it."
        )
    return rows


def per_class_weights(
    class_weight: ClassWeight, y: np.ndarray, classes: np.ndarray, row_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """The weight of each class; None if all are 1. "balanced" uses `row_weight` if it is given."""
    if class_weight is None:
        return None
    if not isinstance(class_weight, dict) and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            scale(or_zero=True).check(f"class_weight of {label!r}", value)
    elif row_weight is not None:
        each = np.array([row_weight[y == label].sum() for label in classes])
        for label, weight in zip(classes.tolist(), each, strict=True):
            if weight <= 1e-12 * row_weight.sum():
                raise ValueError(f"sample_weight leaves no row of {label!r}: 2 classes or more must have weight.")
        return row_weight.sum() / (len(classes) * each)
    try:
        return compute_class_weight(class_weight, classes=classes, y=y)
    except TypeError as error:
        raise ValueError(f"class_weight needs labels that are numbers or strings: {error}.") from error


def class_weights(
    positive: np.ndarray, row_weight: np.ndarray | None, per_class: np.ndarray | None, k: int
) -> np.ndarray | None:
    """Weights of rows for class k against the rest; with more than two classes the rest has class weight 1."""
    if per_class is None:
        return row_weight
    factor = np.where(positive, per_class[k], per_class[0] if len(per_class) == 2 else 1.0)
    return factor if row_weight is None else row_weight * factor


def positive_classes(n_classes: int) -> Sequence[int]:
    """The positive class of each problem of one class against the rest; of two classes, the second."""
    return [1] if n_classes == 2 else range(n_classes)


# --- class pairs --------------------------------------------------------------------------


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """All class pairs i < j, in LIBSVM's order; class i is the positive one."""
    return list(combinations(range(n_classes), 2))


def by_class(support: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Support vectors sorted by class, in row order within a class; and how many each class has."""
    classes = codes[support]
    return support[np.argsort(classes, kind="stable")], np.bincount(classes, minlength=n_classes)


def dual_layout(
    beta: np.ndarray, rows: np.ndarray, cuts: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The coefficients of all class pairs in LIBSVM's layout.

    A support vector of class i takes part in n_classes - 1 pairs; its coefficient in the one with class j is
    in row j - 1 where j > i, in row j where j < i.

    Parameters
    ----------
    beta, rows : ndarray
        The coefficients and the row indices of all pairs, concatenated.
    cuts : ndarray of shape (n_pairs + 1,)
        Start of each pair in these arrays.
    codes : ndarray of shape (n,)
    n_classes : int

    Returns
    -------
    dual_coef : ndarray of shape (n_classes - 1, n_SV)
    support : ndarray of shape (n_SV,)
    n_support : ndarray of shape (n_classes,)
    """
    first, second = (np.repeat(side, np.diff(cuts)) for side in np.array(class_pairs(n_classes)).T)
    taken = beta != 0
    beta, rows, first, second = beta[taken], rows[taken], first[taken], second[taken]
    used = np.zeros(len(codes), bool)
    used[rows] = True
    support, n_support = by_class(np.flatnonzero(used), codes, n_classes)
    place = np.empty(len(codes), np.int64)
    place[support] = np.arange(len(support))
    dual = np.zeros((n_classes - 1, len(support)))
    dual[np.where(codes[rows] == first, second - 1, first), place[rows]] = beta
    return dual, support, n_support


def scores_of_pairs(sums: Array, intercept: Array) -> Array:
    """Decision values of all class pairs, from the sums ``sums[:, i, row]`` over the support vectors of class i."""
    both = [sums[:, i, j - 1] + sums[:, j, i] for i, j in class_pairs(sums.shape[1])]
    return namespace(sums).stack(both, axis=1) + intercept


def votes(scores: Array, n_classes: int) -> Array:
    """The number of its class pairs that each class wins."""
    won = zeros((len(scores), n_classes), scores)
    for score, (i, j) in zip(scores.T, class_pairs(n_classes), strict=True):
        won[:, i] += score > 0
        won[:, j] += score <= 0
    return won


def per_class(scores: Array, n_classes: int) -> Array:
    """One value for each class: its votes and, to break ties, its summed scores, as in scikit-learn.

    A score of zero is a vote for the first class here, and for the second class in `votes`.
    """
    summed, won = zeros((2, len(scores), n_classes), scores)
    for score, (i, j) in zip(scores.T, class_pairs(n_classes), strict=True):
        summed[:, i] += score
        summed[:, j] -= score
        won[:, i] += score >= 0
        won[:, j] += score < 0
    return won + summed / (3.0 * (abs(summed) + 1.0))


def coefficients_of_pairs(dual_coef: np.ndarray, n_support: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The support vectors of each class pair, and their coefficients in it."""
    of_class = np.split(np.arange(dual_coef.shape[1]), np.cumsum(n_support)[:-1])
    return [
        (
            np.concatenate([of_class[i], of_class[j]]),
            np.concatenate([dual_coef[j - 1, of_class[i]], dual_coef[i, of_class[j]]]),
        )
        for i, j in class_pairs(len(n_support))
    ]
