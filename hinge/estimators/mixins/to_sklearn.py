"""Conversion of a fitted estimator to scikit-learn's class of the same name, with the same predictions.

scikit-learn's kernel estimators predict by LIBSVM, from private attributes that `fit` sets; here they are set from
ours. In LIBSVM the first of two classes is the positive one, in ours the second, so for two classes the signs of the
coefficients, of the intercept and of the sigmoid's B change:

.. math:: 1 - \\frac1{1 + \\exp(Af + B)} = \\frac1{1 + \\exp(A(-f) - B)}.
"""

import warnings
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.data.any_arrays import host_model
from hinge.kernels import Function, Kernel, Laplacian, registry
from hinge.types import Stored

NAMES: dict[type[Kernel], str] = {kernel: name for name, kernel in registry.BY_NAME.items() if name != "laplacian"}
"""Kernels that LIBSVM has, by its names for them."""
AS_THEY_ARE = ("n_features_in_", "feature_names_in_", "classes_", "class_weight_", "n_iter_", "fit_status_")


class ToSklearn:
    """A mixin that adds `to_sklearn`."""

    def to_sklearn(self) -> Any:
        """A fitted estimator of scikit-learn, of the class of the same name, with the same predictions.

        It no longer needs hinge. `decision_function` and `predict` are equal up to rounding. `predict_proba` is kept if
        scikit-learn's class can represent it, that is, the sigmoids of `SVC` and `NuSVC`: LIBSVM then couples pairs to
        within 0.005, and another class than the predicted one may be the most probable. Certificates and histories
        are lost.

        Returns
        -------
        estimator of sklearn.svm
            With the parameters that both classes have. ``lam`` becomes the C of the same problem.

        Raises
        ------
        ValueError
            If scikit-learn's class cannot represent the model: an `SVC` with ``multiclass="ovr"``, or a kernel that is
            a function of two items.

        Examples
        --------
        >>> from hinge import SVC
        >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
        >>> type(SVC(gamma=2.0).fit(X, y).to_sklearn()).__module__
        'sklearn.svm._classes'
        """
        return sklearn_machine(self)


def sklearn_machine(model: BaseEstimator) -> Any:
    """See `ToSklearn.to_sklearn`."""
    check_is_fitted(model)
    model = host_model(getattr(model, "best_estimator_", model))  # of a search
    made = _with_parameters(model)
    vars(made).update({name: vars(model)[name] for name in AS_THEY_ARE if name in vars(model)})
    if isinstance(made, svm.LinearSVC | svm.LinearSVR):
        made.coef_ = model.coef_ if isinstance(made, svm.LinearSVC) else _dense(model.coef_).ravel()
        made.intercept_ = model.intercept_
    else:
        _set_libsvm(made, model)
    if getattr(model, "_is_calibrated", False) and not hasattr(made, "predict_proba"):
        warnings.warn(
            f"scikit-learn's {type(made).__name__} cannot hold these probabilities, so it predicts without: keep "
            "them with hinge.save, or calibrate scikit-learn's by sklearn.calibration.CalibratedClassifierCV.",
            UserWarning,
            stacklevel=3,
        )
    return made


def _with_parameters(model: BaseEstimator) -> Any:
    """scikit-learn's estimator of the same name, with all of our parameters that it has."""
    cls = getattr(svm, type(model).__name__)
    has = signature(cls).parameters
    given = {name: value for name, value in model.get_params(deep=False).items() if name in has}
    given.pop("probability", None)
    if hasattr(model, "probA_") and "probability" in has:
        given["probability"] = True
    if getattr(model, "lam", None) is not None:
        given["C"] = 1.0 / (model.lam * model._mass)
    return cls(**given)


