"""`SVCCV` and `SVRCV`: kernel models that choose their own C and γ."""

from typing import Literal

from hinge.estimators import SVC, SVR
from hinge.estimators.fitting.parameters import ClassWeight, Gamma, KernelChoice, RandomState, set_parameters
from hinge.selection.grids import Grid
from hinge.selection.scoring import Scorer
from hinge.selection.searching import Searching
from hinge.selection.tuning import CV
from hinge.solvers import Solver


class SVCCV(Searching, SVC):  # type: ignore[override]
    """`SVC` with the C and the γ that have the best cross-validation score.

    For each γ all kernel values are computed once, for all C and all folds, if they fit into 400 MB or `cache_size`
    (10,000 rows). Each fit along C starts from the last one, and ends at a certified gap that is small enough for its
    score: see `hinge.tune`. The chosen model is fitted to all rows, to `tol`.

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

    slack = None
    max_kernel_evals = None
    target_error = None
    validation_fraction = 0.1
    cache_folder = None
    warm_start = False
    _plain_class = SVC

    def __init__(
        self,
        *,
        Cs: Grid = 10,
        gammas: Grid | Gamma = 5,
        cv: CV = 5,
        scoring: str | Scorer | None = None,
        refit: bool = True,
        kernel: KernelChoice = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | Literal["deprecated"] = False,
        solver: str | Solver = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = -1,
        cache_size: float = 200,
        class_weight: ClassWeight = None,
        multiclass: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        break_ties: bool = False,
        device: str | None = None,
        precision: Literal["float32", "tf32", "bf16"] = "float32",
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        set_parameters(self, locals())


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

    max_kernel_evals = None
    target_error = None
    validation_fraction = 0.1
    cache_folder = None
    warm_start = False
    _plain_class = SVR

    def __init__(
        self,
        *,
        Cs: Grid = 10,
        gammas: Grid | Gamma = 5,
        cv: CV = 5,
        scoring: str | Scorer | None = None,
        refit: bool = True,
        kernel: KernelChoice = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        max_iter: int = -1,
        solver: str | Solver = "auto",
        fit_intercept: bool = True,
        device: str | None = None,
        precision: Literal["float32", "tf32", "bf16"] = "float32",
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        set_parameters(self, locals())
