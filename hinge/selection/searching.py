"""Estimators that choose their own C, and γ, by `hinge.tune`: `LinearSVCCV`, `LinearSVRCV`, `SVCCV` and `SVRCV`."""

from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hinge.constraints import FLAG, declares, parameter
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.fitting.decorators import atomic
from hinge.estimators.fitting.parameters import JOBS, Gamma
from hinge.selection.scoring import Grid, Scorer
from hinge.selection.tuning import CV, SearchTable, tune
from hinge.types import Items

OF_THE_SEARCH = ("max_time", "n_jobs", "verbose")
"""Parameters that here belong to the search, not to the fits of the plain estimator."""


class Searching:
    """An estimator that is fitted by `hinge.tune`, and predicts like the plain estimator that was chosen."""

    Cs: Grid = parameter(10)
    cv: CV = parameter(5)
    scoring: str | Scorer | None = parameter(None)
    refit: bool = parameter(True, FLAG)
    n_jobs: int | None = parameter(None, JOBS)
    verbose: int = parameter(0)

    # Parameters of the plain estimators that a search does not have.
    lam = slack = max_reads = max_memory = max_kernel_evals = n_components = cast(Any, None)
    checkpoint = cache_folder = target_error = cast(Any, None)
    validation_fraction, warm_start = 0.1, False

    _plain_class: ClassVar[Any]
    """The plain estimator class whose C is chosen."""

    @property
    def C(self) -> float:
        """The chosen C, under its name in the plain estimator; 1 before fit."""
        return getattr(self, "C_", 1.0)

    @property
    def results_(self) -> SearchTable:
        """The candidates and their scores, a line each: it prints, has ``to_pandas()``, and takes ``[:3]``."""
        check_is_fitted(self, "scores_")
        scores = self.scores_ if self.scores_.ndim == 3 else self.scores_[:, None]
        gammas = list(getattr(self, "gammas_", ())) or [None]
        return SearchTable.of_scores(self.Cs_, gammas, scores, self.C_, getattr(self, "gamma_", None))

    @property
    def partial_fit(self) -> Any:
        """Not available, since choosing C needs all rows."""
        own, plain = type(self).__name__, self._plain_class.__name__
        raise AttributeError(f"{own} chooses C by all rows, and has no partial_fit: use {plain}(C=...) for that.")

    @any_arrays(stays=True)
    @atomic
    def fit(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Choose C, and γ if the kernel has one, and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernels, also a sequence of items that the kernel takes, or kernel values of shape (n_samples,
            n_samples) if the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Labels, or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in fits and in scores.
        groups : array-like of shape (n_samples,), optional
            For splitters that need groups.

        Returns
        -------
        self
        """
        FLAG.check("refit", self.refit)
        own = self.get_params(deep=False)  # type: ignore[attr-defined]
        names = set(self._plain_class._get_param_names())
        plain = self._plain_class(**{k: v for k, v in own.items() if k in names and k not in OF_THE_SEARCH})
        asked = {
            name: own[name]
            for name in ("Cs", "gammas", "cv", "scoring", "refit", "certify", *OF_THE_SEARCH)
            if name in own
        }
        found = tune(plain, X, y, sample_weight=sample_weight, groups=groups, **asked)
        earlier = {name for name in vars(self) if name.endswith("_")} | set(
            vars(getattr(self, "best_estimator_", plain))
        )
        for name in earlier - set(own):
            self.__dict__.pop(name, None)
        scores = found.scores if "gammas" in own else found.scores[:, 0]
        self.C_, self.Cs_, self.scores_ = found.C, found.Cs, scores
        if "gammas" in own:
            self.gamma_, self.gammas_ = found.gamma, np.array([g for g in found.gammas if g is not None])
        self.mean_scores_, self.best_score_ = scores.mean(axis=-1), found.best_score
        self.error_, self.error_std_ = found.error, found.error_std
        if found.error_bounds is not None:
            self.error_bounds_ = found.error_bounds if "gammas" in own else found.error_bounds[0]
            self.choice_gap_ = max(one.gap for one in found.error_bounds)
        if found.model is not None:
            self.best_estimator_ = found.model
            told = {k: v for k, v in vars(found.model).items() if k not in names and "callback" not in k}
            self.__dict__.update(told)
        return self


@declares
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
    certify : float, optional
        Prove that no C between the smallest and the largest of `Cs` has a cross-validation error more than this below
        that of the chosen one, in about ten times the time of the search; else a warning says what was proven.
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
    choice_gap_ : float
        With `certify`, what was proven: the largest amount by which the error of any C may be below that of `C_`. The
        errors are of exact machines, on the rows that are held out.
    error_bounds_ : ErrorBounds
        With `certify`, bounds on the error between all C: see `hinge.display.ChoiceDisplay`.
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

    certify: float | None = parameter(None)
    device = cast(Any, None)
    _plain_class = LinearSVC


@declares
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

    _plain_class = LinearSVR


@declares
class SVCCV(Searching, SVC):  # type: ignore[override]
    """`SVC` with the C and the γ that have the best cross-validation score.

    For each γ all kernel values are computed once, for all C and all folds, if they fit into 400 MB or `cache_size`
    (10,000 rows). Each fit along C starts from the last one, and ends at a certified gap that is small enough for its
    score: see `hinge.tune`. On a GPU all C and all folds of a γ are solved jointly. The chosen model is fitted to all
    rows, to `tol`.

    Parameters
    ----------
    kernel, degree, coef0, shrinking, probability, solver, fit_intercept, tol, max_iter, cache_size, class_weight, \
multiclass, decision_function_shape, break_ties, device, precision, random_state, on_interrupt
        Those of `SVC`.
    Cs : int or sequence of float, default=10
        The values of C to try, or their number: then they range from the smallest C at which anything is learned to one
        at which C no longer bounds any dual weight.
    gammas : int, sequence of float, "scale" or "auto", default=5
        The values of γ to try, or their number: then they range from 1/16 to 16 times "scale". Not used by kernels
        without γ.
    cv : int, splitter, iterable or "loo", default=5
        Number of folds, stratified by class; a splitter of scikit-learn; pairs of row indices; or leave-one-out, from
        one fit for each C and γ.
    scoring : str or callable, optional
        The score to choose by; by default the accuracy.
    refit : bool, default=True
        Whether to fit the chosen model to all rows. Without it there are no predictions.
    certify : float, optional
        Prove that no C between the smallest and the largest of `Cs`, with any of `gammas`, has a cross-validation error
        more than this below that of the chosen one, in about ten times the time of the search; else a warning says what
        was proven. It needs two classes or ``multiclass="ovr"``, and as few rows as the fastest method takes (1,024).
    max_time : float, optional
        Time limit of the whole fit in seconds; the best candidate so far is then chosen.
    n_jobs : int, optional
        Threads, over which folds are spread.
    verbose : int, default=0
        Write a line for each γ and fold to standard error.

    Attributes
    ----------
    C_, gamma_ : float
        The chosen values; of several with the best mean score, the smallest C, and of these the smallest γ. `gamma_` is
        None if the kernel has none.
    Cs_, gammas_ : ndarray
        The values tried; `gammas_` is empty if the kernel has no γ.
    scores_ : ndarray of shape (n_Cs, n_gammas, n_folds)
        The score of each fold, or of all rows with "loo"; nan if the candidate was given up (see `hinge.tune`) or time
        was up.
    mean_scores_ : ndarray of shape (n_Cs, n_gammas)
        Mean scores; nan if one is missing.
    best_score_ : float
        The mean score of the chosen values.
    error_, error_std_ : float
        The error rate to expect on new rows, by leave-one-out at the chosen C and γ, which takes no further fit; and
        its standard error. It is slightly optimistic, since C and γ were chosen by the same rows.
    choice_gap_ : float
        With `certify`, what was proven: the largest amount by which the error of any C may be below that of `C_`. The
        errors are of exact machines, on the rows that are held out.
    error_bounds_ : ErrorBounds, a list with one for each γ
        With `certify`, bounds on the error between all C: see `hinge.display.ChoiceDisplay`.
    best_estimator_ : SVC
        The chosen model, whose fitted attributes are copied here; model files store it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.scores_.shape, bool(model.best_score_ > 0.9)
    ((3, 2, 5), True)
    """

    gammas: Grid | Gamma = parameter(5)
    certify: float | None = parameter(None)
    gamma: Gamma = "scale"
    _plain_class = SVC


@declares
class SVRCV(Searching, SVR):  # type: ignore[override]
    """`SVR` with the C and the γ that do best on rows held out: see `SVCCV`, whose parameters it shares.

    Parameters
    ----------
    kernel, degree, coef0, tol, epsilon, shrinking, cache_size, max_iter, solver, fit_intercept, device, precision, \
random_state, on_interrupt
        Those of `SVR`.
    Cs, gammas, cv, refit, max_time, n_jobs, verbose
        Those of `SVCCV`; folds are not shuffled.
    scoring : str or callable, optional
        What to choose by; R².

    Attributes
    ----------
    C_, gamma_, Cs_, gammas_, scores_, mean_scores_, best_score_, best_estimator_
        Those of `SVCCV`.
    error_, error_std_ : float
        The mean absolute error to expect on rows like the training rows, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVRCV
    >>> X = np.random.default_rng(0).uniform(-3, 3, (80, 1))
    >>> model = SVRCV(Cs=[0.01, 1.0, 100.0], gammas=3).fit(X, np.sin(2 * X[:, 0]))
    >>> bool(model.best_score_ > 0.9), model.C_ > 0.01
    (True, True)
    """

    gammas: Grid | Gamma = parameter(5)
    gamma: Gamma = "scale"
    _plain_class = SVR
