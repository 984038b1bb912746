"""Hazan's algorithm: an approximate projection onto bounded semidefinite matrices, of low rank."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

SMALL = 100  # up to this order the dense eigenvalue routine is the faster one


class SparseProjection(NamedTuple):
    """What Frank-Wolfe came to.

    Attributes
    ----------
    X : ndarray of shape (n, n)
    gap : float
        Of Frank-Wolfe: :math:`\\|Y - X\\|^2` is at most this above its smallest value in K.
    steps : int
        Steps taken; the rank of X is not larger.
    """

    X: np.ndarray
    gap: float
    steps: int


def project_sparsely(Y: np.ndarray, eps: float) -> SparseProjection:
    """The point of K = {X ⪰ 0, tr X ≤ 1} nearest to Y, up to eps in the squared distance.

    Frank-Wolfe on :math:`f(X) = \\|Y - X\\|_F^2` from X = 0. With v the top eigenvector of
    :math:`G = Y - X` and λ its eigenvalue, the best vertex is :math:`V = vv^\\top`, or V = 0 where λ < 0;

    .. math:: X \\leftarrow X + \\gamma(V - X),\\qquad
              \\gamma = \\min\\Big(1, \\frac{\\langle G, V - X\\rangle}{\\|V - X\\|^2}\\Big),

    until the gap :math:`2\\langle G, V - X\\rangle \\le` eps. Each step adds one to the rank at most, and
    there are at most ⌈1/eps⌉ of them, as Lemma 4.1 of the survey has it; O(n²) a step and a few Lanczos
    products.

    Notes
    -----
    The squared distance comes down as 8/(steps + 2) at worst, the curvature of f on K being 4: the lemma
    hides the 8 in its Õ. Where the steps run out before the gap is met, `gap` says what was reached. At
    orders up to 300, where both were measured, the exact projection is faster by far: this one is here
    because the survey has it.
    """
    if not 0 < eps < np.inf:
        raise ValueError(f"eps must be a positive number, got {eps!r}.")
    n = len(Y)
    X, most = np.zeros((n, n)), math.ceil(1.0 / eps)
    for steps in range(most + 1):
        G = Y - X
        value, v = top_eigenpair(G)
        V = np.outer(v, v) if value > 0.0 else np.zeros((n, n))
        D = V - X
        slope = float(np.vdot(G, D))
        if 2.0 * slope <= eps or steps == most:
            break
        X = X + min(1.0, slope / float(np.vdot(D, D))) * D
    return SparseProjection(X, max(0.0, 2.0 * slope), steps)


def top_eigenpair(M: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest eigenvalue of a symmetric matrix and its vector, by Lanczos from a fixed start."""
    n = len(M)
    if n > SMALL:
        try:
            # Not the vector of ones: that may be an eigenvector, from which Lanczos sees nothing else.
            begin = np.cos(np.arange(1.0, n + 1.0))
            operator = LinearOperator((n, n), matvec=M.__matmul__, dtype=np.float64)
            values, vectors = eigsh(operator, k=1, which="LA", v0=begin)
            return float(values[0]), vectors[:, 0]
        except ArpackError:
            pass  # it did not converge: the dense routine always does
    values, vectors = np.linalg.eigh(M)
    return float(values[-1]), vectors[:, -1]
