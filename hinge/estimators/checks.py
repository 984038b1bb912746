"""Validation of the estimators' parameters, data and labels."""

import os
from functools import cache
from typing import Any, Literal, cast, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state, validate_data

from hinge.access.streams.base import RowStream
from hinge.access.streams.memory import free_memory
from hinge.access.structure import as_csr
from hinge.access.tables.oracle import as_oracle
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
    NuClassifierParameters,
    NuRegressorParameters,
    OneClassParameters,
    RandomState,
    RunParameters,
    VoteParameters,
)
from hinge.kernels import Kernel, Linear, registry
from hinge.solvers.registry import names as solvers_of
from hinge.solvers.registry import solves as kind_of
from hinge.types import MatrixLike, Stored

LARGEST = 1e70
"""Values above this in X are refused: sums of their fourth powers would overflow."""

FAR = 1e100
"""Parameters, and the largest weight, must lie between 1/FAR and FAR, so that products of them stay finite."""

CLOSE = 1 << 16
"""Integer labels within a range smaller than this are found by counting, without sorting."""

WIDE = 1 << 27
"""Columns from which on vectors of all of them, of a gigabyte each, are compared with the free memory."""

VECTORS = 4
"""Vectors of all columns that a fit may hold: the weights, copies of them, and an index."""

NOT_NUMBERS = ("setting an array element", "could not convert", "float() argument", "int() argument")
"""Beginnings of NumPy's messages if something cannot be converted to an array of numbers."""


def checked_number(
    name: str, value: object, *, above: float = 0.0, most: float = np.inf, or_equal: bool = False
) -> float:
    """The value as a float; raises an error that names the parameter if it is not a finite number in the range."""
    number = np.nan
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = _as_float(value)
    if abs(number) < np.inf and number <= most and (number >= above if or_equal else number > above):
        return number
    least = f" at least {above:g}" if or_equal else f" greater than {above:g}"
    least = least if np.isfinite(above) else ", and finite"
    most_words = f" and at most {most:g}" if np.isfinite(most) else ""
    raise ValueError(f"{name} must be a number{least}{most_words}, got {value!r}.")


def _as_float(value: float | np.integer | np.floating) -> float:
    """A number as a float; infinity for an integer beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def checked_scale(
    name: str, value: object, *, most: float = np.inf, or_equal: bool = False, or_infinite: bool = False
) -> float:
    """A positive number between 1/FAR and FAR (or zero, with `or_equal`): products with it stay finite."""
    if or_infinite and isinstance(value, float | np.floating) and value == np.inf:
        return np.inf
    number = checked_number(name, value, most=most, or_equal=or_equal)
    if number and not 1 / FAR <= number <= FAR:
        raise ValueError(f"{name} must lie between {1 / FAR:g} and {min(most, FAR):g}, got {value!r}.")
    return number


def checked_count(name: str, value: Any, *, least: int = 1, or_all: bool = False) -> int:
    """An integer of at least `least`; with `or_all` also -1, which means all."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_integer and (value >= least or (or_all and value == -1)):
        return int(value)
    raise ValueError(f"{name} must be a whole number of at least {least}{', or -1' * or_all}, got {value!r}.")


def checked_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """The value, which must be one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return str(value)


def checked_flag(name: str, value: object) -> bool:
    """True or False; integers are accepted as in Python."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def generator_of(random_state: RandomState) -> np.random.RandomState:
    """The generator that `random_state` is, or one seeded by it."""
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, a whole number from 0 to {2**32 - 1} or a RandomState, got {random_state!r}."
        ) from error


def seed_of(random_state: RandomState) -> int:
    """A seed drawn from `random_state`; None counts as 0, so that the same call gives the same result."""
    if random_state is None or type(random_state) is int:
        return _first_draw(random_state or 0)
    return int(generator_of(random_state).randint(np.iinfo(np.int32).max))


@cache
def _first_draw(seed: int) -> int:
    """Cached, since creating a generator takes as long as a small fit."""
    return int(generator_of(seed).randint(np.iinfo(np.int32).max))


