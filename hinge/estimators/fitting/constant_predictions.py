"""A warning if a classifier predicts the same class for all of its training rows, which a score can hide."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

FEW_ROWS = 100
"""No warning with fewer rows than this."""
ENDS = 8
"""Rows at the beginning and at the end that are tested first, which takes hardly any time."""
LOOKS = 32
"""Rows of the rarest class, and of the others, that are tested next."""


class ConstantPredictionWarning(UserWarning):
    """A fitted classifier predicts the same class for all of its training rows.

    Examples
    --------
    >>> import warnings
    >>> from hinge import ConstantPredictionWarning, LinearSVC
    >>> X, y = [[0.1 * i] for i in range(200)], [0] * 199 + [1]  # one positive row, among many
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVC(C=1e-3).fit(X, y)
    >>> [issubclass(warning.category, ConstantPredictionWarning) for warning in said]
    [True]
    """


def rules_out_constant(codes: np.ndarray, objective: float) -> bool:
    """Whether a mean loss, or more, of two classes excludes that one class is predicted for all rows.

    A row on the wrong side has a loss of at least 1.
    """
    second = int(np.count_nonzero(codes))
    return objective * len(codes) < min(second, len(codes) - second)


def warn_if_constant(codes: np.ndarray, classes: np.ndarray, predicted: Callable[[Any], np.ndarray]) -> None:
    """Warn if one class is predicted for all training rows.

    A few rows suffice to exclude this for nearly every model: the first and the last, or some of the rarest class and
    some of the others, if two classes are predicted among them. Only otherwise are all rows predicted.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class index of each row.
    classes : ndarray
    predicted : callable
        Returns the predicted class indices of some rows, given by a range, an array of indices or a slice.
    """
    if len(codes) < FEW_ROWS:
        return
    n = len(codes)
    if not _one_answer(np.concatenate([predicted(range(ENDS)), predicted(range(n - ENDS, n))])):
        return
    rare = codes == int(np.bincount(codes, minlength=len(classes)).argmin())
    parts = (np.flatnonzero(part) for part in (rare, ~rare))
    some = np.concatenate([part[:: max(1, len(part) // LOOKS)][:LOOKS] for part in parts])
    if _one_answer(predicted(some)):
        warn_of_answers(codes, classes, predicted(slice(None)), 1)


def warn_of_answers(codes: np.ndarray, classes: np.ndarray, answers: np.ndarray, depth: int = 0) -> None:
    """Warn if the class indices predicted for all training rows are all equal; `depth` adds to the stack level."""
    if len(codes) < FEW_ROWS or not _one_answer(answers):
        return
    code = int(answers[0])
    warnings.warn(
        f"This model predicts class {classes.tolist()[code]!r} for all of its {len(codes):,} training rows, of which "
        f"{np.count_nonzero(codes != code):,} are of other classes. Give class_weight='balanced' or a larger C, or "
        "move the threshold: see hinge.choose_threshold.",
        ConstantPredictionWarning,
        stacklevel=5 + depth,  # the caller of `fit`, which is wrapped twice
    )


def _one_answer(answers: np.ndarray) -> bool:
    return bool((answers == answers[0]).all())
