"""Probabilities of classifiers, calibrated on leave-one-out decision values of the training rows."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.access import Points, as_points
from hinge.access.arrays import is_tensor, to_host
from hinge.calibration import isotonic
from hinge.calibration.coupling import agreeing, coupled
from hinge.calibration.left_out import LeftOut, SolvedProblem, SpanRequest, left_out, spans_by_kernel
from hinge.calibration.leverage import LinearRows, Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.calibration.sigmoid import PlattSigmoid, fit_sigmoid, probabilities
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.data.kernel_input import of_items, part_of, points_on_host
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.reports import warn_caller
from hinge.estimators.fitting.tasks import Task, tasks_of
from hinge.estimators.mixins.fitted_rows import CheckedRows, FittedRows, RefersToRows
from hinge.kernels import Kernel
from hinge.monitoring.interrupts import attempt
from hinge.problems import L1Regularized, Penalized
from hinge.types import Items, Stored


class Judged(NamedTuple):
    """Leave-one-out decision values of the rows of one binary problem.

    Attributes
    ----------
    rows : ndarray of int
    positive : ndarray of bool
        Whether each row is in the positive class.
    f : ndarray
        Decision values after training without the row.
    stands_for : ndarray
        Number of rows that each represents.
    dual : ndarray
        Dual weights.
    """

    rows: np.ndarray
    positive: np.ndarray
    f: np.ndarray
    stands_for: np.ndarray
    dual: np.ndarray

    @classmethod
    def from_left_out(cls, found: LeftOut, y: np.ndarray, rows: np.ndarray | None, a: np.ndarray) -> "Judged":
        """From the labels, -1 and +1, the indices of the problem's rows in the data, and the dual weights a."""
        own = found.rows if rows is None else rows[found.rows]
        return cls(own, y[found.rows] > 0, found.f, found.stands_for, a[found.rows])


def as_they_are(task: Task, f: np.ndarray) -> Judged:
    """The same form for rows that took no part in the fit, with their decision values f."""
    return Judged.from_left_out(LeftOut(np.arange(len(f)), f, np.ones(len(f))), task.y, task.rows, np.zeros(len(f)))


def only_row(codes: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None) -> object:
    """The first class with exactly one row of positive weight; None if there is none."""
    counts = np.bincount(codes if weight is None else codes[weight > 0], minlength=len(classes))
    return classes.tolist()[int(np.argmax(counts == 1))] if (counts == 1).any() else None


def warn_of_one_row(label: object, so: str) -> None:
    """Warn that a class has one row, so that leave-one-out is not possible for it; `so` states the consequence."""
    warn_caller(
        f"Class {label!r} has one row, without which nothing is left to learn it from: {so}. Give two rows of each "
        "class or more."
    )


