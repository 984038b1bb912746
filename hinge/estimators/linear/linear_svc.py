"""`LinearSVC`: the linear support vector machine for scikit-learn pipelines."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.access import Matrix, Table, as_matrix
from hinge.access.arrays import is_tensor, on_host
from hinge.access.device_rows import matrix_of_tensor, validated_on_device
from hinge.access.occupied import Occupied, occupied
from hinge.access.streams.base import RowStream, Streamed
from hinge.access.tables.oracle import FeatureOracle, as_oracle
from hinge.estimators.data import sources
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import ScoreOfArrays, any_arrays, labels_at
from hinge.estimators.fitting.attributes import coefficients, keep_results, starts, widened
from hinge.estimators.fitting.decorators import CallbackSupportMixin, atomic, atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import LinearSVCParameters, Source, on_a_device
from hinge.estimators.fitting.reports import Report, reports_of, rules_out_constant, warn_caller, warn_if_constant
from hinge.estimators.fitting.runs import joint_solver, run_all
from hinge.estimators.fitting.tasks import class_weights, per_class_weights, positive_classes, row_weights
from hinge.estimators.linear import crammer_singer
from hinge.estimators.linear.linear_machine import LinearMachine, linear_scores
from hinge.estimators.mixins.conformal import PredictionSets
from hinge.estimators.mixins.few_cells import FewCells
from hinge.estimators.mixins.fitted_rows import CheckedRows, FittedRows
from hinge.estimators.mixins.probabilities import Judged, without_linear_rows
from hinge.monitoring.interrupts import now
from hinge.prediction import first_class
from hinge.problems import L1Regularized, LinearProblem, Multiclass, Penalized, Regularized, SlackConstrained, Solution
from hinge.problems.batch import BatchSolution
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers import Simba, Solver
from hinge.threads import threads_of
from hinge.types import Array, MatrixLike, Stored

PENALTIES = {"l2": Regularized, "l1": L1Regularized}
LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE}
ON_A_DEVICE = {"penalty": "l2", "multi_class": "ovr", "slack": None, "solver": "auto"}
"""Values that parameters have with ``device="cuda"``."""


def _can_stream(model: "LinearSVC") -> bool:
    """Whether there is a `partial_fit`; if not, the error states what to do."""
    if model.multi_class == "crammer_singer":
        raise AttributeError("partial_fit learns one class against the rest: give multi_class='ovr', or call fit.")
    if model.penalty == "l1":
        raise AttributeError("partial_fit is for penalty='l2'; penalty='l1' needs all rows at once: use fit.")
    return True


class LinearSVC(
    ScoreOfArrays, CallbackSupportMixin, LinearSVCParameters, ClassifierMixin, LinearMachine, FewCells, PredictionSets
):
    """Linear support vector classifier that stops when its answer is provably accurate enough.

    Minimises, for each class against the rest, the objective of scikit-learn's ``LinearSVC``,

    .. math:: \\frac12\\|w\\|^2 + C\\sum_i s_i \\max(0,\\, 1 - y_i(\\langle w, x_i\\rangle + b))^2,

    or with the hinge loss, not squared, which is the papers' problem, or with :math:`\\|w\\|_1` in place of
    :math:`\\frac12\\|w\\|^2`, which makes most weights exactly zero. It reports an upper bound on the suboptimality.
    Dense float32 and float64 arrays, CSR with any index type, memory maps and read-only arrays are used without a copy.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        The penalty: ½‖w‖² or ‖w‖₁. "l1" is for the squared hinge, and for arrays or
        sparse matrices in memory, of which a copy by columns is made.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of a row. `slack`, and the papers' solvers (Pegasos, SIMBA, ...), need the hinge.
    dual : "auto" or bool, default="auto"
        Accepted for compatibility with scikit-learn, and not used: every solver here works on the primal and the dual.
    tol : float, default=1e-4
        Stop when the certified relative duality gap, (P - D)/D, is at most this.
    C : float, default=1.0
        Weight of the losses; λ = 1/(C Σ s) in the papers' terms.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        Each class against the rest, or all classes in one problem. See Notes.
    lam : float, optional
        λ of the papers: ½λ‖w‖² + mean loss, or λ‖w‖₁ + mean loss. Replaces `C`.
    slack : float in (0, 1], optional
        ν of the papers: the mean slack allowed at unit norm. Replaces `C`; the gap then belongs to the
        slack-constrained problem. With SIMBA the default is 0.005.
    solver : str or Solver, default="auto"
        "auto", the name of a solver ("sdca", "newton", "pegasos", ...), or a solver object, whose settings are grid
        parameters such as ``solver__batch_size``.
    fit_intercept : bool, default=True
        Whether to learn a bias.
    intercept : {"penalized", "free"}, default="penalized"
        A penalised bias is the weight of a constant feature of value `intercept_scaling`, as in
        scikit-learn, and is penalised like the others. A free bias is not penalised; with `slack` it is always free.
    intercept_scaling : float, default=1.0
        Value of the constant feature whose weight is a penalised bias.
    max_iter : int, default=1000
        Limit of the passes over the data.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_reads : int, optional
        Limit of the cells of X read, certificates included. With it, whatever the number, "auto" saves reads rather
        than time: it is the frugal learner, which keeps the cells it has read.
    target_error : float, optional
        Stop when the error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`, stratified.
    class_weight : dict or "balanced", optional
        Weights of classes, multiplied with the sample weights.
    warm_start : bool, default=False
        Start from the last fit's answer.
    n_jobs : int, optional
        Threads: None is one, unless ``joblib.parallel_config`` sets more, and -1 is one for each core. The classes of a
        multiclass problem are distributed over them. If there are more threads than classes, and the problem is large
        enough to gain by it, several work on one problem in the steps of `Newton`; dual ascent has one thread. The
        model then depends on `n_jobs`, within `tol`; with the same number it is bitwise the same.
    random_state : int, RandomState or None
        None is 0: the same fit gives the same model.
    verbose : bool or int, default=0
        Write a line to standard error each time the answer is evaluated.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the best model so far; a second one raises. `partial_fit`
        always raises, and leaves the model of before: its rows can be given again.
    max_memory : float, optional
        Limit of the process's memory in bytes while it learns from rows on disk; by default its present memory plus
        half of what is free. Rows that fit are loaded; others are read block by block, in several passes.
    checkpoint : path, optional
        A folder for the state of a fit on rows that are read block by block; written atomically, every ten seconds or
        less often. A fit that was killed continues from there when it is called again, to bitwise the same model; a
        checkpoint of other data or parameters raises an error. With it, rows are never loaded.
    device : {"cpu", "cuda"}, optional
        Device of `fit`, by torch's names; "cuda" uses `DeviceNewton`: all classes jointly, with certificates. For
        ``penalty="l2"``, ``multi_class="ovr"``, rows in memory and ``solver="auto"``. By default the device
        on which X lies. Predictions run where their rows are.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray
    gap_ : float
        The certified relative gap; the largest over the classes. Infinite if none was computed.
    objective_ : float or ndarray of shape (n_classes,)
        λ/2‖w‖² + mean loss at the answer, or λ‖w‖₁ + mean loss; the margin if `slack` is given.
    n_iter_ : int
        Passes over the data, rounded up; the largest over the classes. Newton steps for Newton, working sets for CDN.
    n_feature_reads_ : int
        Cells of X read by solver and certificates: nonzeros of sparse data.
    n_distinct_reads_, bytes_read_, cost_
        Distinct cells, zeros included; bytes moved; price paid. Set if the solver reads rows and columns or keeps
        cells, and for oracles.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
        The solver that ran: with "auto" the one that `hinge.solvers.choose` gives, with its reason. `Switch` has run
        one method or two.
    history_ : list of Record, or list of such lists
        One record each time the answer was evaluated; a list for each class if there are more than two.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Coefficients of the rows: ``dual_coef_ @ X[support_]`` is `coef_` up to an error of norm √(2 gap D/λ). Set if
        the solver has dual weights; not with "l1", where w is not a combination of rows.
    support_ : ndarray of shape (n_support,)
        Rows with a positive α for any class.
    probA_, probB_ : ndarray of shape (1,) or (n_classes,)
        After `calibrate`: a class has the probability 1/(1 + exp(A f + B)), f its decision value.
    n_features_in_, feature_names_in_

    Notes
    -----
    **Rows on disk.** If they do not fit into memory, `BlockNewton` or `BlockAscent`, chosen by `ByPasses`, read them in
    large blocks; all classes are solved in the same passes, which also certify answers. `bytes_read_` counts the reads.
    This is for ``penalty="l2"`` and ``multi_class="ovr"``, with limits of time and passes. Text, categories and missing
    values raise an error that names the column. There is no `dual_coef_`.

    ``multi_class="crammer_singer"`` minimises, whatever `loss`, `penalty` and `dual` are, as in scikit-learn,

    .. math:: \\frac12\\sum_k\\|w_k\\|^2
              + C\\sum_i s_i \\max_k\\big([k \\ne y_i] + \\langle w_k - w_{y_i}, x_i\\rangle\\big)

    by `MulticlassSDCA`, which leaves the rest to `MulticlassNewton` where it is slow and features are few, or by
    ``solver="sdca"``, ``"newton"`` or ``"pegasos"`` alone: one run, with one gap and one objective. With two classes
    `coef_` is :math:`w_1 - w_0`.

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.datasets import load
    >>> adult = load("adult")
    >>> model = LinearSVC(lam=1e-4).fit(adult.X_train, adult.y_train)
    >>> model.gap_ <= 1e-3
    True
    >>> round(model.score(adult.X_test, adult.y_test), 2)
    0.85
    """

    classes_: np.ndarray

    @any_arrays(stays=True)
    @atomic_fit
    @with_callbacks
    def fit(
        self,
        X: MatrixLike | Table | FeatureOracle | Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "LinearSVC":
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, FeatureOracle or Table} of shape (n_samples, n_features)
            Or rows on disk, see Notes: the path of a file or folder, a pattern or a list of paths, a memory map, a
            Zarr array, an Arrow dataset, a polars LazyFrame, a `RowStream`.
        y : array-like of shape (n_samples,), or str
            For rows on disk also the name of a column; not needed if the file has labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        began, given = now(), (X, y, sample_weight)
        self._check_parameters()
        X, y, names = sources.opened(self, X, y)
        if isinstance(X, RowStream):
            return self._fit_stream(X, y, sample_weight, began)
        table = as_oracle(X)
        on_device = validated_on_device(X, str(self.device)) if on_a_device(self.device) and table is None else None
        if table is None:
            X, y = checks.validated(self, X, y, already_valid=on_device is not None)
            on_device = matrix_of_tensor(cast(Any, X), str(self.device)) if is_tensor(X) else on_device
        else:
            X, y = table, checks.validated_labels(self, table, y)
        classes, codes = checks.encoded_labels(y)
        row_weight = row_weights(sample_weight, X)
        per_class = per_class_weights(self.class_weight, y, classes, row_weight)
        seed, threads = checks.seed_of(self.random_state), threads_of(self.n_jobs)
        aside, row_weight = self._held_out_rows(codes, row_weight, seed)
        matrix: Matrix | Table = as_matrix(X, checked=True) if on_device is None else on_device
        seen = Occupied(matrix, None, matrix.shape[1])
        problems: list[Any]
        together = self.multi_class == "crammer_singer"
        if together:
            solver = crammer_singer.solver_of(self)
            problems = [crammer_singer.problem_of(self, matrix, codes, len(classes), row_weight, per_class)]
        else:
            tasks = positive_classes(len(classes))
            requested = self._solver(max(1, threads // len(tasks)))
            solver, matrix = sources.save_reads(self, matrix, requested)  # None: chosen for each run
            shared = solver is not None and solver.joint
            by_rows = solver is None or (solver.reads == "rows" and not shared)
            seen = occupied(matrix, compress=solver is None) if by_rows else seen._replace(matrix=matrix)
            matrix = seen.matrix
            problems = [self._problem(matrix, codes == k, row_weight, per_class, k, solver) for k in tasks]
            if solver is None and len(tasks) > 1:
                solver = joint_solver(problems[0], self.tol)
                shared = solver is not None
            for problem in problems if len(tasks) > 1 and not shared else ():
                problem.fork_data()
            for problem in [] if row_weight is None and per_class is None else problems:
                if min(problem.class_mass(np.ones(problem.n))) < 1e-12:
                    raise ValueError("The rows with a positive weight are of one class: 2 classes are needed.")
        last = getattr(self, "_answers", None)
        same = self.warm_start and last and (last[0].w.ndim > 1) == together and np.array_equal(classes, self.classes_)
        reports = self._reports(X, y, classes, problems, solver, seen)
        plan = self._plan(solver, began, seed, reports, aside, starts(last if same else None, seen))
        # A table keeps the cells that it has read for all classes, so the classes are solved one after the other.
        results = widened(run_all(problems, plan, 1 if isinstance(matrix, Table) else threads), seen)
        sources.check_begun(results, problems)
        self.classes_ = classes
        sources.set_counts(self, problems)
        self._forget_probabilities()
        self._remember_rows(*given)
        keep_results(self, results, problems)
        sources.set_names(self, names)
        if table is None and self.stop_reason_ == "converged":
            plain = row_weight is None and per_class is None and isinstance(problems[0], Penalized)
            if not (plain and rules_out_constant(codes, self.objective_)):
                warn_if_constant(codes, classes, self._predicted_by(X, seen))
        return self

    def _fit_stream(
        self, stream: RowStream, y: ArrayLike, sample_weight: ArrayLike | None, began: float
    ) -> "LinearSVC":
        """Fit the model to rows that are read block by block."""
        y = sources.labelled(self, stream, y)
        classes, codes = checks.encoded_labels(y)
        row_weight = row_weights(sample_weight, stream)
        per_class = per_class_weights(self.class_weight, y, classes, row_weight)
        tasks = positive_classes(len(classes))
        room = sources.room_for(self, stream, len(tasks), row_weight is not None or per_class is not None)
        problems: list[Any] = [self._problem(room.data, codes == k, row_weight, per_class, k) for k in tasks]
        reports = self._reports(stream, y, classes, problems)
        sources.fit_stream(self, problems, room, self._plan(None, began, checks.seed_of(self.random_state), reports))
        self.classes_ = classes
        self._forget_probabilities()
        self._forget_rows()
        return self

    @available_if(_can_stream)
    @any_arrays()
    @atomic
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> "LinearSVC":
        """Learn from rows that arrive in pieces, each row once; not with ``multi_class="crammer_singer"``.

        Each row is one exact dual coordinate step of the problem of all rows seen so far; rows are not kept. With `lam`
        the step of row t is about 1/(λt), as in Pegasos; with `C` the dual weight is bounded by C. Not available with
        ``penalty="l1"``.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like
            All classes; needed in the first call.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self.slack is not None:
            raise ValueError("partial_fit takes C or lam; slack needs all rows at once.")
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' needs all rows; give partial_fit the weights as a dict.")
        first = not hasattr(self, "classes_")
        X, y = checks.validated(self, X, y, reset=first)
        known = checks.stream_classes(classes, None if first else self.classes_)
        _, codes = checks.encoded_labels(y, known)
        row_weight = row_weights(sample_weight, X)
        per_class = per_class_weights(self.class_weight, y, known, row_weight)
        matrix = as_matrix(X, checked=True)
        pieces: list[Any] = [
            self._problem(matrix, codes == k, row_weight, per_class, k) for k in positive_classes(len(known))
        ]
        self._learn(pieces, matrix, first)
        self.classes_ = known
        self._forget_probabilities()
        self._forget_rows()
        return self

    @any_arrays(stays=True)
    def decision_function(self, X: MatrixLike | Table | FeatureOracle) -> np.ndarray:
        """Signed distances in units of the margin.

        Parameters
        ----------
        X : {array-like, sparse matrix, FeatureOracle or Table} of shape (n_samples, n_features)
            Of a table, all cells with a nonzero weight are read; `buy` gives estimates from fewer.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    @any_arrays(stays=True)
    def predict(
        self, X: MatrixLike | Table | FeatureOracle, *, confidence: float | None = None, max_cost: float | None = None
    ) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, FeatureOracle or Table} of shape (n_samples, n_features)
        confidence : float, optional
            Read each row only until its class is, with this probability, the class that all its cells would give; with
            1.0 until the class is certain. See `learn_order`.
        max_cost : float, optional
            Limit of the price of the cells.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if confidence is not None or max_cost is not None:
            bought = self.buy(on_host(X), confidence=1.0 if confidence is None else confidence, max_cost=max_cost)
            if bought.undecided:
                warn_caller(
                    f"The budget was used up with {bought.undecided:,} of {len(bought.labels):,} rows not decided: "
                    "they get the class that is most probable by the cells that were read. buy() gives their scores."
                )
            return bought.labels
        codes = self._codes_of(self._scores(X))
        return labels_at(self.classes_, codes)

    def _codes_of(self, scores: Array) -> Array:
        return first_class(scores)

    def _predicted_by(self, X: Stored, seen: Occupied) -> Callable[[Any], np.ndarray]:
        """A function that returns the predicted classes of some training rows; fast for a range of rows."""
        coef, intercept, matrix = self.coef_, self.intercept_, seen.matrix
        in_memory = not on_a_device(self.device)

        def predicted(some: range | slice | np.ndarray) -> np.ndarray:
            if isinstance(some, range) and in_memory:
                scores = [matrix.responses(w, some.start, some.stop, billed=False) for w in map(seen.narrow, coef)]
                return self._codes_of(np.stack(scores, axis=1) + intercept)
            rows = slice(some.start, some.stop) if isinstance(some, range) else some
            return on_host(self._codes_of(linear_scores(X[rows], coef, intercept)))

        return predicted

    # --- parts of calibrate ---------------------------------------------------------------

    def _rows_to_judge(self, given: FittedRows, held_out: bool) -> CheckedRows:
        check_is_fitted(self, "coef_")
        X, labels = checks.validated(self, given.X, given.y, reset=False)
        _, codes = checks.encoded_labels(labels, self.classes_)
        return CheckedRows(X, labels, codes, row_weights(given.sample_weight, X))

    def _left_out(
        self, checked: CheckedRows, scores: np.ndarray | None = None, *, every: bool = False, counted: bool = False
    ) -> list[Judged]:
        X, y, codes, weight = checked
        slack = self.slack is not None or isinstance(getattr(self, "solver_", None), Simba)
        if self.multi_class == "crammer_singer" or slack:
            what = "slack" if slack else "multi_class='crammer_singer'"
            raise ValueError(
                f"There is no leave-one-out of a fit with {what}: give rows that took no part in it, with "
                "held_out=True, or use sklearn.calibration.CalibratedClassifierCV."
            )
        per_class = per_class_weights(self.class_weight, y, self.classes_, weight)
        matrix = as_matrix(X, checked=True)
        judged = []
        for k, label in enumerate(positive_classes(len(self.classes_))):
            problem: Any = self._problem(matrix, codes == label, weight, per_class, label)
            a = self._dual_weights(problem, k)
            w, b, r = self._checked_responses(problem, k)
            judged.append(without_linear_rows(X, problem, w, b, a, f=r + b, every=every, counted=counted))
        return judged

    def _certified_answers(self, rows: FittedRows) -> tuple[np.ndarray, list[tuple[np.ndarray, CertifiedAnswer]]]:
        """The classes of rows; and for each binary problem, its rows and what the certificate proves of them."""
        if self.penalty != "l2" or self.multi_class == "crammer_singer":
            raise ValueError("Rows are proven idle by the strong convexity of penalty='l2', with multi_class='ovr'.")
        X, labels, codes, weight = self._rows_to_judge(rows, False)
        per_class = per_class_weights(self.class_weight, labels, self.classes_, weight)
        matrix, every = as_matrix(X, checked=True), np.arange(len(codes))
        found = []
        for k, label in enumerate(positive_classes(len(self.classes_))):
            problem: Any = self._problem(matrix, codes == label, weight, per_class, label)
            found.append((every, self._certified_answer(problem, X, k)))
        return codes, found

    def _dual_weights(self, problem: Penalized, k: int) -> np.ndarray | None:
        """The coefficient of every row in w; None if they are not known and follow from the squared hinge."""
        if not hasattr(self, "dual_coef_"):
            if problem.loss.curvature:
                return None
            raise ValueError(
                "There is no leave-one-out of the hinge without dual weights, which this solver does not keep: fit "
                "with another one, or give rows that took no part in the fit, with held_out=True."
            )
        dual = self.dual_coef_[k]
        if self.support_.max(initial=-1) >= problem.n or (dual * problem.y[self.support_] < 0).any():
            raise ValueError(
                "Leave-one-out needs the rows of the fit, in the same order, and X and y hold others: give those, or "
                "held_out=True for rows that took no part in it."
            )
        a = np.zeros(problem.n)
        a[self.support_] = np.abs(dual)
        return a

    # --- parts of fit ---------------------------------------------------------------------

    def _can_stay_on_device(self, method: str) -> bool:
        return method != "fit" or all(getattr(self, name) == usual for name, usual in ON_A_DEVICE.items())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class == "crammer_singer":
            crammer_singer.check_parameters(self)
        if self.slack is not None and self.lam is not None:
            raise ValueError("lam and slack both set the trade-off; give one of them.")
        if self.slack is not None and self.loss != "hinge":
            raise ValueError("slack is that of the hinge loss: give loss='hinge' with it.")
        if on_a_device(self.device):
            for name, usual in ON_A_DEVICE.items():
                if (given := getattr(self, name)) != usual:
                    raise ValueError(
                        f"device={self.device!r} is for {name}={usual!r}, not {name}={given!r}: leave one of them out."
                    )

    def _problem(
        self,
        matrix: Matrix | Table | Streamed,
        positive: np.ndarray,
        row_weight: np.ndarray | None,
        per_class: np.ndarray | None,
        k: int,
        solver: Solver | None = None,
    ) -> Penalized | SlackConstrained:
        """The problem of class k against the rest."""
        weight = class_weights(positive, row_weight, per_class, k)
        y = 2 * positive.view(np.int8) - np.int8(1)  # sooner than a choice for each row
        slack = sources.SLACK if self.slack is None and isinstance(solver, Simba) else self.slack
        if slack is not None:
            bias: Bias = "free" if self.fit_intercept else "none"
            return SlackConstrained(matrix, y, slack, weight=weight, bias=bias)
        return self._penalized(PENALTIES[self.penalty], matrix, y, weight, LOSSES[self.loss])

    def _reports(
        self,
        X: Stored | Table | RowStream,
        y: np.ndarray,
        classes: np.ndarray,
        problems: Sequence[LinearProblem | Multiclass],
        solver: Solver | None = None,
        seen: Occupied | None = None,
    ) -> tuple[Report, ...]:
        together = isinstance(X, RowStream) or (solver is not None and solver.joint)
        if len(problems) > 1 and not together:  # a run is one class against the rest: not a model by itself
            return reports_of(self, X, y, [f"class {label}" for label in classes], None)

        def rebuilt(answer: Solution | BatchSolution) -> dict[str, Any]:
            answers = answer.members if isinstance(answer, BatchSolution) else [answer]
            if seen is not None:
                answers = [one._replace(w=seen.wide(one.w)) for one in answers]
            coef, intercept = coefficients(answers, problems)
            return {"classes_": classes, "coef_": coef, "intercept_": intercept}

        return reports_of(self, X, y, [], rebuilt)
