"""Points for the smallest enclosing ball, and its exact answer by a conic solver."""

from typing import Any

import numpy as np


def gauss(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Points of a standard normal distribution, in float32."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


def decay(n: int, d: int, seed: int = 0) -> np.ndarray:
    """The same with column j scaled by :math:`j^{-3/4}`."""
    return gauss(n, d, seed) * (np.arange(1, d + 1) ** -0.75).astype(np.float32)


def heavy(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Normal directions times lengths of Student's t with three degrees of freedom."""
    lengths = np.random.default_rng([seed, 1]).standard_t(3, (n, 1)).astype(np.float32)
    return gauss(n, d, seed) * lengths


FAMILIES = {"gauss": gauss, "decay": decay, "heavy": heavy}


def clarabel_ball(A: Any, tol: float = 1e-11, clock: Any = None) -> tuple[np.ndarray, float]:
    """Centre and squared radius by Clarabel, from the quadratic program of the weights.

    .. math:: \\min_{p \\in \\Delta}\\ \\|u\\|^2 - \\sum_i p_i\\|b_i\\|^2, \\qquad u = \\sum_i p_i b_i,
              \\quad b_i = a_i - \\bar a

    `clock` is called with Clarabel's own seconds.
    """
    import clarabel
    import scipy.sparse as sp

    A = np.asarray(A.toarray() if sp.issparse(A) else A, np.float64)
    n, d = A.shape
    mean = A.mean(axis=0)
    B = A - mean
    size = np.sqrt((B**2).sum(axis=1).max()) or 1.0
    B = B / size
    P = sp.block_diag([sp.csc_array((n, n)), 2.0 * sp.eye_array(d)], format="csc")
    q = np.concatenate([-(B**2).sum(axis=1), np.zeros(d)])
    equal = sp.block_array([[sp.csr_array(B.T), -sp.eye_array(d)], [np.ones((1, n)), None]])
    below = sp.hstack([-sp.eye_array(n), sp.csc_array((n, d))])
    rows = sp.csc_array(sp.vstack([equal, below]))
    b = np.concatenate([np.zeros(d), [1.0], np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(n)]
    answer = clarabel.DefaultSolver(sp.csc_matrix(P), q, sp.csc_matrix(rows), b, cones, settings).solve()
    if clock is not None:
        clock(answer.solve_time)
    return mean + size * np.asarray(answer.x)[n:], -(size**2) * float(answer.obj_val)
