"""How fits converge, by what is measured while they run.

Objective, gap or error against time, iterations, reads or kernel evaluations; and test error against seconds for
growing numbers of training rows: with more data, less work is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from hinge.display.figure import Panel, Series
from hinge.display.static import Display, axes_or_new
from hinge.estimators.pipelines import prepared, unwrap
from hinge.monitoring import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator
    from sklearn.callback import CallbackContext

    from hinge.estimators import SVC, LinearSVC
    from hinge.types import Items, MatrixLike, Stored

    Classifier: TypeAlias = LinearSVC | SVC

Against = Literal["seconds", "iterations", "reads", "kernel_evals"]
Quantity = Literal["objective", "gap", "error"]

AGAINST = {
    "seconds": ("seconds", "seconds"),
    "iterations": ("iteration", "iterations"),
    "reads": ("feature_reads", "cells of the data read"),
    "kernel_evals": ("kernel_evals", "kernel evaluations"),
}
QUANTITIES = {"objective": "objective", "gap": "gap above the minimum, relative", "error": "error, share of rows"}


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
            f"hinge's estimators can be watched, not {type(estimator).__module__}.{type(estimator).__name__}."
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
    copy = clone(estimator).set_callbacks(watcher)
    with warnings.catch_warnings(action="ignore"):  # that a fit was cut off shows in its curve
        return copy.fit(X, y)


def gaps(looks: Sequence[WatchedRecord]) -> list[float]:
    """The gap at every evaluation, by the best lower bound that any certificate of the run gave."""
    bounds = [
        look.record.objective / (1.0 + look.record.gap)
        for look in looks
        if np.isfinite(look.record.gap) and np.isfinite(look.record.objective)
    ]
    if not bounds:
        return [look.record.gap for look in looks]
    bound = max(bounds)
    return [(look.objective - bound) / bound if bound > 0 else np.inf for look in looks]


class ConvergenceDisplay(Display):
    """Curves of one or more runs, in scikit-learn's manner of drawing.

    Make it with `from_estimator` or `from_history`.

    Parameters
    ----------
    curves : dict of str to sequences of WatchedRecord
        The evaluations of each run, by name.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.datasets import load
    >>> from hinge.display.convergence import ConvergenceDisplay
    >>> adult = load("adult")
    >>> X, y = adult.X_train[:2000], adult.y_train[:2000]
    >>> display = ConvergenceDisplay.from_estimator(LinearSVC(solver="sdca"), X, y, draw=False)
    >>> list(display.curves)
    ['sdca']
    """

    def __init__(self, curves: dict[str, Sequence[WatchedRecord]]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Items | None = None,
        y: ArrayLike | None = None,
        *,
        X_test: Items | None = None,
        y_test: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **options: Any,
    ) -> ConvergenceDisplay:
        """From the history of a fitted estimator; or, with X and y, from a copy that is fitted and measured.

        A history holds objective and gap only where the fit itself asked for a certificate, and a fit that nobody
        watches may ask for it only once, at its end: a single point. With `X` and `y` the fit is watched, and both are
        measured at every evaluation, which does not count as time of the fit; there is a curve for each run.

        Parameters
        ----------
        estimator : estimator of hinge, or a Pipeline that ends with one
            Left as it is.
        X, y : optional
            Training rows to fit a copy on; of a pipeline, before its transformers, which copies are fitted to them.
        X_test, y_test : optional
            Rows to measure a classifier's error on.
        name : str, optional
            For the legend; by default the solver.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.
        **options
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        if X is None:
            machine, _ = unwrap(estimator, None)
            if not hasattr(machine, "history_"):
                raise ValueError("The estimator is not fitted: fit it, or give X and y.")
            return cls.from_history(
                machine.history_,
                name=name or solver_name(machine),
                classes=getattr(machine, "classes_", None),
                ax=ax,
                draw=draw,
                **options,
            )
        if y is None:
            raise ValueError("Rows were given without labels: give X and y.")
        machine, X, X_test = prepared(estimator, X, y, X_test)
        checked(machine)
        watcher = Watcher(X_test, y_test)
        fitted = watch(machine, X, y, watcher)
        runs = [[look for look in watcher.looks if look.run == k] for k in sorted({look.run for look in watcher.looks})]
        display = cls(_named(runs, name or solver_name(fitted), getattr(fitted, "classes_", None)))
        return display.plot(ax, **options) if draw else display

    @classmethod
    def from_history(
        cls,
        history: Sequence[Any],
        *,
        name: str = "run",
        classes: Sequence[Any] | np.ndarray | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **options: Any,
    ) -> ConvergenceDisplay:
        """From the history of a `Result` or of an estimator, or from a list of histories, one a class.

        Parameters
        ----------
        history : sequence of Record, or of such sequences
        name : str
            For the legend.
        classes : sequence, optional
            Names of the classes where there are several histories.
        ax : matplotlib Axes, optional
        draw : bool
        **options
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        runs = [history] if not history or hasattr(history[0], "gap") else list(history)
        looks = [[WatchedRecord(record, record.objective, record.score) for record in run] for run in runs]
        display = cls(_named(looks, name, classes))
        return display.plot(ax, **options) if draw else display

    def plot(
        self, ax: Axes | None = None, *, against: Against = "seconds", quantity: Quantity = "gap", title: str = ""
    ) -> ConvergenceDisplay:
        """Draw one quantity against another.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        against : {"seconds", "iterations", "reads", "kernel_evals"}
        quantity : {"objective", "gap", "error"}
        title : str

        Returns
        -------
        ConvergenceDisplay
        """
        for value, allowed, what in ((against, AGAINST, "against"), (quantity, QUANTITIES, "quantity")):
            if value not in allowed:
                raise ValueError(f"{what} is one of {', '.join(allowed)}, not {value!r}.")
        series = [self._series(name, looks, against, quantity) for name, looks in self.curves.items()]
        if not any(one.x for one in series):
            raise ValueError(
                f"No evaluation of the run has its {quantity} at a positive number of "
                f"{AGAINST[against][1]}: give "
                "from_estimator the rows, X and y (and X_test and y_test for the error), to measure it."
            )
        drawn = Panel(title, AGAINST[against][1], QUANTITIES[quantity], series, True, quantity == "gap")
        return self._drawn_on(axes_or_new(ax), drawn)

    @staticmethod
    def _series(name: str, looks: Sequence[WatchedRecord], against: str, quantity: str) -> Series:
        field = AGAINST[against][0]
        at = np.array([getattr(look.record, field) for look in looks], np.float64)
        measured = gaps(looks) if quantity == "gap" else [getattr(look, quantity) for look in looks]
        values = np.array(measured, np.float64)
        kept = np.isfinite(values) & (at > 0) & ((values > 0) | (quantity != "gap"))
        return Series(name, at[kept].tolist(), values[kept].tolist())


def _named(
    runs: Sequence[Sequence[WatchedRecord]], name: str, classes: Sequence[Any] | np.ndarray | None
) -> dict[str, Sequence[WatchedRecord]]:
    """The runs by name; several by class, or by number for pairs of classes."""
    if len(runs) == 1:
        return {name: runs[0]}
    labels = classes if classes is not None and len(classes) == len(runs) else range(len(runs))
    return {f"{name}, {label}": run for label, run in zip(labels, runs, strict=True)}


def solver_name(estimator: Classifier) -> str:
    """The name of the solver that ran, in lower case."""
    return type(estimator.solver_).__name__.lower()


class LearningRuntimeDisplay(Display):
    """What a test error costs, for several numbers of training rows, in scikit-learn's manner of drawing.

    With more training rows a given test error can be reached in less time, as the papers show. Drawn are the
    test error against seconds, or the seconds to a given error against the number of training rows.

    Parameters
    ----------
    sizes : sequence of int
        Training rows.
    seconds, errors : sequences of sequences of float
        For each size, the evaluations during the fit: the fit's own time, and the test error.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hinge.display.convergence import LearningRuntimeDisplay
    >>> display = LearningRuntimeDisplay([100, 200], [[0.1, 0.2], [0.1, 0.3]], [[0.3, 0.2], [0.2, 0.1]])
    >>> display.seconds_to(0.2)
    [0.2, 0.1]
    """

    def __init__(
        self, sizes: Sequence[int], seconds: Sequence[Sequence[float]], errors: Sequence[Sequence[float]]
    ) -> None:
        self.sizes, self.seconds, self.errors = list(sizes), list(seconds), list(errors)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Stored,
        y: ArrayLike,
        X_test: MatrixLike,
        y_test: ArrayLike,
        *,
        sizes: Sequence[int] | None = None,
        seed: int = 0,
        ax: Axes | None = None,
        draw: bool = True,
        **options: Any,
    ) -> LearningRuntimeDisplay:
        """Fit copies on more and more of the rows, and measure the test error at every evaluation, which is not timed.

        Parameters
        ----------
        estimator : LinearSVC, SVC, or a Pipeline that ends with one
            For two classes; it is left as it is. Transformers are fitted to all of X.
        X, y : training rows and labels
        X_test, y_test : rows to measure the error on
        sizes : sequence of int, optional
            Training rows; by default five, doubling up to all.
        seed : int
            Of the permutation from which rows are taken: smaller parts are contained in larger ones.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.
        **options
            As for `plot`.

        Returns
        -------
        LearningRuntimeDisplay
        """
        machine, X, X_test = prepared(estimator, X, y, X_test)
        checked(machine)
        y = np.asarray(y)
        n = len(y)
        if len(np.unique(y)) != 2:
            raise ValueError("The errors on the way are known for two classes only.")
        sizes = sorted({max(2, n >> k) for k in range(5)} if sizes is None else set(map(int, sizes)))
        if not sizes or sizes[0] < 2 or sizes[-1] > n:
            raise ValueError(f"sizes must lie between 2 and the number of rows, {n}; they are {sizes}.")
        order = np.random.default_rng(seed).permutation(n)
        first = {int(np.flatnonzero(y[order] == label)[0]) for label in np.unique(y)}
        # One row of each class comes first, so that the smallest part has both.
        order = np.concatenate([order[sorted(first)], np.delete(order, sorted(first))])
        seconds, errors = [], []
        for size in sizes:
            some = np.sort(order[:size])
            watcher = Watcher(X_test, y_test, objectives=False)
            watch(machine, _safe_indexing(X, some), y[some], watcher)
            seconds.append([look.record.seconds for look in watcher.looks])
            errors.append([look.error for look in watcher.looks])
        display = cls(sizes, seconds, errors)
        return display.plot(ax, **options) if draw else display

    def seconds_to(self, target: float) -> list[float | None]:
        """For each size the first time at which the error was at most `target`; None if never."""
        return [
            next((at for at, error in zip(times, errors, strict=True) if error <= target), None)
            for times, errors in zip(self.seconds, self.errors, strict=True)
        ]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["curves", "runtime"] = "curves",
        targets: Sequence[float] | None = None,
        title: str = "",
    ) -> LearningRuntimeDisplay:
        """Draw errors against seconds, or the seconds to given errors against the training rows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        kind : {"curves", "runtime"}
        targets : sequence of float, optional
            Errors for "runtime"; by default the last error of the smallest size, and halfway to the best.
        title : str

        Returns
        -------
        LearningRuntimeDisplay
        """
        if kind not in ("curves", "runtime"):
            raise ValueError(f"kind is 'curves' or 'runtime', not {kind!r}.")
        if kind == "curves":
            series = [
                Series(f"{size:,} rows", at, errors)
                for size, at, errors in zip(self.sizes, self.seconds, self.errors, strict=True)
            ]
            drawn = Panel(title, "seconds of fitting", "test error, share of rows", series, log_x=True)
        else:
            worst, best = self.errors[0][-1], min(min(errors) for errors in self.errors)
            targets = [worst, (worst + best) / 2] if targets is None else targets
            series = [self._runtime(target) for target in targets]
            drawn = Panel(title, "training rows", "seconds to the error", series, log_x=True, log_y=True)
        return self._drawn_on(axes_or_new(ax), drawn)

    def _runtime(self, target: float) -> Series:
        reached = [(size, at) for size, at in zip(self.sizes, self.seconds_to(target), strict=True) if at is not None]
        return Series(f"error {100 * target:.2f} %", [float(size) for size, _ in reached], [at for _, at in reached])