def without_kernel_rows(
    X: KernelData,
    task: Task,
    kernel: Kernel,
    f: np.ndarray,
    beta: np.ndarray,
    C: float | None,
    free_bias: bool,
    *,
    every: bool = False,
    faint: float = 1e-4,
) -> tuple[Judged, int]:
    """Leave-one-out values for one binary problem of a kernel classifier, and the number of kernel values computed.

    Parameters
    ----------
    X : array, CSR matrix, or a list of items
    task : Task
        The binary problem, with its row weights.
    kernel : Kernel
    f, beta : ndarray of shape (len(task.y),)
        Decision values and coefficients.
    C : float, optional
        The upper bound of dual weights for rows of weight one; if None, the largest dual weight is taken.
    free_bias : bool
    every : bool
        Whether to evaluate all rows, and not a sample of many.
    faint : float
        Kernel values are in float64 if ρ is below this fraction of the mean of K(x, x).
    """
    rows = np.arange(len(task.y)) if task.rows is None else task.rows
    weight = np.ones(len(rows)) if task.weight is None else task.weight
    a = np.maximum(beta * task.y, 0.0)
    if C is None:
        C = float(np.max(a[weight > 0] / weight[weight > 0], initial=0.0)) or 1.0
    evals = 0

    def spans(asked: SpanRequest) -> np.ndarray:
        needed = np.union1d(asked.free, asked.judged)
        some = points_on_host(part_of(X, rows[needed], kernel))
        points = as_points(some, of_items(kernel), exact=len(needed) <= EXACT_POINTS)
        diag = points.diag()
        if points.dtype == np.float32 and asked.rho.min(initial=np.inf) < faint * float(diag.mean()):
            points = as_points(some, of_items(kernel), exact=True)

        def values(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            nonlocal evals
            found = kernel_values(points, np.searchsorted(needed, one), np.searchsorted(needed, other))
            evals += found.size
            return found

        return spans_by_kernel(values, lambda i: diag[np.searchsorted(needed, i)], free_bias, asked)

    found = left_out(SolvedProblem(f, task.y, a, C * weight), spans, every=every)
    return Judged.from_left_out(found, task.y, task.rows, a), evals


def kernel_values(points: Points, rows: np.ndarray, columns: np.ndarray, step: int = 256) -> np.ndarray:
    """K(x, z) for some points x and some z, given by their indices; computed in tiles of `step` rows."""
    found = np.empty((len(rows), len(columns)), points.dtype)
    for lo in range(0, len(rows), step):
        points.fill(rows[lo : lo + step], columns, found[lo : lo + step])
    return found


def features_of(X: Stored, problem: Penalized) -> LinearRows:
    """The rows of a linear problem with the constant feature of its bias."""
    penalty = np.ones(problem.d + 1)
    penalty[-1] = float(problem.bias == "penalized")
    return LinearRows(X, {"none": 0.0, "free": 1.0, "penalized": float(problem.bias_scale)}[problem.bias], penalty)


def without_linear_rows(
    X: Stored,
    problem: Penalized,
    w: np.ndarray,
    b: float,
    a: np.ndarray | None,
    *,
    f: np.ndarray | None = None,
    every: bool = False,
    counted: bool = False,
    kept: Squares | None = None,
) -> Judged:
    """Leave-one-out values for a linear problem.

    Parameters
    ----------
    X : array or CSR matrix
    problem : Penalized
    w, b : ndarray of shape (n_features,) and float
    a : ndarray of shape (n,), optional
        Coefficients of the rows in w; not needed for the squared hinge, where they follow from f.
    f : ndarray of shape (n,), optional
        Decision values, if they are known.
    every : bool
        Whether to evaluate all rows, and not a sample of many; spans are then computed more accurately.
    counted : bool
        Whether rows beyond a limit will be counted: then spans have no common error.
    kept : Squares, optional
        The sum of the last problem on the same data, for which spans of a sample are as accurate.
    """
    kept = Squares() if every and kept is None else kept
    f = problem.responses(w) + b if f is None else f
    bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
    if a is None:
        a = np.maximum(0.0, 1.0 - problem.y * f) * bound / problem.loss.curvature
    rows = features_of(X, problem)
    if isinstance(problem, L1Regularized):  # zero weights are taken to stay zero; the 1-norm has no curvature
        used = np.flatnonzero(w)
        rows, kept = LinearRows(X[:, used], rows.constant, np.zeros(len(used) + 1)), None
    solved = SolvedProblem(f, problem.y, a, bound, problem.loss.curvature)
    found = left_out(solved, lambda asked: linear_spans(rows, asked, kept, counted=counted), every=every)
    return Judged.from_left_out(found, problem.y, None, a)


EXACT_POINTS = 512
"""Up to this many points, whose kernel values take 2 MB, these are computed in float64."""
LEAST = np.finfo(np.float64).tiny
"""Lower limit of probabilities before their logarithm is taken."""
METHODS = ("sigmoid", "isotonic", "venn_abers")
LEARNED = ("probA_", "probB_", "_step_cuts", "_step_scores", "_step_values")
"""Attributes of a calibration: A and B for each binary problem, or concatenated step functions."""


class Probabilities(RefersToRows):
    """`predict_proba` for a classifier with decision values, after `calibrate`, or after `fit` with `probability`."""

    classes_: np.ndarray
    probA_: np.ndarray
    probB_: np.ndarray
    _step_cuts: np.ndarray
    _step_scores: np.ndarray
    _step_values: np.ndarray
    probability: bool | Literal["deprecated"] = False
    _needed = "before calibrate() was called on the fitted model"
    """When probabilities are not available, for the error message."""

    @property
    def _is_calibrated(self) -> bool:
        return hasattr(self, "probA_") or hasattr(self, "_step_values")

    def _has_probabilities(self) -> bool:
        if self._is_calibrated or self.probability not in (False, "deprecated"):
            return True
        raise AttributeError(f"predict_proba is not available {self._needed}.")

    def _has_intervals(self) -> bool:
        if hasattr(self, "_step_values") and self._step_values.ndim == 2:
            if not self._one_vs_one:
                return True
            raise AttributeError(
                "This model has decision values of class pairs, whose intervals are not those of single classes: fit "
                "it with multiclass='ovr', each class against the rest, or use LinearSVC."
            )
        raise AttributeError("predict_proba_interval is not available before calibrate(X, y, method='venn_abers').")

    @available_if(_has_probabilities)
    @any_arrays(stays=True)
    def predict_proba(self, X: Items) -> np.ndarray:
        """The probability of each class; the class that `predict` returns always has the largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "classes_")
        if not self._is_calibrated:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or where Ctrl-C ended the fit: fit "
                "again, or call calibrate(X, y)."
            )
        scores = self._scores(X)
        scores = to_host(scores) if is_tensor(scores) else scores
        if hasattr(self, "probA_"):
            each = [
                probabilities(f, PlattSigmoid(A, B)) for f, A, B in zip(scores.T, self.probA_, self.probB_, strict=True)
            ]
        elif self._step_values.ndim == 1:
            each = [isotonic.isotonic_probabilities(f, isotonic.Isotonic(*part)) for f, part in self._steps(scores)]
        else:
            each = [isotonic.merged(*ends) for ends in self._intervals(scores)]
        n_classes = len(self.classes_)
        p = np.stack(each, axis=1)
        if n_classes == 2:
            p = np.concatenate([1.0 - p, p], axis=1)
        elif self._one_vs_one:
            p = coupled(p, n_classes)
        else:
            p = np.maximum(p, LEAST)
            p /= p.sum(axis=1, keepdims=True)
        return agreeing(p, self._codes_of(scores))

    @available_if(_has_probabilities)
    @any_arrays(stays=True)
    def predict_log_proba(self, X: Items) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(np.maximum(self.predict_proba(X), LEAST))

    @available_if(_has_intervals)
    @any_arrays()
    def predict_proba_interval(self, X: Items) -> tuple[np.ndarray, np.ndarray]:
        """A lower and an upper probability of each class, one of which is calibrated: Venn-Abers prediction.

        They differ much where few calibration rows are near. With several classes they belong to each class against
        the rest. With two classes `predict_proba` lies between them, unless it was changed to agree with `predict`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_classes)
        """
        ends = self._intervals(self._scores(X))
        lower, upper = (np.stack(part, axis=1) for part in zip(*ends, strict=True))
        if len(self.classes_) == 2:
            lower, upper = np.concatenate([1.0 - upper, lower], axis=1), np.concatenate([1.0 - lower, upper], axis=1)
        return lower, upper

    @any_arrays()
    def calibrate(
        self,
        X: Items | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: bool = False,
        method: Literal["sigmoid", "isotonic", "venn_abers"] = "sigmoid",
    ) -> Self:
        """Fit the function from decision values to probabilities, on the rows of the fit, without another fit.

        A sigmoid, or the function of `method`, is fitted to leave-one-out decision values, which are computed from the
        solution: see `hinge.calibration.left_out`. `predict_proba` is then available until the next fit. Estimators
        with the parameter ``probability`` do the same in ``fit`` if it is True.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence, optional
            The rows of the fit; by default those to which the model refers, in the process in which it was fitted.
        y : array-like of shape (n_samples,), optional
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights in the fit.
        held_out : bool, default=False
            Whether X and y took no part in the fit: then their decision values are used directly.
        method : {"sigmoid", "isotonic", "venn_abers"}, default="sigmoid"
            Platt's sigmoid, of two parameters; isotonic regression, any nondecreasing function, for a thousand rows or
            more, which is better if the classes have different distributions of decision values; or Venn-Abers
            prediction, for `predict_proba_interval`.

        Returns
        -------
        self
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
        check_is_fitted(self, "classes_")
        rows = self._rows_to_use("calibrate", FittedRows(X, y, sample_weight), held_out)
        checked = self._rows_to_judge(rows, held_out)
        judged = self._held_out(checked) if held_out else self._left_out(checked, rows.scores)
        self._keep_probabilities(judged, checked.codes, checked.weight, method)
        return self

    # --- for estimators -------------------------------------------------------------------

    @property
    def _one_vs_one(self) -> bool:
        """Whether class pairs were solved, rather than each class against the rest."""
        return False

    _scores: Callable[[Items], np.ndarray]
    """The values of all decision functions, for every row."""
    _scores_of: Callable[[Any], np.ndarray]
    """The same for validated rows."""
    _codes_of: Callable[[np.ndarray], np.ndarray]
    """The index of the predicted class, from decision values."""
    _rows_to_judge: Callable[[FittedRows, bool], CheckedRows]
    """The rows, validated, from what was given and whether it took no part in the fit."""
    _left_out: Callable[..., list[Judged]]
    """Leave-one-out decision values of the training rows, for each binary problem, from what `_rows_to_judge` returns.

    Beside this it takes `scores`, decision values of shape (n, n_runs) if they are known; `every`, whether to evaluate
    all rows, and not a sample of many; and `counted`, whether rows beyond a limit will be counted: then values have no
    common error.
    """

    def _held_out(self, rows: CheckedRows) -> list[Judged]:
        """The same form for rows that took no part in the fit."""
        tasks = tasks_of(rows.codes, len(self.classes_), None, None, None, one_vs_one=self._one_vs_one)
        each = zip(tasks, self._scores_of(rows.X).T, strict=True)
        return [as_they_are(task, f if task.rows is None else f[task.rows]) for task, f in each]

    def _steps(self, scores: np.ndarray) -> list[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        """The decision values of each binary problem, with the knots and values of its step function."""
        cuts = self._step_cuts[1:-1]
        knots, values = np.split(self._step_scores, cuts), np.split(self._step_values, cuts)
        return list(zip(scores.T, zip(knots, values, strict=True), strict=True))

    def _intervals(self, scores: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The lower and upper probabilities of each binary problem."""
        steps = self._steps(scores)
        return [isotonic.interval(f, isotonic.VennAbers(knots, *ends.T)) for f, (knots, ends) in steps]

    def _forget_probabilities(self) -> None:
        for name in LEARNED:
            self.__dict__.pop(name, None)

    def _calibrate_fit(
        self, judge: Callable[[], Sequence[Judged]], codes: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """The last part of a fit with `probability`; a model that was kept after Ctrl-C has no probabilities."""
        if not attempt(lambda: self._keep_probabilities(judge(), codes, weight)):
            self._forget_probabilities()
            warn_caller(
                "The fit was interrupted before its probabilities were known: call calibrate(X, y) for predict_proba."
            )

    def _keep_probabilities(
        self, judged: Sequence[Judged], codes: np.ndarray, weight: np.ndarray | None, method: str = "sigmoid"
    ) -> None:
        """Fit a function for each binary problem."""
        weight = np.ones(len(codes)) if weight is None else weight
        alone = only_row(codes, self.classes_, weight)
        if alone is not None:
            warn_of_one_row(alone, "its probabilities are guesses")
        self._forget_probabilities()
        given = [(one.f, one.positive, one.stands_for * weight[one.rows]) for one in judged]
        if method == "sigmoid":
            sigmoids = [fit_sigmoid(*one) for one in given]
            self.probA_, self.probB_ = np.array([s.A for s in sigmoids]), np.array([s.B for s in sigmoids])
            return
        if method == "isotonic":
            steps = [tuple(isotonic.fit_isotonic(*one)) for one in given]
        else:
            fitted = [isotonic.fit_venn_abers(*one) for one in given]
            steps = [(found.f, np.stack(found[1:], axis=1)) for found in fitted]
        self._step_cuts = np.cumsum([0, *(len(f) for f, _ in steps)])
        self._step_scores = np.concatenate([f for f, _ in steps])
        self._step_values = np.concatenate([values for _, values in steps])
