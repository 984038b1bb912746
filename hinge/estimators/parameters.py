"""Types of the estimators' parameters, and of the data of kernel estimators."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from hinge.access.streams.base import RowStream
from hinge.kernels import Kernel
from hinge.solvers import Solver
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


class RunParameters(Protocol):
    """The parameters that determine how problems are solved."""

    tol: float
    max_time: float | None
    target_error: float | None
    validation_fraction: float
    on_interrupt: str
    solver: str | Solver


class LinearParameters(RunParameters, Protocol):
    """The parameters of linear estimators that are checked."""

    loss: str
    dual: bool | Literal["auto"]
    C: float
    lam: float | None
    max_iter: int
    max_reads: int | None
    fit_intercept: bool
    intercept: str
    intercept_scaling: float
    warm_start: bool
    max_memory: float | None
    checkpoint: str | PathLike[str] | None


class LinearClassifierParameters(LinearParameters, Protocol):
    """The parameters of `LinearSVC` that are checked."""

    penalty: str
    multi_class: str
    n_jobs: int | None
    slack: float | None
    class_weight: ClassWeight
    device: str | None


class LinearRegressorParameters(LinearParameters, Protocol):
    """The parameters of `LinearSVR` that are checked."""

    epsilon: float


class KernelParameters(Protocol):
    """The parameters of every kernel estimator that determine the kernel, and limits of its evaluation."""

    kernel: KernelChoice
    degree: int
    gamma: Gamma
    coef0: float
    max_iter: int
    cache_size: float
    shrinking: bool


class KernelMachineParameters(KernelParameters, RunParameters, Protocol):
    """The parameters that all kernel estimators but `OneClassSVM` share."""

    max_kernel_evals: int | None
    n_jobs: int | None
    warm_start: bool
    cache_folder: str | PathLike[str] | None
    device: str | None
    precision: str


class VoteParameters(Protocol):
    """The parameters that determine how classes follow from decision values."""

    decision_function_shape: str
    break_ties: bool
    probability: bool | Literal["deprecated"]


class KernelClassifierParameters(KernelMachineParameters, VoteParameters, Protocol):
    """The parameters of `SVC` that are checked."""

    C: float
    fit_intercept: bool
    slack: float | None
    multiclass: str


class KernelRegressorParameters(KernelMachineParameters, Protocol):
    """The parameters of `SVR` that are checked."""

    C: float
    fit_intercept: bool
    epsilon: float


class NuClassifierParameters(KernelMachineParameters, VoteParameters, Protocol):
    """The parameters of `NuSVC` that are checked."""

    nu: float


class NuRegressorParameters(KernelMachineParameters, Protocol):
    """The parameters of `NuSVR` that are checked."""

    nu: float
    C: float


class OneClassParameters(KernelParameters, Protocol):
    """The parameters of `OneClassSVM` that are checked."""

    tol: float
    nu: float
    n_jobs: int | None
    max_time: float | None
    max_reads: int | None
    on_interrupt: str
