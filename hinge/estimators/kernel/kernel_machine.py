"""The base classes of kernel estimators: one fit for all of them, fitted attributes, and decision values."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hinge.access import Gram, Points, as_points
from hinge.access.arrays import like
from hinge.access.gram.inner_points import sq_norms
from hinge.access.gram.row_store import RowStore, open_store
from hinge.access.streams.base import free_memory, resident
from hinge.calibration.left_out import left_out_targets, spans_by_kernel
from hinge.constraints import Constraints
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.data.kernel_input import (
    is_function,
    is_precomputed,
    new_data,
    of_items,
    part_of,
    points_on_host,
    shape_of,
)
from hinge.estimators.fitting.attributes import (
    Answers,
    Runs,
    answers_of,
    check_coefficients,
    describe_runs,
    expanded,
    values_of,
)
from hinge.estimators.fitting.decorators import atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import KernelData, KernelParameters, check_kernel_numbers, on_a_device
from hinge.estimators.fitting.reports import STALLED_ADVICE, report_histories, reports_of
from hinge.estimators.fitting.runs import Plan, gram_threads, run_in_batch, run_pairs, run_tasks
from hinge.estimators.fitting.tasks import (
    PackedTasks,
    Task,
    fits_in_batch,
    regression_task,
    row_weights,
    scores_of_pairs,
)
from hinge.estimators.kernel.expansions import binary_expansions, kernel_sums, linear_sums, weights_of
from hinge.estimators.mixins.compression import compress_machine
from hinge.estimators.mixins.conformal import PredictionIntervals
from hinge.estimators.mixins.fitted_rows import FittedRows, ScoredRows
from hinge.estimators.mixins.html import FittedHTML
from hinge.estimators.mixins.probabilities import EXACT_POINTS, kernel_values
from hinge.estimators.mixins.to_sklearn import ToSklearn
from hinge.kernels import Function, Gaussian, Kernel, Linear, Sigmoid, namespace
from hinge.monitoring import Stop
from hinge.monitoring.interrupts import left_of, now
from hinge.problems import Expansion, KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.problems.base import rounding
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.kernel_batch import KernelBatch, PackedBatch
from hinge.problems.svm.losses import HINGE, Loss
from hinge.solvers import BlockDual, LevelBlocks, Solver, registry
from hinge.solvers.kernel.active_batch import SlowPairs
from hinge.solvers.kernel.set_exchange import SINGLE
from hinge.types import Items

FLOAT64_BELOW = 1e-7
"""Tolerances below this need kernel values in float64."""
HARD = 1e10
"""An infinite C is replaced by this one; from here on C means that no loss is allowed."""
FLOAT64_POINTS = 1024
"""For up to this many points, whose whole matrix is small, kernel values are computed in float64."""

INSTEAD = {
    "slack": "give C in place of the slack",
    "solver": "leave one of the two out",
    "probability": "landmarks have no leave-one-out values; fit without it, and call calibrate with held_out=True",
}
"""What to do where a parameter does not go with `n_components`."""


class KernelMachine(KernelParameters, FittedHTML, ToSklearn):
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
    stop_reason_: str
    gap_: float
    objective_: Any
    lam_: Any
    shape_fit_: tuple[int, ...]
    solver_: Solver
    _used_C: float | None = None  # C of the fit, or what replaced it
    _weights: Any = None  # w of each decision function of a linear kernel
    _own_dual: bool = True  # whether coefficients are dual weights of their rows; not of landmarks

    C: float
    slack: float | None = None
    solver: str | Solver
    fit_intercept: bool
    max_kernel_evals: int | None
    target_error: float | None
    max_memory: float | None = None
    cache_folder: str | PathLike[str] | None
    device: str | None
    precision: Literal["float32", "tf32", "bf16"]
    multiclass: Literal["ovo", "ovr"] = "ovo"
    warm_start: bool
    validation_fraction: float

    _loss: Loss = HINGE
    """The loss of the problem."""
    _copies: ClassVar[int] = 1
    """How often each row occurs in the problem."""
    _finer: ClassVar[float] = 0.1
    """Fraction of the tolerance to which a batch is solved: the last round is cheap, and improves predictions."""
    _may_round: ClassVar[bool] = True
    """Whether values of a batch of many points may be rounded to float32."""
    _positive_first: ClassVar[bool] = False
    """Whether the rows of the positive class come first in a batch of one problem, too."""
    _without_margin: ClassVar[str] = STALLED_ADVICE
    """Advice for the warning if rounding leaves no certificate at all."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.array_api_support = True
        return tags

    def _can_stay_on_device(self, method: str) -> bool:
        """Whether rows that lie on a device need not come to the host for a method."""
        return not (is_function(self.kernel) or is_precomputed(self.kernel))

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

    @property
    def _expansions(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The indices of the support vectors of each decision function, and their coefficients in it."""
        return binary_expansions(self._dense_dual, self.n_support_, one_vs_one=self._one_vs_one)

    @any_arrays()
    def compress(self, X: Items, *, n_support: int | None = None, tol: float | None = None) -> Self:
        """A copy of the model with fewer support vectors, whose decision values differ as little as possible.

        The new coefficients γ minimise the squared changes on the rows that are given and of w; support vectors
        are chosen one after the other, each as the one that reduces this most:

        .. math:: \\sum_x (f(x) - g(x))^2 + \\|f - g\\|^2, \\qquad g = \\sum_j \\gamma_j K(\\cdot, z_j) + b.

        Those of a Gaussian kernel, on dense rows, are then moved: by L-BFGS to a minimum over the vectors as well
        (:mod:`hinge.estimators.mixins.reduced_set`). They are no rows any more; `support_` has the numbers of those
        from which they came.

        For S former support vectors it takes a kernel value for each of them and each row, S² operations for each row,
        and memory for 2S² numbers; to move m vectors some fifty times the work of predictions by them for all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Rows on which predictions are to stay as they are, such as the rows of the fit or of its future use.
        n_support : int, optional
            The number of support vectors.
        tol : float, optional
            In its place the largest change of a decision value on these rows: the number is doubled until it is so.

        Returns
        -------
        The new model. Its `gap_` is infinite: how far it is from the optimum is not known. Its `compression_` is a
        dict: "n_support"; "largest_change", the largest change of a decision value, of any decision function, on these
        rows; "changed", the share of them whose prediction is another (not in regression); and "norm_change": for all
        x, decision values change by at most this times √K(x, x), rounding of kernel values aside, if the kernel is
        positive semidefinite.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from hinge import SVC
        >>> X, y = make_moons(500, noise=0.3, random_state=0)
        >>> model = SVC().fit(X, y)
        >>> small = model.compress(X, n_support=20)
        >>> len(small.support_), small.compression_["changed"] <= 0.02
        (20, True)
        """
        return compress_machine(self, X, n_support, tol)

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter, if one is wrong or two do not go together."""
        self._constraints.check(self)
        check_kernel_numbers(self.kernel)
        if self.n_components is not None:
            unfit = {"slack": self.slack is not None, "solver": self.solver != "auto"}
            unfit["probability"] = self._left_out_in_fit
            for name in (name for name, given in unfit.items() if given):
                raise ValueError(f"{name}={getattr(self, name)!r} does not go with n_components: {INSTEAD[name]}.")

    @property
    def _left_out_in_fit(self) -> bool:
        """Whether the fit itself asks for leave-one-out values, which need dual weights of all rows."""
        return getattr(self, "probability", False) not in (False, "deprecated")

    @property
    def _needs_only_answer(self) -> bool:
        """Whether only the final answer is needed: no callback watches the runs, no kernel value is spared."""
        given = self.slack, self.target_error, self.max_kernel_evals, self.cache_folder
        return (
            self.solver == "auto"
            and self.n_components is None
            and all(value is None for value in given)
            and not (self.warm_start or getattr(self, "_skl_callbacks", None))
            and self.tol > 0
            and not on_a_device(self.device)
            and not isinstance(self.kernel, Function)  # its values may be expensive
        )

    def _solve(
        self,
        X: KernelData,
        y: np.ndarray | None,
        tasks: Sequence[Task],
        kernel: Kernel,
        began: float,
        attributes: Callable[[Answers, Kernel], dict[str, Any]],
        *,
        names: Sequence[str] = (),
        classes: np.ndarray | None = None,
        one_model: bool = True,
    ) -> Runs:
        """The runs of all tasks: as a batch if they are small, else one after the other. Sets the fitted attributes.

        Parameters
        ----------
        X, y : as for `fit`, validated
        tasks : sequence of Task
        kernel : Kernel
        began : float
            When the fit began, by `now`.
        attributes : callable
            Returns the fitted attributes for predictions by some answers with a kernel.
        names : sequence of str
            What the tasks are called where progress is reported, if there are several.
        classes : ndarray, optional
            None in regression.
        one_model : bool
            Whether the answer of a single run is a model by itself, which callbacks may ask for.
        """
        seed = checks.seed_of(self.random_state)
        pairs = len(tasks) > 1 and tasks[0].rows is not tasks[1].rows
        memory = float(self.cache_size) * 1e6

        def run(kernel: Kernel, C: float) -> Runs:
            plan, runs = Plan(self._solver(len(tasks)), self._stop(began), None, seed, self.on_interrupt), None
            vain, rounded = 0, pairs and self._may_round and isinstance(kernel, Gaussian) and self.tol >= SINGLE
            rounded = rounded and shape_of(X)[0] > FLOAT64_POINTS
            larger = rounded and plan.stop.max_iter is None  # else each pair is a batch, with values of its own
            small = fits_in_batch(tasks, shape_of(X)[0], kernel, memory, copies=self._copies, rounded=larger)
            if small and self._needs_only_answer:
                make = partial(self._batch, C=C)
                sort = pairs or self._positive_first
                options: dict[str, Any] = dict(by_class=sort, finer=self._finer, rounded=rounded)
                try:
                    runs = run_in_batch(tasks, plan, X, kernel, make, **options)
                except SlowPairs as slow:
                    vain, plan = slow.evals, plan._replace(stop=self._stop(began))
                if runs is not None and not runs.stalled:
                    if self.verbose:
                        report_histories(reports_of(self, X, y, names, None), runs.ends)
                    return runs
            rebuilt = (lambda answer: attributes(answers_of([answer], tasks), kernel)) if one_model else None
            plan = plan._replace(
                reports=reports_of(self, X, y, names, rebuilt),
                starts=self._starts(tasks, classes),
                own_dual=self.n_components is None and self._left_out_in_fit,
            )
            problem = partial(self._problem, C=C)
            with gram_threads(self.n_jobs) as threads:
                if on_a_device(self.device) and pairs:  # all rows are sent once; each task uses a part of them
                    return run_pairs(tasks, plan, self._gram(X, kernel, threads), problem)
                among = shape_of(X)[0] if pairs else None
                other = run_tasks(tasks, plan, partial(self._gram, X, kernel, threads, among=among), problem)
            if runs is None:
                return other._replace(evals=other.evals + vain)
            better = runs if runs.gap < other.gap else other
            return better._replace(evals=runs.evals + other.evals, asked=runs.asked + other.asked)

        evals = asked = 0
        for C in self._costs():
            kernel, runs = kernel_input.run_with(kernel, X, partial(run, C=C))
            evals, asked = evals + runs.evals, asked + runs.asked
            if not all(status.is_success for status in runs.ends.statuses) or not _reaches(runs, tasks, C):
                break
        self._used_C = C
        self.__dict__.update(attributes(runs.answers, kernel))
        return runs._replace(evals=evals, asked=asked)

    @property
    def _bound(self) -> float | None:
        """C of the fit, or what replaced it; None if another parameter was given in its place."""
        if self.slack is not None or not hasattr(self, "C"):
            return None
        return self._costs()[-1] if self._used_C is None else self._used_C

    def _costs(self) -> tuple[float, ...]:
        """The values of C to try, one after the other; nan for a machine without C."""
        C = float(getattr(self, "C", np.nan))  # C may be an integer too large for NumPy
        return (HARD if np.isinf(C) else C,)

    def _held_out_rows(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """The rows held out for `target_error`, of those with a positive weight; None without it."""
        if self.target_error is None:
            return None
        rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
        return rows[checks.held_out(codes[rows], self.validation_fraction, checks.seed_of(self.random_state))]

    def _solver(self, n_tasks: int) -> Solver | None:
        if isinstance(self.solver, Solver):
            return self.solver
        if self.solver != "auto":
            return registry.BY_NAME[self.solver].load()()
        if self.n_components is not None:
            from hinge.solvers import Nystroem  # its import would slow down the import of the estimators

            return Nystroem(None if self.n_components == "auto" else int(self.n_components))
        if n_tasks > 1 and self.multiclass == "ovr" and self.slack != 0 and not on_a_device(self.device):
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

    def _starts(self, tasks: Sequence[Task], classes: np.ndarray | None) -> list[Expansion | None]:
        """The answers of the last fit as starts, if it had the same classes (None in regression) and rows."""
        last: list[Expansion] | None = getattr(self, "_answers", None)
        if not (self.warm_start and last):
            return []
        if classes is not None and not np.array_equal(classes, self.classes_):
            return []
        if [len(answer.beta) for answer in last] != [len(task.y) for task in tasks]:
            return []
        return list(last)

    def _gram(
        self,
        X: KernelData,
        kernel: Kernel,
        threads: int,
        rows: np.ndarray | None = None,
        exact: bool = False,
        among: int | None = None,
    ) -> Any:
        """Kernel rows of these rows of X, for a part `among` all; `exact` if single precision proved too coarse."""
        X = part_of(X, rows, kernel)
        if on_a_device(self.device):
            from hinge.access.gram.device import DeviceGram

            return DeviceGram(X, kernel, self.device or "cuda", "float64" if exact else self.precision)
        kernel = of_items(kernel)
        budget = self._cache_bytes(len(X) if isinstance(X, list) else X.shape[0])
        few = (len(X) if isinstance(X, list) else X.shape[0]) <= FLOAT64_POINTS
        exact |= self.tol < FLOAT64_BELOW or few or self._needs_double(kernel)
        if few and not isinstance(kernel, Function):  # a function must get X as the user gave it
            X = points_on_host(X)
        points = as_points(X, kernel, exact=exact, most_bytes=budget // 2)
        gram = Gram(points, budget, threads, self._store(X, kernel))
        gram.part_of = None if rows is None or among is None else (rows, among)
        return gram

    def _cache_bytes(self, n: int) -> int:
        """Bytes available for kernel rows of n points, and for the points themselves."""
        asked = int(float(self.cache_size) * 1e6)
        if self.max_memory is None:
            return asked
        left = min(int(self.max_memory) - resident(), free_memory())
        # A point takes 288 bytes beside its features and kernel values: coefficients, responses, orders, bounds.
        return max(0, min(asked, left - 288 * n))

    def _needs_double(self, kernel: Kernel) -> bool:
        return self.slack is not None  # its certificate cannot be sharpened if rounding is too large

    def _store(self, X: KernelData, kernel: Kernel) -> RowStore | None:
        """The store in `cache_folder` that keeps kernel values for later fits; None without a folder."""
        if self.cache_folder is None:
            return None
        return open_store(Path(self.cache_folder), X, kernel)

    def _problem(self, gram: Gram, task: Task, C: float) -> KernelProblem:
        options: dict[str, Any] = {"weight": task.weight, "bias": "free" if self.fit_intercept else "none"}
        if self.slack is not None:
            return KernelSlackConstrained(gram, task.y, self.slack, **options)
        return KernelRegularized.from_C(gram, task.y, C, loss=self._loss, **options)

    def _batch(self, points: Points, packed: PackedTasks, C: float) -> PackedBatch:
        bias: Literal["free", "none"] = "free" if self.fit_intercept else "none"
        return KernelBatch(points, *packed, C, bias=bias, loss=self._loss)

    def _keep(self, runs: Runs) -> None:
        """Set the fitted attributes that describe the runs, and warn if one was cut off."""
        ends, several = runs.ends, len(runs.lam) > 1
        check_coefficients(runs.answers.beta)
        self._answers = list(ends.solutions) if self.warm_start else None
        self._own_dual = all(getattr(one, "dual", None) is None for one in ends.solutions)
        self.lam_ = runs.lam if several else float(runs.lam[0])
        if not self._loss.two_sided:
            self.slack_ = runs.nu if several else float(runs.nu[0])
        self.n_kernel_evals_, self.n_kernel_asked_ = runs.evals, runs.asked
        # As in scikit-learn: an array for classifiers, a number for others.
        self.n_iter_ = ends.rounds.astype(np.int32) if hasattr(self, "classes_") else int(ends.rounds.max())
        self.fit_status_ = int(not all(status.is_success for status in ends.statuses))
        describe_runs(self, ends, self.max_iter, self._without_margin if np.isinf(runs.gap) else STALLED_ADVICE)

    def _require_dual(self) -> None:
        """Raise if the coefficients are not dual weights of the rows of the fit."""
        own = self.n_components is None and self._own_dual and getattr(self.__dict__.get("solver_"), "own_dual", True)
        if not own or hasattr(self, "compression_"):
            raise ValueError(
                "Values without a row need its dual weight, and this model has coefficients of landmarks: fit without "
                "n_components, with more time, and do not compress, or calibrate with held_out=True."
            )

    # --- decision values ------------------------------------------------------------------

    @property
    def _one_vs_one(self) -> bool:
        """Whether class pairs were solved, rather than each class against the rest."""
        return len(self.classes_) > 2 and self.dual_coef_.shape[0] < len(self.classes_)

    def _scores(self, X: Items) -> np.ndarray:
        """The values of all decision functions, for every row."""
        check_is_fitted(self, "support_")
        return self._scores_of(new_data(self, X))

    def _scores_of(self, X: KernelData, *, exact: bool = False) -> np.ndarray:
        """The same for validated rows; in float64 if `exact` or if `tol` is small."""
        vectors = self.support_ if is_precomputed(self.kernel_) else self.support_vectors_
        if self.n_support_.min(initial=0) < 0 or self.n_support_.sum() != len(self.support_):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: n_support_ and support_ do not "
                "belong together. Fit the model again."
            )
        if isinstance(self.kernel_, Linear):
            sums = linear_sums(X, self.coef_)
            return sums + like(self.intercept_, sums)
        dual = self._dense_dual
        sizes = self.n_support_ if self._one_vs_one else [len(self.support_)]
        cuts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if self.device is not None and on_a_device(self.device) and not exact:
            from hinge.access.gram.device import kernel_sums_on

            parts = [(vectors[lo:hi], dual[:, lo:hi]) for lo, hi in pairwise(cuts.tolist())]
            each = [kernel_sums_on(self.device, X, *part, self.kernel_, self.precision) for part in parts]
            sums = namespace(each[0]).stack(each, 1)
        else:
            sums = kernel_sums(self.kernel_, X, vectors, dual, cuts, exact=exact or self.tol < SINGLE)
        b = like(self.intercept_, sums)
        return scores_of_pairs(sums, b) if self._one_vs_one else sums[:, 0] + b

    def _certified_answer(
        self, X: KernelData, k: int, task: Task, f: np.ndarray, beta: np.ndarray
    ) -> tuple[np.ndarray, CertifiedAnswer]:
        """The rows of run k, and what its certificate proves of them; raises if they are not the rows of the fit.

        `f` and `beta` are decision values and coefficients of these rows.
        """
        rows = np.arange(len(task.y)) if task.rows is None else task.rows
        kernel, y = self.kernel_, task.y.astype(np.float64)
        s = np.ones(len(rows)) if task.weight is None else task.weight
        if isinstance(kernel, Sigmoid):
            raise ValueError("The kernel 'sigmoid' has no feature space in which a distance could be bounded.")
        part = points_on_host(part_of(X, rows, kernel))
        diag = as_points(part, of_items(kernel), exact=True).diag().astype(np.float64)
        b, free, loss = float(self.intercept_[k]), bool(self.fit_intercept), self._loss
        reported, lam = (float(np.atleast_1d(values)[k]) for values in (self.objective_, self.lam_))
        short = y - f if loss.two_sided else 1.0 - y * f
        c = s / s.sum()
        faint = FAINT * float(c @ np.abs(y)) if loss.two_sided else 0.0
        primal = 0.5 * lam * float(beta @ (f - b)) + float(c @ loss.values(short))
        if abs(primal - reported) > 1e-3 * max(reported, faint):
            raise ValueError("X and y are not the rows of the fit: their objective is another one.")
        # A kernel value is rounded as a product of rows is, and enlarged by what the kernel makes of this.
        width = 1 if isinstance(part, list) else part.shape[1]
        given = isinstance(part, list) or is_precomputed(kernel)
        largest = 0.0 if given else float(sq_norms(part).max(initial=0.0))
        largest = max(largest, float(np.sqrt(width * largest)))
        grows = 1.0 + float(getattr(kernel, "degree", 1)) + 8.0 * float(getattr(kernel, "gamma", 0.0)) * largest
        norms = np.sqrt(np.maximum(diag, 0.0))
        error = rounding((width + 8.0) * grows + len(rows), 1.0) * float(np.abs(beta) @ norms) * norms
        radius = float(np.sqrt(2.0 * float(self.gap_) * max(reported, primal, faint) / lam))
        r = f - b if free else f
        return rows, CertifiedAnswer(y, r, b if free else 0.0, c, norms * (1.0 + 1e-9), radius, error, loss, free)

    def _check_rows(self, X: KernelData) -> None:
        """Raise if X cannot be the rows of the fit."""
        same = kernel_input.shape_of(X) == tuple(self.shape_fit_)
        if same and not isinstance(X, list) and not is_precomputed(self.kernel_):
            off = X[self.support_] != self.support_vectors_
            same = not (off.nnz if sp.issparse(off) else off.any())
        if not same:
            raise ValueError(
                "Leave-one-out needs the rows of the fit, in the same order, and X holds others: give those, or "
                "held_out=True for rows that took no part in it."
            )


def _reaches(runs: Runs, tasks: Sequence[Task], C: float) -> bool:
    """Whether a coefficient is near its bound for the row of the smallest weight."""
    weights = [float(task.weight[task.weight > 0].min()) for task in tasks if task.weight is not None]
    return bool(np.abs(runs.answers.beta).max(initial=0.0) > 0.5 * min(weights, default=1.0) * C)


class NuMachine(KernelMachine):
    """A kernel estimator with the parameter ν."""

    nu: float
    fit_intercept = True
    _may_round = False

    def _solver(self, n_tasks: int) -> Solver | None:
        if self.solver != "auto" or self.n_components is not None:
            return super()._solver(n_tasks)
        return None if on_a_device(self.device) else LevelBlocks()

    def _needs_double(self, kernel: Kernel) -> bool:
        # Values of a Gaussian are at most 1; sums of others may cancel. A run restarts if float32 is too coarse.
        return self.tol < SINGLE or not isinstance(kernel, Gaussian)


class KernelRegressor(KernelMachine, PredictionIntervals):
    """The fit and the predictions of `SVR` and `NuSVR`."""

    _one_vs_one = False

    @any_arrays(stays=True)
    @atomic_fit
    @with_callbacks
    def fit(self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Kernel values of shape (n_samples, n_samples) if the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            The :math:`s_i`. Rows of zero or negative weight are ignored.

        Returns
        -------
        self
        """
        began, given = now(), (X, y, sample_weight)
        self._check_parameters()
        X, y = kernel_input.training_data(self, X, y)
        t = checks.checked_targets(y)
        weight = row_weights(sample_weight, X)
        one = np.zeros(len(t), np.int64)  # all rows are of one class
        tasks = [regression_task(t, weight, self._held_out_rows(one, weight))]

        def attributes(answers: Answers, kernel: Kernel) -> dict[str, Any]:
            found = expanded(answers, X, one, 1, kernel, one_vs_one=False)
            return {"kernel_": kernel, "shape_fit_": shape_of(X), **found}

        runs = self._solve(X, t, tasks, kernel_input.kernel_of(self, X), began, attributes)
        self._keep(runs)
        self._remember_rows(*given, values_of(runs.answers, len(t), 1))
        return self

    @any_arrays(stays=True)
    def predict(self, X: Items) -> np.ndarray:
        """The predicted target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X).ravel()

    def _left_out_scores(self, rows: FittedRows, *, every: bool = False) -> ScoredRows:
        self._require_dual()
        (X, t, weight), kernel = self._rows_of_fit(rows.X, rows.y, rows.sample_weight), self.kernel_
        f = (self._scores_of(X) if rows.scores is None else rows.scores)[:, 0]
        beta, bound = np.zeros(len(t)), float(self._bound or 1.0) * (np.ones(len(t)) if weight is None else weight)
        beta[self.support_] = self._dense_dual[0]
        points = as_points(points_on_host(X), of_items(kernel), exact=len(t) <= EXACT_POINTS)
        diag = points.diag()
        spans = partial(spans_by_kernel, partial(kernel_values, points), lambda i: diag[i], bool(self.fit_intercept))
        epsilon = self._tube(t - f, np.abs(beta), bound)
        return left_out_targets(f, t, beta, bound, epsilon, 0.0, spans)[:, None], t, weight

    def _rows_of_fit(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[KernelData, np.ndarray, np.ndarray | None]:
        """Validated rows, targets and weights of the fit."""
        check_is_fitted(self, "support_")
        X = new_data(self, X)
        t, weight = checks.checked_targets(column_or_1d(y)), row_weights(sample_weight, X)
        check_consistent_length(X, t)
        self._check_rows(X)
        return X, t, weight

    def _tube(self, residual: np.ndarray, a: np.ndarray, bound: np.ndarray) -> float:
        """ε, from residuals, dual weights and their bounds if it was learned."""
        return self._loss.epsilon