def check_linear(model: LinearParameters, solvers: tuple[str, ...], losses: tuple[str, ...]) -> None:
    """Raise an error that names the parameter, if one that linear estimators share is wrong."""
    checked_scale("C", model.C)
    if model.lam is not None:
        checked_scale("lam", model.lam)
    checked_choice("loss", model.loss, losses)
    if not isinstance(model.dual, bool | np.bool_) and not (isinstance(model.dual, str) and model.dual == "auto"):
        raise ValueError(f"dual must be True, False or 'auto', got {model.dual!r}.")
    checked_count("max_iter", model.max_iter, least=0)
    checked_scale("intercept_scaling", model.intercept_scaling)
    checked_choice("intercept", model.intercept, ("penalized", "free"))
    for name in ("fit_intercept", "warm_start"):
        checked_flag(name, getattr(model, name))
    if model.max_memory is not None:
        checked_number("max_memory", model.max_memory)
    if model.checkpoint is not None and not isinstance(model.checkpoint, str | os.PathLike):
        raise ValueError(f"checkpoint must be the path of a folder, got {model.checkpoint!r}.")
    check_run(model, solvers, ("max_time", "max_reads", "target_error"))


def check_linear_svr(model: LinearRegressorParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of a `LinearSVR` is wrong."""
    check_linear(model, solvers, ("epsilon_insensitive", "squared_epsilon_insensitive"))
    check_combination("l2", model.loss, model.dual)
    checked_scale("epsilon", model.epsilon, or_equal=True)


def check_combination(penalty: str, loss: str, dual: bool | Literal["auto"]) -> None:
    """Reject the combinations that scikit-learn rejects, so that a model is valid in both or in neither."""
    asked = dual if isinstance(dual, str) else bool(dual)
    fix = None
    if penalty == "l1" and loss == "hinge":
        fix = "loss='squared_hinge'"
    elif penalty == "l1" and asked is True:
        fix = "dual='auto' or dual=False"
    elif loss in ("hinge", "epsilon_insensitive") and asked is False:
        fix = "dual='auto' or dual=True"
    if fix is not None:
        raise ValueError(
            f"Unsupported set of arguments: penalty={penalty!r}, loss={loss!r} and dual={asked!r} do not go "
            f"together, as in scikit-learn; give {fix}."
        )


def check_linear_svc(model: LinearClassifierParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of a `LinearSVC` is wrong."""
    check_linear(model, solvers, ("squared_hinge", "hinge"))
    checked_choice("penalty", model.penalty, ("l2", "l1"))
    checked_choice("multi_class", model.multi_class, ("ovr", "crammer_singer"))
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    checked_device(model.device)
    if on_a_device(model.device):
        check_device(model)
    if model.multi_class == "crammer_singer":
        check_crammer_singer(model)
        return
    check_combination(model.penalty, model.loss, model.dual)
    if model.slack is not None:
        checked_scale("slack", model.slack, most=1.0)
        if model.lam is not None:
            raise ValueError("lam and slack both set the trade-off; give one of them.")
        if model.loss != "hinge":
            raise ValueError("slack is that of the hinge loss: give loss='hinge' with it.")


def checked_device(device: str | None) -> None:
    """Raise if it is not a device."""
    if device is not None and not str(device).startswith(("cpu", "cuda")):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}.")


def on_a_device(device: str | None) -> bool:
    """Whether torch is used: for any device but the plain CPU."""
    return device is not None and device != "cpu"


def check_device(model: LinearClassifierParameters) -> None:
    """Raise if a parameter is not supported by fits on a device."""
    named = {"penalty": "l2", "multi_class": "ovr", "slack": None, "solver": "auto"}
    for name, usual in named.items():
        if getattr(model, name) != usual:
            raise ValueError(
                f"device={model.device!r} is for {name}={usual!r}, not {name}={getattr(model, name)!r}: leave one of "
                "them out."
            )


def check_crammer_singer(model: LinearClassifierParameters) -> None:
    """Raise if a parameter is not supported for all classes at once; loss and penalty are ignored."""
    why = None
    if model.slack is not None:
        why = "slack is that of two classes: give C or lam"
    elif model.fit_intercept and model.intercept == "free":
        why = "intercept='free' is for one class against the rest: give 'penalized', or fit_intercept=False"
    elif isinstance(model.solver, str):
        names = [name.removeprefix("multiclass") for name in solvers_of("multiclass")]
        if model.solver not in ("auto", *names):
            why = f"solver={model.solver!r} is for two classes: give 'auto', {' or '.join(map(repr, names))}"
    elif kind_of(model.solver) not in ("multiclass", None):
        why = f"{type(model.solver).__name__} is for two classes: give one of hinge.solvers whose name has Multiclass"
    if why is not None:
        raise ValueError(f"{why}, where multi_class='crammer_singer'.")


