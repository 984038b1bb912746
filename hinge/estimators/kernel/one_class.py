"""`OneClassSVM`: outlier detection, for scikit-learn pipelines."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.metaestimators import available_if

from hinge.access import Gram, Points, as_matrix
from hinge.access.gram.base import whole
from hinge.access.gram.inner_points import sq_norms
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.fitting.attributes import Answers, describe_runs, ends_of
from hinge.estimators.fitting.decorators import CallbackSupportMixin, atomic, atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import KernelData, OneClassSVMParameters, is_linear
from hinge.estimators.fitting.reports import STALLED_ADVICE, Ends, reports_of
from hinge.estimators.fitting.runs import Plan, run_one
from hinge.estimators.fitting.tasks import PackedTasks, Task, row_weights
from hinge.estimators.kernel.kernel_machine import NuMachine
from hinge.estimators.linear.linear_machine import OF_A_FIT
from hinge.kernels import Kernel, Linear, Precomputed
from hinge.monitoring import Stop
from hinge.monitoring.interrupts import left_of, now
from hinge.problems import OneClass, Solution
from hinge.problems.svm.kernel_batch import OneClassBatch
from hinge.problems.svm.nu_forms import SOME, KernelOneClass
from hinge.solvers.ascent import online_dual
from hinge.types import Items, MatrixLike, Stored


def _can_stream(model: "OneClassSVM") -> bool:
    """Whether there is a `partial_fit`; if not, the error states what to do."""
    if not is_linear(model.kernel):
        raise AttributeError("partial_fit keeps w and no rows, which needs kernel='linear'; or call fit.")
    return True


class OneClassSVM(CallbackSupportMixin, OneClassSVMParameters, NuMachine, OutlierMixin, BaseEstimator):
    """Outlier detector that stops when its decision function is provably close to the optimal one.

    It has the objective, the parameters and the attributes of ``sklearn.svm.OneClassSVM``,

    .. math:: \\min_\\alpha\\ \\tfrac12\\alpha^\\top K\\alpha, \\qquad 0 \\le \\alpha_i \\le s_i,
              \\quad \\textstyle\\sum_i\\alpha_i = \\nu S, \\quad S = \\sum_i s_i,

    with the decision function :math:`f(x) = \\sum_i\\alpha_i K(x_i, x) - \\rho`. Up to 1,024 points it
    is solved on the whole kernel matrix, above in blocks of kernel rows on a growing subset, to a certified error.

    For kernels with :math:`K(x, x) = \\kappa` for all x, such as "rbf", this is the smallest ball in feature
    space that penalises points outside,

    .. math:: \\min_{c, R}\\ R^2 + \\frac{1}{\\nu S}\\sum_i s_i\\max(0, \\|\\phi(x_i) - c\\|^2 - R^2), \\qquad
              c = \\frac{1}{\\nu S}\\sum_i\\alpha_i\\phi(x_i),

    and :math:`R^2 = \\kappa - 2\\rho/(\\nu S) + \\|c\\|^2`: outliers are the points outside the ball. With
    :math:`\\nu S \\le \\min_i s_i` it is the smallest ball that holds all points.

    With ``kernel="linear"`` no kernel value is computed: w is learned from rows by `SDCA` or `Newton`, in a few passes
    over the data, to the same certificate; or row by row with `partial_fit`.

    Parameters
    ----------
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        As for `SVC`: "linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed", or a function.
    degree, gamma, coef0
        Parameters of the named kernels, as in scikit-learn: gamma is "scale", "auto" or a number.
    tol : float, default=1e-3
        Stop when :math:`\\|w - w^*\\| \\le` tol :math:`\\|w\\|` is certified for the optimal w*; decision values
        are then within tol ‖w‖ √K(x, x) of the optimal ones, up to the constant ρ. Kernel values are computed in
        float64 below 1e-5, for few points, for kernels other than "rbf", and if float32 does not lead to a certificate;
        with the linear kernel w is always computed in float64.
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of outliers among the points, and a lower bound on the fraction of support
        vectors.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn, and not used: the solver works on a growing subset.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    max_iter : int, default=-1
        Limit of the solver's iterations, a block of points each; -1 for none. With the linear kernel, limit of the
        passes over the data or Newton steps; -1 for 1000.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    n_components : int or "auto", optional
        Solve in the span of this many landmarks, rows drawn at random, as with scikit-learn's `Nystroem`; "auto"
        doubles their number until `tol` is reached, or a limit or the memory ends it. `gap_` belongs to the exact
        kernel all the same: it costs one kernel value for each pair of support vectors, of which there are ν of the
        rows or more. It is a distance, which is larger than a gap of objectives: to halve it takes a quarter of that.
        The model then consists of landmarks alone, in `support_` and `dual_coef_`, so that a prediction costs that many
        kernel values. By default None, the exact answer.
    max_reads : int, optional
        Limit of the cells of X read, certificates included; for the linear kernel.
    device : {"cpu", "cuda"}, optional
        Where kernel values are computed, by default where X lies; the linear kernel has none.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Precision of products on a GPU.
    n_jobs : int, optional
        Threads that compute kernel rows; one, unless joblib's `parallel_config` allows more.
    random_state : int, RandomState or None, default=0
        Seed of the first subset, which affects the speed and the last digits of the answer.
    verbose : bool or int, default=False
        Write a line to standard error each time the answer is evaluated.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the model so far.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, fit_status_, shape_fit_
        As in scikit-learn; `offset_` is ρ and `intercept_` is -ρ.
    coef_ : ndarray of shape (1, n_features)
        w, for the linear kernel.
    radius_ : float
        R of the ball above; nan if K(x, x) is not the same for all points.
    kernel_ : hinge.kernels.Kernel
    gap_ : float
        The certified bound on ‖w - w*‖/‖w‖; infinite if none is known.
    objective_ : float
        :math:`\\tfrac12\\|w\\|^2 - \\nu S\\rho + \\sum_i s_i\\max(0, -f(x_i))`.
    n_kernel_evals_, n_kernel_asked_ : int
        Kernel values computed, and requested (including those found in the cache); none by the linear kernel.
    n_feature_reads_ : int
        Cells of X read by solver and certificates: nonzeros of sparse data. Only for the linear kernel.
    n_iter_ : int
        Iterations of the solver; passes over the data, rounded up, with the linear kernel.
    stop_reason_ : str
        Why the fit ended: "converged", "max_time", ...
    solver_ : Solver
    history_ : list of Record
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from hinge.estimators.kernel.one_class import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> model = OneClassSVM(gamma="auto").fit(X)
    >>> model.predict(X)
    array([-1,  1,  1,  1, -1])
    >>> model.score_samples(X).round(3)
    array([1.78 , 2.055, 2.056, 2.056, 1.733])
    """

    # Parameters of `SVC` that `KernelMachine` reads, and that this estimator does not have.
    cache_folder = target_error = max_kernel_evals = None
    solver, warm_start = "auto", False
    _one_vs_one = False

    _without_margin = (
        "The best w is zero, as far as is known: the origin lies among the points, and predictions are arbitrary. "
        "Give a larger nu, or kernel='rbf'."
    )

    @any_arrays(stays=True)
    @atomic_fit
    @with_callbacks
    def fit(self, X: Items, y: None = None, sample_weight: ArrayLike | None = None) -> "OneClassSVM":
        """Find the boundary of the points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Kernel values of shape (n_samples, n_samples) if the kernel is precomputed.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            The :math:`s_i`. Rows of zero or negative weight are ignored.

        Returns
        -------
        self
        """
        began = now()
        self._check_parameters()
        X = kernel_input.training_points(self, X)
        weight = row_weights(sample_weight, X)
        for name in ("_weights", "_stream", "n_feature_reads_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if is_linear(self.kernel):
            self._fit_linear(cast(Stored, X), weight, began)
            return self
        rows = None if weight is None or (weight > 0).all() else np.flatnonzero(weight)
        weight = weight if rows is None or weight is None else weight[rows]
        task = Task(rows, np.ones(kernel_input.shape_of(X)[0] if rows is None else len(rows), np.int8), weight, None)

        def attributes(answers: Answers, kernel: Kernel) -> dict[str, Any]:
            used = np.flatnonzero(answers.beta)
            return _expanded(X, answers.rows[used], answers.beta[used], float(answers.b[0]), kernel)

        runs = self._solve(X, None, [task], kernel_input.kernel_of(self, X), began, attributes)
        self.radius_ = runs.problem.radius(runs.ends.solutions[0])
        self.n_kernel_evals_, self.n_kernel_asked_ = runs.evals, runs.asked
        self._keep_run(runs.ends)
        return self

    @available_if(_can_stream)
    @any_arrays()
    @atomic
    def partial_fit(self, X: MatrixLike, y: None = None, sample_weight: ArrayLike | None = None) -> "OneClassSVM":
        """Learn from rows that arrive in pieces, each row once; with ``kernel="linear"`` only.

        As in ``sklearn.linear_model.SGDOneClassSVM``, the objective is
        :math:`\\frac\\nu2\\|w\\|^2 - \\nu\\rho` plus the mean of :math:`\\max(0, \\rho - \\langle w, x\\rangle)`. The
        fitted w and ρ are multiplied by ν and by the total weight of the rows seen, as in `fit`. Each row is one exact
        dual coordinate step of the problem of all rows seen so far, and a stochastic gradient step of ρ. Rows are not
        kept, so there are no support vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_parameters()
        X = checks.validated(self, X, reset=self._weights is None)
        self._learn(X, row_weights(sample_weight, X))
        return self

    @any_arrays(stays=True)
    def decision_function(self, X: Items) -> np.ndarray:
        """:math:`f(x)`, positive for the points inside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        f = self._scores(X).ravel()
        # A point on the boundary has the value 0 but for rounding, which may differ with the points beside it.
        f[abs(f) <= np.finfo(np.float64).eps * float(self.n_support_[0]) * float(abs(self.offset_[0]))] = 0.0
        return f

    @any_arrays(stays=True)
    def score_samples(self, X: Items) -> np.ndarray:
        """:math:`f(x) + \\rho`, which is larger for points that are more like the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + float(self.offset_[0])

    @any_arrays(stays=True)
    def predict(self, X: Items) -> np.ndarray:
        """+1 for the points inside, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return 2 * whole(self.decision_function(X) >= 0) - 1

    # --- parts of fit ---------------------------------------------------------------------

    def _can_stay_on_device(self, method: str) -> bool:
        return super()._can_stay_on_device(method) and not (method == "fit" and is_linear(self.kernel))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_reads is not None and not is_linear(self.kernel):
            raise ValueError("max_reads limits the cells that rows are read by: give kernel='linear', or max_time.")
        if self.n_components is not None and is_linear(self.kernel):
            raise ValueError(
                "n_components does not go with kernel='linear', whose w is learned from rows exactly: leave it out."
            )

    def _fit_linear(self, X: Stored, weight: np.ndarray | None, began: float) -> None:
        """Solve the problem over rows; predictions are in LIBSVM's unit, n_iter_ in passes.

        By Newton's method or dual coordinate ascent, whichever is estimated to be faster: both read rows, O(nnz) a
        pass, and compute no kernel value.
        """
        matrix, limit = as_matrix(X, checked=True), self.max_reads
        unread = limit is not None and limit < 4 * SOME * matrix.max_row_cells  # too little to estimate the default λ
        problem = OneClass(matrix, self.nu, weight=weight, lam=1.0 if unread else None)
        plan = Plan(
            None,
            Stop(self.tol, None, left_of(self.max_time, began), limit and max(0, int(limit) - matrix.reads)),
            1000 if self.max_iter == -1 else int(self.max_iter),  # as in `LinearSVC`
            checks.seed_of(self.random_state),
            self.on_interrupt,
            None,
            reports_of(self, X, None, (), lambda answer: _linear_attributes(answer, X, problem)),
        )
        result = run_one(problem, 0, plan)
        self.__dict__.update(_linear_attributes(result.solution, X, problem))
        self.radius_ = _linear_radius(result.solution, X, problem)
        self.n_kernel_evals_ = self.n_kernel_asked_ = 0
        self.n_feature_reads_ = matrix.reads
        self._mass = problem.total
        self._keep_run(ends_of([replace(result, n_iter=-(-result.n_iter // result.per_pass))]))

    def _learn(self, X: Stored, weight: np.ndarray | None) -> None:
        """One pass of `partial_fit` over new rows; continues from the last call, or from `fit`."""
        matrix = as_matrix(X, checked=True)
        piece = OneClass(matrix, self.nu, weight=weight, lam=1.0)
        stream, rng = getattr(self, "_stream", None), getattr(self, "_rng", None)
        rng = checks.generator_of(self.random_state) if rng is None else rng
        first = stream is None and self._weights is None
        if stream is None and first:
            stream = online_dual.begin(matrix.shape[1])
        elif stream is None:
            w = self._weights.toarray() if sp.issparse(self._weights) else self._weights
            mass = self._mass
            stream = online_dual.resume(w[0] / mass, float(self.intercept_[0]) / mass, piece, None, mass)
        stream = online_dual.learn(stream, piece, None, int(rng.randint(np.iinfo(np.int32).max)))
        self._stream, self._rng, self._mass = stream, rng, stream.seen
        self.n_feature_reads_ = (0 if first else self.n_feature_reads_) + matrix.reads
        none = Solution(stream.w * stream.seen, stream.b * stream.seen, np.zeros(0))
        self.__dict__.update(_linear_attributes(none, X[:0], None))  # without support vectors
        for name in (*OF_A_FIT, "radius_"):  # they describe the answer of the last `fit`, which has changed
            if name not in ("dual_coef_", "support_"):
                self.__dict__.pop(name, None)
        self.shape_fit_, self.n_iter_, self.fit_status_ = X.shape, 1, 0

    def _problem(self, gram: Gram, task: Task, C: float) -> KernelOneClass:
        return KernelOneClass(gram, self.nu, weight=task.weight)

    def _batch(self, points: Points, packed: PackedTasks, C: float) -> OneClassBatch:
        return OneClassBatch(points, packed.weight, float(self.nu))

    def _keep_run(self, ends: Ends) -> None:
        """Set the fitted attributes that describe the run, and warn if it was cut off."""
        self.n_iter_, self.fit_status_ = int(ends.rounds[0]), int(not ends.statuses[0].is_success)
        lost = ends.gaps[0] >= (1.0 if self.n_components is None else np.inf)
        describe_runs(self, ends, self.max_iter, self._without_margin if lost else STALLED_ADVICE)


def _linear_attributes(answer: Solution, X: Stored, problem: OneClass | None) -> dict[str, Any]:
    """The fitted attributes for predictions; without a problem the answer is in LIBSVM's unit already."""
    scale = 1.0 if problem is None else problem.scale
    assert answer.alpha is not None
    support = np.flatnonzero(answer.alpha)
    dual = answer.alpha[support]
    if problem is not None:
        dual = dual * (problem.weight[support] if len(problem.weight) > 1 else problem.weight[0])
    coef: Any = (answer.w * scale)[None]
    coef = sp.csr_matrix(coef) if sp.issparse(X) else coef
    (coef.data if sp.issparse(coef) else coef).flags.writeable = False
    return {"_weights": coef, **_expanded(X, support, dual, answer.b * scale, Linear())}


