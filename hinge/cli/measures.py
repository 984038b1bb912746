"""How good a model is on rows with labels: errors of classes, of numbers, and of what is said to be probable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hinge.cli.preparation import machine_of
from hinge.cli.rows import FileRows, in_blocks, in_classes, rest_of
from hinge.cli.show import number, percent

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from hinge.types import MatrixLike


def error_of(model: BaseEstimator, rows: FileRows) -> float | None:
    """The share of wrong labels, the mean absolute error of a regression, or the share of rows outside of one class.

    Some rows are prepared at a time: all of them were in memory once more.
    """
    found = RunningError(machine_of(model))
    for block in in_blocks(rows):
        found.add(model.predict(block.X), block.y)
    return found.error


class RunningError:
    """How many rows are predicted to be of which class, or from what number to what, and how wrongly, block by block.

    Parameters
    ----------
    machine : estimator
    positive : str, optional
        The class that is looked for.
    """

    def __init__(self, machine: BaseEstimator, positive: str | None = None) -> None:
        self.classes: Any = getattr(machine, "classes_", None)
        self.positive, self.is_one_class = positive, is_one_class(machine)
        self.n, self.counts = 0, Counter[Any]()
        self.least, self.most = float("inf"), -float("inf")
        self.off, self.labelled, self.known = 0.0, True, False

    def add(self, predicted: np.ndarray, y: np.ndarray | None) -> None:
        """Count some rows."""
        self.n += len(predicted)
        self.labelled = self.labelled and y is not None
        if self.classes is None and not self.is_one_class:
            self.least, self.most = min(self.least, float(predicted.min())), max(self.most, float(predicted.max()))
            self.labelled = self.labelled and y is not None and y.dtype.kind in "iuf"
            self.off += float(np.abs(predicted - y).sum()) if self.labelled else 0.0
            return
        self.counts.update(dict(zip(*np.unique(predicted, return_counts=True), strict=True)))
        if y is not None and not self.is_one_class:
            y = in_classes(y, self.classes, self.positive)
            self.known = self.known or not set(np.unique(y).tolist()).isdisjoint(self.classes.tolist())
            self.off += int(np.sum(predicted != y))

    @property
    def error(self) -> float | None:
        """The error of all rows; None where labels are missing, or none of them is a class of the model."""
        if self.is_one_class:
            return self.counts[-1] / self.n
        return self.off / self.n if self.labelled and (self.classes is None or self.known) else None


def is_one_class(machine: BaseEstimator) -> bool:
    """Whether it tells rows that belong from rows that do not."""
    return hasattr(machine, "offset_")


class _Said(NamedTuple):
    """What a model says of rows.

    Attributes
    ----------
    predicted : ndarray of shape (n,)
    scores : ndarray of shape (n, n_classes), optional
        Decision values, where there is one of each class.
    probabilities : ndarray of shape (n, n_classes), optional
    """

    predicted: np.ndarray
    scores: np.ndarray | None
    probabilities: np.ndarray | None


def measured(model: BaseEstimator, blocks: Iterable[FileRows], positive: str | None = None) -> dict[str, Any]:
    """All that can be measured, in JSON's terms, by kind of model.

    Parameters
    ----------
    model : estimator
    blocks : iterable of FileRows
        Rows with their labels, some at a time; rows of one class may have none.
    positive : str, optional
        The class that is looked for.
    """
    machine = machine_of(model)
    classes, labels, parts = getattr(machine, "classes_", None), list[Any](), list[_Said]()
    for rows in blocks:
        labels.append(rows.y if rows.y is None or classes is None else in_classes(rows.y, classes, positive))
        parts.append(_said_of(model, rows.X, classes))
    y = None if labels[0] is None else np.concatenate(labels)
    columns: list[Any] = [None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True)]
    said = _Said(*columns)
    if is_one_class(machine):
        return _of_one_class(said, y)
    assert y is not None  # the caller has checked it
    return _of_numbers(said.predicted, y) if classes is None else _of_classes(said, y, classes, positive)


def _said_of(model: BaseEstimator, X: MatrixLike, classes: np.ndarray | None) -> _Said:
    probabilities = None
    with suppress(AttributeError, ValueError):  # a regression, one class, or a machine that was not calibrated
        probabilities = np.asarray(model.predict_proba(X))
    return _Said(model.predict(X), _scores(model, X, 2 if classes is None else len(classes)), probabilities)


OF_NUMBERS = {
    "mean_absolute_error": "mean abs. error",
    "root_mean_squared_error": "root mean sq. error",
    "median_absolute_error": "median abs. error",
    "largest_error": "largest error",
}
SHARES = {"outside": "outside", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
"""What measures are called in tables: numbers, and shares of the rows."""


def lines_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What was measured, in words."""
    lines = [("rows", f"{result['rows']:,}")]
    lines += [(name, number(result[measure])) for measure, name in OF_NUMBERS.items() if measure in result]
    lines += [(name, percent(result[measure])) for measure, name in SHARES.items() if measure in result]
    if "r2" in result:
        lines.append(("R²", number(result["r2"]) or "not known: all labels are the same"))
    if result.get("roc_auc") is not None:
        of = f" (of {result['positive']})" if result.get("positive") else " (mean of each class against the rest)"
        lines.append(("ROC-AUC", f"{result['roc_auc']:.4f}{of}"))
    if "log_loss" in result:
        lines += [
            ("log-loss", f"{result['log_loss']:.4f}"),
            ("Brier score", f"{result['brier']:.4f}"),
            ("calibration error", f"{percent(result['calibration_error'])} between predicted and observed"),
        ]
    if result.get("unknown_labels"):
        lines.append(("labels unknown to it", ", ".join(result["unknown_labels"][:10])))
    return lines


