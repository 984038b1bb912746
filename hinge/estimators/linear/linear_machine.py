"""The base class of linear estimators: settings of a run, `partial_fit`, and decision values; and `l1_min_c`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from hinge.access import Data, Matrix, Table
from hinge.access.arrays import doubled, is_tensor, like
from hinge.access.gram.device import tf32
from hinge.access.streams.opening import is_source
from hinge.access.tables.oracle import FeatureOracle, as_oracle
from hinge.constraints import FLAG, Constraints, choice, scale
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.data.sources import scored, scores_of
from hinge.estimators.fitting.parameters import LinearParameters, on_a_device
from hinge.estimators.fitting.reports import Report
from hinge.estimators.fitting.runs import Plan
from hinge.estimators.mixins.html import FittedHTML
from hinge.estimators.mixins.probabilities import features_of
from hinge.estimators.mixins.to_sklearn import ToSklearn
from hinge.kernels import namespace
from hinge.monitoring import Stop
from hinge.monitoring.interrupts import left_of
from hinge.problems import Penalized, Regularized, Solution
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.solvers import Solver, registry
from hinge.solvers.ascent import online_dual
from hinge.types import MatrixLike, Sparse, Stored

if TYPE_CHECKING:  # an optional package, and slow to import
    import torch

P = TypeVar("P", bound=Penalized)

FACTORS = {"squared_hinge": 0.5, "log": 2.0}
"""1/|derivative| of a loss at the margin 0."""

OF_A_FIT = (
    "gap_",
    "objective_",
    "history_",
    "stop_reason_",
    "solver_",
    "dual_coef_",
    "support_",
    "n_distinct_reads_",
    "bytes_read_",
    "cost_",
)


class LinearMachine(FittedHTML, ToSklearn, LinearParameters, BaseEstimator):
    """A linear function of the features, fitted by any solver of linear problems."""

    _constraints: ClassVar[Constraints]
    penalty: Any = "l2"
    multi_class: Any = "ovr"
    loss: Any
    device: str | None = None
    coef_: np.ndarray
    intercept_: np.ndarray
    n_feature_reads_: int
    _mass: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags

    def _can_stay_on_device(self, method: str) -> bool:
        """Whether rows that lie on a device need not come to the host for a method."""
        return method != "fit"

    @any_arrays()
    def sparsify(self) -> "LinearMachine":
        """Store the coefficients as a CSR matrix, which is smaller if most are zero.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    @any_arrays()
    def densify(self) -> "LinearMachine":
        """Store the coefficients as an array, as `fit` does.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coef_")
        self.coef_ = _dense(self.coef_)
        return self

    def _scores(self, X: MatrixLike | Table | FeatureOracle) -> np.ndarray:
        """⟨w, x⟩ + b of every row, a column for each w."""
        check_is_fitted(self, "coef_")
        table = as_oracle(X)
        if table is not None:
            return scores_of(table, self.coef_, self.intercept_)
        if not isinstance(X, np.ndarray) and is_source(X):
            return scored(self, X, self._scores_of)
        return self._scores_of(checks.validated(self, X, reset=False))

    def _scores_of(self, X: Stored) -> np.ndarray:
        """The same for validated rows."""
        return linear_scores(X, self.coef_, self.intercept_)

    def _certified_answer(self, problem: Regularized, X: Stored, k: int) -> CertifiedAnswer:
        """What the certificate proves of the rows of run k; raises if they are not those of the fit."""
        if not hasattr(self, "objective_"):
            raise ValueError("partial_fit gives no certificate: nothing is proven of its rows. Call fit.")
        reported, free = float(np.atleast_1d(self.objective_)[k]), problem.bias == "free"
        w, b, r = self._checked_responses(problem, k, 1e-6)
        gap = float(self.gap_) * max(reported, problem.unit)
        c = np.array(np.broadcast_to(problem.share(), (problem.n,)))
        norms = np.sqrt(features_of(X, problem).sq_norms(np.arange(problem.n)).astype(np.float64)) * (1.0 + 1e-6)
        radius, error = float(np.sqrt(2.0 * gap / problem.lam)), problem.response_error(w, b)
        y = problem.target if problem.loss.two_sided else problem.y.astype(np.float64)
        own = r if free else r + b
        return CertifiedAnswer(y, own, b if free else 0.0, c, norms, radius, error, problem.loss, free)

    def _checked_responses(
        self, problem: Regularized, k: int, tol: float = 1e-3
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """w, b and ⟨w, x⟩ of all rows in run k; raises if their objective is not that of the fit."""
        w, b = np.atleast_2d(_dense(self.coef_))[k].astype(np.float64), float(self.intercept_[k])
        r = problem.responses(w, billed=False)
        # Without an objective the model was learned by `partial_fit`: then nothing is known of its rows.
        here = problem.primal(w, b, r)
        reported = float(np.atleast_1d(self.objective_)[k]) if hasattr(self, "objective_") else here
        if abs(here - reported) > tol * max(reported, problem.unit):
            raise ValueError(
                "X and y are not the rows of the fit, or not with its weights, or they were changed in place since: "
                "their objective is another one. Give the rows of the fit, or held_out=True for others."
            )
        return w, b, r

    # --- parts of fit ---------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter, if one is wrong or two do not go together.

        A model is valid if it is in scikit-learn.
        """
        self._constraints.check(self)
        if self.multi_class == "crammer_singer":  # whose problem has neither a loss nor a penalty to choose
            return
        dual = self.dual if isinstance(self.dual, str) else bool(self.dual)
        fix = None
        if self.penalty == "l1" and self.loss == "hinge":
            fix = "loss='squared_hinge'"
        elif self.penalty == "l1" and dual is True:
            fix = "dual='auto' or dual=False"
        elif self.loss in ("hinge", "epsilon_insensitive") and dual is False:
            fix = "dual='auto' or dual=True"
        if fix is not None:
            raise ValueError(
                f"Unsupported set of arguments: penalty={self.penalty!r}, loss={self.loss!r} and dual={dual!r} do not "
                f"go together, as in scikit-learn; give {fix}."
            )

    def _penalized(self, kind: type[P], matrix: Data, y: ArrayLike, weight: np.ndarray | None, loss: Loss) -> P:
        """The problem with C or λ, whichever is given."""
        bias: Bias = self.intercept if self.fit_intercept else "none"
        if self.lam is not None:
            return kind(matrix, y, self.lam, weight=weight, bias=bias, bias_scale=self.intercept_scaling, loss=loss)
        return kind.from_C(matrix, y, self.C, weight=weight, bias=bias, bias_scale=self.intercept_scaling, loss=loss)

    def _learn(self, pieces: Sequence[Regularized], matrix: Matrix, first: bool) -> None:
        """One pass of `partial_fit` over new rows, for each class; continues from the last call, or from `fit`."""
        C = float(self.C) if self.lam is None else None
        streams, rng = getattr(self, "_streams", None), getattr(self, "_rng", None)
        rng = checks.generator_of(self.random_state) if rng is None else rng
        if streams is None and first:
            streams = [online_dual.begin(matrix.shape[1]) for _ in pieces]
        elif streams is None:  # go on from what `fit` learned
            models = zip(np.atleast_2d(_dense(self.coef_)), self.intercept_, pieces, strict=True)
            streams = [online_dual.resume(w, float(b), piece, C, self._mass) for w, b, piece in models]
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(pieces))
        learned = zip(streams, pieces, seeds, strict=True)
        self._streams = [online_dual.learn(stream, piece, C, int(seed)) for stream, piece, seed in learned]
        self._rng = rng
        self.n_feature_reads_ = (0 if first else self.n_feature_reads_) + matrix.reads
        self.coef_ = np.array([stream.w for stream in self._streams])
        self.intercept_ = np.array([stream.b for stream in self._streams])
        self.n_iter_ = 1
        self._mass = self._streams[0].seen
        for name in OF_A_FIT:  # they describe the answer of the last `fit`, which has changed
            self.__dict__.pop(name, None)

    def _solver(self, threads: int = 1) -> Solver | None:
        """The solver of the parameters, None for "auto"; one that works on parts of the rows gets one per thread."""
        if on_a_device(self.device):
            there: Any = registry.BY_NAME["devicenewton"].load()
            made: Solver = there(tol=float(self.tol), device=str(self.device))
            return made
        if isinstance(self.solver, Solver):
            return self.solver
        if self.solver == "auto":
            return None
        kind = registry.BY_NAME[self.solver].load()
        settings: dict[str, Any] = {"parts": threads} if "parts" in {field.name for field in fields(kind)} else {}
        return kind(**settings)

    def _held_out_rows(
        self, codes: np.ndarray, row_weight: np.ndarray | None, seed: int
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The rows held out for `target_error`, None without it; and weights of rows, which are zero for them."""
        if self.target_error is None:
            return None, row_weight
        aside = checks.held_out(codes, self.validation_fraction, seed)
        row_weight = np.ones(len(codes)) if row_weight is None else row_weight.copy()
        row_weight[aside] = 0.0  # excludes them from the problem without copying X
        if not row_weight.any():
            raise ValueError("All rows of positive weight are held out: give a smaller validation_fraction.")
        return aside, row_weight

    def _plan(
        self,
        solver: Solver | None,
        began: float,
        seed: int,
        reports: tuple[Report, ...],
        aside: np.ndarray | None = None,
        starts: Sequence[Solution | None] = (),
    ) -> Plan:
        stop = Stop(self.tol, None, left_of(self.max_time, began), self.max_reads, self.target_error)
        return Plan(solver, stop, int(self.max_iter), seed, self.on_interrupt, aside, reports, starts)


def linear_scores(X: "Stored | torch.Tensor", coef: np.ndarray | Sparse, intercept: np.ndarray) -> Any:
    """⟨w, x⟩ + b of every row, a column for each w; the w are dense or sparse."""
    coef = coef if sp.issparse(coef) else np.atleast_2d(coef)
    if is_tensor(X):
        return _scores_there(X, _dense(coef), intercept)
    X = cast(Stored, X)
    # The coefficients are converted to the type of X: the other way round would copy X.
    factor = coef.T.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _dense(X @ factor) + intercept
    if not np.isfinite(scores).all():  # overflow in the type of X
        scores = _dense(X.astype(np.float64) @ coef.T) + intercept
    return scores


def _scores_there(X: "torch.Tensor", coef: np.ndarray, intercept: np.ndarray) -> "torch.Tensor":
    """The same where X lies: in its own type, in float64 where that overflows."""
    torch = namespace(X)
    w, b = like(coef.T, X), like(intercept, X)
    with tf32(torch, False):
        scores = (X @ w.to(X.dtype) if X.dtype in (torch.float32, torch.float64) else doubled(X) @ w).double() + b
        return scores if bool(scores.isfinite().all()) else doubled(X) @ w + b


def _dense(a: np.ndarray | Sparse) -> np.ndarray:
    return np.asarray(a) if isinstance(a, np.ndarray) else a.toarray()


def l1_min_c(
    X: MatrixLike,
    y: ArrayLike,
    *,
    loss: Literal["squared_hinge", "log"] = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
) -> float:
    """The largest C for which all weights of a model with ``penalty="l1"`` are zero.

    At w = 0 the loss of every row has the same derivative, so that with :math:`y_i = \\pm1` for one class against the
    rest

    .. math:: C_{\\min} = \\frac{f}{\\max_j\\big|\\sum_i y_i x_{ij}\\big|}, \\qquad
              f = \\tfrac12 \\text{ for the squared hinge},\\quad f = 2 \\text{ for the logistic loss},

    with the maximum also over all classes. It costs one pass over X for each class.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels.
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        The loss of `LinearSVC`, or of scikit-learn's logistic regression.
    fit_intercept : bool, default=True
        Whether the model has a bias: the weight of a constant feature of value `intercept_scaling`.
    intercept_scaling : float, default=1.0

    Returns
    -------
    float

    Examples
    --------
    >>> from hinge import LinearSVC, l1_min_c
    >>> X, y = [[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]], [0, 1, 1]
    >>> C = l1_min_c(X, y, fit_intercept=False)
    >>> model = LinearSVC("l1", C=C, fit_intercept=False, dual=False).fit(X, y)
    >>> bool(model.coef_.any()), bool(model.set_params(C=1.1 * C).fit(X, y).coef_.any())
    (False, True)
    """
    choice(*FACTORS).check("loss", loss)
    FLAG.check("fit_intercept", fit_intercept)
    scale().check("intercept_scaling", intercept_scaling)
    X = check_array(X, accept_sparse=("csr", "csc"))
    check_consistent_length(X, y)
    classes, codes = checks.encoded_labels(column_or_1d(y))
    steepest = 0.0
    for k in range(len(classes) if len(classes) > 2 else 1):
        signs = np.where(codes == k, 1.0, -1.0)
        steepest = max(steepest, float(np.abs(X.T @ signs).max()))
        if fit_intercept:
            steepest = max(steepest, float(abs(signs.sum())) * intercept_scaling)
    if steepest == 0.0:
        raise ValueError("There is no such C: the classes have the same mean, and all weights stay zero for any C.")
    return FACTORS[loss] / steepest
