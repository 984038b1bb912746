"""Whether predictions hold on unseen rows: probabilities, and sets or intervals that have the true label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from hinge.calibration.left_out import Z
from hinge.display.figure import COLOURS
from hinge.display.static import Display, axes_or_new
from hinge.estimators.pipelines import covered, examined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from hinge.types import Items


class Bins(NamedTuple):
    """Rows of about the same probability.

    Attributes
    ----------
    said : ndarray of shape (n_bins,)
        The mean of their probabilities.
    was : ndarray of shape (n_bins,)
        The share of the class among them.
    low, high : ndarray of shape (n_bins,)
        Between which the share in many such rows is (Wilson's interval, 95%).
    rows : ndarray of shape (n_bins,)
    lower, upper : ndarray of shape (n_bins,), or None
        The means of both ends of their intervals, where there are any.
    """

    said: np.ndarray
    was: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None


class CalibrationDisplay(Display):
    """Probabilities against shares, in scikit-learn's manner of drawing, with what of either is chance.

    Parameters
    ----------
    bins : Bins
    log_loss : float
        Of the rows, in nats.
    name : str
        Of the class.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hinge.display import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2, draw=False)
    >>> display.bins.was.tolist()
    [0.0, 1.0]
    """

    def __init__(self, bins: Bins, log_loss: float, name: str = "") -> None:
        self.bins, self.log_loss, self.name = bins, log_loss, name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Items,
        y: ArrayLike,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        ax: Axes | None = None,
        draw: bool = True,
    ) -> CalibrationDisplay:
        """Of a calibrated classifier on rows that took no part in its fit.

        Parameters
        ----------
        estimator : LinearSVC, SVC, NuSVC, any classifier with ``predict_proba``, or a Pipeline that ends with one
            Calibrated with ``method="venn_abers"`` it has intervals, which are drawn as a band.
        X, y : rows and labels
        pos_label : optional
            The class whose probability is meant; by default the last.
        n_bins : int
        strategy : {"quantile", "uniform"}
            Bins of equally many rows, or equally wide ones.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.

        Returns
        -------
        CalibrationDisplay
        """
        estimator, X = examined(estimator, X)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("The estimator has no probabilities: call its calibrate(X, y) with the rows of its fit.")
        classes = list(estimator.classes_)
        label = classes[-1] if pos_label is None else pos_label
        if label not in classes:
            raise ValueError(f"pos_label is one of the classes {classes}, not {pos_label!r}.")
        k = classes.index(label)
        lower = upper = None
        if hasattr(estimator, "predict_proba_interval"):
            lower, upper = (end[:, k] for end in estimator.predict_proba_interval(X))
        return cls.from_predictions(
            np.asarray(y) == label,
            estimator.predict_proba(X)[:, k],
            lower,
            upper,
            name=str(label),
            n_bins=n_bins,
            strategy=strategy,
            ax=ax,
            draw=draw,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        name: str = "",
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        ax: Axes | None = None,
        draw: bool = True,
    ) -> CalibrationDisplay:
        """Of probabilities, with their intervals where there are any.

        Parameters
        ----------
        y_true : array of bool, or of 0 and 1
            Whether a row is of the class.
        y_prob : array
            Its probability.
        lower, upper : array, optional
            Ends of its interval.
        name : str
            Of the class.
        n_bins, strategy, ax, draw
            As for `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        y, p = np.asarray(y_true), np.asarray(y_prob, np.float64)
        if not len(p) or y.shape != p.shape or not np.isin(y, (0, 1)).all() or not ((p >= 0) & (p <= 1)).all():
            raise ValueError("y_true holds 0 and 1, y_prob as many numbers between them: at least one each.")
        if n_bins < 1 or strategy not in ("quantile", "uniform"):
            raise ValueError(f"n_bins is 1 or more and strategy 'quantile' or 'uniform', not {n_bins}, {strategy!r}.")
        own = np.where(y == 1, p, 1.0 - p)
        log_loss = float(-np.log(np.maximum(own, np.finfo(np.float64).eps)).mean())
        display = cls(binned(y == 1, p, lower, upper, n_bins, strategy), log_loss, name)
        return display.plot(ax) if draw else display

    def plot(self, ax: Axes | None = None, *, title: str = "") -> CalibrationDisplay:
        """Draw the share of the class in each bin against its probability.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        title : str

        Returns
        -------
        CalibrationDisplay
        """
        ax = axes_or_new(ax)
        bins, other = self.bins, COLOURS[1][0]
        ax.plot([0, 1], [0, 1], color="0.4", linestyle="--", linewidth=1.0, label="as said")
        if bins.lower is not None and bins.upper is not None:
            ax.fill_between(
                bins.said, bins.lower, bins.upper, color=other, alpha=0.25, linewidth=0, label="Venn-Abers interval"
            )
        label = f"held-out rows, log-loss {self.log_loss:.3f}"
        _draw_shares(ax, bins.said, bins.was, (bins.low, bins.high), label)
        most = float(bins.rows.max())
        ax.vlines(bins.said, 0.0, 0.08 * bins.rows / most, color="0.6", linewidth=3, label=f"rows (most: {most:,.0f})")
        ax.set(xlim=(-0.02, 1.02), ylim=(0.0, 1.02), title=title)
        of = f" of class {self.name}" if self.name else ""
        ax.set_xlabel(f"probability{of}, mean of a bin")
        ax.set_ylabel(f"share{of} among its rows, with 95% intervals")
        ax.legend(frameon=False, fontsize=8, loc="upper left")
        return self._drawn_on(ax)


def binned(
    positive: np.ndarray,
    p: np.ndarray,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    n_bins: int,
    strategy: Literal["quantile", "uniform"],
) -> Bins:
    """Rows in bins of probability; bins without a row are left out, and equal probabilities share a bin."""
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    edges = inner if strategy == "uniform" else np.unique(np.quantile(p, inner))
    _, place = np.unique(np.searchsorted(edges, p, side="right"), return_inverse=True)
    rows = np.bincount(place).astype(np.float64)

    def mean(values: ArrayLike) -> np.ndarray:
        return np.bincount(place, values) / rows

    was = mean(positive.astype(np.float64))
    low, high = wilson(was, rows)
    ends = [None if end is None else mean(end) for end in (lower, upper)]
    return Bins(mean(p), was, low, high, rows, ends[0], ends[1])


def wilson(share: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's intervals of shares among a number of rows, which have the true one in 95 of 100 cases."""
    z = Z**2 / rows  # the square of the normal law's 97.5% quantile
    middle, half = (share + z / 2) / (1 + z), np.sqrt(z * share * (1 - share) + z * z / 4) / (1 + z)
    return middle - half, middle + half


def _draw_shares(
    ax: Axes, x: np.ndarray, share: np.ndarray, interval: tuple[np.ndarray, np.ndarray], label: str
) -> None:
    """Draw shares of rows with their intervals."""
    off = np.abs(np.stack([share - interval[0], interval[1] - share]))
    ax.errorbar(x, share, off, color=COLOURS[0][0], marker="o", markersize=4, capsize=2, lw=1.2, label=label)


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
        machine, X = examined(estimator, X)
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
        asked, other = 1.0 - self.alphas, COLOURS[1][0]
        ends = [float(asked.min()), float(asked.max())]
        ax.plot(ends, ends, color="0.4", linestyle="--", linewidth=1.0, label="as asked")
        interval = wilson(self.coverage, np.full(len(asked), float(self.rows)))
        _draw_shares(ax, asked, self.coverage, interval, f"coverage of {self.rows:,} rows")
        ax.set(title=title, xlabel="coverage asked for, 1 - α", ylabel="coverage, with 95% intervals")
        beside = ax.twinx()
        finite = np.isfinite(self.size)
        beside.plot(asked[finite], self.size[finite], color=other, marker="s", markersize=4, lw=1.2, label=self.unit)
        beside.set_ylabel(f"mean {self.unit}", color=other)
        lines = [part for one in (ax, beside) for part in one.get_legend_handles_labels()[0]]
        ax.legend(handles=lines, frameon=False, fontsize=8, loc="upper left")
        return self._drawn_on(ax)
