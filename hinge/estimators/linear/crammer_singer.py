"""`LinearSVC` with all classes in one problem (Crammer and Singer): its problem, its solver, fitted attributes."""

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access import Matrix, Table
from hinge.problems import Multiclass, Solution
from hinge.solvers import Solver, registry

SPARSE = 1 / 3
"""Arrays with at most this fraction of nonzero cells are converted to CSR for the fit, so that steps skip zeros."""


def problem_of(
    model: BaseEstimator,
    matrix: Matrix | Table,
    codes: np.ndarray,
    n_classes: int,
    rows: np.ndarray | None,
    per_class: np.ndarray | None,
) -> Multiclass:
    """The problem with C or λ, and with the weights of rows and classes."""
    if not isinstance(matrix, Matrix):
        raise ValueError(
            "multi_class='crammer_singer' reads whole rows in memory: give an array or a sparse matrix, or "
            "multi_class='ovr'."
        )
    weight = rows
    if per_class is not None:
        weight = per_class[codes] if rows is None else rows * per_class[codes]
    mass = np.bincount(codes, weight)
    if np.count_nonzero(mass > 1e-12 * mass.sum()) < 2:
        raise ValueError("The rows with a positive weight are of one class: 2 classes are needed.")
    matrix = matrix.compressed(SPARSE)
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    if model.lam is not None:
        return Multiclass(matrix, codes, model.lam, n_classes=n_classes, weight=weight, bias_scale=scale)
    return Multiclass.from_C(matrix, codes, model.C, n_classes=n_classes, weight=weight, bias_scale=scale)


def check_parameters(model: BaseEstimator) -> None:
    """Raise if a parameter is not supported for all classes in one problem; loss and penalty are ignored."""
    why = None
    if model.slack is not None:
        why = "slack is that of two classes: give C or lam"
    elif model.fit_intercept and model.intercept == "free":
        why = "intercept='free' is for one class against the rest: give 'penalized', or fit_intercept=False"
    elif isinstance(model.solver, str):
        names = [name.removeprefix("multiclass") for name in registry.names("multiclass")]
        if model.solver not in ("auto", *names):
            given = f"'auto', {', '.join(map(repr, names[:-1]))} or {names[-1]!r}"
            why = f"solver={model.solver!r} is for two classes: give {given}"
    elif registry.solves(getattr(model.solver, "ascent", model.solver)) not in ("multiclass", None):
        why = f"{type(model.solver).__name__} is for two classes: give one of hinge.solvers whose name has Multiclass"
    if why is not None:
        raise ValueError(f"{why}, where multi_class='crammer_singer'.")


def solver_of(model: BaseEstimator) -> Solver | None:
    """The multiclass solver with the name of a binary one; None for the default."""
    if isinstance(model.solver, Solver):
        return model.solver
    return None if model.solver == "auto" else registry.BY_NAME[f"multiclass{model.solver}"].load()()


def coefficients(answer: Solution, problem: Multiclass) -> tuple[np.ndarray, np.ndarray]:
    """`coef_` and `intercept_`; for two classes the difference, second minus first, as in scikit-learn."""
    W = _of_classes(answer.w.T)
    return np.ascontiguousarray(W[:, :-1]), problem.bias_scale * W[:, -1]


def dual_coefficients(answer: Solution, problem: Multiclass) -> tuple[np.ndarray, np.ndarray] | None:
    """([k = yᵢ] - p[i, k])·cᵢ/λ for rows where it is not zero, and these rows; None without dual weights."""
    if answer.alpha is None:
        return None
    p = answer.alpha.copy()
    p[np.arange(problem.n), problem.labels] = 0.0
    mass = p.sum(axis=1)
    support = np.flatnonzero(mass > 0)
    dual = -p[support]
    dual[np.arange(len(support)), problem.labels[support]] = mass[support]
    dual *= np.broadcast_to(problem.share(), (problem.n,))[support, None] / problem.lam
    return _of_classes(dual.T), support


def _of_classes(rows: np.ndarray) -> np.ndarray:
    """One row for each class; for two classes the difference, second minus first."""
    return rows[1:] - rows[:1] if len(rows) == 2 else rows
