"""`LinearSVCCV` and `LinearSVRCV`: linear models that choose their own C."""

from typing import Literal

from hinge.estimators import LinearSVC, LinearSVR
from hinge.estimators.fitting.parameters import ClassWeight, RandomState, set_parameters
from hinge.selection.grids import Grid
from hinge.selection.scoring import Scorer
from hinge.selection.searching import Searching
from hinge.selection.tuning import CV
from hinge.solvers import Solver


class LinearSVCCV(Searching, LinearSVC):  # type: ignore[override]
    """`LinearSVC` with the C that has the best cross-validation score.

    Folds are weights of zero in the same data, each fit along C starts from the last one, and ends at a gap that is
    small enough for its score: see `hinge.tune`. The chosen model is fitted to all rows, to `tol`.

    Parameters
    ----------
    penalty, loss, dual, tol, multi_class, solver, fit_intercept, intercept, intercept_scaling, max_iter, \
class_weight, random_state, on_interrupt
        Those of `LinearSVC`.
    Cs : int or sequence of float, default=10
        The values of C to try, or their number: then they range from the smallest C at which anything is learned to one
        at which C no longer bounds any dual weight.
    cv : int, splitter, iterable or "loo", default=5
        Number of folds, stratified by class; a splitter of scikit-learn; pairs of row indices; or leave-one-out, from
        one fit for each C.
    scoring : str or callable, optional
        The score to choose by; by default the accuracy.
    refit : bool, default=True
        Whether to fit the chosen model to all rows. Without it there are no predictions.
    max_time : float, optional
        Time limit of the whole fit in seconds; the best candidate so far is then chosen.
    n_jobs : int, optional
        Threads, over which folds are spread.
    verbose : int, default=0
        Write a line for each fold to standard error.

    Attributes
    ----------
    C_ : float
        The chosen C; of several with the best mean score, the smallest.
    Cs_ : ndarray of shape (n_Cs,)
        The values tried.
    scores_ : ndarray of shape (n_Cs, n_folds)
        The score of each fold, or of all rows with "loo"; nan if the candidate was given up (see `hinge.tune`) or time
        was up.
    mean_scores_ : ndarray of shape (n_Cs,)
        Mean scores; nan if one is missing.
    best_score_ : float
        The mean score of the chosen C.
    error_, error_std_ : float
        The error rate to expect on new rows, by leave-one-out at the chosen C, which takes no further fit; and its
        standard error. It is slightly optimistic, since C was chosen by the same rows.
    best_estimator_ : LinearSVC
        The chosen model, whose fitted attributes are copied here; model files store it.

    Examples
    --------
    >>> from hinge import LinearSVCCV
    >>> from hinge.datasets import load
    >>> adult = load("adult")
    >>> model = LinearSVCCV(Cs=[0.001, 0.1, 10.0], loss="hinge").fit(adult.X_train, adult.y_train)
    >>> model.scores_.shape, model.gap_ <= 1e-4
    ((3, 5), True)
    >>> abs(model.error_ - (1 - model.score(adult.X_test, adult.y_test))) < 2 * model.error_std_ + 0.01
    True
    """

    lam = None
    slack = None
    max_reads = None
    max_memory = None
    checkpoint = None
    target_error = None
    validation_fraction = 0.1
    warm_start = False
    device = None
    _plain_class = LinearSVC

    def __init__(
        self,
        penalty: Literal["l2", "l1"] = "l2",
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        Cs: Grid = 10,
        cv: CV = 5,
        scoring: str | Scorer | None = None,
        refit: bool = True,
        dual: bool | Literal["auto"] = "auto",
        tol: float = 1e-4,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        solver: str | Solver = "auto",
        fit_intercept: bool = True,
        intercept: Literal["penalized", "free"] = "penalized",
        intercept_scaling: float = 1.0,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        set_parameters(self, locals())


class LinearSVRCV(Searching, LinearSVR):  # type: ignore[override]
    """`LinearSVR` with the C that has the best cross-validation score: see `LinearSVCCV`.

    Parameters
    ----------
    epsilon, tol, loss, fit_intercept, intercept, intercept_scaling, dual, solver, max_iter, random_state, on_interrupt
        Those of `LinearSVR`.
    Cs, cv, refit, max_time, n_jobs, verbose
        Those of `LinearSVCCV`; folds are not shuffled.
    scoring : str or callable, optional
        The score to choose by; by default R².

    Attributes
    ----------
    C_, Cs_, scores_, mean_scores_, best_score_, best_estimator_
        Those of `LinearSVCCV`.
    error_, error_std_ : float
        The mean absolute error to expect on rows like the training rows, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import LinearSVRCV
    >>> X = np.linspace(-1, 1, 60).reshape(20, 3)
    >>> model = LinearSVRCV(Cs=[1e-4, 1.0, 100.0], cv=2).fit(X, X.sum(axis=1))
    >>> model.C_ > 1e-4
    True
    """

    lam = None
    max_reads = None
    max_memory = None
    checkpoint = None
    target_error = None
    validation_fraction = 0.1
    warm_start = False
    _plain_class = LinearSVR

    def __init__(
        self,
        *,
        Cs: Grid = 10,
        cv: CV = 5,
        scoring: str | Scorer | None = None,
        refit: bool = True,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept: Literal["penalized", "free"] = "penalized",
        intercept_scaling: float = 1.0,
        dual: bool | Literal["auto"] = "auto",
        solver: str | Solver = "auto",
        max_iter: int = 1000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        set_parameters(self, locals())