def _expanded(X: KernelData, support: np.ndarray, dual: np.ndarray, b: float, kernel: Kernel) -> dict[str, Any]:
    """The fitted attributes of both: support vectors, coefficients, and the level."""
    given = isinstance(kernel, Precomputed)
    return {
        "support_": support.astype(np.int32),
        "n_support_": np.array([len(support)], np.int32),
        "support_vectors_": np.empty((0, 0)) if given else kernel_input.part_of(X, support, kernel),
        "dual_coef_": sp.csr_matrix(dual[None]) if sp.issparse(X) else dual[None],
        "intercept_": np.array([b]),
        "offset_": np.array([-b]),
        "kernel_": kernel,
        "shape_fit_": kernel_input.shape_of(X),
    }


def _linear_radius(answer: Solution, X: Stored, problem: OneClass) -> float:
    """R of the ball about :math:`\\lambda w/\\nu`, see `KernelOneClass.radius`; nan if the rows' norms differ."""
    sq = sq_norms(X)
    sq = sq[problem.weight > 0] if len(problem.weight) > 1 else sq
    if np.ptp(sq) > 1e-6 * sq.max():
        return np.nan
    ratio = problem.lam / problem.nu
    return float(np.sqrt(max(sq.mean() + 2.0 * answer.b * ratio + ratio * ratio * float(answer.w @ answer.w), 0.0)))
