"""Checks that the fitted attributes of a model that was read from a file are consistent."""

from itertools import pairwise

import numpy as np

from hinge.kernels import Kernel, Precomputed
from hinge.types import Stored


def check_linear(
    coef_: np.ndarray, intercept_: np.ndarray, n_features_in_: int, classes_: np.ndarray | None = None
) -> None:
    """Raise if the shapes or types of a linear model's attributes contradict each other.

    Without classes it is a regression.
    """
    rows = 1 if classes_ is None or len(classes_) == 2 else len(classes_)
    shapes = ((rows, n_features_in_),) if classes_ is not None else ((n_features_in_,), (1, n_features_in_))
    labels = f"{len(classes_)} classes" if classes_ is not None else "one target"
    if (
        (classes_ is not None and (len(classes_) < 2 or classes_.ndim != 1))
        or coef_.shape not in shapes
        or intercept_.shape != (rows,)
    ):
        raise ValueError(
            f"coef_ of shape {coef_.shape} and intercept_ of shape {intercept_.shape} are not those of"
            f" {labels} and {n_features_in_} features."
        )
    if coef_.dtype.kind != "f" or intercept_.dtype.kind != "f":
        raise ValueError("the coefficients are not floating-point numbers.")


def check_kernel_machine(
    intercept_: np.ndarray,
    n_features_in_: int,
    kernel_: Kernel,
    shape_fit_: tuple[int, ...],
    support_: np.ndarray,
    support_vectors_: Stored,
    n_support_: np.ndarray,
    dual_coef_: Stored,
    classes_: np.ndarray | None = None,
) -> None:
    """Raise if the shapes or types of a kernel estimator's attributes contradict each other.

    Without classes it is a regression or a one-class model.
    """
    n, k = len(support_), 1 if classes_ is None else len(classes_)
    # Number of intercepts for each possible number of rows of dual_coef_.
    runs = {1: 1} if k == 2 or classes_ is None else {k - 1: k * (k - 1) // 2, k: k}
    given = isinstance(kernel_, Precomputed)
    if (
        (classes_ is not None and (k < 2 or classes_.ndim != 1))
        or not isinstance(kernel_, Kernel)
        or tuple(shape_fit_)[1:] != (n_features_in_,)
        or (support_.shape, n_support_.shape) != ((n,), (k,))
        or runs.get(dual_coef_.shape[0]) != len(intercept_)
        or dual_coef_.shape[1:] != (n,)
        or intercept_.ndim != 1
        or support_vectors_.shape != ((0, 0) if given else (n, n_features_in_))
        or n_support_.sum() != n
        or (n_support_ < 0).any()
        or (n and not 0 <= support_.min() <= support_.max() < shape_fit_[0])
    ):
        raise ValueError("its support vectors, coefficients and classes do not belong to one model.")
    kinds = dual_coef_.dtype.kind + intercept_.dtype.kind + support_.dtype.kind + n_support_.dtype.kind
    if kinds != "ffii" or support_vectors_.dtype.kind not in "biuf":
        raise ValueError("its coefficients and support vectors are not numbers.")


def check_sigmoids(probA_: np.ndarray | None, probB_: np.ndarray | None, n_runs: int) -> None:
    """Raise unless a calibrated model has one sigmoid for each decision value, and none is decreasing."""
    for values in (probA_, probB_):
        if not isinstance(values, np.ndarray) or values.shape != (n_runs,) or values.dtype.kind != "f":
            raise ValueError(f"probA_ and probB_ are not {n_runs} numbers each, one for each decision value.")
    if np.any(np.greater(probA_, 0.0)):  # type: ignore[arg-type]
        raise ValueError("probA_ is positive: probabilities would decrease with decision values.")


def check_steps(cuts: np.ndarray | None, scores: np.ndarray | None, values: np.ndarray | None, n_runs: int) -> None:
    """Raise unless a calibrated model has one step function for each decision value, with ascending scores."""
    parts = [part for part in (cuts, scores, values) if isinstance(part, np.ndarray)]
    if len(parts) < 3 or "".join(part.dtype.kind for part in parts) != "iff":
        raise ValueError("the steps of its probabilities are not three arrays of numbers.")
    cuts, scores, values = parts
    if cuts.shape != (n_runs + 1,) or cuts[0] != 0 or (np.diff(cuts) < 1).any() or scores.shape != (cuts[-1],):
        raise ValueError(f"the steps of its probabilities are not {n_runs} functions.")
    if values.shape not in (scores.shape, (len(scores), 2)) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError("the steps of its probabilities are not one probability for each score.")
    if any((np.diff(scores[lo:hi]) <= 0.0).any() for lo, hi in pairwise(cuts)):
        raise ValueError("the steps of its probabilities are not in order.")
