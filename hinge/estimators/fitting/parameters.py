"""The estimators' parameters: their types, and the constraints that several estimators share."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access.streams.base import RowStream
from hinge.constraints import ALL, FAR, FLAG, INFINITE, PATH, Constraint, Constraints, choice, count, number, scale
from hinge.kernels import Kernel, Linear, registry
from hinge.solvers import registry as solvers
from hinge.types import Stored

RandomState: TypeAlias = int | np.random.RandomState | None
"""As scikit-learn's `random_state`."""

ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
"""As scikit-learn's `class_weight`: a weight for each label, or a rule."""

KernelChoice: TypeAlias = str | Kernel | Callable[[Any, Any], Any]
"""A kernel by its name, as an object, or as a function of two items or of two blocks of rows."""

Gamma: TypeAlias = float | Literal["scale", "auto"]
"""γ of a named kernel, or the rule by which it is computed from the data."""

KernelData: TypeAlias = Stored | list[Any]
"""X of a kernel estimator after validation: an array, CSR, or a list of items for a kernel function."""


Source: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | RowStream | Any
"""Rows on disk: paths, a memory map, a Zarr array, an Arrow dataset, a polars LazyFrame, or a stream."""


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def solver_for(*solves: solvers.Solves) -> Constraint:
    """A solver of such problems by its name, or any solver object."""

    def allows(value: object) -> bool:
        if isinstance(value, str):
            return value == "auto" or value in solvers.names(*solves)
        return hasattr(value, "advance") and not isinstance(value, type)

    return Constraint(lambda _: f"one of {_quoted(('auto', *solvers.names(*solves)))}, or a hinge Solver", allows)


def _is_kernel(value: object) -> bool:
    if isinstance(value, str):
        return value in registry.BY_NAME
    return callable(value) and not isinstance(value, type)


KERNEL = Constraint(
    lambda _: f"one of {_quoted(registry.names())}, a function of two items, or one of hinge.kernels",
    _is_kernel,
    registry.names(),
)
AUTO = choice("auto")
DUAL = Constraint("True, False or 'auto'", lambda value: isinstance(value, (bool, np.bool_)) or AUTO.allows(value))
DEVICE = Constraint("'cpu' or 'cuda'", lambda value: value is None or str(value).startswith(("cpu", "cuda")))
LIMIT = number(least=0) | None
MEMORY = number(above=0) | None
JOBS = count() | ALL | None
SHARE = scale(most=1)
COST = scale() | INFINITE
"""C of a kernel estimator: infinite for a hard margin."""

RUN = dict(tol=number(least=0), max_time=LIMIT, on_interrupt=choice("raise", "keep"))
HOLD_OUT = dict(target_error=LIMIT, validation_fraction=number(above=0, below=1))
LINEAR_MACHINE = dict(
    **RUN,
    **HOLD_OUT,
    C=scale(),
    lam=scale() | None,
    dual=DUAL,
    solver=solver_for("linear", "cells", "1-norm"),
    max_iter=count(0),
    max_reads=LIMIT,
    max_memory=MEMORY,
    fit_intercept=FLAG,
    intercept=choice("penalized", "free"),
    intercept_scaling=scale(),
    warm_start=FLAG,
    checkpoint=PATH | None,
)
KERNEL_NUMBERS = dict(degree=count(0), gamma=scale(or_zero=True), coef0=number(least=-FAR, most=FAR))
"""Attributes of kernel objects, as far as they have them."""
KERNEL_SETTINGS = dict(
    KERNEL_NUMBERS,
    kernel=KERNEL,
    gamma=choice("scale", "auto") | KERNEL_NUMBERS["gamma"],
    max_iter=count(0) | ALL,
    cache_size=scale(),
    shrinking=FLAG,
    n_jobs=JOBS,
)
KERNEL_MACHINE = dict(
    **RUN,
    **HOLD_OUT,
    **KERNEL_SETTINGS,
    max_kernel_evals=LIMIT,
    warm_start=FLAG,
    cache_folder=PATH | None,
    device=DEVICE,
    precision=choice("float32", "tf32", "bf16"),
)
COMPONENTS = count() | choice("auto") | None
"""Landmarks of an approximation; None for the exact answer."""
PAIRS = choice("ovo", "ovr")
VOTES = dict(decision_function_shape=PAIRS, break_ties=FLAG, probability=FLAG | choice("deprecated"))

LINEAR_SVC = Constraints(
    **LINEAR_MACHINE,
    loss=choice("squared_hinge", "hinge"),
    penalty=choice("l2", "l1"),
    multi_class=choice("ovr", "crammer_singer"),
    slack=SHARE | None,
    n_jobs=JOBS,
    device=DEVICE,
)
LINEAR_SVR = Constraints(
    **LINEAR_MACHINE, loss=choice("epsilon_insensitive", "squared_epsilon_insensitive"), epsilon=scale(or_zero=True)
)
SVC = Constraints(
    **KERNEL_MACHINE,
    **VOTES,
    C=COST,
    slack=scale(most=1, or_zero=True) | None,
    solver=solver_for("kernel"),
    n_components=COMPONENTS,
    multiclass=PAIRS,
    fit_intercept=FLAG,
    max_memory=MEMORY,
)
SVR = Constraints(
    **KERNEL_MACHINE,
    C=COST,
    epsilon=scale(or_zero=True),
    solver=solver_for("kernel"),
    n_components=COMPONENTS,
    fit_intercept=FLAG,
)
NU_SVC = Constraints(**KERNEL_MACHINE, **VOTES, nu=SHARE, solver=solver_for("nu"))
NU_SVR = Constraints(**KERNEL_MACHINE, nu=SHARE, C=COST, solver=solver_for("nu"))
ONE_CLASS_SVM = Constraints(**RUN, **KERNEL_SETTINGS, nu=SHARE, max_reads=LIMIT)


def set_parameters(model: BaseEstimator, given: dict[str, Any]) -> None:
    """Store the arguments of a constructor, its ``locals()``, unchanged as attributes of the same names."""
    vars(model).update((name, value) for name, value in given.items() if name != "self")


def check_kernel_numbers(kernel: KernelChoice) -> None:
    """Raise if degree, gamma or coef0 of a kernel object is wrong."""
    if not isinstance(kernel, str):
        for name, constraint in KERNEL_NUMBERS.items():
            constraint.check(name, getattr(kernel, name, 1))


def is_linear(kernel: KernelChoice) -> bool:
    """Whether decision values are linear in the features."""
    return isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear")


def on_a_device(device: str | None) -> bool:
    """Whether torch is used: for any device but the plain CPU."""
    return device is not None and device != "cpu"
