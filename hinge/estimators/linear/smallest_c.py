"""The largest C at which a model with an ℓ₁ penalty is zero."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from hinge.constraints import FLAG, choice, scale
from hinge.estimators.data.validation import encoded_labels
from hinge.types import MatrixLike

FACTORS = {"squared_hinge": 0.5, "log": 2.0}
"""1/|derivative| of a loss at the margin 0."""


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
    classes, codes = encoded_labels(column_or_1d(y))
    steepest = 0.0
    for k in range(len(classes) if len(classes) > 2 else 1):
        signs = np.where(codes == k, 1.0, -1.0)
        steepest = max(steepest, float(np.abs(X.T @ signs).max()))
        if fit_intercept:
            steepest = max(steepest, float(abs(signs.sum())) * intercept_scaling)
    if steepest == 0.0:
        raise ValueError("There is no such C: the classes have the same mean, and all weights stay zero for any C.")
    return FACTORS[loss] / steepest
