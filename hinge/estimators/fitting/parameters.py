"""The estimators' parameters: their types, and the constraints that several estimators share."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np

from hinge.access.streams.base import RowStream
from hinge.constraints import (
    ALL,
    FAR,
    FLAG,
    INFINITE,
    PATH,
    Constraint,
    choice,
    count,
    declares,
    number,
    parameter,
    positional,
    scale,
)
from hinge.kernels import Kernel, Linear, registry
from hinge.solvers import Solver
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
MEMORY = Constraint("a number of bytes greater than 0, such as 2e9", number(above=0).allows) | None
JOBS = count() | ALL | None
SHARE = scale(most=1)
COST = scale() | INFINITE
"""C of a kernel estimator: infinite for a hard margin."""

KERNEL_NUMBERS = dict(degree=count(0), gamma=scale(or_zero=True), coef0=number(least=-FAR, most=FAR))
"""Attributes of kernel objects, as far as they have them."""
COMPONENTS = count() | choice("auto") | None
"""Landmarks of an approximation; None for the exact answer."""
PAIRS = choice("ovo", "ovr")

# --- the parameters of all estimators, with types, defaults and constraints; docstrings of the estimators explain them


@declares
class RunParameters:
    """Parameters of every estimator."""

    tol: float = parameter(1e-3, number(least=0))
    max_iter: int = parameter(-1, count(0) | ALL)
    max_time: float | None = parameter(None, LIMIT)
    verbose: int = parameter(False)
    random_state: RandomState = parameter(None)
    on_interrupt: Literal["raise", "keep"] = parameter("raise", choice("raise", "keep"))


@declares
class FitParameters(RunParameters):
    """Parameters of every estimator but `OneClassSVM`."""

    solver: str | Solver = parameter("auto", solver_for("kernel"))
    target_error: float | None = parameter(None, LIMIT)
    validation_fraction: float = parameter(0.1, number(above=0, below=1))
    warm_start: bool = parameter(False, FLAG)


@declares
class LinearParameters(FitParameters):
    """Parameters of linear estimators."""

    tol: float = parameter(1e-4, number(least=0))
    C: float = parameter(1.0, scale())
    lam: float | None = parameter(None, scale() | None)
    dual: bool | Literal["auto"] = parameter("auto", DUAL)
    solver: str | Solver = parameter("auto", solver_for("linear", "cells", "1-norm"))
    max_iter: int = parameter(1000, count(0))
    max_reads: int | None = parameter(None, LIMIT)
    max_memory: float | None = parameter(None, MEMORY)
    fit_intercept: bool = parameter(True, FLAG)
    intercept: Literal["penalized", "free"] = parameter("penalized", choice("penalized", "free"))
    intercept_scaling: float = parameter(1.0, scale())
    checkpoint: str | PathLike[str] | None = parameter(None, PATH | None)
    verbose: int = parameter(0)


@declares
class LinearSVCParameters(LinearParameters):
    """Parameters of `LinearSVC`."""

    penalty: Literal["l2", "l1"] = positional(default="l2", allows=choice("l2", "l1"), kw_only=False)
    loss: Literal["squared_hinge", "hinge"] = positional(
        default="squared_hinge", allows=choice("squared_hinge", "hinge"), kw_only=False
    )
    multi_class: Literal["ovr", "crammer_singer"] = parameter("ovr", choice("ovr", "crammer_singer"))
    slack: float | None = parameter(None, SHARE | None)
    class_weight: ClassWeight = parameter(None)
    n_jobs: int | None = parameter(None, JOBS)
    device: str | None = parameter(None, DEVICE)


@declares
class LinearSVRParameters(LinearParameters):
    """Parameters of `LinearSVR`."""

    epsilon: float = parameter(0.0, scale(or_zero=True))
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = parameter(
        "epsilon_insensitive", choice("epsilon_insensitive", "squared_epsilon_insensitive")
    )


@declares
class KernelParameters(RunParameters):
    """Parameters of kernel estimators."""

    kernel: KernelChoice = parameter("rbf", KERNEL)
    degree: int = parameter(3, KERNEL_NUMBERS["degree"])
    gamma: Gamma = parameter("scale", choice("scale", "auto") | KERNEL_NUMBERS["gamma"])
    coef0: float = parameter(0.0, KERNEL_NUMBERS["coef0"])
    n_components: int | Literal["auto"] | None = parameter(None, COMPONENTS)
    cache_size: float = parameter(200, scale())
    shrinking: bool = parameter(True, FLAG)
    n_jobs: int | None = parameter(None, JOBS)
    device: str | None = parameter(None, DEVICE)
    precision: Literal["float32", "tf32", "bf16"] = parameter("float32", choice("float32", "tf32", "bf16"))


@declares
class KernelFitParameters(KernelParameters, FitParameters):
    """Parameters of kernel estimators but `OneClassSVM`."""

    max_kernel_evals: int | None = parameter(None, LIMIT)
    cache_folder: str | PathLike[str] | None = parameter(None, PATH | None)


@declares
class VoteParameters:
    """Parameters of kernel classifiers."""

    class_weight: ClassWeight = parameter(None)
    decision_function_shape: Literal["ovo", "ovr"] = parameter("ovr", PAIRS)
    break_ties: bool = parameter(False, FLAG)
    probability: bool | Literal["deprecated"] = parameter(False, FLAG | choice("deprecated"))


@declares
class ExactParameters:
    """Parameters of kernel estimators whose trade-off is C."""

    fit_intercept: bool = parameter(True, FLAG)


@declares
class SVCParameters(VoteParameters, ExactParameters, KernelFitParameters):
    """Parameters of `SVC`."""

    C: float = positional(default=1.0, allows=COST, kw_only=False)
    slack: float | None = parameter(None, scale(most=1, or_zero=True) | None)
    multiclass: Literal["ovo", "ovr"] = parameter("ovo", PAIRS)
    max_memory: float | None = parameter(None, MEMORY)


@declares
class SVRParameters(ExactParameters, KernelFitParameters):
    """Parameters of `SVR`."""

    C: float = parameter(1.0, COST)
    epsilon: float = parameter(0.1, scale(or_zero=True))


@declares
class NuParameters:
    """The parameter of ν-SVMs."""

    nu: float = parameter(0.5, SHARE)


@declares
class NuSVCParameters(NuParameters, VoteParameters, KernelFitParameters):
    """Parameters of `NuSVC`."""

    solver: str | Solver = parameter("auto", solver_for("nu"))


@declares
class NuSVRParameters(NuParameters, KernelFitParameters):
    """Parameters of `NuSVR`."""

    C: float = parameter(1.0, COST)
    solver: str | Solver = parameter("auto", solver_for("nu"))


@declares
class OneClassSVMParameters(NuParameters, KernelParameters):
    """Parameters of `OneClassSVM`."""

    max_reads: int | None = parameter(None, LIMIT)
    random_state: RandomState = parameter(0)


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
