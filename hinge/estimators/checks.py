"""What estimators accept: parameters, labels and weights, turned into what problems take."""

import os
from typing import Any, cast, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state, validate_data

from hinge.access.structure import as_csr
from hinge.access.tables.table import Table
from hinge.estimators.parameters import (
    KernelChoice,
    KernelClassifierParameters,
    KernelMachineParameters,
    KernelParameters,
    KernelRegressorParameters,
    LinearClassifierParameters,
    LinearParameters,
    LinearRegressorParameters,
    OneClassParameters,
    RandomState,
    RunParameters,
)
from hinge.kernels import Kernel, registry
from hinge.types import MatrixLike, Stored

LARGEST = 1e70
"""Values above this in X are refused: sums of their fourth powers would overflow."""

FAR = 1e100
"""Parameters lie between this and its inverse, and the largest weights: what is made of them stays finite."""

NOT_NUMBERS = ("setting an array element", "could not convert", "float() argument", "int() argument")
"""How NumPy begins to say that something is no array of numbers."""


def checked_number(name: str, value: Any, *, above: float = 0.0, most: float = np.inf, or_equal: bool = False) -> float:
    """A finite number in range, or a sentence that names the parameter."""
    fine = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    number = _as_float(value) if fine else np.nan
    if abs(number) < np.inf and number <= most and (number >= above if or_equal else number > above):
        return number
    least = f" at least {above:g}" if or_equal else f" greater than {above:g}"
    least = least if np.isfinite(above) else ", and finite"
    most_words = f" and at most {most:g}" if np.isfinite(most) else ""
    raise ValueError(f"{name} must be a number{least}{most_words}, got {value!r}.")


def _as_float(value: float | np.integer | np.floating) -> float:
    """A number as a float; infinity for a whole number that is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def checked_scale(name: str, value: Any, *, most: float = np.inf, or_equal: bool = False) -> float:
    """A positive number, or zero, of a size at which products with it do not vanish or overflow."""
    number = checked_number(name, value, most=most, or_equal=or_equal)
    if number and not 1 / FAR <= number <= FAR:
        raise ValueError(f"{name} must lie between {1 / FAR:g} and {min(most, FAR):g}, got {value!r}.")
    return number


def checked_count(name: str, value: Any, *, or_all: bool = False) -> int:
    """A whole number of at least one, or -1 for as many as there are."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_integer and (value >= 1 or (or_all and value == -1)):
        return int(value)
    raise ValueError(f"{name} must be a whole number of at least 1{', or -1' * or_all}, got {value!r}.")


def checked_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return str(value)


def checked_flag(name: str, value: Any) -> bool:
    """Yes or no; a number will do."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def generator_of(random_state: RandomState) -> np.random.RandomState:
    """What `random_state` stands for."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, a whole number from 0 to {2**32 - 1} or a RandomState, got {random_state!r}."
        ) from error


def seed_of(random_state: RandomState) -> int:
    """A seed, drawn from what `random_state` stands for; None too is one: same call, same bits."""
    random = generator_of(0 if random_state is None else random_state)
    return int(random.randint(np.iinfo(np.int32).max))


def check_linear(model: LinearParameters, solvers: tuple[str, ...], losses: tuple[str, ...]) -> None:
    """What linear estimators share of their parameters, or a sentence that names the one that is wrong."""
    checked_scale("C", model.C)
    if model.lam is not None:
        checked_scale("lam", model.lam)
    checked_choice("loss", model.loss, losses)
    if not isinstance(model.dual, bool | np.bool_) and model.dual != "auto":
        raise ValueError(f"dual must be True, False or 'auto', got {model.dual!r}.")
    checked_count("max_iter", model.max_iter)
    checked_scale("intercept_scaling", model.intercept_scaling)
    checked_choice("intercept", model.intercept, ("penalized", "free"))
    for name in ("fit_intercept", "warm_start"):
        checked_flag(name, getattr(model, name))
    check_run(model, solvers, ("max_time", "max_reads", "target_error"))


