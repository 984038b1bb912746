"""Checks that the fitted attributes of a model that was read from a file fit together."""

import numpy as np

from hinge.kernels import Kernel, Precomputed
from hinge.types import Stored


def check_linear(classes_: np.ndarray, coef_: np.ndarray, intercept_: np.ndarray, n_features_in_: int) -> None:
    """Raise if the shapes or types of a `LinearSVC`'s attributes contradict each other."""
    rows = 1 if len(classes_) == 2 else len(classes_)
    shapes = classes_.shape, coef_.shape, intercept_.shape
    if len(classes_) < 2 or shapes != ((len(classes_),), (rows, n_features_in_), (rows,)):
        raise ValueError(
            f"coef_ of shape {coef_.shape} and intercept_ of shape {intercept_.shape} are not those of"
            f" {len(classes_)} classes and {n_features_in_} features."
        )
    if coef_.dtype.kind != "f" or intercept_.dtype.kind != "f":
        raise ValueError("the coefficients are not floating-point numbers.")


def check_kernel_machine(
    classes_: np.ndarray,
    intercept_: np.ndarray,
    n_features_in_: int,
    kernel_: Kernel,
    shape_fit_: tuple[int, ...],
    support_: np.ndarray,
    support_vectors_: Stored,
    n_support_: np.ndarray,
    dual_coef_: Stored,
) -> None:
    """Raise if the shapes or types of an `SVC`'s attributes contradict each other."""
    n, k = len(support_), len(classes_)
    runs = {1: 1} if k == 2 else {k - 1: k * (k - 1) // 2, k: k}  # intercepts, by the number of rows of dual_coef_
    given = isinstance(kernel_, Precomputed)
    if (
        k < 2
        or not isinstance(kernel_, Kernel)
        or tuple(shape_fit_)[1:] != (n_features_in_,)
        or (classes_.shape, support_.shape, n_support_.shape) != ((k,), (n,), (k,))
        or runs.get(dual_coef_.shape[0]) != len(intercept_)
        or dual_coef_.shape[1:] != (n,)
        or intercept_.ndim != 1
        or support_vectors_.shape != ((0, 0) if given else (n, n_features_in_))
        or n_support_.sum() != n
        or (n_support_ < 0).any()
        or (n and not 0 <= support_.min() <= support_.max() < shape_fit_[0])
    ):
        raise ValueError("its support vectors, coefficients and classes are not of one model.")
    kinds = dual_coef_.dtype.kind + intercept_.dtype.kind + support_.dtype.kind + n_support_.dtype.kind
    if kinds != "ffii" or support_vectors_.dtype.kind not in "biuf":
        raise ValueError("its coefficients and support vectors are not numbers.")