def _set_libsvm(made: BaseEstimator, model: BaseEstimator) -> None:
    """The attributes by which scikit-learn calls LIBSVM."""
    if getattr(model, "multiclass", "ovo") == "ovr" and len(model.classes_) > 2:
        raise ValueError(
            "scikit-learn's SVC solves all class pairs, and this model has each class against the rest: fit it with "
            "multiclass='ovo'."
        )
    made.support_, made.shape_fit_ = model.support_.astype(np.int32), model.shape_fit_
    vectors, dual = expansion(model)
    if len(dual[0]) != len(made.support_):
        made.support_ = np.arange(len(dual[0]), dtype=np.int32)
    made.kernel, made._gamma = _kernel_of(made, model)
    made._sparse = sp.issparse(vectors) and not callable(made.kernel)
    if callable(made.kernel):  # it will be called with the support vectors as if they were all training rows
        made._BaseLibSVM__Xfit, made.shape_fit_ = vectors, (len(dual[0]), model.n_features_in_)
        made.support_, vectors = np.arange(len(dual[0]), dtype=np.int32), np.empty((0, 0))
    classes = getattr(model, "classes_", None)
    counts = [len(made.support_), 0 if made._sparse else len(made.support_)] if classes is None else model.n_support_
    sign = -1.0 if classes is not None and len(classes) == 2 else 1.0
    made.support_vectors_, made._n_support = vectors, np.array(counts, np.int32)
    made.dual_coef_, made._dual_coef_ = (_stored_as(part, made._sparse) for part in (dual, sign * dual))
    made.intercept_, made._intercept_ = model.intercept_, sign * model.intercept_
    most = np.iinfo(np.int32).max  # LIBSVM counts in 32 bits
    made._num_iter = np.atleast_1d(np.minimum(getattr(model, "n_iter_", 0), most)).astype(np.int32)
    made._probA = made._probB = np.empty(0)
    made._effective_probability = hasattr(model, "probA_")
    if made._effective_probability:
        made._probA, made._probB = model.probA_, sign * model.probB_
    if hasattr(model, "offset_"):
        made.offset_ = model.offset_


def expansion(model: BaseEstimator) -> tuple[Any, np.ndarray]:
    """Support vectors in float64 and dense coefficients, as LIBSVM takes them.

    A `OneClassSVM` with the linear kernel predicts by w, which differs from the sum over its support vectors by up to
    the gap; w itself is then the only support vector.
    """
    if hasattr(model, "offset_") and model._weights is not None:
        vectors, dual = model._weights, np.ones((1, 1))
    else:
        vectors, dual = model.support_vectors_, model._dense_dual
    if isinstance(vectors, list):
        raise ValueError("The rows of this model are not numbers, and scikit-learn's kernels take only numbers.")
    if sp.issparse(vectors):
        vectors = sp.csr_matrix(vectors, dtype=np.float64)
        vectors.indices, vectors.indptr = vectors.indices.astype(np.int32), vectors.indptr.astype(np.int32)
        vectors.sort_indices()
        return vectors, dual
    return np.ascontiguousarray(vectors, np.float64), dual


def _kernel_of(made: BaseEstimator, model: BaseEstimator) -> tuple[Any, float]:
    """The `kernel` parameter of scikit-learn's estimator, and γ; its other kernel parameters are set."""
    kernel = model.kernel_
    if isinstance(kernel, Laplacian):
        return partial(laplacian_kernel, gamma=float(kernel.gamma)), 0.0
    if isinstance(kernel, Function):
        if kernel.on != "blocks":
            raise ValueError(
                "The kernel of this model is a function of two items, and scikit-learn's take blocks of rows: fit it "
                "with a function of two blocks, or with the matrix of kernel values."
            )
        return kernel.function, 0.0
    if type(kernel) not in NAMES:
        raise ValueError(f"scikit-learn has no {type(kernel).__name__} kernel.")
    for name in ("degree", "coef0"):
        if hasattr(kernel, name):
            setattr(made, name, getattr(kernel, name))
    if hasattr(kernel, "gamma") and not isinstance(made.gamma, str):
        made.gamma = float(kernel.gamma)
    return NAMES[type(kernel)], float(getattr(kernel, "gamma", 0.0))


def _stored_as(dual: np.ndarray, sparse: bool) -> Any:
    """Coefficients in LIBSVM's form: a sparse matrix stores zeros too, since compiled code relies on it."""
    dual = np.ascontiguousarray(dual, np.float64)
    if not sparse:
        return dual
    k, n = dual.shape
    return sp.csr_matrix((dual.ravel(), np.tile(np.arange(n, dtype=np.int32), k), np.arange(k + 1) * n), (k, n))


def _dense(a: Stored) -> np.ndarray:
    return a if isinstance(a, np.ndarray) else a.toarray()
