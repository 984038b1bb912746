"""`SVC` and `NuSVC`: kernel support vector machines for scikit-learn pipelines."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from hinge.access import Gram, Points
from hinge.estimators.data.any_arrays import ScoreOfArrays
from hinge.estimators.fitting.decorators import CallbackSupportMixin
from hinge.estimators.fitting.parameters import NuSVCParameters, SVCParameters
from hinge.estimators.fitting.tasks import PackedTasks, Task, class_pairs
from hinge.estimators.kernel.kernel_classifier import KernelClassifier
from hinge.estimators.kernel.kernel_machine import HARD, NuMachine
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.problems import KernelNuClassification
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.kernel_batch import NuClassificationBatch
from hinge.problems.svm.nu_forms import check_feasible


class SVC(ScoreOfArrays, CallbackSupportMixin, SVCParameters, KernelClassifier, ClassifierMixin, BaseEstimator):
    """Kernel support vector classifier that stops when its answer is provably accurate enough.

    It has the objective, the parameters and the attributes of ``sklearn.svm.SVC``,

    .. math:: \\frac12\\|w\\|^2 + C\\sum_i s_i \\max(0,\\, 1 - y_i(\\langle w, \\phi(x_i)\\rangle + b)),

    but it is solved in blocks of kernel rows, to a certified duality gap, and kernel values are counted.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; λ = 1/(C Σ s) in the papers' terms. From 1e10 to infinity it means that no loss is
        allowed: the smallest of 1e4, 1e6 and 1e8 that no coefficient reaches gives the same answer, and is used in its
        place. If the kernel cannot separate the classes, infinity is replaced by 1e10.
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian" or "precomputed"; or a function. If X is a matrix of numbers, a
        function is called with two arrays of rows and returns a block of values; if X is any other sequence (of
        strings, graphs, ...) it is called with two items and returns one value, or, if that fails, with two lists of
        items. ``hinge.kernels.Function(f, on=...)`` states which. With few rows a function of blocks is called once,
        for all values; as ``Function(f, on="blocks")`` only for those that are needed.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float, "scale" or "auto", default="scale"
        γ of the named kernels: a number, "scale" for 1/(features · variance of X), or "auto" for 1/features.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn, and not used: solvers shrink the problem by their own rules.
    probability : bool, default=False
        Whether to calibrate probabilities for `predict_proba` in `fit`, as `calibrate` does.
    slack : float in [0, 1], optional
        ν of the papers: the mean slack allowed at unit norm. Replaces `C`; decision values are in units of the margin
        here, too. By default C is found by root-finding, with a certificate; ``solver="sbp"`` is the papers' own
        method.
    solver : str or Solver, default="auto"
        "auto", the name of a kernel solver ("blockdual", "sbp", ...), or a solver object, whose settings are grid
        parameters such as ``solver__block``.
    n_components : int or "auto", optional
        Solve in the span of this many landmarks, rows drawn at random, as with scikit-learn's `Nystroem`; "auto"
        doubles their number until `tol` is reached, or a limit or the memory ends it. `gap_` belongs to the exact
        kernel all the same: it costs one kernel value for each pair of rows within the margin. The model then consists
        of landmarks alone, in `support_` and `dual_coef_`, so that a prediction costs that many kernel values. By
        default None, the exact answer.
    fit_intercept : bool, default=True
    tol : float, default=1e-3
        Stop when the certified relative duality gap, (P - D)/D, is at most this. Below 1e-5 kernel values
        are computed in float64.
    max_iter : int, default=-1
        Limit of the solver's iterations, for each binary problem; -1 for none. An iteration of the default solver is a
        block of points, of "smo" a pair of points as in scikit-learn.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_kernel_evals : int, optional
        Limit of the kernel values computed; never exceeded.
    target_error : float, optional
        Stop when the error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`, stratified.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    max_memory : float, optional
        Limit of the process's memory in bytes, without memory-mapped files: `cache_size` is reduced if it
        does not fit, and rows on disk that would not fit raise an error.
    cache_folder : path-like, optional
        A folder in which kernel values are kept for later fits on the same data.
    class_weight : dict or "balanced", optional
        Weights of classes, multiplied with the sample weights.
    multiclass : {"ovo", "ovr"}, default="ovo"
        For more than two classes: all class pairs, or each class against the rest. With "ovr" all problems share the
        kernel rows that are computed.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values are one for each class, or one for each pair of classes.
    break_ties : bool, default=False
        Whether ties between classes with equal votes are broken by decision values, rather than by order.
    device : {"cpu", "cuda"}, optional
        Where kernel values are computed; by default where X lies, which may be an array on a GPU.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Precision of products on a GPU.
    n_jobs : int, optional
        Threads that compute kernel rows; one, unless joblib's `parallel_config` allows more.
    warm_start : bool, default=False
        Start from the last fit's answer, if the number of rows is the same.
    random_state : int, RandomState or None
        Seed of the solver. None is a fixed seed: the same call gives bitwise the same result.
    verbose : bool or int, default=False
        Write a line to standard error each time the answer is evaluated.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the best model so far; a second one raises. A model that
        was kept has no probabilities before `calibrate`.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_, \
class_weight_
        As in scikit-learn, in LIBSVM's order and layout. Support vectors and coefficients are sparse if X is; support
        vectors of sequences are a list. With ``multiclass="ovr"``, `dual_coef_` has shape (n_classes, n_SV) and
        `intercept_` (n_classes,).
    probA_, probB_ : ndarray of shape (n_runs,)
        Of calibrated models: the positive class of a binary problem has the probability 1/(1 + exp(A f + B)) at the
        decision value f.
    kernel_ : hinge.kernels.Kernel
    gap_ : float
        The certified relative gap; the largest of all binary problems. Infinite if none is known. If `C` is 1e10 or
        more, it belongs to the problem with the C used in its place.
    objective_, lam_, slack_ : float or ndarray of shape (n_runs,)
        Of each binary problem: λ/2‖w‖² + mean hinge loss, or the margin if `slack` is given; λ, nan if `slack` is
        given; and ν of the answer, the mean hinge loss divided by ‖w‖.
    n_kernel_evals_, n_kernel_asked_ : int
        Kernel values computed, and requested (including those found in the cache).
    n_iter_ : ndarray of shape (n_runs,)
        Iterations of the solver.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
    history_ : list of Record, or list of such lists
        One record each time the answer was evaluated; a list for each binary problem if there are several.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from hinge import SVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> model = SVC(C=10.0, gamma=2.0).fit(X, y)
    >>> model.predict([[0.1, 0.9]])
    array([1])
    >>> model.gap_ <= 1e-3
    True
    """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.decision_function_shape == "ovo" and self.multiclass == "ovr":
            raise ValueError("decision_function_shape='ovo' needs multiclass='ovo': 'ovr' learns no pairs.")

    def _costs(self) -> tuple[float, ...]:
        """The values of C to try; the first that no coefficient reaches is used, else the last.

        If no coefficient reaches C, the optimum is the same for all larger C, and has no loss. A larger C than needed
        only magnifies rounding errors of the losses, until nothing can be certified.
        """
        (C,) = super()._costs()
        if C < HARD or self.slack is not None or self.max_kernel_evals is not None:
            return (C,)
        return 1e4, 1e6, 1e8, C

    def _certified_answers(self, rows: FittedRows) -> tuple[np.ndarray, list[tuple[np.ndarray, CertifiedAnswer]]]:
        """The classes of rows; and for each binary problem, its rows and what the certificate proves of them."""
        checked = self._rows_to_judge(rows, False)
        solved = self._solved_tasks(checked, self._scores_of(checked.X, exact=True))
        return checked.codes, [self._certified_answer(checked.X, k, *one) for k, one in enumerate(solved)]


class NuSVC(
    ScoreOfArrays, CallbackSupportMixin, NuSVCParameters, NuMachine, KernelClassifier, ClassifierMixin, BaseEstimator
):
    """Kernel support vector classifier with the fraction ν of points that may lie within the margin, certified.

    It has the objective, the parameters and the attributes of ``sklearn.svm.NuSVC``,

    .. math:: \\min_{w, b, \\rho}\\ \\frac12\\|w\\|^2 - \\nu S\\rho
              + \\sum_i s_i\\max(0,\\, \\rho - y_i(\\langle w, \\phi(x_i)\\rangle + b)), \\qquad S = \\sum_i s_i,

    after which w and b are divided by ρ, so that the margin is at ±1; `SVC` with C = 1/ρ gives the same result. It is
    solved in blocks of kernel rows on a growing subset, to a certified duality gap.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of points within the margin, and a lower bound on the fraction of support
        vectors. For every pair of classes it can be at most twice the fraction of the lighter one.
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        As for `SVC`: "linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed", or a function.
    degree, gamma, coef0
        Parameters of the named kernels, as in scikit-learn: gamma is "scale", "auto" or a number.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn, and not used: the solver works on a growing subset.
    probability : bool, default=False
        Whether to calibrate probabilities for `predict_proba` in `fit`, as `calibrate` does.
    tol : float, default=1e-3
        Stop when the certified relative duality gap, (P - D)/\\|P\\|, is at most this; then
        :math:`\\|w - w^*\\|^2 \\le \\tfrac12` tol :math:`\\|w\\|^2` for the optimal w*, before division by ρ.
        Below 1e-5, for few points and for kernels other than "rbf", kernel values are computed in float64.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    class_weight : dict or "balanced", optional
        Stored as `class_weight_` and otherwise ignored, as in scikit-learn: there is no C that it could multiply. Use
        `sample_weight` instead.
    verbose : bool or int, default=False
        Write a line to standard error each time the answer is evaluated.
    max_iter : int, default=-1
        Limit of the solver's iterations, a block of points each, for each class pair; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decision values are one for each class, or one for each pair of classes. Pairs are solved in any case.
    break_ties : bool, default=False
        Whether ties between classes with equal votes are broken by decision values, rather than by order.
    random_state : int, RandomState or None
        Seed of the first subset. None is a fixed seed: the same call gives bitwise the same result.
    solver : str or Solver, default="auto"
        "auto", which is "levelblocks" (with few points all pairs are solved in one compiled call); or a solver object,
        whose settings are grid parameters such as ``solver__block``.
    n_components : int or "auto", optional
        As for `SVC`: solve in the span of this many landmarks, or of as many as `tol` takes, and certify the answer
        against the exact kernel. Regularised problems in their span are solved for a sequence of λ until the dual
        weights have the sum that ν asks for. The smaller ν is, the more landmarks it takes; with too few there is no
        margin, the gap is infinite, and a warning says so. By default None, the exact answer.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_kernel_evals : int, optional
        Limit of the kernel values computed; never exceeded.
    target_error : float, optional
        Stop when the error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`, stratified.
    cache_folder : path-like, optional
        A folder in which kernel values are kept for later fits on the same data.
    device : {"cpu", "cuda"}, optional
        Where kernel values are computed; by default where X lies, which may be an array on a GPU.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Precision of products on a GPU.
    n_jobs : int, optional
        Threads that compute kernel rows; one, unless joblib's `parallel_config` allows more.
    warm_start : bool, default=False
        Start from the last fit's answer, if the number of rows is the same.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the best model so far; a second one raises. A model that
        was kept has no probabilities before `calibrate`.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_, \
