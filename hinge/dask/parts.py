"""What a worker holds: the rows of a part, checked, and the problems that they are a part of.

All of this is plain values and functions of them: a part that is lost with its worker is made again, the same.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from hinge.access import as_matrix
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.tasks import class_weights, row_weights
from hinge.problems import Regularized
from hinge.problems.svm.examples import spread_of
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.types import MatrixLike, Stored

TYPICAL = 16  # rows of a part, or up to twice as many, whose norms set the scale of a free bias


class Block(NamedTuple):
    """Rows as they came: an array or CSR, labels, their codes or targets, weights if there are any, squared norms."""

    X: Stored
    y: np.ndarray
    weight: np.ndarray | None
    sq: np.ndarray


class Part(NamedTuple):
    """The rows that are worked on together, by their number; those that weigh nothing in any block left out."""

    number: int
    blocks: tuple[Block, ...]

    @property
    def n(self) -> int:
        """Its rows."""
        return sum(len(block.y) for block in self.blocks)


class Facts(NamedTuple):
    """What the client has to know of a part.

    `masses` are the weights of all rows with each of the `labels`, or of all rows where y are targets; `columns` and
    `names` are those of its first block, `typical` is a squared norm; targets lie about `centre`, so much spread.
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


class Task(NamedTuple):
    """One binary problem, or one of regression, over the rows of all parts.

    `code` is the class that is told from the rest, `per_class` the weights of classes; `total` is Σ s over all parts;
    `kappa` is the κ to begin with, see :mod:`hinge.dask.rounds`; of so many `parts` sums are made.
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
    blocks, columns, names = [], [], []
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
            block = _block(X, y, None if sample_weights is None else sample_weights[k], targets)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from error
        if block is not None:
            blocks.append(block)
    part = Part(number, tuple(blocks))
    return part, _facts(part, columns[0], names[0], targets)


def part_of(loaded: tuple[Part, Facts], classes: np.ndarray | None) -> Part:
    """The part; with the numbers of its labels among all classes in place of the labels, where there are classes."""
    part, _ = loaded
    if classes is None:
        return part
    codes = [np.searchsorted(classes, block.y).astype(np.min_scalar_type(len(classes))) for block in part.blocks]
    return part._replace(blocks=tuple(block._replace(y=y) for block, y in zip(part.blocks, codes, strict=True)))


def _block(X: Any, y: Any, weight: Any, targets: bool) -> Block | None:
    """A chunk as scikit-learn checks it; None where it has no rows, or none that weighs anything."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
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
        weight = np.asarray(weight)
        weight = weight[:, 0] if weight.ndim == 2 and weight.shape[1] == 1 else weight
        if weight.shape == (rows,) and weight.dtype.kind in "biuf" and (weight <= 0).all():
            return None
        weight = row_weights(weight, X)
    rows_of = as_matrix(X, checked=True)  # converts what compiled code cannot read, once for all rounds
    return Block(rows_of.whole(), y, weight, np.full(rows, np.nan))


def _facts(part: Part, columns: int, names: tuple[str, ...] | None, targets: bool) -> Facts:
    """Labels are those of the part: the client puts all parts' together."""
    matrices = [as_matrix(block.X, checked=True) for block in part.blocks]
    mass = [np.ones(len(block.y)) if block.weight is None else block.weight for block in part.blocks]
    typical = [matrix.typical_sq_norm(TYPICAL) for matrix in matrices]
    cells = sum(matrix.n_cells for matrix in matrices)
    if not part.blocks:
        return Facts(0, 0, columns, names, np.zeros(0), np.zeros(0), 0.0)
    y, rows = np.concatenate([block.y for block in part.blocks]), np.concatenate(mass)
    facts = Facts(part.n, cells, columns, names, y[:0], rows.sum(keepdims=True), float(np.median(typical)))
    if targets:
        return facts._replace(centre=float(np.median(y)), spread=spread_of(y))
    labels, codes = np.unique(y, return_inverse=True)
    return facts._replace(labels=labels, masses=np.bincount(codes, rows, len(labels)))


def problems_of(part: Part, task: Task) -> list[Regularized | None]:
    """The problem of the task over each block, whose means are shares of those over all parts; None of no weight."""
    return [_problem(block, task) for block in part.blocks]


def _problem(block: Block, task: Task) -> Regularized | None:
    if task.loss.two_sided:
        y, weight = block.y, block.weight
    else:
        positive = block.y == task.code
        y = np.where(positive, np.int8(1), np.int8(-1))
        weight = class_weights(positive, block.weight, task.per_class, task.code)
    if weight is not None and not weight.any():
        return None
    problem = Regularized(
        as_matrix(block.X, checked=True),
        y,
        task.lam,
        weight=weight,
        bias=task.bias,
        bias_scale=task.bias_scale,
        loss=task.loss,
    )
    problem.total = task.total
    return problem


def _names_of(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def _shown(columns: int, names: tuple[str, ...] | None) -> str:
    return f"{columns}" if names is None else f"{columns} ({', '.join(names[:8])}{', ...' if columns > 8 else ''})"
