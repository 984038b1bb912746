"""The base class of kernel estimators: settings of a run, fitted attributes, and decision values."""

from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hinge.access import Gram, as_points
from hinge.access.gram.row_store import RowStore, open_store
from hinge.access.streams.base import free_memory, resident
from hinge.constraints import Constraints
from hinge.estimators.data.kernel_input import dense_if_small, is_precomputed, new_data, of_items, part_of
from hinge.estimators.fitting import one_vs_one
from hinge.estimators.fitting.kernel_runs import Runs, Task
from hinge.estimators.fitting.linear_runs import STALLED_ADVICE, how_all_ended
from hinge.estimators.fitting.parameters import KernelChoice, KernelData, check_kernel_numbers
from hinge.estimators.kernel.expansions import kernel_sums, linear_sums, weights_of
from hinge.estimators.mixins.html import FittedHTML
from hinge.estimators.mixins.to_sklearn import ToSklearn
from hinge.kernels import Function, Kernel, Linear
from hinge.monitoring import Stop
from hinge.monitoring.clock import left_of
from hinge.problems import Expansion, KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.losses import HINGE, Loss
from hinge.solvers import BlockDual, Solver, registry
from hinge.types import Items

FLOAT64_BELOW = 1e-7
"""Tolerances below this need kernel values in float64."""
EXACT_BELOW = 1e-5
"""Tolerances below this need float64 in predictions; in fits of ν-SVMs, too."""
HARD = 1e10
"""An infinite C is replaced by this one; from here on C means that no loss is allowed."""
OF_A_POINT = 288
"""Bytes per point of a fit, in addition to the point and to kernel values: coefficients, responses, orders, bounds."""
FLOAT64_POINTS = 1024
"""For up to this many points, whose whole matrix is small, kernel values are computed in float64."""


