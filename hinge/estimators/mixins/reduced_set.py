"""A reduced set: vectors that are moved in the space of the features until few of them give a Gaussian expansion.

.. math:: \\min_{z_1, \\dots, z_m}\\ \\min_\\gamma\\ \\sum_x (f(x) - g(x))^2 + \\|f - g\\|^2, \\qquad
          f = \\sum_s a_sK(\\cdot, s), \\quad g = \\sum_j \\gamma_jK(\\cdot, z_j)

The inner problem has linear equations (variable projection): at their solution the derivative by a vector is that for
fixed γ, and the outer one is left to L-BFGS. An evaluation costs a kernel value, and some four products of rows, for
each row and each moved vector.

References
----------
C. Burges, *Simplified Support Vector Decision Rules*, 1996; G. Golub, V. Pereyra, *The Differentiation of
Pseudo-Inverses and Nonlinear Least Squares Problems Whose Variables Separate*, 1973.
"""

import numpy as np
from scipy.optimize import minimize

from hinge.solvers.newton.systems import solved

STEPS = 50
"""Steps of L-BFGS: twice and four times as many change as many labels of other rows (`low_rank.py --steps`)."""
VALUES = 1 << 26
"""Kernel values in memory: of more rows evenly spread ones are used."""


def best_coefficients(squares: np.ndarray, sums: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
    """The solution of ``squares @ coef = sums`` in each function, over the vectors that take part in it."""
    coef = np.zeros(sums.shape)
    for k, part in enumerate(takes_part.T):
        used = np.flatnonzero(part)
        if len(used):
            coef[used, k] = solved(squares[np.ix_(used, used)], sums[used, k])
    return coef


def moved(
    X: np.ndarray,
    f: np.ndarray,
    vectors: np.ndarray,
    a: np.ndarray,
    start: np.ndarray,
    takes_part: np.ndarray,
    gamma: float,
) -> np.ndarray:
    """The vectors, after some steps from where they start.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows on which values are to stay as they are.
    f : ndarray of shape (n, k)
        The values of all functions, without bias.
    vectors, a : ndarray of shape (S, d), (S, k)
        The expansion.
    start : ndarray of shape (m, d)
    takes_part : ndarray of bool, shape (m, k)
        Which vector is in which function.
    gamma : float
    """
    every = -(-len(X) * len(start) // VALUES)
    X, f = X[::every], f[::every]
    dtype, shape = np.result_type(X.dtype, vectors.dtype, np.float32), start.shape
    # Rows, former vectors, and moved ones: what a moved vector meets.
    n, S, centre = len(X), len(vectors), X.mean(axis=0, dtype=np.float64)
    met = np.concatenate([X, vectors, start]).astype(dtype) - centre.astype(dtype)
    sq = np.einsum("ij,ij->i", met, met)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        Z = flat.reshape(shape).astype(dtype)
        met[n + S :] = Z
        sq[n + S :] = np.einsum("ij,ij->i", Z, Z)
        K = met @ Z.T
        K *= -2.0
        K += sq[:, None]
        K += sq[n + S :]
        np.exp(np.maximum(K, 0.0, out=K) * dtype.type(-gamma), out=K)
        of_rows, of_vectors, own = K[:n], K[n : n + S].astype(np.float64), K[n + S :].astype(np.float64)
        squares = (of_rows.T @ of_rows).astype(np.float64) + own
        sums = (of_rows.T @ f.astype(dtype)).astype(np.float64) + of_vectors.T @ a
        coef = best_coefficients(squares, sums, takes_part)
        off = of_rows @ coef.astype(dtype) - f
        distance = float(np.vdot(off, off)) + float(np.vdot(coef, own @ coef) - 2.0 * np.vdot(a, of_vectors @ coef))
        K *= (np.concatenate([off, -a, coef]) @ coef.T).astype(dtype)
        # Half of the derivative of K(x, z) by z is γ(x - z)K(x, z).
        slope = 4.0 * gamma * (K.T @ met - K.sum(axis=0)[:, None] * Z)
        return distance, slope.astype(np.float64).ravel()

    begins = (start - centre).astype(np.float64).ravel()
    found = minimize(value, begins, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return (found.x.reshape(shape) + centre).astype(dtype)