def check_linear_svr(model: LinearRegressorParameters, solvers: tuple[str, ...]) -> None:
    """Every parameter of `LinearSVR`, or a sentence that names the one that is wrong."""
    check_linear(model, solvers, ("epsilon_insensitive", "squared_epsilon_insensitive"))
    checked_scale("epsilon", model.epsilon, or_equal=True)


def check_linear_svc(model: LinearClassifierParameters, solvers: tuple[str, ...]) -> None:
    """Every parameter of `LinearSVC`, or a sentence that names the one that is wrong."""
    check_linear(model, solvers, ("squared_hinge", "hinge"))
    checked_choice("penalty", model.penalty, ("l2",))
    checked_choice("multi_class", model.multi_class, ("ovr",))
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    if model.slack is not None:
        checked_scale("slack", model.slack, most=1.0)
        if model.lam is not None:
            raise ValueError("lam and slack both set the trade-off; give one of them.")
        if model.loss != "hinge":
            raise ValueError("slack is that of the hinge loss: give loss='hinge' with it.")


def check_svc(model: KernelClassifierParameters, solvers: tuple[str, ...]) -> None:
    """Every parameter of `SVC`, or a sentence that names the one that is wrong."""
    if model.slack is not None:
        checked_scale("slack", model.slack, most=1.0, or_equal=True)
    checked_choice("multiclass", model.multiclass, ("ovo", "ovr"))
    checked_flag("break_ties", model.break_ties)
    check_shape(model)
    check_kernel_machine(model, solvers)


def check_svr(model: KernelRegressorParameters, solvers: tuple[str, ...]) -> None:
    """Every parameter of `SVR`, or a sentence that names the one that is wrong."""
    checked_scale("epsilon", model.epsilon, or_equal=True)
    checked_flag("shrinking", model.shrinking)
    check_kernel_machine(model, solvers)


def check_kernel_machine(model: KernelMachineParameters, solvers: tuple[str, ...]) -> None:
    """The parameters that `SVC` and `SVR` share."""
    checked_scale("C", model.C)
    check_kernel(model)
    for name in ("fit_intercept", "warm_start"):
        checked_flag(name, getattr(model, name))
    if model.cache_folder is not None and not isinstance(model.cache_folder, str | os.PathLike):
        raise ValueError(f"cache_folder must be a path, got {model.cache_folder!r}.")
    checked_choice("precision", model.precision, ("float32", "tf32", "bf16"))
    if model.device is not None and not str(model.device).startswith(("cpu", "cuda")):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {model.device!r}.")
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    check_run(model, solvers, ("max_time", "max_kernel_evals", "target_error"))


def check_kernel(model: KernelParameters) -> None:
    """The parameters of the kernel, and those of what works with it."""
    if isinstance(model.kernel, str):
        checked_choice("kernel", model.kernel, registry.names())
    elif isinstance(model.kernel, type) or not callable(model.kernel):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, registry.names()))}, a function of two items, or "
            f"one of hinge.kernels, got {model.kernel!r}."
        )
    for settings in (model, model.kernel):
        check_settings(settings)
    checked_count("max_iter", model.max_iter, or_all=True)
    checked_scale("cache_size", model.cache_size)


def check_settings(kernel: KernelParameters | KernelChoice) -> None:
    """The parameters of a named kernel, or those that a kernel object has."""
    degree, gamma, coef0 = (getattr(kernel, name, 1) for name in ("degree", "gamma", "coef0"))
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 0:
        raise ValueError(f"degree must be a whole number of at least 0, got {degree!r}.")
    if isinstance(gamma, str) and not isinstance(kernel, Kernel):
        checked_choice("gamma", gamma, ("scale", "auto"))
    else:
        checked_scale("gamma", gamma, or_equal=True)
    if abs(checked_number("coef0", coef0, above=-np.inf)) > FAR:
        raise ValueError(f"coef0 must lie between {-FAR:g} and {FAR:g}, got {coef0!r}.")