def check_svc(model: KernelClassifierParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of an `SVC` is wrong."""
    if model.slack is not None:
        checked_scale("slack", model.slack, most=1.0, or_equal=True)
    checked_choice("multiclass", model.multiclass, ("ovo", "ovr"))
    check_votes(model)
    if model.decision_function_shape == "ovo" and model.multiclass == "ovr":
        raise ValueError("decision_function_shape='ovo' needs multiclass='ovo': 'ovr' learns no pairs.")
    checked_scale("C", model.C, or_infinite=True)
    checked_flag("fit_intercept", model.fit_intercept)
    check_kernel_machine(model, solvers)


def check_svr(model: KernelRegressorParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of an `SVR` is wrong."""
    checked_scale("epsilon", model.epsilon, or_equal=True)
    checked_scale("C", model.C, or_infinite=True)
    checked_flag("fit_intercept", model.fit_intercept)
    check_kernel_machine(model, solvers)


def check_nu_svc(model: NuClassifierParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of a `NuSVC` is wrong."""
    checked_scale("nu", model.nu, most=1.0)
    check_votes(model)
    check_kernel_machine(model, solvers)


def check_nu_svr(model: NuRegressorParameters, solvers: tuple[str, ...]) -> None:
    """Raise, naming the parameter, if one of a `NuSVR` is wrong."""
    checked_scale("nu", model.nu, most=1.0)
    checked_scale("C", model.C, or_infinite=True)
    check_kernel_machine(model, solvers)


def check_votes(model: VoteParameters) -> None:
    """Raise if a parameter that determines how classes follow from decision values is wrong."""
    if not (isinstance(model.probability, str) and model.probability == "deprecated"):  # scikit-learn's word for False
        checked_flag("probability", model.probability)
    checked_flag("break_ties", model.break_ties)
    checked_choice("decision_function_shape", model.decision_function_shape, ("ovo", "ovr"))


def check_kernel_machine(model: KernelMachineParameters, solvers: tuple[str, ...]) -> None:
    """Raise an error that names the parameter, if one that all kernel estimators but `OneClassSVM` have is wrong."""
    check_kernel(model)
    checked_flag("warm_start", model.warm_start)
    if model.cache_folder is not None and not isinstance(model.cache_folder, str | os.PathLike):
        raise ValueError(f"cache_folder must be a path, got {model.cache_folder!r}.")
    checked_choice("precision", model.precision, ("float32", "tf32", "bf16"))
    checked_device(model.device)
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    check_run(model, solvers, ("max_time", "max_kernel_evals", "target_error"))


def check_kernel(model: KernelParameters) -> None:
    """Raise if the kernel, one of its parameters, `max_iter` or `cache_size` is wrong."""
    if isinstance(model.kernel, str):
        checked_choice("kernel", model.kernel, registry.names())
    elif isinstance(model.kernel, type) or not callable(model.kernel):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, registry.names()))}, a function of two items, or "
            f"one of hinge.kernels, got {model.kernel!r}."
        )
    for settings in (model, model.kernel):
        check_settings(settings)
    checked_count("max_iter", model.max_iter, least=0, or_all=True)
    checked_scale("cache_size", model.cache_size)
    memory = getattr(model, "max_memory", None)
    if memory is not None:
        checked_number("max_memory", memory)
    checked_flag("shrinking", model.shrinking)


def check_settings(kernel: KernelParameters | KernelChoice) -> None:
    """Raise if degree, gamma or coef0 is wrong, of an estimator or of a kernel object that has them."""
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
    """Raise, naming the parameter, if one of a `OneClassSVM` is wrong."""
    check_kernel(model)
    checked_scale("nu", model.nu, most=1.0)
    checked_number("tol", model.tol, or_equal=True)
    if model.n_jobs is not None:
        checked_count("n_jobs", model.n_jobs, or_all=True)
    for name in ("max_time", "max_reads"):
        if getattr(model, name) is not None:
            checked_number(name, getattr(model, name), or_equal=True)
    if model.max_reads is not None and not is_linear(model.kernel):
        raise ValueError("max_reads limits the cells that rows are read by: give kernel='linear', or max_time.")
    checked_choice("on_interrupt", model.on_interrupt, ("raise", "keep"))


def can_stream_levels(model: OneClassParameters) -> bool:
    """Whether a `OneClassSVM` has `partial_fit`; if not, the error states what to do."""
    if not is_linear(model.kernel):
        raise AttributeError("partial_fit keeps w and no rows, which needs kernel='linear'; or call fit.")
    return True


def is_linear(kernel: KernelChoice) -> bool:
    """Whether decision values are linear in the features."""
    return isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear")


def check_shape(model: VoteParameters) -> None:
    """Raise if `decision_function_shape` does not go with `break_ties` or `multiclass`."""
    checked_choice("decision_function_shape", model.decision_function_shape, ("ovo", "ovr"))
    if model.decision_function_shape == "ovo" and model.break_ties:
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")


def check_run(model: RunParameters, solvers: tuple[str, ...], limits: tuple[str, ...]) -> None:
    """Raise if a tolerance, a limit or the solver is wrong; `limits` names the limits that this estimator has."""
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
    model: BaseEstimator, X: MatrixLike, y: ArrayLike | None, *, reset: bool = True, sound: bool = False
) -> tuple[Stored, np.ndarray]: ...


def validated(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None = "no_validation",
    *,
    reset: bool = True,
    sound: bool = False,
) -> Any:
    """X, or X and y, as scikit-learn checks them: an array, or CSR by `as_csr`; copied only where needed.

    Numbers that are written as text are converted, as scikit-learn's kernel machines do. For predictions any table is
    accepted, and all its cells are read. `sound` states that the values of X have been checked already.
    """
    finite = sound
    table = as_oracle(X)
    if table is not None and reset:
        raise TypeError(
            f"{type(model).__name__} takes arrays and sparse matrices here, not a table of which some cells are read,"
            " as LinearSVC does: Oracle(X).block(numpy.arange(n), numpy.arange(d)) reads all of one."
        )
    if table is not None:
        X = table.block(np.arange(table.shape[0]), np.arange(table.shape[1]))
    if sp.issparse(X) and not sound:
        X, finite = as_csr(X)
        _check_width(X.shape[1])
    if _are_plain(model, X, y, finite, reset):
        if reset:
            model.n_features_in_ = cast(Stored, X).shape[1]
            model.__dict__.pop("feature_names_in_", None)
        if not sound:
            check_scale(cast(Stored, X))
        return X if isinstance(y, str) else (X, y)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if not isinstance(X, np.ndarray) and len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    try:
        if isinstance(X, list | tuple):
            X = np.asarray(X)
        text = isinstance(X, np.ndarray) and X.dtype.kind in "US"  # numbers as read from a file are accepted
        with np.errstate(all="ignore"):  # its test for infinity sums X, which may overflow
            checked = validate_data(
                model,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                dtype=np.float64 if text else "numeric",
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


def _are_plain(model: BaseEstimator, X: MatrixLike, y: ArrayLike | None, finite: bool, reset: bool) -> bool:
    """Whether X and y are plain arrays that pass scikit-learn's checks, which take most of a millisecond.

    `finite`: whether the values of X are known to be finite. If not sure, False: scikit-learn's checks find the fault.
    """
    if sp.issparse(X):
        plain = finite and cast(Stored, X).dtype in (np.float32, np.float64)
    else:
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64) and X.flags.c_contiguous
    if not plain:
        return False
    rows = cast(Stored, X)
    if isinstance(y, str) and y != "no_validation":  # a string given for the labels is an error
        return False
    if not isinstance(y, str):
        if not (type(y) is np.ndarray and y.ndim == 1 and len(y) == rows.shape[0] and y.dtype.kind in "biuf"):
            return False
        if y.dtype.kind == "f" and not _sum_is_finite(y):
            return False
    if not reset and ("feature_names_in_" in vars(model) or vars(model).get("n_features_in_") != rows.shape[1]):
        return False
    return min(rows.shape) > 0 and (finite or _sum_is_finite(cast(np.ndarray, X)))


def _check_width(d: int) -> None:
    """One wrong index makes a matrix of two billion columns, which is small itself."""
    if d >= WIDE and 8 * VECTORS * d > (free := free_memory()):
        raise ValueError(
            f"X has {d:,} columns: a vector of that length takes {8e-9 * d:.1f} GB, of which {VECTORS} are needed, and "
            f"{1e-9 * free:.1f} GB are free. If a wrong index made it so wide, mend that; else number the columns that "
            "have entries anew, for example by numpy.unique(X.indices, return_inverse=True)."
        )


def _sum_is_finite(a: np.ndarray) -> bool:
    """Whether the sum, and therefore every value, is finite."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(a.sum()))


def validated_labels(model: BaseEstimator, table: Table | RowStream, y: ArrayLike | None) -> np.ndarray:
    """y as an array with one label for each row of a table or stream; sets `n_features_in_`."""
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None.")
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    if len(labels) != table.shape[0]:
        raise ValueError(f"There are {table.shape[0]} rows and {len(labels)} labels: one label a row is needed.")
    model.n_features_in_ = table.shape[1]
    model.__dict__.pop("feature_names_in_", None)
    return labels


def check_scale(X: Stored) -> None:
    """Raise if X has values above `LARGEST`; float32 cannot hold any."""
    values: np.ndarray = cast(sp.csr_array, X).data if sp.issparse(X) else X
    if values.dtype.kind == "f" and values.itemsize > 4 and values.size and max(values.max(), -values.min()) > LARGEST:
        raise ValueError(
            f"X has values above {LARGEST:g}, whose squares overflow; scale the features down, for instance "
            "with sklearn.preprocessing.MaxAbsScaler."
        )


def checked_targets(y: np.ndarray) -> np.ndarray:
    """Targets of a regression, in float64."""
    try:
        targets = np.asarray(y, np.float64) if y.dtype.kind != "c" else np.full(1, np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold one number for each row: {error}.") from error
    if not np.isfinite(targets).all():
        raise ValueError("y must hold one finite number for each row; drop rows whose target is missing.")
    if np.abs(targets).max(initial=0.0) > LARGEST:
        raise ValueError(f"y has values above {LARGEST:g}, whose squares overflow; divide y by a constant.")
    return targets


def check_labels(y: np.ndarray) -> None:
    """Raise if y has continuous values rather than classes, or labels that cannot be sorted."""
    if y.dtype.kind == "V":
        raise ValueError(f"y must hold one label for each row: numbers or strings, not {y.dtype}.")
    if y.dtype.kind not in "fcO":  # integers, booleans and strings are always labels
        return
    try:
        check_classification_targets(y)
        np.unique(y)
    except TypeError as error:
        raise ValueError(f"y mixes labels that cannot be compared: use numbers or strings only ({error}).") from error


def _few_numbers(y: np.ndarray) -> np.ndarray | None:
    """The sorted labels, if they are two whole numbers or lie in a small range: found without sorting or hashing."""
    if y.dtype.kind not in "biuf" or not y.size:
        return None
    ends = np.array([y.min(), y.max()])
    if not all(float(end).is_integer() for end in ends):
        return None
    if ends[0] < ends[1] and bool(np.all((y == ends[0]) | (y == ends[1]))):
        return ends
    first, last = int(ends[0]), int(ends[1])
    if y.dtype.kind in "iu" and last - first < min(len(y), CLOSE) and last < 1 << 62:
        return (np.flatnonzero(np.bincount(y.astype(np.int64) - first)) + first).astype(y.dtype)
    return None


def encoded_labels(y: np.ndarray, classes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes, and the index of each row's class; there must be two or more classes."""
    found = _few_numbers(y)
    if found is None:
        check_labels(y)
    known = classes is not None
    if classes is None:
        classes = np.unique(y) if found is None else found
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


def can_stream(model: LinearClassifierParameters) -> bool:
    """Whether there is a `partial_fit`; if not, the error states what to do."""
    if model.multi_class == "crammer_singer":
        raise AttributeError("partial_fit learns one class against the rest: give multi_class='ovr', or call fit.")
    if model.penalty == "l1":
        raise AttributeError("partial_fit is for penalty='l2'; penalty='l1' needs all rows at once: use fit.")
    return True


def check_stream(model: LinearClassifierParameters) -> None:
    """Raise if a parameter needs all rows at once."""
    if model.slack is not None:
        raise ValueError("partial_fit takes C or lam; slack needs all rows at once.")
    if isinstance(model.class_weight, str):
        raise ValueError("class_weight='balanced' needs all rows; give partial_fit the weights as a dict.")


def stream_classes(classes: ArrayLike | None, known: np.ndarray | None) -> np.ndarray:
    """The classes given in the first call of `partial_fit`; later calls may repeat them, not change them."""
    if known is None and classes is None:
        raise ValueError("classes must be given in the first call of partial_fit: later rows may have other labels.")
    if classes is not None:
        check_labels(np.asarray(classes))
    if known is None:
        return np.unique(np.asarray(classes))
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(f"classes={classes!r} are not those of the first call, {known.tolist()}.")
    return known


def held_out(codes: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Indices of a stratified random fraction of the rows; at least one row of each class is left for training."""
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
    """Indices of a random fraction of the rows; at least one row is left for training."""
    count = min(n - 1, round(fraction * n))
    if count == 0:
        raise ValueError(f"validation_fraction={fraction:g} of {n} rows leaves none to measure target_error on.")
    return np.sort(np.random.default_rng(seed).permutation(n)[:count]).astype(np.int64)
