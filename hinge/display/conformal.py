"""Whether prediction sets or intervals have the true label as often as they say, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from hinge.display.calibration import wilson
from hinge.display.figure import COLOURS
from hinge.display.watched import Display, axes_or_new
from hinge.estimators.pipelines import covered, unwrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from hinge.types import Items

ALPHAS = tuple(np.linspace(0.02, 0.4, 20).round(2).tolist())


class ConformalDisplay(Display):
    """Coverage and size of prediction sets or intervals against the coverage that was asked for.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        Shares of rows whose label may be missing.
    coverage : array of shape (n_alphas,)
        The share of rows whose label is in the set.
    size : array of shape (n_alphas,)
        The mean number of classes in a set, or the mean width of an interval.
    rows : int
        Rows that these are of.
    unit : str
        What the size is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from hinge import LinearSVC
    >>> from hinge.display import ConformalDisplay
    >>> X, y = make_classification(1000, flip_y=0.2, random_state=0)
    >>> model = LinearSVC().fit(X[:500], y[:500])
    >>> display = ConformalDisplay.from_estimator(model, X[500:], y[500:], alphas=[0.1, 0.2], draw=False)
    >>> abs(display.coverage - [0.9, 0.8]) < 0.05
    array([ True,  True])
    """

    def __init__(self, alphas: ArrayLike, coverage: ArrayLike, size: ArrayLike, rows: int, unit: str = "size") -> None:
        self.alphas, self.coverage = np.asarray(alphas, np.float64), np.asarray(coverage, np.float64)
        self.size, self.rows, self.unit = np.asarray(size, np.float64), rows, unit
        if not self.alphas.shape == self.coverage.shape == self.size.shape or self.alphas.ndim != 1 or rows < 1:
            raise ValueError("Give one coverage and one size for each alpha, of one row or more.")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Items,
        y: ArrayLike,
        *,
        alphas: Sequence[float] = ALPHAS,
        ax: Axes | None = None,
        draw: bool = True,
    ) -> ConformalDisplay:
        """Of a fitted machine, on rows that took no part in its fit.

        Parameters
        ----------
        estimator : estimator of hinge, or a Pipeline that ends with one
            For classes, with `predict_set`, or for targets, with `predict_interval`.
        X, y : rows, and their labels or targets
        alphas : sequence of float
            Shares of rows whose label may be missing.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.

        Returns
        -------
        ConformalDisplay
        """
        machine, X = unwrap(estimator, X)
        found = [covered(machine, X, y, alpha) for alpha in alphas]
        coverage, size = ([float(np.mean(one[k])) for one in found] for k in (0, 1))
        unit = "classes in a set" if hasattr(machine, "classes_") else "width of an interval"
        display = cls(alphas, coverage, size, len(found[0][0]) if found else 0, unit)
        return display.plot(ax) if draw else display

    def plot(self, ax: Axes | None = None, *, title: str = "") -> ConformalDisplay:
        """Draw coverage on the left axis, with 95% intervals, and the mean size on the right one.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        title : str

        Returns
        -------
        ConformalDisplay
        """
        ax = axes_or_new(ax)
        asked, colour, other = 1.0 - self.alphas, COLOURS[0][0], COLOURS[1][0]
        ends = [float(asked.min()), float(asked.max())]
        ax.plot(ends, ends, color="0.4", linestyle="--", linewidth=1.0, label="as asked")
        low, high = wilson(self.coverage, np.full(len(asked), float(self.rows)))
        off = np.abs(np.stack([self.coverage - low, high - self.coverage]))
        label = f"coverage of {self.rows:,} rows"
        ax.errorbar(asked, self.coverage, off, color=colour, marker="o", markersize=4, capsize=2, lw=1.2, label=label)
        ax.set(title=title, xlabel="coverage asked for, 1 - α", ylabel="coverage, with 95% intervals")
        beside = ax.twinx()
        finite = np.isfinite(self.size)
        beside.plot(asked[finite], self.size[finite], color=other, marker="s", markersize=4, lw=1.2, label=self.unit)
        beside.set_ylabel(f"mean {self.unit}", color=other)
        lines = [part for one in (ax, beside) for part in one.get_legend_handles_labels()[0]]
        ax.legend(handles=lines, frameon=False, fontsize=8, loc="upper left")
        return self._drawn_on(ax)