# --- classes ------------------------------------------------------------------------------------


def _of_classes(said: _Said, y: np.ndarray, classes: np.ndarray, positive: str | None) -> dict[str, Any]:
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    unknown = sorted({str(value) for value in np.unique(y).tolist()} - {str(value) for value in classes.tolist()})
    if len(unknown) == len(np.unique(y)):
        raise ValueError(
            f"No label of the data is a class of the model: labels are {', '.join(unknown[:10])}, classes "
            f"{', '.join(map(str, classes[:10]))}. Choose the column with --label."
        )
    predicted, known = said.predicted, np.isin(y, classes)
    matrix = confusion_matrix(y[known], predicted[known], labels=classes)
    # Of each class the share of its rows that were found, and of rows said to be of it that are; nan where none are.
    precision, recall, _, rows = precision_recall_fscore_support(
        y[known], predicted[known], labels=classes, zero_division=np.nan
    )
    result: dict[str, Any] = {
        "kind": "classes",
        "rows": len(y),
        "classes": [str(name) for name in classes],
        "accuracy": float(np.mean(y == predicted)),
        "balanced_accuracy": float(np.nanmean(recall)),
        "confusion": matrix.tolist(),
        "by_class": [
            {"class": str(name), "rows": int(n), "recall": _known(found), "precision": _known(right)}
            for name, n, found, right in zip(classes, rows, recall, precision, strict=True)
        ],
        "unknown_labels": unknown,
    }
    which = _positive_at(classes, positive)
    if said.scores is not None:
        result["roc_auc"], result["roc"] = _roc(said.scores[known], y[known], classes, which)
    if said.probabilities is not None:
        result.update(_calibration(said.probabilities[known], y[known], classes, which))
    result["positive"] = str(classes[which]) if len(classes) == 2 else None
    return result


def _known(share: float) -> float | None:
    return None if np.isnan(share) else float(share)


def _positive_at(classes: np.ndarray, positive: str | None) -> int:
    """The position of the positive class: the one that was named or learned against the rest, else the second."""
    names = [str(name) for name in classes]
    if positive in names:
        return names.index(positive)
    return next((k for k, name in enumerate(names) if rest_of(name) in names), 1)


