"""`LinearSVR`: linear support vector regression for scikit-learn pipelines."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hinge.access import Matrix, Table, as_matrix
from hinge.access.occupied import occupied
from hinge.access.streams.base import RowStream, Streamed
from hinge.calibration.left_out import left_out_targets
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.estimators.data import sources
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import ScoreOfArrays, any_arrays
from hinge.estimators.fitting.attributes import keep_results, starts, widened
from hinge.estimators.fitting.decorators import CallbackSupportMixin, atomic, atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import LinearSVRParameters, Source
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.fitting.runs import run_all
from hinge.estimators.fitting.tasks import row_weights
from hinge.estimators.linear.linear_machine import LinearMachine
from hinge.estimators.mixins.conformal import PredictionIntervals
from hinge.estimators.mixins.fitted_rows import FittedRows, ScoredRows
from hinge.estimators.mixins.probabilities import features_of
from hinge.monitoring.interrupts import now
from hinge.problems import Regularized, Solution
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.losses import epsilon_insensitive, squared_epsilon_insensitive
from hinge.threads import threads_of
from hinge.types import MatrixLike

LOSSES = {"epsilon_insensitive": epsilon_insensitive, "squared_epsilon_insensitive": squared_epsilon_insensitive}


class LinearSVR(
    ScoreOfArrays, CallbackSupportMixin, LinearSVRParameters, RegressorMixin, LinearMachine, PredictionIntervals
):
    """Linear support vector regression that stops when its answer is provably accurate enough.

    Minimises the objective of scikit-learn's ``LinearSVR``,

    .. math:: \\frac12\\|w\\|^2 + C\\sum_i s_i \\max(0,\\, |t_i - \\langle w, x_i\\rangle - b| - \\varepsilon),

    or with the squares of these losses, and reports an upper bound on the suboptimality. Dense float32 and float64
    arrays, CSR with any index type, memory maps and read-only arrays are used without a copy.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to this have no loss, in units of the targets.
    tol : float, default=1e-4
        Stop when the certified relative duality gap, (P - D)/D, is at most this.
    C : float, default=1.0
        Weight of the losses.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
        Whether to learn a bias.
    intercept_scaling : float, default=1.0
    dual : "auto" or bool, default="auto"
        Accepted for compatibility with scikit-learn, and not used: every solver here works on the primal and the dual.
    verbose : bool or int, default=0
        Write a line to standard error each time the answer is evaluated.
    random_state : int, RandomState or None
        None is 0: the same fit gives the same model.
    max_iter : int, default=1000
        Limit of the passes over the data.
    lam : float, optional
        λ of ½λ‖w‖² + mean loss. Replaces `C`.
    solver : str or Solver, default="auto"
        "auto", "sdca" or "newton", or a solver object.
    intercept : {"penalized", "free"}, default="penalized"
        A penalised bias is the weight of a constant feature of value `intercept_scaling`, as in
        scikit-learn. A free one is not penalised.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_reads : int, optional
        Limit of the cells of X read, certificates included.
    target_error : float, optional
        Stop when the mean absolute error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`.
    warm_start : bool, default=False
        Start from the last fit's answer.
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

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    gap_ : float
        The certified relative gap, infinite if none was computed: (P - D)/max(D, 1e-9 T), where T is the mean loss of
        w = 0 with ε = 0, since the optimum may be zero.
    objective_ : float
        λ/2‖w‖² + mean loss at the answer.
    n_iter_ : int
        Passes over the data, rounded up. Newton steps for Newton.
    n_feature_reads_ : int
        Cells of X read by solver and certificates: nonzeros of sparse data.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
        The solver that ran.
    history_ : list of Record
        One record each time the answer was evaluated.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the rows: ``dual_coef_ @ X[support_]`` is `coef_` up to an error of norm √(2 gap D/λ).
    support_ : ndarray of shape (n_support,)
        Rows with a nonzero coefficient: their residual is ε or more.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import LinearSVR
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = LinearSVR(C=100.0).fit(X, 3 * X[:, 0] + 1)
    >>> model.gap_ <= 1e-4
    True
    >>> float(model.coef_[0].round(2))
    3.0
    """

    @any_arrays(stays=True)
    @atomic_fit
    @with_callbacks
    def fit(
        self, X: MatrixLike | Source, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> "LinearSVR":
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Or rows on disk, as for `LinearSVC`.
        y : array-like of shape (n_samples,), or str
            Targets; for rows on disk also the name of a column.
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
        X, y = checks.validated(self, X, y)
        y = checks.checked_targets(y)
        row_weight = row_weights(sample_weight, X)
        seed = checks.seed_of(self.random_state)
        aside, row_weight = self._held_out_rows(np.zeros(len(y), np.int8), row_weight, seed)
        seen = occupied(as_matrix(X, checked=True))
        problem = self._problem(seen.matrix, y, row_weight)
        last = getattr(self, "_answers", None) if self.warm_start else None
        reports = reports_of(self, X, y, [], lambda answer: _rebuilt(answer._replace(w=seen.wide(answer.w))))
        threads = threads_of(None)
        plan = self._plan(self._solver(threads), began, seed, reports, aside, starts(last, seen))
        results = widened(run_all([problem], plan, threads), seen)
        sources.set_counts(self, [problem])
        keep_results(self, results, [problem])
        self.coef_ = self.coef_.ravel()
        sources.set_names(self, names)
        self._remember_rows(*given)
        return self

    def _fit_stream(
        self, stream: RowStream, y: ArrayLike, sample_weight: ArrayLike | None, began: float
    ) -> "LinearSVR":
        """Fit the model to rows that are read block by block."""
        y = checks.checked_targets(sources.labelled(self, stream, y))
        row_weight = row_weights(sample_weight, stream)
        room = sources.room_for(
            self, stream, 2, row_weight is not None
        )  # 2: targets take as much memory as dual weights
        problems = [self._problem(room.data, y, row_weight)]
        reports = reports_of(self, stream, y, [], _rebuilt)
        sources.fit_stream(self, problems, room, self._plan(None, began, checks.seed_of(self.random_state), reports))
        self.coef_ = self.coef_.ravel()
        self._forget_rows()
        return self

    @any_arrays()
    @atomic
    def partial_fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "LinearSVR":
        """Learn from rows that arrive in pieces, each row once.

        Each row is one exact dual coordinate step of the problem of all rows seen so far; rows are not kept. With `lam`
        the step of row t is about 1/(λt), as in Pegasos; with `C`, and a loss that is not squared, the dual weight is
        bounded by C.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        self._check_parameters()
        first = not hasattr(self, "coef_")
        X, y = checks.validated(self, X, y, reset=first)
        y = checks.checked_targets(y)
        matrix = as_matrix(X, checked=True)
        self._learn([self._problem(matrix, y, row_weights(sample_weight, X))], matrix, first)
        self.coef_ = self.coef_.ravel()
        self._forget_rows()
        return self

    @any_arrays(stays=True)
    def predict(self, X: MatrixLike) -> np.ndarray:
        """The predicted target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X).ravel()

    def _left_out_scores(self, rows: FittedRows, *, every: bool = False) -> ScoredRows:
        check_is_fitted(self, "coef_")
        X, y = checks.validated(self, rows.X, rows.y, reset=False)
        t, weight = checks.checked_targets(y), row_weights(rows.sample_weight, X)
        problem = self._problem(as_matrix(X, checked=True), t, weight)
        (_, b, r), loss = self._checked_responses(problem, 0), problem.loss
        f = r + b
        bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
        if hasattr(self, "dual_coef_"):  # if targets are nearly reached, residuals say less about coefficients
            if self.support_.max(initial=-1) >= problem.n:
                raise ValueError("Leave-one-out needs the rows of the fit, in the same order, and X holds others.")
            beta = np.zeros(problem.n)
            beta[self.support_] = self.dual_coef_[0]
        elif loss.curvature:
            beta = loss.slope(t - f) * bound
        else:
            raise ValueError(
                "Leave-one-out needs dual weights, which this solver does not keep: fit with solver='auto', or use "
                "rows that took no part in the fit, by conformalize(X, y, held_out=True)."
            )
        spans = partial(linear_spans, features_of(X, problem), kept=Squares() if every else None, counted=True)
        return left_out_targets(f, t, beta, bound, loss.epsilon, loss.curvature, spans)[:, None], t, weight

    def _certified_answers(self, rows: FittedRows) -> tuple[np.ndarray, list[tuple[np.ndarray, CertifiedAnswer]]]:
        """The targets; and all rows, with what the certificate proves of them."""
        X, y = checks.validated(self, rows.X, rows.y, reset=False)
        t, weight = checks.checked_targets(y), row_weights(rows.sample_weight, X)
        problem = self._problem(as_matrix(X, checked=True), t, weight)
        return t, [(np.arange(len(t)), self._certified_answer(problem, X, 0))]

    # --- parts of fit ---------------------------------------------------------------------

    def _problem(self, matrix: Matrix | Table | Streamed, y: np.ndarray, row_weight: np.ndarray | None) -> Regularized:
        return self._penalized(Regularized, matrix, y, row_weight, LOSSES[self.loss](float(self.epsilon)))


def _rebuilt(answer: Solution) -> dict[str, Any]:
    """The fitted attributes for predictions by an answer."""
    return {"coef_": answer.w, "intercept_": np.array([answer.b])}
