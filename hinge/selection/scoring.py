"""The data of a search, the values of C and γ to try, their scores, and which of them can still win.

Values are given, or a grid between bounds that are computed from the data.
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer

from hinge.access import Matrix, as_matrix, as_points
from hinge.constraints import count
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, l1_min_c
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.kernel_input import of_items, part_of
from hinge.estimators.fitting.parameters import Gamma, KernelData
from hinge.estimators.fitting.tasks import positive_classes, row_weights
from hinge.problems import Regularized
from hinge.problems.svm.examples import balance, spread_of
from hinge.problems.svm.losses import Loss
from hinge.types import Items

Tunable: TypeAlias = LinearSVC | LinearSVR | SVC | SVR
"""The estimators whose C can be chosen."""
KINDS = LinearSVC, LinearSVR, SVC, SVR
"""The same, for isinstance."""
INSTEAD = ("lam", "slack")
"""Parameters that replace C: with one of them there is no C to choose."""


class SearchData(NamedTuple):
    """Rows, their labels or targets, and their weights.

    Attributes
    ----------
    X : array, CSR, or a list of items
    y : ndarray of shape (n,)
        Labels as they were given, or targets in float64.
    weight : ndarray of shape (n,), optional
    classes, codes : ndarray, optional
        The distinct labels, and the index of each row's label among them; None for a regression.
    """

    X: KernelData
    y: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    codes: np.ndarray | None

    def weight_of(self, train: np.ndarray | None) -> np.ndarray | None:
        """Row weights of a fit on the rows `train` alone: zero on all others; None if all are one."""
        if train is None:
            return self.weight
        weight = np.zeros(len(self.y))
        weight[train] = 1.0 if self.weight is None else self.weight[train]
        return weight

    def of_fit(self, train: np.ndarray | None) -> np.ndarray:
        """The labels or targets of such a fit."""
        return self.y if train is None else self.y[train]

    def unit_problems(
        self, model: BaseEstimator, matrix: Matrix, rows: np.ndarray | None, per_class: np.ndarray | None = None
    ) -> list[Any]:
        """The problems of a linear model for C = 1, with these weights of rows and classes."""
        unit = copy(model)
        unit.C = 1.0
        if self.codes is None or self.classes is None:
            return [unit._problem(matrix, self.y, rows)]
        targets = positive_classes(len(self.classes))
        return [unit._problem(matrix, self.codes == k, rows, per_class, k) for k in targets]

    def lacks_a_class(self, train: np.ndarray) -> bool:
        """Whether some class has no row, or none with a positive weight, among these."""
        if self.codes is None or self.classes is None:
            return False
        kept = train if self.weight is None else train[self.weight[train] > 0]
        return len(np.unique(self.codes[kept])) < len(self.classes)


def training_of(model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> SearchData:
    """X and y as checked by a fit of `model`, which also stores the names of the features.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
        A copy that belongs to the search, since it is changed.
    X, y, sample_weight
        As for its ``fit``.
    """
    if not isinstance(model, KINDS):
        names = ", ".join(kind.__name__ for kind in KINDS)
        raise TypeError(
            f"C is chosen for a {names} of hinge, not for {type(model).__name__}: for other estimators, and for "
            "pipelines, use sklearn.model_selection.GridSearchCV."
        )
    for name in INSTEAD:
        if getattr(model, name, None) is not None:
            raise ValueError(f"{name} replaces C, which is to be chosen: leave {name}=None.")
    linear = isinstance(model, LinearSVC | LinearSVR)
    model._check_parameters()
    X, y = checks.validated(model, X, y) if linear else kernel_input.training_data(model, X, y)
    weight = row_weights(sample_weight, X)
    if isinstance(model, LinearSVR | SVR):
        return SearchData(X, checks.checked_targets(y), weight, None, None)
    classes, codes = checks.encoded_labels(y)
    return SearchData(X, y, weight, classes, codes)


Scorer: TypeAlias = Callable[..., float]
"""Called with a fitted model, rows and their labels; a larger score is better."""

NEVER_NEGATIVE = ("accuracy", "top_k_accuracy", "f1", "precision", "recall", "jaccard", "roc_auc", "average_precision")
"""Names, or beginnings of names, of scores from 0 to 1."""
AT_MOST_ONE = (*NEVER_NEGATIVE, "balanced_accuracy", "matthews_corrcoef", "r2", "explained_variance")
"""The same of all scores that are at most 1."""


class Scoring(NamedTuple):
    """A score, and what it needs.

    Attributes
    ----------
    scorer : callable
    name : str
        Its name; "custom" for a function of the user's.
    values : bool
        Whether it needs decision values or predictions only, so that no fitted model is necessary.
    likely : bool
        Whether it needs probabilities.
    most, least : float
        Bounds on the score.
    weighs : bool
        Whether it takes sample weights.
    """

    scorer: Scorer
    name: str
    values: bool
    likely: bool
    most: float
    least: float
    weighs: bool

    def score_of(self, model: BaseEstimator, X: Items, y: np.ndarray, weight: np.ndarray | None) -> float:
        """The score of a model on some rows."""
        if weight is not None and self.weighs:
            return float(self.scorer(model, X, y, sample_weight=weight))
        return float(self.scorer(model, X, y))

    def marks(
        self, model: BaseEstimator, X: Items, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray, float] | None:
        """For the accuracy: 1 or 0 for each row, times its weight, and the divisor of their sum; else None.

        scikit-learn's own checks before counting take as long as a small fit.
        """
        if self.name != "accuracy":
            return None
        right = (model.predict(X) == y).astype(np.float64)
        return (right, float(len(y))) if weight is None else (right * weight, float(weight.sum()))


def scoring_of(scoring: str | Scorer | None, regression: bool) -> Scoring:
    """The `Scoring` of a name or function; None is the accuracy, or R² in regression.

    Parameters
    ----------
    scoring : str, callable or None
        A name that `sklearn.metrics.get_scorer` knows, a result of ``make_scorer``, or a function of a model, rows and
        labels.
    regression : bool
    """
    if scoring is None:
        scoring = "r2" if regression else "accuracy"
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring must be the name of one score, or a function of a model, X and y, got {scoring!r}: candidates "
            "are compared by one number."
        )
    name = scoring if isinstance(scoring, str) else "custom"
    scorer: Any = get_scorer(scoring)
    method = getattr(scorer, "_response_method", None)
    methods = (method,) if isinstance(method, str) else tuple(method or ())
    if regression and methods and "predict" not in methods:
        raise ValueError(f"scoring={name!r} is for classifiers, and this is a regression: take 'r2' or 'neg_...error'.")
    values = bool(methods) and methods[0] in ("predict", "decision_function")
    most, least = np.inf, -np.inf
    if name.startswith(AT_MOST_ONE):
        most = 1.0
        least = 0.0 if name.startswith(NEVER_NEGATIVE) else -np.inf
    elif name.startswith("neg_") and name != "neg_negative_likelihood_ratio":
        most = 0.0
    return Scoring(scorer, name, values, "predict_proba" in methods and not values, most, least, method is not None)


def with_values(model: BaseEstimator, data: SearchData, values: np.ndarray) -> Any:
    """A model with these decision values: one row for each row that it will predict.

    Parameters
    ----------
    model : estimator
        Determines how classes follow from decision values.
    data : SearchData
    values : ndarray of shape (n_rows, n_runs)
    """
    kind: Any = type(model)
    known = kind.__new__(kind)  # a shallow copy that skips scikit-learn's own copying
    known.__dict__.update(model.__dict__)
    known._scores = lambda X: values  # all its predictions are made from these
    if data.classes is not None:
        pairs = getattr(model, "multiclass", "ovr") == "ovo" and len(data.classes) > 2
        known.classes_ = data.classes
        known.dual_coef_ = np.empty((len(data.classes) - 1 if pairs else values.shape[1], 0))
        known.support_ = np.empty(0, np.int64)
    return known


class Board:
    """One score for each C, γ and fold; nan where it is not known.

    Attributes
    ----------
    scores : ndarray of shape (n_Cs, n_gammas, n_folds)
    sure : float
        Standard deviations of the predicted difference at which a candidate is given up: by default four, a probability
        of 1 in 30,000.
    """

    def __init__(self, n_Cs: int, n_gammas: int, n_folds: int, scoring: Scoring, sure: float = 4.0) -> None:
        self.scores = np.full((n_Cs, n_gammas, n_folds), np.nan)
        self.most, self.least, self.sure = scoring.most, scoring.least, sure
        self._shares: dict[tuple[int, int, int], np.ndarray] = {}

    def keep(self, C: int, gamma: int, fold: int, marks: np.ndarray, total: float) -> None:
        """Store a score that is a mean over the held-out rows: their marks, and the divisor of the sum of marks."""
        self._shares[C, gamma, fold] = marks / total
        self.scores[C, gamma, fold] = marks.sum() / total  # equal counts of right rows give exactly equal scores

    def in_the_running(self) -> np.ndarray:
        """Whether each C and γ may still be chosen.

        After some folds the mean of a candidate lies between those with the smallest and the largest possible score in
        all other folds. A candidate whose upper bound is below the lower bound of another is out: this never changes
        the choice.

        If scores are sums over rows, so is the difference D of a candidate from the leader. From k of K folds, with the
        sum of squares V over their rows, the difference over all folds is predicted: with ρ = (K - k)/k the other folds
        add ρD, with a variance of ρV of their own and of ρ²V from the uncertainty of D. A candidate that is behind by
        more than four standard deviations, :math:`D^2(1 + \\rho) > 16\\rho V`, is out, too. This is very rarely wrong,
        and then between candidates that are about equally good.
        """
        missing = np.isnan(self.scores)
        at_most = np.where(missing, self.most, self.scores).mean(axis=2)
        at_least = np.where(missing, self.least, self.scores).mean(axis=2)
        possible = at_most >= at_least.max()
        place = self.best()
        if place is not None and self._shares:
            for C, gamma in np.argwhere(possible & missing.any(axis=2) & ~missing.all(axis=2)):
                possible[C, gamma] = not self._far_behind((int(C), int(gamma)), place)
        return possible

    def _far_behind(self, one: tuple[int, int], leader: tuple[int, int]) -> bool:
        """Whether a candidate is so far behind another that the other folds are very unlikely to make up for it."""
        folds = self.scores.shape[2]
        both = [k for k in range(folds) if (*one, k) in self._shares and (*leader, k) in self._shares]
        if not both or len(both) == folds:
            return False
        apart = [self._shares[*leader, k] - self._shares[*one, k] for k in both]
        behind, square = sum(float(d.sum()) for d in apart), sum(float(d @ d) for d in apart)
        rho = (folds - len(both)) / len(both)
        return behind > 0.0 and behind**2 * (1.0 + rho) > self.sure**2 * rho * square

    def means(self) -> np.ndarray:
        """The mean of each candidate over all folds; nan where one is missing."""
        return self.scores.mean(axis=2)

    def best(self) -> tuple[int, int] | None:
        """Indices of the C and the γ with the best mean; of several, the smallest C, then the smallest γ.

        If the search was cut off before any candidate had all its scores, means over the known scores are compared.
        """
        means = self.means()
        if np.isnan(means).all():
            known = ~np.isnan(self.scores)
            with np.errstate(invalid="ignore"):
                means = np.where(known, self.scores, 0.0).sum(axis=2) / known.sum(axis=2)
        if np.isnan(means).all():
            return None
        C, gamma = np.argwhere(means == np.nanmax(means))[0]
        return int(C), int(gamma)


Grid: TypeAlias = int | Sequence[float] | np.ndarray
"""Values to try, or their number."""

HAVE_GAMMA = ("rbf", "poly", "sigmoid", "laplacian")


def checked_grid(name: str, values: Grid) -> np.ndarray | int:
    """Positive numbers in the given order; or the number of values wanted."""
    if isinstance(values, int | np.integer) and not isinstance(values, bool):
        count().check(name, values)
        return int(values)
    try:
        grid = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or len(grid) == 0:
        raise ValueError(f"{name} must be a list of numbers, or the number of values to try, got {values!r}.")
    wrong = ~((grid > 0) & np.isfinite(grid))
    if wrong.any():
        raise ValueError(f"{name} must be positive numbers, and {grid[wrong][0]:g} is not: leave it out.")
    return grid


def grid_of_C(model: Tunable, data: SearchData, Cs: Grid, gammas: Sequence[float | None]) -> np.ndarray:
    """The C to try; if only their number is given, a geometric grid between `bounds`."""
    grid = checked_grid("Cs", Cs)
    if isinstance(grid, np.ndarray):
        return grid
    low, high = bounds(model, data, gammas)
    return np.geomspace(low, high, grid)


def grid_of_gamma(model: Tunable, data: SearchData, gammas: Grid | Gamma) -> list[float | None]:
    """The γ to try; [None] if the kernel has none.

    If only their number is given, a geometric grid from 1/16 to 16 times 'scale'. For Gaussian kernels and typical
    distances of points this ranges from kernel values near 1 to kernel values near 0.
    """
    kernel = getattr(model, "kernel", None)
    if not (isinstance(kernel, str) and kernel in HAVE_GAMMA):
        if kernel is not None and not isinstance(gammas, int | str):
            raise ValueError(f"The kernel {kernel!r} has no gamma to choose: leave gammas out.")
        return [None]
    if isinstance(gammas, str):
        return [_gamma_of(model, data, cast(Gamma, gammas))]
    if isinstance(gammas, int | np.integer):
        count().check("gammas", gammas)
        scale = _gamma_of(model, data, "scale")
        return [scale] if gammas == 1 else np.geomspace(scale / 16.0, scale * 16.0, int(gammas)).tolist()
    given: Any = gammas
    grid = checked_grid("gammas", [_gamma_of(model, data, cast(Gamma, g)) if isinstance(g, str) else g for g in given])
    return cast(np.ndarray, grid).tolist()


def _gamma_of(model: Tunable, data: SearchData, gamma: Gamma) -> float:
    named = clone(model).set_params(gamma=gamma)
    return float(getattr(kernel_input.kernel_of(named, data.X), "gamma"))  # noqa: B009


def bounds(model: Tunable, data: SearchData, gammas: Sequence[float | None]) -> tuple[float, float]:
    """The smallest C at which anything is learned, and one at which C no longer bounds any dual weight.

    As long as no row has reached its margin, w is C times a sum over all rows: C then changes its length only, and no
    prediction. The smallest C is that at which, with this w, the decision values of some two rows differ by the width
    of the margin; in regression, at which predictions change by a hundredth of the targets' mean deviation. With the
    1-norm it is the C below which all weights are zero. The largest is a thousand times the C at which an average row
    could reach its margin by its own dual weight.
    """
    spread = 1.0 if data.codes is not None else spread_of(data.y)
    if isinstance(model, SVC | SVR):
        low, size = _of_kernel(model, data, gammas, spread)
    else:
        low, size = _of_rows(model, data, spread)
    high = 1000.0 * spread / size
    return low, max(high, 1000.0 * low)


def _of_rows(model: Tunable, data: SearchData, spread: float) -> tuple[float, float]:
    matrix = as_matrix(cast(Any, data.X), checked=True)
    problems = data.unit_problems(model, matrix, data.weight)
    size = matrix.typical_sq_norm() + problems[0].constant_sq or 1.0
    if isinstance(model, LinearSVC) and model.penalty == "l1":
        low = l1_min_c(
            data.X, data.y, fit_intercept=model.fit_intercept, intercept_scaling=float(model.intercept_scaling)
        )
        return low, size
    return min(_first_reach(problem, spread) for problem in problems), size


def _first_reach(problem: Regularized, spread: float) -> float:
    """The C at which decision values differ by the width of the margin, while all dual weights are at their bound."""
    free, targets = problem.bias == "free", problem.loss.two_sided
    b = problem.best_bias(np.zeros(problem.n)) if free and targets else 0.0
    alpha = problem.loss.slope(problem.short_of(np.zeros(problem.n), b))
    if free:
        alpha = problem.balanced(alpha)
    mass = problem.class_mass(alpha)
    z = problem.combination(alpha)
    r = problem.responses(z) + problem.constant_sq * (mass[0] - mass[1])
    return _reached(problem.total * r, free, spread, targets)


def _of_kernel(
    model: Tunable, data: SearchData, gammas: Sequence[float | None], spread: float, most: int = 512
) -> tuple[float, float]:
    """The same from a sample of at most `most` rows; sums over all rows are larger by the ratio of their numbers."""
    n = len(data.y)
    some = np.unique(np.arange(min(n, most)) * n // min(n, most))
    loss: Loss = model._loss
    targets = loss.two_sided
    lows, sizes = [], []
    for gamma in gammas:
        named = clone(model) if gamma is None else clone(model).set_params(gamma=gamma)
        kernel = kernel_input.kernel_of(named, data.X)
        points = as_points(part_of(data.X, some, kernel), of_items(kernel), exact=True)
        K = np.empty((len(some), len(some)))
        points.fill(np.arange(len(some)), np.arange(len(some)), K)
        for pull in _pulls(data, some, loss, bool(model.fit_intercept)):
            r = (n / len(some)) * (K @ pull)
            lows.append(_reached(r, bool(model.fit_intercept), spread, targets))
        sizes.append(float(np.diagonal(K).mean()))
    return min(lows), min(size for size in sizes if size > 0) if max(sizes) > 0 else 1.0


def _pulls(data: SearchData, some: np.ndarray, loss: Loss, free: bool) -> list[np.ndarray]:
    """The coefficient of each row in w/C while all have a loss; with a free bias, made to sum to zero."""
    weight = np.ones(len(some)) if data.weight is None else data.weight[some]
    if data.codes is None:
        t = data.y[some]
        sides = [loss.slope(t - (np.median(t) if free else 0.0))]
    else:
        assert data.classes is not None
        sides = [np.where(data.codes[some] == k, 1.0, -1.0) for k in positive_classes(len(data.classes))]
    pulls = []
    for side in sides:
        pull = side * weight
        if free:
            heavier, ratio = balance(float(pull[pull > 0].sum()), -float(pull[pull < 0].sum()))
            pull[np.sign(pull) == heavier] *= ratio
        pulls.append(pull)
    return pulls


def _reached(r: np.ndarray, free: bool, spread: float, targets: bool) -> float:
    """The C at which responses, r for C = 1, differ by twice the margin, or a hundredth of the targets' spread."""
    apart = float(r.max() - r.min()) if free else 2.0 * float(np.abs(r).max())
    wanted = 2.0 * spread * (0.01 if targets else 1.0)
    return wanted / apart if apart > 0 else 1.0
