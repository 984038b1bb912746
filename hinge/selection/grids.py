"""The values of C and γ to try: given ones, or a grid between bounds that are computed from the data."""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from sklearn.base import clone

from hinge.access import as_matrix, as_points
from hinge.constraints import count
from hinge.estimators import SVC, SVR, LinearSVC, l1_min_c
from hinge.estimators.data import kernel_input
from hinge.estimators.data.kernel_input import of_items, part_of
from hinge.estimators.fitting.parameters import Gamma
from hinge.estimators.fitting.tasks import positive_classes
from hinge.problems import Regularized
from hinge.problems.svm.examples import spread_of
from hinge.problems.svm.losses import Loss
from hinge.selection.scoring import SearchData, Tunable

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
            up, down = float(pull[pull > 0].sum()), -float(pull[pull < 0].sum())
            less = min(up, down)
            pull = np.where(pull > 0, pull * (less / (up or 1.0)), pull * (less / (down or 1.0)))
        pulls.append(pull)
    return pulls


def _reached(r: np.ndarray, free: bool, spread: float, targets: bool) -> float:
    """The C at which responses, r for C = 1, differ by twice the margin, or a hundredth of the targets' spread."""
    apart = float(r.max() - r.min()) if free else 2.0 * float(np.abs(r).max())
    wanted = 2.0 * spread * (0.01 if targets else 1.0)
    return wanted / apart if apart > 0 else 1.0
