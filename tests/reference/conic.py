"""Semidefinite programs by Clarabel, an interior point method, to many digits."""

import numpy as np
import pytest
import scipy.sparse as sp


def largest(C, A):
    """max C∘X with A_i∘X ≥ 0, tr X ≤ 1, X ⪰ 0."""
    n = len(C)
    return _solve(_rows(A), np.zeros(len(A)), _rows([C])[0], n)


def feasibility(A):
    """max over X ⪰ 0, tr X ≤ 1 of min A_i∘X."""
    A = _rows(A)
    n = int(np.sqrt(2 * A.shape[1]))
    t = -np.ones(len(A))
    return _solve(np.hstack([A, t[:, None]]), np.zeros(len(A)), np.r_[np.zeros(A.shape[1]), 1.0], n)


def _rows(A):
    # The upper triangle by columns is the lower one by rows.
    i, j = np.tril_indices(len(A[0]))
    return np.array([np.asarray(a, float)[i, j] * np.where(i == j, 1.0, np.sqrt(2.0)) for a in A])


def _solve(constraints, least, c, n):
    clarabel = pytest.importorskip("clarabel")
    d = n * (n + 1) // 2
    free = constraints.shape[1] - d
    trace = np.r_[_rows([np.eye(n)])[0], np.zeros(free)]
    G = np.vstack([-constraints, trace, np.hstack([-np.eye(d), np.zeros((d, free))])])
    h = np.r_[-least, 1.0, np.zeros(d)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(least) + 1), clarabel.PSDTriangleConeT(n)]
    nothing = sp.csc_matrix((len(c), len(c)))
    found = clarabel.DefaultSolver(nothing, -c, sp.csc_matrix(G), h, cones, settings).solve()
    return -found.obj_val
