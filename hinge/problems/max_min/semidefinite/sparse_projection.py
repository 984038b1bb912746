"""Hazan's algorithm: an approximate projection, of low rank, onto semidefinite matrices of bounded trace."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

FEW = 16  # vectors that are allocated at first
FAILS = 0.01  # probability with which the largest eigenvalue may exceed its error bound
TINY = 1e-14  # relative to the matrix: a Lanczos residual below this is rounding
SEED = 0  # of the random start vectors of Lanczos: the same matrix has the same projection


class SparseProjection(NamedTuple):
    """The result of Frank-Wolfe.

    Attributes
    ----------
    X : ndarray of shape (n, n)
    gap : float
        The Frank-Wolfe gap: :math:`\\|Y - X\\|^2` exceeds its minimum over K by at most this, except for the small
        probability that Lanczos missed the largest eigenvalue.
    steps : int
        Steps taken; the rank of X is not larger.
    products : int
        Products of Y with a vector, O(n²) each, which dominate the time.
    """

    X: np.ndarray
    gap: float
    steps: int
    products: int


class TopPair(NamedTuple):
    """A Ritz pair: with probability 1 - `FAILS` the largest eigenvalue is at most `error` above `value`."""

    value: float
    vector: np.ndarray
    error: float
    products: int


def project_sparsely(Y: np.ndarray, eps: float) -> SparseProjection:
    """A point of K = {X ⪰ 0, tr X ≤ 1} whose squared distance to Y is within eps of the smallest.

    Frank-Wolfe on :math:`f(X) = \\|Y - X\\|_F^2` from X = 0. With v a top eigenvector of
    :math:`G = Y - X` and λ its eigenvalue, the best vertex is :math:`V = vv^\\top`, or V = 0 where λ < 0;

    .. math:: X \\leftarrow X + \\gamma(V - X),\\qquad
              \\gamma = \\min\\Big(1, \\frac{\\langle G, V - X\\rangle}{\\|V - X\\|^2}\\Big),

    until the gap :math:`2\\langle G, V - X\\rangle \\le` eps. Each step increases the rank by at most one, and there
    are at most ⌈1/eps⌉ steps, as in Lemma 4.1 of the survey.

    Any vertex with a positive slope :math:`\\langle G, V - X\\rangle` makes a valid step, and a good one takes few
    products: Lanczos, from a random start, stops when its residual is half of the slope. Only when the gap seems small
    enough does it continue until the largest eigenvalue is known to eps/4, which takes some
    :math:`\\log n/\\sqrt{\\epsilon}` products. X is kept as :math:`\\sum_j c_j v_j v_j^\\top`, so that a product with G
    is one with Y plus O(n) for each v, and inner products with X are sums of numbers already known.

    Notes
    -----
    With exact vertices the squared distance falls as 8/(steps + 2) at worst: the lemma hides the 8 in its Õ. If the
    steps run out before the gap is small enough, `gap` is the one reached.
    """
    if not 0 < eps < np.inf:
        raise ValueError(f"eps must be a positive number, got {eps!r}.")
    n, most = len(Y), math.ceil(1.0 / eps)
    V, c = np.zeros((FEW, n)), np.zeros(FEW)
    YX = XX = 0.0  # the inner products of Y and X, and of X with itself
    rng, products = np.random.default_rng(SEED), 0
    for steps in range(most + 1):
        V, c = _with_room(V, steps), _with_room(c, steps)
        kept, weights = V[:steps], c[:steps]
        top = top_pair(
            lambda v, kept=kept, weights=weights: Y @ v - kept.T @ (weights * (kept @ v)),  # type: ignore[misc]
            rng.standard_normal(n),
            eps / 4,
            YX - XX if steps < most else np.inf,
        )
        products += top.products
        positive = top.value > 0.0
        XV = float(weights @ (kept @ top.vector) ** 2) if positive else 0.0
        YV = top.value + XV if positive else 0.0
        slope = (YV - XV) - (YX - XX)  # ⟨Y - X, V - X⟩
        above = slope + (top.error if positive else max(0.0, top.value + top.error))
        if 2.0 * above <= eps or steps == most:
            break
        gamma = min(1.0, max(0.0, slope) / ((1.0 if positive else 0.0) - 2.0 * XV + XX or 1.0))
        V[steps], c[:steps], c[steps] = top.vector, (1.0 - gamma) * weights, gamma if positive else 0.0
        YX += gamma * (YV - YX)
        XX = (1.0 - gamma) ** 2 * XX + 2.0 * gamma * (1.0 - gamma) * XV + (gamma**2 if positive else 0.0)
    return SparseProjection((V[:steps].T * c[:steps]) @ V[:steps], max(0.0, 2.0 * above), steps, products)


def top_pair(
    product: Callable[[np.ndarray], np.ndarray], begin: np.ndarray, accuracy: float, beyond: float = np.inf
) -> TopPair:
    """The largest eigenvalue of a symmetric matrix given by its products with vectors, and its vector, by Lanczos.

    With the orthonormal basis Q of the Krylov space of `begin`, orthogonalised twice against rounding,
    :math:`Q^\\top M Q` is tridiagonal, and its top pair (θ, s) gives :math:`v = Qs`. From a start in a random
    direction, after k products,

    .. math:: P\\big(\\lambda_1 - \\theta > \\varepsilon(\\lambda_1 - \\lambda_n)\\big)
              \\le 1.648\\sqrt{n}\\, e^{-\\sqrt\\varepsilon(2k - 1)}

    (Kuczyński and Woźniakowski 1992). It stops when this error is at most `accuracy`, or when the Krylov space is
    exhausted and the error zero. It stops earlier if θ exceeds `beyond` by twice the accuracy, and the residual
    :math:`\\|Mv - \\theta v\\| = \\beta_k|s_k|` is at most half of that excess. O(k²n) in addition to the k products.
    """
    n = len(begin)
    unlikely = math.log(1.648 * math.sqrt(n) / FAILS)
    Q, alpha, beta = np.zeros((FEW, n)), np.zeros(n), np.zeros(n)
    q, check = begin / np.linalg.norm(begin), 4
    for k in range(n):
        Q = _with_room(Q, k)
        Q[k] = q
        r = product(q)
        alpha[k] = q @ r
        for _ in range(2):
            r = r - Q[: k + 1].T @ (Q[: k + 1] @ r)
        beta[k] = np.linalg.norm(r)
        exhausted = k == n - 1 or beta[k] <= TINY * np.abs(alpha[: k + 1]).max()
        if exhausted or k + 1 >= check:
            diagonal, beside = alpha[: k + 1], beta[:k]
            top, vector = eigh_tridiagonal(diagonal, beside, select="i", select_range=(k, k))
            ahead, residual, error = top[0] - beyond, beta[k] * abs(vector[-1, 0]), np.inf
            if exhausted:
                error = 0.0
            elif (share := (unlikely / (2 * k + 1)) ** 2) < 0.5:
                low = eigh_tridiagonal(diagonal, beside, eigvals_only=True, select="i", select_range=(0, 0))
                error = share * (top[0] - low[0]) / (1 - 2 * share)
            if error <= accuracy or (top[0] > 0.0 and ahead >= 2 * accuracy and residual <= ahead / 2):
                break
            check = k + 3 + k // 2
        q = r / beta[k]
    return TopPair(float(top[0]), Q[: k + 1].T @ vector[:, 0], float(error), k + 1)


def _with_room(rows: np.ndarray, k: int) -> np.ndarray:
    """The array with room for row k: doubled if it is full."""
    return rows if k < len(rows) else np.concatenate([rows, np.zeros_like(rows)])
