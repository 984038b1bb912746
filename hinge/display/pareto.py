"""What is proved along λ and C: the Pareto front of margin and slack, and bounds on the cross-validation error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_X_y

from hinge.column_table import ColumnTable
from hinge.display.figure import COLOURS, Figure, Panel, Series
from hinge.display.static import Display, axes_or_new
from hinge.estimators import LinearSVC
from hinge.estimators.pipelines import prepared, unwrap
from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.solvers import Solver, choose, solve
from hinge.types import MatrixLike, Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FRONT, EMPTY = "certified answers", "proved: no answer lies below"


class FrontPoint(NamedTuple):
    """One answer on the front.

    Attributes
    ----------
    lam : float
    norm, margin : float
        ‖w‖, and 1/‖w‖.
    loss : float
        The mean hinge loss: the mean slack in units of the margin.
    nu : float
        loss/norm: the mean slack at unit norm (Lemma 2.1 of the SIMBA and SBP papers).
    train_error, test_error : float
        Shares of rows; nan where there are no test rows.
    reads : int
        Cells read for this λ, starting from the answer of the previous one.
    gap : float
        Certified, relative.
    bound : float
        D: no answer has a smaller λ/2‖w‖² + loss.
    status : str
        Why the run ended.
    """

    lam: float
    norm: float
    margin: float
    loss: float
    nu: float
    train_error: float
    test_error: float
    reads: int
    gap: float
    bound: float
    status: str


@dataclass(frozen=True, eq=False, repr=False)
class FrontTable(ColumnTable):
    """The points of a front, a line each; the columns are the fields of `FrontPoint`."""

    lam: np.ndarray
    norm: np.ndarray
    margin: np.ndarray
    loss: np.ndarray
    nu: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    reads: np.ndarray
    gap: np.ndarray
    bound: np.ndarray
    status: np.ndarray


def spread_lams(X: Stored, y: ArrayLike, points: int = 20) -> np.ndarray:
    """A grid of λ, from large to small, evenly spaced on a logarithmic scale.

    It begins where all rows are within the margin, so that w = Σyᵢxᵢ/(nλ) is the answer without a bias, and
    ends five decades below or at 0.1/n (C = 10), whichever is larger, but at least one decade below.

    Parameters
    ----------
    X : array or CSR matrix
    y : labels -1 and +1
    points : int
    """
    problem = Regularized(X, y, 1.0)
    mean = problem.combination(np.ones(problem.n))
    largest = float(np.max(problem.y * problem.responses(mean))) or 1.0
    if largest <= 0:
        raise ValueError("No direction tells the classes apart: the mean of y times X has no positive margin.")
    least = min(max(largest * 1e-5, 0.1 / problem.n), largest / 10.0)
    return np.geomspace(largest, least, points)


def pareto_points(
    X: Stored,
    y: ArrayLike,
    lams: Sequence[float] | np.ndarray,
    *,
    X_test: Stored | None = None,
    y_test: ArrayLike | None = None,
    tol: float = 1e-3,
    max_time: float | None = None,
    bias: Literal["none", "free", "penalized"] = "none",
    solver: Solver | None = None,
    seed: int = 0,
) -> Iterator[FrontPoint]:
    """Solve for each λ in turn to a certified gap, starting each run from the previous answer.

    Parameters
    ----------
    X, y : training rows, and labels -1 and +1
    lams : sequence of float
        From large to small is quickest.
    X_test, y_test : optional
    tol : float
        Relative gap.
    max_time : float, optional
        Seconds for one λ.
    bias : {"none", "free", "penalized"}
        Penalised: ‖w‖ includes the bias, as in `LinearSVC`.
    solver : Solver, optional
        By default the one that suits the data.
    seed : int

    Yields
    ------
    FrontPoint
    """
    start = None
    for lam in lams:
        problem = Regularized(X, y, float(lam), bias=bias)
        stop = Stop(tol=tol, max_time=max_time)
        result = solve(problem, solver or choose(problem, tol=tol).solver, stop=stop, seed=seed, start=start)
        start, certificate = result.solution, result.certificate
        norm, loss = problem.criteria_of(start)
        scores = problem.responses(start.w, billed=False) + start.b
        test_error = np.nan
        if X_test is not None and y_test is not None:
            test_error = _wrong(np.asarray(X_test @ start.w) + start.b, y_test)
        yield FrontPoint(
            float(lam),
            norm,
            1.0 / norm if norm > 0 else np.inf,
            loss,
            loss / norm if norm > 0 else np.inf,
            _wrong(scores, problem.y),
            test_error,
            int(result.history[-1].feature_reads),
            float(certificate.gap),
            float(certificate.bound),
            result.status.name.lower(),
        )


def least_loss(points: Sequence[FrontPoint], norm: np.ndarray | float) -> np.ndarray:
    """A proven lower bound on the loss of any answer with this norm.

    A dual value D of the problem with λ proves λ½‖w‖² + loss ≥ D for every answer: a half-plane in the
    coordinates (½‖w‖², loss). The bound is their intersection.
    """
    at = np.asarray(norm, np.float64)
    bounds = [point.bound - 0.5 * point.lam * at**2 for point in points if np.isfinite(point.bound)]
    return np.maximum(0.0, np.max(bounds, axis=0)) if bounds else np.zeros_like(at)


def best_of(points: Sequence[FrontPoint]) -> FrontPoint:
    """The point of the lowest error on held-out rows; of several the one with the largest λ, which is the simplest."""
    return min((point for point in points if np.isfinite(point.test_error)), key=lambda p: (p.test_error, -p.lam))


def front_figure(points: Sequence[FrontPoint], name: str, caption: str = "") -> Figure:
    """The front with the empty region below it; and the errors along it."""
    points = [point for point in points if np.isfinite(point.margin)]
    margins = [point.margin for point in points]
    bounded: list[Series] = []
    if points:
        at = np.geomspace(min(margins), max(margins), 200)
        edge = least_loss(points, 1.0 / at).tolist()
        bounded = [Series(EMPTY, at.tolist(), edge, [0.0] * len(at), edge, "theory")]
    front = Series(FRONT, margins, [point.loss for point in points], kind="points")
    lams = [point.lam for point in points]
    errors = [Series("training error", lams, [point.train_error for point in points])]
    if any(np.isfinite(point.test_error) for point in points):
        errors.append(Series("held-out error", lams, [point.test_error for point in points]))
        best = best_of(points)
        errors.append(Series(f"lowest, at λ = {best.lam:.3g}", [best.lam], [best.test_error], kind="points"))
    panels = (
        Panel(name, "margin 1/‖w‖, units of the rows", "mean hinge loss", (front, *bounded), log_x=True),
        Panel(name, "λ", "share of rows on the wrong side", errors, log_x=True),
    )
    return Figure("path", caption or f"Margin against slack on {name}.", panels)


class ParetoFrontDisplay(Display):
    """Margin against slack, in scikit-learn's manner of drawing.

    Parameters
    ----------
    points : sequence of FrontPoint
    name : str
        Of the data, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.datasets import load
    >>> from hinge.display.pareto import ParetoFrontDisplay
    >>> adult = load("adult")
    >>> X, y = adult.X_train[:2000], adult.y_train[:2000]
    >>> display = ParetoFrontDisplay.from_estimator(LinearSVC(fit_intercept=False), X, y, points=3)
    >>> len(display.points)
    3
    """

    def __init__(self, points: Sequence[FrontPoint], name: str = "") -> None:
        self.points, self.name = list(points), name

    @classmethod
    def from_estimator(
        cls,
        estimator: LinearSVC,
        X: MatrixLike,
        y: ArrayLike,
        *,
        points: int = 20,
        lams: Sequence[float] | None = None,
        name: str = "",
        ax: Axes | None = None,
        draw: bool = True,
        tell: Callable[[FrontPoint], None] | None = None,
    ) -> ParetoFrontDisplay:
        """Compute the front with the tolerance, time limit and solver of a `LinearSVC`.

        The front is for the hinge loss and a free bias, or none, whatever the estimator's loss and bias are.

        Parameters
        ----------
        estimator : LinearSVC, or a Pipeline that ends with one
            Fitted or not; it is left as it is.
        X : array, CSR matrix or DataFrame
        y : labels of two classes
        points : int
            Of the grid, where `lams` is not given.
        lams : sequence of float, optional
        name : str
        ax : matplotlib Axes, optional
        draw : bool
            Whether to draw immediately.
        tell : callable, optional
            Called with each point as soon as it is known.

        Returns
        -------
        ParetoFrontDisplay
        """
        machine, X = prepared(estimator, X, y)
        if not isinstance(machine, LinearSVC):
            raise TypeError(f"The front is followed for hinge's LinearSVC, not {type(machine).__name__}.")
        if lams is not None and len(lams) == 0:
            raise ValueError("lams is empty: give values of λ, or leave it out.")
        rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=None)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) != 2:
            raise ValueError(f"The front is that of two classes, and y has {len(classes)}.")
        signs = np.where(codes == 1, 1, -1).astype(np.int8)
        solver = machine.solver if isinstance(machine.solver, Solver) else None
        seed = machine.random_state if isinstance(machine.random_state, int) else 0
        found = []
        for point in pareto_points(
            rows,
            signs,
            spread_lams(rows, signs, points) if lams is None else lams,
            tol=machine.tol,
            max_time=machine.max_time,
            bias=machine.intercept if machine.fit_intercept else "none",
            solver=solver,
            seed=seed,
        ):
            found.append(point)
            if tell is not None:
                tell(point)
        display = cls(found, name)
        return display.plot(ax) if draw else display

    @property
    def table(self) -> FrontTable:
        """The points, a line each: it prints, has ``to_pandas()``, and takes ``[:3]``."""
        return FrontTable(*(np.array(column) for column in zip(*self.points, strict=True)))

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> ParetoFrontDisplay:
        """Draw the front and the region that is proved empty.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure is made.
        name : str, optional
            In the title, in place of the display's own.

        Returns
        -------
        ParetoFrontDisplay
        """
        drawn = front_figure(self.points, self.name if name is None else name).panels[0]
        return self._drawn_on(axes_or_new(ax), drawn)


def _wrong(scores: np.ndarray, y: ArrayLike) -> float:
    return float(np.mean((scores > 0) != (np.asarray(y) > 0)))


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
