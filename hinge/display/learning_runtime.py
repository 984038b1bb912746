"""Test error against seconds for growing numbers of training rows: with more data, less work is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hinge.display.figure import Panel, Series
from hinge.display.watched import Display, Watcher, axes_or_new, checked, compile_for, watch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from hinge.display.watched import Classifier
    from hinge.types import MatrixLike, Stored


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
    >>> from hinge.display.learning_runtime import LearningRuntimeDisplay
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
        estimator : LinearSVC, SVC
            For two classes; it is left as it is.
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
        from sklearn.utils import _safe_indexing

        checked(estimator)
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
        compile_for(estimator, X, y)
        for size in sizes:
            some = np.sort(order[:size])
            watcher = Watcher(X_test, y_test, objectives=False)
            watch(estimator, _safe_indexing(X, some), y[some], watcher)
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
