"""`SVC`: the kernel support vector machine for scikit-learn pipelines."""

from os import PathLike
from typing import Literal

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from hinge.estimators.data import kernel_input
from hinge.estimators.data.sources import set_names
from hinge.estimators.fitting import parameters
from hinge.estimators.fitting.decorators import CallbackSupportMixin, atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import ClassWeight, Gamma, KernelChoice, RandomState, set_parameters
from hinge.estimators.kernel.kernel_classifier import KernelClassifier
from hinge.estimators.kernel.kernel_machine import HARD
from hinge.monitoring.clock import now
from hinge.solvers import Solver
from hinge.types import Items


class SVC(CallbackSupportMixin, KernelClassifier, ClassifierMixin, BaseEstimator):
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
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Precision of products on a GPU.
    n_jobs : int, optional
        Threads that compute kernel rows; one, unless joblib's `parallel_config` allows more.
    warm_start : bool, default=False
        Start from the last fit's answer, if the number of rows is the same.
    random_state : int, RandomState or None
        Seed of the solver. None is a fixed seed: the same call gives bitwise the same result.
    verbose : bool or int, default=0
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

    _constraints = parameters.SVC

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: KernelChoice = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | Literal["deprecated"] = False,
        slack: float | None = None,
        solver: str | Solver = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = -1,
        max_time: float | None = None,
        max_kernel_evals: int | None = None,
        target_error: float | None = None,
        validation_fraction: float = 0.1,
        cache_size: float = 200,
        max_memory: float | None = None,
        cache_folder: str | PathLike[str] | None = None,
        class_weight: ClassWeight = None,
        multiclass: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        break_ties: bool = False,
        device: str | None = None,
        precision: Literal["float32", "tf32", "bf16"] = "float32",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: RandomState = None,
        verbose: int = 0,
        on_interrupt: Literal["raise", "keep"] = "raise",
    ) -> None:
        set_parameters(self, locals())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.decision_function_shape == "ovo" and self.multiclass == "ovr":
            raise ValueError("decision_function_shape='ovo' needs multiclass='ovo': 'ovr' learns no pairs.")

    @atomic_fit
    @with_callbacks
    def fit(self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "SVC":
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Kernel values of shape (n_samples, n_samples) if the kernel is precomputed. Or a source of rows on disk, as
            in `LinearSVC.fit`: .npy, Parquet, Zarr, Arrow, polars, svmlight or CSV. The rows are loaded in the
            precision in which they are stored; the kernel matrix need not fit into memory.
        y : array-like of shape (n_samples,), or str
            A str is the name of a column of the source.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of zero or negative weight are ignored.

        Returns
        -------
        self
        """
        began = now()
        self._check_parameters()
        X, y, names = kernel_input.loaded(self, X, y)
        self._fit(X, y, sample_weight, began)
        set_names(self, names)
        return self

    def _costs(self) -> tuple[float, ...]:
        """The values of C to try; the first that no coefficient reaches is used, else the last.

        If no coefficient reaches C, the optimum is the same for all larger C, and has no loss. A larger C than needed
        only magnifies rounding errors of the losses, until nothing can be certified.
        """
        (C,) = super()._costs()
        if C < HARD or self.slack is not None or self.max_kernel_evals is not None:
            return (C,)
        return 1e4, 1e6, 1e8, C