def _scores(model: BaseEstimator, X: MatrixLike, n_classes: int) -> np.ndarray | None:
    """Decision values, a column for each class; None of a regression."""
    if not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(X))
    if values.ndim == 1:
        return np.column_stack([-values, values])
    return values if values.shape[1] == n_classes else None  # class pairs say nothing of one class


def _roc(
    scores: np.ndarray, y: np.ndarray, classes: np.ndarray, which: int
) -> tuple[float | None, list[list[float]] | None]:
    """The area under the curve, of several classes the mean over each against the rest; and the curve of two."""
    from sklearn.metrics import roc_auc_score, roc_curve

    asked = [which] if len(classes) == 2 else range(len(classes))
    columns = [(y == classes[k], scores[:, k]) for k in asked]
    columns = [(is_one, own) for is_one, own in columns if is_one.any() and not is_one.all()]
    if not columns:
        return None, None
    area = float(np.mean([roc_auc_score(is_one, own) for is_one, own in columns]))
    if len(classes) > 2:
        return area, None
    falsely, truly, _ = roc_curve(*columns[0])
    at = np.unique(np.linspace(0, len(falsely) - 1, 200).astype(int))
    return area, np.column_stack([falsely, truly])[at].tolist()


def _calibration(said: np.ndarray, y: np.ndarray, classes: np.ndarray, which: int, bins: int = 10) -> dict[str, Any]:
    """Log-loss, Brier score, and a calibration curve: predicted against observed, in bins of equal size."""
    truth = (y[:, None] == classes[None, :]).astype(float)
    own = np.clip((said * truth).sum(axis=1), np.finfo(float).tiny, 1.0)
    brier = float(np.mean(((said - truth) ** 2).sum(axis=1))) / (2.0 if len(classes) == 2 else 1.0)
    # With two classes the positive one; with several the predicted one.
    column = np.full(len(said), which) if len(classes) == 2 else said.argmax(axis=1)
    every = np.arange(len(said))
    sure, so = said[every, column], truth[every, column]
    order = np.argsort(sure, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, max(1, len(order) // 5))) if len(part)]
    table = [{"rows": len(part), "said": float(sure[part].mean()), "so": float(so[part].mean())} for part in parts]
    error = sum(line["rows"] * abs(line["said"] - line["so"]) for line in table) / max(1, len(order))
    return {
        "log_loss": float(-np.mean(np.log(own))),
        "brier": brier,
        "calibration_error": float(error),
        "calibration": table,
    }


# --- others -------------------------------------------------------------------------------------


def _of_numbers(predicted: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    if y.dtype.kind not in "iuf":
        raise ValueError("The model predicts numbers, but the labels are text: choose their column with --label.")
    off, total = np.abs(predicted - y), float(((y - y.mean()) ** 2).sum())
    measures = off.mean(), np.sqrt((off**2).mean()), np.median(off), off.max()
    found = dict(zip(OF_NUMBERS, map(float, measures), strict=True))
    r2 = None if total == 0 else float(1.0 - (off**2).sum() / total)
    return {"kind": "numbers", "rows": len(y), **found, "r2": r2}


def _of_one_class(said: _Said, y: np.ndarray | None) -> dict[str, Any]:
    from sklearn.metrics import confusion_matrix

    predicted, scores = said.predicted, said.scores
    assert scores is not None
    result: dict[str, Any] = {"kind": "one class", "rows": len(predicted), "outside": float(np.mean(predicted < 0))}
    if y is not None and set(np.unique(y).tolist()) <= {-1, 1}:
        result["classes"] = ["-1", "1"]
        result["accuracy"] = float(np.mean(predicted == y))
        result["confusion"] = confusion_matrix(y, predicted, labels=[-1, 1]).tolist()
        result["roc_auc"], result["roc"] = _roc(scores, y, np.array([-1, 1]), 1)
        result["positive"] = "1"
    return result
