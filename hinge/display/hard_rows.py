"""Rows that a machine finds hard: large dual weights and small margins, as mislabelled rows have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hinge.constraints import count
from hinge.display.figure import COLOURS
from hinge.display.static import Display, axes_or_new
from hinge.estimators.pipelines import examined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from hinge.estimators import SVC, LinearSVC
    from hinge.types import Items


class HardRowsDisplay(Display):
    """Rows ranked by dual weight and then by margin, in scikit-learn's manner of drawing.

    w is a sum over the rows, and the dual weight of a row is its share in it. All rows on the wrong side have
    the largest weight there is, so rows of equal weight are ranked by their margin, y times the decision value,
    the most negative first. A row far on the wrong side is either unusual or has the wrong label.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Dual weights, of which the largest is 1.
    margins : ndarray of shape (n,)
    noise : array of shape (n,), bool, optional
        Rows whose label is known to be wrong.
    top : int
        Rows to draw.

    Attributes
    ----------
    ranking : ndarray of shape (n,)
        All rows, the hardest first.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hinge.display.hard_rows import HardRowsDisplay
    >>> display = HardRowsDisplay.from_predictions([1, -1, 1], [2.0, 0.5, -3.0], [0.0, 1.0, 1.0], draw=False)
    >>> display.ranking.tolist()
    [2, 1, 0]
    """

    def __init__(self, weights: ArrayLike, margins: ArrayLike, noise: ArrayLike | None = None, top: int = 20) -> None:
        self.weights, self.margins = np.asarray(weights, np.float64), np.asarray(margins, np.float64)
        self.noise = None if noise is None else np.asarray(noise, bool)
        for name, values in (("margins", self.margins), ("noise", self.noise)):
            if values is not None and values.shape != self.weights.shape:
                raise ValueError(
                    f"{name} has shape {values.shape}, and there are {self.weights.shape} weights: one a row."
                )
        count().check("top", top)
        self.top = top
        # Rounded, so that weights at their upper bound tie and the margin decides between them.
        self.ranking = np.lexsort((self.margins, -np.round(self.weights, 6)))

    @classmethod
    def from_estimator(
        cls,
        estimator: LinearSVC | SVC,
        X: Items,
        y: ArrayLike,
        *,
        top: int = 20,
        noise: ArrayLike | None = None,
        ax: Axes | None = None,
        draw: bool = True,
    ) -> HardRowsDisplay:
        """Rank the rows that a fitted machine learned from.

        Parameters
        ----------
        estimator : LinearSVC, SVC, or a Pipeline that ends with one
            Fitted to two classes by a solver that has a dual.
        X, y : the rows and labels that it was fitted to
        top : int
            Rows to draw.
        noise : array of bool, optional
            Rows whose label is known to be wrong, to be marked.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.

        Returns
        -------
        HardRowsDisplay
        """
        estimator, X = examined(estimator, X)
        if not hasattr(estimator, "classes_"):
            raise ValueError("The estimator is not fitted: fit it first.")
        if len(estimator.classes_) != 2:
            raise ValueError(f"Rows are ranked for two classes, and there are {len(estimator.classes_)}.")
        own = getattr(getattr(estimator, "solver_", None), "own_dual", True) and getattr(estimator, "_own_dual", True)
        if not hasattr(estimator, "dual_coef_") or not own:
            raise ValueError(
                f"{type(estimator.solver_).__name__} has no dual weights to rank rows by: use solver='sdca'."
            )
        y = np.asarray(y)
        scores = np.asarray(estimator.decision_function(X))
        if len(y) != len(scores) or estimator.support_.max(initial=-1) >= len(y):
            raise ValueError("X and y are not the rows that the estimator was fitted to.")
        weights = np.zeros(len(y))
        dual: Any = estimator.dual_coef_  # scikit-learn's is sparse where X is
        dual = (dual.toarray() if sp.issparse(dual) else dual)[0]
        weights[estimator.support_] = np.abs(dual)
        signs = np.where(y == estimator.classes_[1], 1, -1)
        if (dual * signs[estimator.support_] < 0).any():  # the sign of a dual coefficient is the row's label
            raise ValueError("X and y are not the rows of the fit, or not in their order.")
        return cls.from_predictions(signs, scores, weights, top=top, noise=noise, ax=ax, draw=draw)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        top: int = 20,
        noise: ArrayLike | None = None,
        ax: Axes | None = None,
        draw: bool = True,
    ) -> HardRowsDisplay:
        """Rank rows by decision values, and by dual weights where they are known.

        Parameters
        ----------
        y_true : array of labels -1 and +1
        scores : array of decision values
        weights : array, optional
            Nonnegative dual weights, in any unit; without them margins alone rank.
        top, noise, ax, draw
            As for `from_estimator`.

        Returns
        -------
        HardRowsDisplay
        """
        y = np.asarray(y_true)
        if not np.isin(y, (-1, 1)).all():
            raise ValueError("Labels are -1 and +1 here; from_estimator takes any.")
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
        display = cls(weights / (weights.max(initial=0.0) or 1.0), y * np.asarray(scores), noise, top)
        return display.plot(ax) if draw else display

    def plot(self, ax: Axes | None = None, *, top: int | None = None, title: str = "") -> HardRowsDisplay:
        """Draw the margins of the hardest rows as bars, and their dual weights beside them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        top : int, optional
            Rows to draw, in place of the display's own number.
        title : str

        Returns
        -------
        HardRowsDisplay
        """
        ax = axes_or_new(ax)
        (count() | None).check("top", top)
        rows = self.ranking[: self.top if top is None else top]
        plain, marked = COLOURS[0][0], COLOURS[1][0]
        noisy = np.zeros(len(rows), bool) if self.noise is None else self.noise[rows]
        places = np.arange(len(rows))
        for chosen, colour, hatch, label in (
            (~noisy, plain, None, "" if self.noise is None else "label as given"),
            (noisy, marked, "///", "label known to be wrong"),
        ):
            if chosen.any():
                ax.barh(
                    places[chosen],
                    self.margins[rows][chosen],
                    color=colour,
                    hatch=hatch,
                    edgecolor="white",
                    label=label,
                )
        ax.axvline(1.0, color="0.4", linestyle="--", linewidth=1.0, label="margin 1: no slack")
        ax.axvline(0.0, color="0.4", linewidth=0.8)
        ax.set_yticks(places, [f"row {row:,}  α = {self.weights[row]:.2f}" for row in rows], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlabel("margin: label times decision value")
        ax.set_ylabel("hardest rows first, with dual weights α", labelpad=10)
        ax.set_title(title)
        # Below the axes, where no bar can be.
        ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.11))
        return self._drawn_on(ax)