class KernelMachine(FittedHTML, ToSklearn):
    """Parts of `fit` and of predictions, for estimators with the parameters of `SVC`.

    Parameters that only `SVC` has are class attributes here, with values that switch them off.
    """

    _constraints: ClassVar[Constraints]
    classes_: np.ndarray
    support_: np.ndarray
    support_vectors_: KernelData
    n_support_: np.ndarray
    dual_coef_: Any
    intercept_: np.ndarray
    kernel_: Kernel
    _stand_in: float | None = None
    _weights: Any = None  # w of each decision function of a linear kernel

    C: float
    slack: float | None = None
    solver: str | Solver
    fit_intercept: bool
    tol: float
    max_time: float | None
    max_kernel_evals: int | None
    target_error: float | None
    cache_size: float
    max_memory: float | None = None
    cache_folder: str | PathLike[str] | None
    device: str | None
    precision: Literal["float32", "tf32", "bf16"]
    multiclass: Literal["ovo", "ovr"] = "ovo"
    warm_start: bool
    kernel: KernelChoice
    max_iter: int
    verbose: int

    _loss: Loss = HINGE
    """The loss of the problem."""
    _without_margin: ClassVar[str] = STALLED_ADVICE
    """Advice for the warning if rounding leaves no certificate at all."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    @property
    def coef_(self) -> Any:
        """w of each decision function, for the linear kernel; sparse if the support vectors are."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel, after fit.")
        if self._weights is None:  # of a model that was written by others
            return weights_of(self._dense_dual, self.support_vectors_, self.n_support_, one_vs_one=self._one_vs_one)
        return self._weights

    @property
    def _gamma(self) -> float:
        """γ of the kernel, under scikit-learn's private name."""
        return getattr(self.kernel_, "gamma", 0.0)

    @property
    def _n_support(self) -> np.ndarray:
        """Number of support vectors of each class, under scikit-learn's private name."""
        return self.n_support_

    @property
    def _dense_dual(self) -> np.ndarray:
        return self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter, if one is wrong or two do not go together."""
        self._constraints.check(self)
        check_kernel_numbers(self.kernel)

    @property
    def _plain(self) -> bool:
        """Whether only the final answer is needed: no callbacks, no limit but time, no earlier start, on the CPU."""
        asked = self.slack, self.target_error, self.max_kernel_evals, self.cache_folder
        return (
            self.solver == "auto"
            and all(value is None for value in asked)
            and self.max_iter == -1
            and not self.verbose
            and not self.warm_start
            and self.tol > 0
            and self.device in (None, "cpu")
            and not getattr(self, "_skl_callbacks", None)
        )

    def _solver(self, n_tasks: int) -> Solver | None:
        if isinstance(self.solver, Solver):
            return self.solver
        if self.solver != "auto":
            return registry.BY_NAME[self.solver].load()()
        if n_tasks > 1 and self.multiclass == "ovr" and self.slack != 0 and not self._on_device:
            # It starts with all points: classes that start with different subsets would share few kernel rows.
            return BlockDual(first=1)
        if self.max_kernel_evals is not None and self.slack is None:
            return BlockDual()  # the default for few points would compute all kernel values
        return None

    def _stop(self, began: float) -> Stop:
        return Stop(
            self.tol,
            None if self.max_iter == -1 else int(self.max_iter),
            left_of(self.max_time, began),
            target=self.target_error,
            max_kernel_evals=self.max_kernel_evals,
        )

    def _starts(self, tasks: list[Task], classes: np.ndarray | None) -> list[Expansion | None]:
        """The answers of the last fit as starts, if it had the same classes (None in regression) and as many rows."""
        last: list[Expansion] | None = getattr(self, "_answers", None)
        if not (self.warm_start and last):
            return []
        if classes is not None and not np.array_equal(classes, self.classes_):
            return []
        if [len(answer.beta) for answer in last] != [len(task.y) for task in tasks]:
            return []
        return list(last)

    def _gram(self, X: KernelData, rows: np.ndarray | None, kernel: Kernel, threads: int, exact: bool = False) -> Any:
        """Kernel rows of these rows of X; `exact` if single precision proved too coarse."""
        X = part_of(X, rows, kernel)
        if self._on_device:
            from hinge.access.gram.device import DeviceGram

            return DeviceGram(X, kernel, device=self.device or "cuda", precision=self.precision)
        kernel = of_items(kernel)
        budget = self._cache_bytes(len(X) if isinstance(X, list) else X.shape[0])
        few = (len(X) if isinstance(X, list) else X.shape[0]) <= FLOAT64_POINTS
        exact |= self.tol < FLOAT64_BELOW or few or self._needs_double(kernel)
        if few and not isinstance(kernel, Function):  # a function must get X as the user gave it
            X = dense_if_small(X)
        points = as_points(X, kernel, exact=exact, most_bytes=budget // 2)
        return Gram(points, budget, threads, self._store(X, kernel))

    @property
    def _on_device(self) -> bool:
        return self.device is not None and self.device != "cpu"

    def _cache_bytes(self, n: int) -> int:
        """Bytes available for kernel rows of n points, and for the points themselves."""
        asked = int(float(self.cache_size) * 1e6)
        if self.max_memory is None:
            return asked
        left = min(int(self.max_memory) - resident(), free_memory())
        return max(0, min(asked, left - OF_A_POINT * n))

    def _needs_double(self, kernel: Kernel) -> bool:
        return self.slack is not None  # its certificate cannot be sharpened if rounding is too large

    def _store(self, X: KernelData, kernel: Kernel) -> RowStore | None:
        """The store in `cache_folder` that keeps kernel values for later fits; None without a folder."""
        if self.cache_folder is None:
            return None
        return open_store(Path(self.cache_folder), X, kernel)

    def _problem(self, gram: Gram, task: Task) -> KernelProblem:
        options: dict[str, Any] = {"weight": task.weight, "bias": "free" if self.fit_intercept else "none"}
        if self.slack is not None:
            return KernelSlackConstrained(gram, task.y, self.slack, **options)
        return KernelRegularized.from_C(gram, task.y, self._bound, loss=self._loss, **options)

    @property
    def _bound(self) -> float:
        """C, or the number that replaces it."""
        if self._stand_in is not None:
            return self._stand_in
        C = float(self.C)  # C may be an integer too large for NumPy
        return HARD if np.isinf(C) else C

    def _keep(self, runs: Runs) -> None:
        """Set the fitted attributes that describe the runs, and warn if one was cut off."""
        several = len(runs.gap) > 1

        def of_each(values: np.ndarray) -> Any:
            return values if several else float(values[0])

        self._answers = runs.kept if self.warm_start else None
        self.gap_ = float(runs.gap.max())
        self.objective_, self.lam_ = of_each(runs.objective), of_each(runs.lam)
        if not self._loss.two_sided:
            self.slack_ = of_each(runs.nu)
        self.n_kernel_evals_, self.n_kernel_asked_ = runs.evals, runs.asked
        # As in scikit-learn: an array for classifiers, a number for others.
        self.n_iter_ = runs.n_iter.astype(np.int32) if hasattr(self, "classes_") else int(runs.n_iter.max())
        self.history_ = runs.history if several else runs.history[0]
        self.solver_ = runs.solver
        self.fit_status_ = int(any(not status.is_success for status in set(runs.statuses)))
        advice = self._without_margin if np.isinf(self.gap_) else STALLED_ADVICE
        ended = how_all_ended(runs.statuses, self.gap_, self.tol, max_iter=self.max_iter, if_stalled=advice)
        self.stop_reason_ = ended.name.lower()
        if getattr(self, "_skl_callbacks", None):
            self._callback_fit_ctx.call_on_fit_task_end(estimator=self)  # type: ignore[attr-defined]

    # --- decision values ------------------------------------------------------------------

    @property
    def _one_vs_one(self) -> bool:
        """Whether class pairs were solved, rather than each class against the rest."""
        return len(self.classes_) > 2 and self.dual_coef_.shape[0] < len(self.classes_)

    def _scores(self, X: Items) -> np.ndarray:
        """The values of all decision functions, for every row."""
        check_is_fitted(self, "support_")
        X = new_data(self, X)
        vectors = self.support_ if is_precomputed(self.kernel_) else self.support_vectors_
        if self.n_support_.min(initial=0) < 0 or self.n_support_.sum() != len(self.support_):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: n_support_ and support_ do not "
                "belong together. Fit the model again."
            )
        if isinstance(self.kernel_, Linear):
            return linear_sums(X, self.coef_) + self.intercept_
        dual = self._dense_dual
        sizes = self.n_support_ if self._one_vs_one else [len(self.support_)]
        cuts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.device is not None and self._on_device:
            from hinge.access.gram.device import kernel_sums_on

            parts = [(vectors[lo:hi], dual[:, lo:hi]) for lo, hi in pairwise(cuts.tolist())]
            sums = np.stack([kernel_sums_on(self.device, X, *part, self.kernel_, self.precision) for part in parts], 1)
        else:
            sums = kernel_sums(self.kernel_, X, vectors, dual, cuts, exact=self.tol < EXACT_BELOW)
        if self._one_vs_one:
            return one_vs_one.scores_of_pairs(sums, self.intercept_)
        return sums[:, 0] + self.intercept_
