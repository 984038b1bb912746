"""`SVR` and `NuSVR`: kernel support vector regression for scikit-learn pipelines."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from hinge.access import Gram, Points
from hinge.calibration.left_out import FULL
from hinge.estimators.data.any_arrays import ScoreOfArrays
from hinge.estimators.fitting.decorators import CallbackSupportMixin
from hinge.estimators.fitting.parameters import NuSVRParameters, SVRParameters
from hinge.estimators.fitting.tasks import PackedTasks, Task, regression_task
from hinge.estimators.kernel.kernel_machine import KernelRegressor, NuMachine
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.problems import KernelNuRegression
from hinge.problems.svm.idle_rows import CertifiedAnswer
from hinge.problems.svm.kernel_batch import NuRegressionBatch
from hinge.problems.svm.losses import Loss, epsilon_insensitive


class SVR(ScoreOfArrays, CallbackSupportMixin, SVRParameters, KernelRegressor, RegressorMixin, BaseEstimator):
    """Kernel support vector regression that stops when its answer is provably accurate enough.

    It has the objective, the parameters and the attributes of ``sklearn.svm.SVR``,

    .. math:: \\frac12\\|w\\|^2
              + C\\sum_i s_i \\max(0,\\, |t_i - \\langle w, \\phi(x_i)\\rangle - b| - \\varepsilon),

    but it is solved in blocks of kernel rows, to a certified duality gap, and kernel values are counted. The dual
    has one coefficient for each row, :math:`-Cs_i \\le \\beta_i \\le Cs_i`.

    Parameters
    ----------
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        As for `SVC`: "linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed", or a function.
    degree, gamma, coef0
        Parameters of the named kernels, as in scikit-learn: gamma is "scale", "auto" or a number.
    tol : float, default=1e-3
        Stop when the certified relative duality gap, (P - D)/D, is at most this. Below 1e-5 kernel values
        are computed in float64.
    C : float, default=1.0
        Weight of the losses; λ = 1/(C Σ s) in the papers' terms.
    epsilon : float, default=0.1
        Residuals up to this have no loss, in units of the targets.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn, and not used: solvers shrink the problem by their own rules.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    verbose : bool or int, default=False
        Write a line to standard error each time the answer is evaluated.
    max_iter : int, default=-1
        Limit of the solver's passes; -1 for none.
    solver : str or Solver, default="auto"
        "auto", "blockdual" or "activeset", or a solver object, whose settings are grid parameters such as
        ``solver__block``.
    n_components : int or "auto", optional
        Solve in the span of this many landmarks, rows drawn at random, as with scikit-learn's `Nystroem`; "auto"
        doubles their number until `tol` is reached, or a limit or the memory ends it. `gap_` belongs to the exact
        kernel all the same: it costs one kernel value for each pair of rows outside the tube. The model then consists
        of landmarks alone, in `support_` and `dual_coef_`, so that a prediction costs that many kernel values. By
        default None, the exact answer.
    fit_intercept : bool, default=True
        Whether to learn a bias b.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_kernel_evals : int, optional
        Limit of the kernel values computed; never exceeded.
    target_error : float, optional
        Stop when the mean absolute error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`.
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
    random_state : int, RandomState or None
        Seed of the solver. None is a fixed seed: the same call gives bitwise the same result.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the best model so far; a second one raises.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_
        As in scikit-learn. Support vectors are sparse if X is; for sequences they are a list.
    coef_ : ndarray of shape (1, n_features)
        w, for the linear kernel.
    kernel_ : hinge.kernels.Kernel
    gap_ : float
        The certified relative gap, infinite if none is known. The optimum may be zero: D in the denominator is at least
        1e-9 times the loss of w = 0.
    objective_, lam_ : float
        λ/2‖w‖² + mean loss at the answer, and λ.
    n_kernel_evals_, n_kernel_asked_ : int
        Kernel values computed, and requested (including those found in the cache).
    n_iter_ : int
        Iterations of the solver.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
    history_ : list of Record
        One record each time the answer was evaluated.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.gap_ <= 1e-3
    True
    >>> model.predict([[0.5]]).round(1)
    array([0.5])
    """

    @property
    def _loss(self) -> Loss:  # type: ignore[override]
        return epsilon_insensitive(float(self.epsilon))

    def _certified_answers(self, rows: FittedRows) -> tuple[np.ndarray, list[tuple[np.ndarray, CertifiedAnswer]]]:
        """The targets; and the rows of positive weight, with what the certificate proves of them."""
        X, t, weight = self._rows_of_fit(rows.X, rows.y, rows.sample_weight)
        task, beta = regression_task(t, weight, None), np.zeros(len(t))
        beta[self.support_] = self._dense_dual[0]
        used = slice(None) if task.rows is None else task.rows
        return t, [self._certified_answer(X, 0, task, self._scores_of(X, exact=True)[used, 0], beta[used])]


class NuSVR(
    ScoreOfArrays, CallbackSupportMixin, NuSVRParameters, NuMachine, KernelRegressor, RegressorMixin, BaseEstimator
):
    """Kernel support vector regression with the fraction ν of targets that may lie outside the tube, certified.

    It has the objective, the parameters and the attributes of ``sklearn.svm.NuSVR``,

    .. math:: \\min_{w, b, \\varepsilon \\ge 0}\\ \\frac12\\|w\\|^2 + C\\Big(\\nu S\\varepsilon
              + \\sum_i s_i\\max(0,\\, |t_i - \\langle w, \\phi(x_i)\\rangle - b| - \\varepsilon)\\Big), \\qquad
              S = \\sum_i s_i.

    It is solved in blocks of kernel rows on a growing subset, to a certified duality gap. The dual has one
    coefficient for each row, :math:`-Cs_i \\le \\beta_i \\le Cs_i`, and :math:`\\sum_i|\\beta_i| \\le C\\nu S`.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the fraction of targets outside the tube, and a lower bound on the fraction of support
        vectors.
    C : float, default=1.0
        Weight of the losses.
    kernel : str, callable or hinge.kernels.Kernel, default="rbf"
        As for `SVC`: "linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed", or a function.
    degree, gamma, coef0
        Parameters of the named kernels, as in scikit-learn: gamma is "scale", "auto" or a number.
    shrinking : bool, default=True
        Accepted for compatibility with scikit-learn, and not used: the solver works on a growing subset.
    tol : float, default=1e-3
        Stop when the certified relative duality gap, (P - D)/D, is at most this. Below 1e-5, for few points and for
        kernels other than "rbf", kernel values are computed in float64.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    verbose : bool or int, default=False
        Write a line to standard error each time the answer is evaluated.
    max_iter : int, default=-1
        Limit of the solver's iterations, a block of points each; -1 for none.
    solver : str or Solver, default="auto"
        "auto", which is "levelblocks"; or a solver object, whose settings are grid parameters such as
        ``solver__block``.
    n_components : int or "auto", optional
        As for `SVR`: solve in the span of this many landmarks, or of as many as `tol` takes, and certify the answer
        against the exact kernel. Regularised problems in their span are solved for a sequence of ε until the dual
        weights have the sum that ν asks for. By default None, the exact answer.
    max_time : float, optional
        Time limit in seconds; compilation does not count.
    max_kernel_evals : int, optional
        Limit of the kernel values computed; never exceeded.
    target_error : float, optional
        Stop when the mean absolute error on held-out rows is at most this.
    validation_fraction : float, default=0.1
        Fraction of the rows held out for `target_error`.
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
    random_state : int, RandomState or None
        Seed of the first subset. None is a fixed seed: the same call gives bitwise the same result.
    on_interrupt : {"raise", "keep"}, default="raise"
        On Ctrl-C raise KeyboardInterrupt, or end the fit with the model so far.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, shape_fit_
        As in scikit-learn. Support vectors and coefficients are sparse if X is; support vectors of sequences are a
        list.
    coef_ : ndarray of shape (1, n_features)
        w, for the linear kernel.
    kernel_ : hinge.kernels.Kernel
    gap_ : float
        The certified relative gap, infinite if none is known. The optimum may be zero: D in the denominator is at least
        1e-9 times the loss of w = 0.
    objective_ : float
        The objective above.
    lam_ : float
        1/(CS).
    n_kernel_evals_, n_kernel_asked_ : int
        Kernel values computed, and requested (including those found in the cache).
    n_iter_ : int
        Iterations of the solver.
    stop_reason_ : str
        Why the fit ended: "converged", "target", "max_time", ...
    solver_ : Solver
    history_ : list of Record
        One record each time the answer was evaluated.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import NuSVR
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> model = NuSVR(C=10.0, nu=0.2).fit(X, np.sin(X[:, 0]))
    >>> model.gap_ <= 1e-3
    True
    >>> model.predict([[0.5]]).round(1)
    array([0.5])
    """

    _loss = epsilon_insensitive(0.0)

    _copies = 2  # a row has two dual weights, one for each side of the tube

    def _problem(self, gram: Gram, task: Task, C: float) -> KernelNuRegression:
        return KernelNuRegression(gram, task.y, self.nu, C, weight=task.weight)

    def _batch(self, points: Points, packed: PackedTasks, C: float) -> NuRegressionBatch:
        return NuRegressionBatch(points, packed.y, C * packed.weight, float(self.nu))

    def _tube(self, residual: np.ndarray, a: np.ndarray, bound: np.ndarray) -> float:
        # Residuals of dual weights between their bounds are ±ε, and where the weight is zero they are smaller.
        between = (a > FULL * bound) & (a < (1.0 - FULL) * bound)
        off = np.abs(residual)
        return float(np.median(off[between]) if between.any() else off[a <= FULL * bound].max(initial=0.0))
