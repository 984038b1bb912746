"""Bounds on the cross-validation error of every C, with the C that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from hinge.display.figure import COLOURS
from hinge.display.static import Display, axes_or_new
from hinge.estimators.pipelines import unwrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class ChoiceDisplay(Display):
    """Between which bounds the cross-validation error provably is, for every C.

    Parameters
    ----------
    C : array of shape (n_cells + 1,)
        Ends of the cells, ascending.
    lower, upper : array of shape (n_cells,)
        Bounds on the error for all C of each cell.
    chosen, error : float
        The chosen C, and an upper bound on its error.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import LinearSVCCV
    >>> from hinge.display import ChoiceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVCCV(Cs=[0.1, 1.0], certify=0.1).fit(X[50:, :2], y[50:])
    >>> display = ChoiceDisplay.from_estimator(model, draw=False)
    >>> bool((display.lower <= display.upper).all())
    True
    """

    def __init__(self, C: ArrayLike, lower: ArrayLike, upper: ArrayLike, chosen: float, error: float) -> None:
        self.C, self.lower, self.upper = (np.asarray(values, np.float64) for values in (C, lower, upper))
        self.chosen, self.error = float(chosen), float(error)
        if self.C.ndim != 1 or not len(self.C) - 1 == len(self.lower) == len(self.upper):
            raise ValueError("Give one lower and one upper bound for each cell, and the ends of the cells.")

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None, draw: bool = True) -> ChoiceDisplay:
        """Of a search with `certify`; of the chosen γ, if it chose one.

        Parameters
        ----------
        estimator : LinearSVCCV or SVCCV, or a Pipeline that ends with one
            A fitted one.
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.

        Returns
        -------
        ChoiceDisplay
        """
        estimator, _ = unwrap(estimator, None)
        found = getattr(estimator, "error_bounds_", None)
        if found is None:
            raise ValueError("There are no bounds to show: fit LinearSVCCV(certify=0.05), or SVCCV(certify=...).")
        if isinstance(found, list):
            found = found[int(np.argmax(estimator.gammas_ == estimator.gamma_)) if len(estimator.gammas_) else 0]
        display = cls(found.C, found.lower, found.upper, estimator.C_, found.chosen)
        return display.plot(ax) if draw else display

    def plot(self, ax: Axes | None = None, *, title: str = "") -> ChoiceDisplay:
        """Draw both bounds as steps, the chosen C, and its error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        title : str

        Returns
        -------
        ChoiceDisplay
        """
        ax = axes_or_new(ax)
        ax.stairs(
            self.upper, self.C, baseline=self.lower, fill=True, color=COLOURS[0][0], alpha=0.3, label="error, proven"
        )
        ax.axhline(self.error, color="0.4", linestyle="--", linewidth=1.0)
        ax.plot(
            [self.chosen], [self.error], color=COLOURS[1][0], marker="o", linestyle="", label=f"C={self.chosen:.3g}"
        )
        ax.set(title=title, xlabel="C", ylabel="cross-validation error", xscale="log")
        ax.legend(frameon=False, fontsize=8)
        return self._drawn_on(ax)