class_weight_
        As in scikit-learn, in LIBSVM's order and layout. Support vectors and coefficients are sparse if X is; support
        vectors of sequences are a list.
    coef_ : ndarray of shape (n_runs, n_features)
        w of each class pair, for the linear kernel.
    probA_, probB_ : ndarray of shape (n_runs,)
        Of calibrated models: the positive class of a pair has the probability 1/(1 + exp(A f + B)) at the decision
        value f.
    kernel_ : hinge.kernels.Kernel
    gap_ : float
        The certified relative gap; the largest of all class pairs. Infinite if none is known, and if w = 0 is optimal
        as far as is known: the kernel cannot separate the classes with so few points within the margin, or by no
        more than 1/4096 of the spread of the points, and ν must be larger. The fit then ends with a warning, and w is
        not divided by ρ where that is zero.
    objective_ : float or ndarray of shape (n_runs,)
        The objective above, before w is divided by ρ.
    lam_, slack_ : float or ndarray of shape (n_runs,)
        ρ/S, the λ of the `SVC` with the same answer; and the mean hinge loss divided by ‖w‖.
    n_kernel_evals_, n_kernel_asked_ : int
        Kernel values computed, and requested (including those found in the cache).
    n_iter_ : ndarray of shape (n_runs,)
        Iterations of the solver.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
    history_ : list of Record, or list of such lists
        One record each time the answer was evaluated; a list for each class pair if there are several.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from hinge import NuSVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> model = NuSVC(nu=0.5, gamma=2.0).fit(X, y)
    >>> model.predict([[0.1, 0.9]])
    array([1])
    >>> model.gap_ <= 1e-3
    True
    """

    _without_margin = (
        "The best w is zero, as far as is known: the kernel cannot tell the classes apart with so few rows within "
        "the margin, and predictions are arbitrary. Give a larger nu or n_components, or take SVC."
    )

    _weighs_classes = _warns_if_constant = False
    _positive_first = True

    def _check_mass(self, mass: np.ndarray, labels: list[Any]) -> None:
        """Raise if ν is not feasible for some class pair."""
        for pair in class_pairs(len(labels)):
            check_feasible(self.nu, mass[list(pair)])

    def _problem(self, gram: Gram, task: Task, C: float) -> KernelNuClassification:
        return KernelNuClassification(gram, task.y, self.nu, weight=task.weight)

    def _batch(self, points: Points, packed: PackedTasks, C: float) -> NuClassificationBatch:
        return NuClassificationBatch(points, *packed, float(self.nu))
