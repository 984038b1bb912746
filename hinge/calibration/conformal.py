"""Conformal prediction: sets of classes and intervals of targets with a given coverage, from rows not trained on.

Each of n rows has a nonconformity :math:`R_i`, which is large where its label surprises a machine that was not trained
on it. The label y of a new row x is in the prediction set if

.. math:: R(x, y) \\le \\hat q, \\qquad
          \\hat q = \\text{the } \\lceil(1 - \\alpha)(n + 1)\\rceil\\text{-th smallest of } R_1, \\dots, R_n .

If the rows are exchangeable with the new one, and **no row took part in the fit**, the set has the label with a
probability of at least 1 - α, whatever the distribution, and of at most 1 - α + 1/(n + 1) if there are no ties
(Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005; Papadopoulos et al., 2002).

With **leave-one-out values of the rows of the fit** this is the jackknife. :math:`R_i` then belongs to a machine
without row i, and R(x, y) to one with it, so that the theorem does not apply, and there are data for which coverage
fails. It tends to 1 - α if leaving out a row hardly changes the prediction for *another* row (Steinberger and Leeb,
*Conditional predictive inference for stable algorithms*, 2023). The penalty ½‖w‖² makes it so: without a free bias the
change is at most CK(x, x) (Bousquet and Elisseeff, *Stability and Generalization*, 2002). The jackknife+ has a coverage
of at least 1 - 2α for any data (Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the jackknife+*,
2021), but takes n predictions for each new row.

Rows of weight s count s times, and the new row once.
"""

import numpy as np


def conformal_quantile(scores: np.ndarray, weight: np.ndarray, alpha: float) -> float:
    """:math:`\\hat q`; infinite if there are too few rows for α: less than 1/α - 1.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Nonconformity of rows that the machine was not trained on.
    weight : ndarray of shape (n,)
        Rows of weight zero are ignored.
    alpha : float in (0, 1)

    Notes
    -----
    Costs O(n log n).
    """
    taken = np.flatnonzero(weight > 0.0)
    order = taken[np.argsort(scores[taken], kind="stable")]
    below = np.cumsum(weight[order])
    wanted = (1.0 - alpha) * (weight[taken].sum() + 1.0)
    k = int(np.searchsorted(below, wanted * (1.0 - 1e-12)))  # 0.9 · 10 must not be more than 9
    return float(scores[order[k]]) if k < len(order) else np.inf


def class_nonconformity(scores: np.ndarray, n_classes: int, *, one_vs_one: bool) -> np.ndarray:
    """How much the strongest other class is preferred to each class, by its decision value.

    .. math:: R(x, c) = \\max_{j \\ne c} f_{jc}(x),

    where :math:`f_{jc}` is the decision value of the pair, or :math:`f_j - f_c` if each class has one against the rest.
    It is negative for one class at most, which then is the predicted one.

    Parameters
    ----------
    scores : ndarray of shape (n, n_runs)
        Decision values: of two classes, of class pairs i < j in the order of ``itertools.combinations``, or of each
        class against the rest.
    n_classes : int
    one_vs_one : bool
        Whether they are of pairs.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    if n_classes == 2:
        return np.concatenate([scores, -scores], axis=1).astype(np.float64)
    found = np.full((len(scores), n_classes), -np.inf)
    if one_vs_one:
        for f, i, j in zip(scores.T, *np.triu_indices(n_classes, 1), strict=True):
            np.maximum(found[:, i], -f, out=found[:, i])
            np.maximum(found[:, j], f, out=found[:, j])
        return found
    for c in range(n_classes):
        found[:, c] = np.delete(scores, c, axis=1).max(axis=1) - scores[:, c]
    return found