def check_one_class(model: OneClassParameters) -> None:
    """Every parameter of `OneClassSVM`, or a sentence that names the one that is wrong."""
    check_kernel(model)
    checked_scale("nu", model.nu, most=1.0)
    checked_number("tol", model.tol, or_equal=True)
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    if model.max_time is not None:
        checked_number("max_time", model.max_time, or_equal=True)
    checked_choice("on_interrupt", model.on_interrupt, ("raise", "keep"))


def check_shape(model: KernelClassifierParameters) -> None:
    """What `decision_function` is asked to give must be there to give."""
    checked_choice("decision_function_shape", model.decision_function_shape, ("ovo", "ovr"))
    if model.decision_function_shape == "ovo" and model.break_ties:
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
    if model.decision_function_shape == "ovo" and model.multiclass == "ovr":
        raise ValueError("decision_function_shape='ovo' needs multiclass='ovo': 'ovr' learns no pairs.")


def check_run(model: RunParameters, solvers: tuple[str, ...], limits: tuple[str, ...]) -> None:
    """The parameters that say how a run is made."""
    checked_number("tol", model.tol, or_equal=True)
    for name in limits:
        if getattr(model, name) is not None:
            checked_number(name, getattr(model, name), or_equal=True)
    if not 0 < checked_number("validation_fraction", model.validation_fraction) < 1:
        raise ValueError(f"validation_fraction must lie between 0 and 1, got {model.validation_fraction!r}.")
    checked_choice("on_interrupt", model.on_interrupt, ("raise", "keep"))
    if isinstance(model.solver, str):
        checked_choice("solver", model.solver, ("auto", *solvers))
    elif isinstance(model.solver, type) or not hasattr(model.solver, "advance"):
        raise ValueError(f"solver must be a name or a hinge Solver, got {model.solver!r}.")


@overload
def validated(model: BaseEstimator, X: MatrixLike, *, reset: bool = True) -> Stored: ...


@overload
def validated(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike | None, *, reset: bool = True
) -> tuple[Stored, np.ndarray]: ...


