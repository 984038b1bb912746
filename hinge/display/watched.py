"""Where a Display draws, and how it watches a fit: objective and test error at every evaluation, not timed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import numpy as np

from hinge.display.figure import Panel
from hinge.display.static import panel
from hinge.monitoring import Record
from hinge.types import Items

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator
    from sklearn.callback import CallbackContext

    from hinge.estimators import SVC, LinearSVC

    Classifier: TypeAlias = LinearSVC | SVC


class Display:
    """What a display has after `plot`: the axes and the figure that it was drawn on."""

    ax_: Axes
    figure_: Drawn

    def _drawn_on(self, ax: Axes, drawn: Panel | None = None) -> Self:
        """Draw a panel, if one is given, and keep the axes."""
        if drawn is not None:
            panel(drawn, ax)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def axes_or_new(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new pyplot figure; raises where matplotlib is not installed."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays are drawn by matplotlib: pip install 'hinge[plot]'.") from error
    return plt.subplots()[1]


class WatchedRecord(NamedTuple):
    """One evaluation of a fit: the record, objective and error, measured without being timed, and the run."""

    record: Record
    objective: float
    error: float
    run: int = 0


def checked(estimator: BaseEstimator) -> None:
    """Raise if the estimator has no callbacks to watch it by."""
    if not hasattr(estimator, "set_callbacks"):
        raise TypeError(
            f"hinge's LinearSVC and SVC can be watched, not {type(estimator).__module__}.{type(estimator).__name__}."
        )


class Watcher:
    """A scikit-learn callback that measures objective and test error at every evaluation.

    Parameters
    ----------
    X_test, y_test : optional
        Rows to measure the error on.
    objectives : bool
        Whether to measure the objective too.
    """

    def __init__(self, X_test: Items | None = None, y_test: ArrayLike | None = None, objectives: bool = True) -> None:
        self.X_test, self.objectives = X_test, objectives
        self.y_test = None if y_test is None else np.asarray(y_test)
        self.looks: list[WatchedRecord] = []

    def setup(self, estimator: Classifier, context: CallbackContext) -> None:
        """Begin anew."""
        self.looks = []

    def teardown(self, estimator: Classifier, context: CallbackContext) -> None:
        """Nothing is left to do."""

    def on_fit_task_begin(self, estimator: Classifier, context: CallbackContext) -> None:
        """Nothing is known yet."""

    def on_fit_task_end(
        self, estimator: Classifier, context: CallbackContext, *, fitted_estimator: Classifier | None = None
    ) -> bool:
        """Measure the model. There is none at the end of the fit itself, nor in runs of one of several classes."""
        record = getattr(context, "record", None)
        if record is None:
            return False
        objective, error = record.objective, record.score
        if self.X_test is not None and fitted_estimator is not None:
            error = float(np.mean(fitted_estimator.predict(self.X_test) != self.y_test))
        if self.objectives and not np.isfinite(objective) and context.measure_objective is not None:
            objective = context.measure_objective()
        self.looks.append(WatchedRecord(record, objective, error, context.run))
        return False


def watch(estimator: Classifier, X: Items, y: ArrayLike, watcher: Watcher) -> Classifier:
    """A copy of the estimator, fitted with `watcher` as its callback; the estimator is left as it is."""
    from sklearn.base import clone

    copy = clone(estimator).set_callbacks(watcher)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a fit was cut off shows in its curve
        return copy.fit(X, y)


def compile_for(estimator: Classifier, X: Items, y: ArrayLike, rows: int = 100) -> None:
    """Fit a copy to some rows of each class, so that the next fit is timed without compilation."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing, get_tags

    if get_tags(estimator).input_tags.pairwise or not hasattr(X, "shape"):
        return
    y = np.asarray(y)
    some = np.sort(np.concatenate([np.flatnonzero(y == label)[:rows] for label in np.unique(y)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(estimator).fit(_safe_indexing(X, some), y[some])


def gaps(looks: Sequence[WatchedRecord]) -> list[float]:
    """The gap at every evaluation, by the best lower bound that any certificate of the run gave."""
    bounds = [
        look.record.objective / (1.0 + look.record.certificate)
        for look in looks
        if np.isfinite(look.record.certificate) and np.isfinite(look.record.objective)
    ]
    if not bounds:
        return [look.record.certificate for look in looks]
    bound = max(bounds)
    return [(look.objective - bound) / bound if bound > 0 else np.inf for look in looks]