def validated(model: BaseEstimator, X: MatrixLike, y: ArrayLike | None = "no_validation", *, reset: bool = True) -> Any:
    """X, or X and y, as scikit-learn checks them; copied only where needed, and of `as_csr` if sparse."""
    finite = False
    if sp.issparse(X):
        X, finite = as_csr(X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if not isinstance(X, np.ndarray) and len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    try:
        with np.errstate(all="ignore"):  # sums that overflow on the way to the sentence about infinity
            checked = validate_data(
                model,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                dtype="numeric",
                order="C",
                accept_large_sparse=True,
                ensure_all_finite=not (finite and cast(Stored, X).dtype in (np.float32, np.float64)),
            )
    except (TypeError, ValueError) as error:
        if not str(error).startswith(NOT_NUMBERS):
            raise
        raise type(error)(f"X must be a table of numbers, and y one label a row: {error}") from error
    rows = checked if isinstance(y, str) else checked[0]
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got {rows.dtype}.")
    check_scale(rows)
    return checked


def validated_labels(model: BaseEstimator, table: Table, y: ArrayLike | None) -> np.ndarray:
    """The labels of a table's rows, one for each; notes the number of features."""
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    if len(labels) != table.shape[0]:
        raise ValueError(f"There are {table.shape[0]} rows and {len(labels)} labels: one label a row is needed.")
    model.n_features_in_ = table.shape[1]
    model.__dict__.pop("feature_names_in_", None)
    return labels


def check_scale(X: Stored) -> None:
    """Values whose squares overflow cannot be trained on; float32 cannot hold them."""
    values: np.ndarray = cast(sp.csr_array, X).data if sp.issparse(X) else X
    if values.dtype.kind == "f" and values.itemsize > 4 and values.size and max(values.max(), -values.min()) > LARGEST:
        raise ValueError(
            f"X has values above {LARGEST:g}, whose squares overflow; scale the features down, for instance "
            "with sklearn.preprocessing.MaxAbsScaler."
        )


def checked_targets(y: np.ndarray) -> np.ndarray:
    """Numbers to be predicted, in float64."""
    try:
        targets = np.asarray(y, np.float64) if y.dtype.kind != "c" else np.full(1, np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold one number a row: {error}.") from error
    if not np.isfinite(targets).all():
        raise ValueError("y must hold one finite number a row; drop rows whose target is missing.")
    if np.abs(targets).max(initial=0.0) > LARGEST:
        raise ValueError(f"y has values above {LARGEST:g}, whose squares overflow; divide all of them.")
    return targets


def check_labels(y: np.ndarray) -> None:
    """Labels are told apart by their values: classes, no measurements."""
    if y.dtype.kind == "V":
        raise ValueError(f"y must hold one label a row: numbers or strings, not {y.dtype}.")
    if y.dtype.kind not in "fcO":  # other types are labels, whatever their values
        return
    try:
        check_classification_targets(y)
        np.unique(y)
    except TypeError as error:
        raise ValueError(f"y mixes labels that cannot be compared: use numbers or strings only ({error}).") from error


def encoded_labels(y: np.ndarray, classes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes, and each row's class number; there must be two or more."""
    check_labels(y)
    known = classes is not None
    classes = np.unique(y) if classes is None else classes
    if len(classes) == 2 and not known:
        return classes, (y == classes[1]).view(np.uint8)
    try:
        codes = np.searchsorted(classes, y)
    except TypeError as error:
        raise ValueError(f"y has labels that are not among the classes {classes.tolist()}: {error}.") from error
    if known:
        codes[codes == len(classes)] = 0
        unknown = classes[codes] != y
        if unknown.any():
            label = y[unknown].tolist()[0]
            raise ValueError(f"y has the label {label!r}, which is not among the classes {classes.tolist()}.")
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: a classifier needs 2 classes or more.")
    return classes, codes.astype(np.min_scalar_type(len(classes)))


def check_stream(model: LinearClassifierParameters) -> None:
    """What only all rows together can tell is not for `partial_fit`."""
    if model.slack is not None:
        raise ValueError("partial_fit takes C or lam; slack needs all rows at once.")
    if isinstance(model.class_weight, str):
        raise ValueError("class_weight='balanced' needs all rows; give partial_fit the weights as a dict.")


def stream_classes(classes: ArrayLike | None, known: np.ndarray | None) -> np.ndarray:
    """The classes of a stream: those of its first call."""
    if known is None and classes is None:
        raise ValueError("classes must be given in the first call of partial_fit: later rows may bring others.")
    if classes is not None:
        check_labels(np.asarray(classes))
    if known is None:
        return np.unique(np.asarray(classes))
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(f"classes={classes!r} are not those of the first call, {known.tolist()}.")
    return known


def held_out(codes: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Row numbers of a stratified random fraction, at least one row of each class left to learn from."""
    rng = np.random.default_rng(seed)
    picked = []
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        picked.append(rng.permutation(rows)[: min(len(rows) - 1, round(fraction * len(rows)))])
    rows = np.sort(np.concatenate(picked))
    if len(rows) == 0:
        raise ValueError(
            f"validation_fraction={fraction:g} of {len(codes)} rows leaves none to measure target_error on."
        )
    return rows.astype(np.int64)


def held_out_at_random(n: int, fraction: float, seed: int) -> np.ndarray:
    """Row numbers of a random fraction, at least one row left to learn from."""
    count = min(n - 1, round(fraction * n))
    if count == 0:
        raise ValueError(f"validation_fraction={fraction:g} of {n} rows leaves none to measure target_error on.")
    return np.sort(np.random.default_rng(seed).permutation(n)[:count]).astype(np.int64)
