"""Eigenvalues of symmetric matrices, for bounds and projections."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from hinge.problems.max_min.projections import onto_cap, onto_simplex

SMALL = 16  # up to this order one call of `eigh` is fastest
FEW = 0.25  # eigenvectors are computed one by one if fewer than this fraction of them are needed

ONE_THREAD = 512  # up to this order BLAS is faster with one thread


def few_threads(order: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread if the matrices are small: two to three times as fast."""
    return threadpool_limits(1, user_api="blas") if order <= ONE_THREAD else nullcontext()


def top_eigenvalue(M: np.ndarray) -> float:
    """The largest eigenvalue; O(n³), without eigenvectors."""
    n = len(M)
    if n <= SMALL:
        return float(np.linalg.eigvalsh(M)[-1])
    options = dict(eigvals_only=True, subset_by_index=(n - 1, n - 1), check_finite=False)
    return float(scipy.linalg.eigh(M, driver="evr", **options)[0])


def onto_bounded_cone(M: np.ndarray, *, unit_trace: bool = False) -> np.ndarray:
    """The nearest X with X ⪰ 0 and tr X ≤ 1, or tr X = 1, by projecting the eigenvalues.

    Only eigenvectors whose projected eigenvalue is positive are computed; they are few if the result has a low rank.
    Reduction to the tridiagonal Q T Qᵀ gives all eigenvalues; then the eigenvectors of T that are needed are multiplied
    by Q. It costs :math:`\\tfrac43 n^3` operations, and O(n² r) for the rank r.
    """
    n, capped = len(M), onto_simplex if unit_trace else onto_cap
    if n > SMALL:
        reflectors, diagonal, beside, factors, _ = lapack.dsytrd(M, lower=1, lwork=32 * n)
        values, failed = lapack.dsterf(diagonal, beside)
        kept = capped(values)
        rank = int(np.count_nonzero(kept))
        if rank == 0 and not failed:
            return np.zeros((n, n))
        if rank <= FEW * n and not failed:
            half = _top_vectors(reflectors, diagonal, beside, factors, rank) * np.sqrt(kept[n - rank :])
            return half @ half.T
    values, vectors = np.linalg.eigh(M)
    kept = capped(values)
    half = vectors[:, kept > 0.0] * np.sqrt(kept[kept > 0.0])
    return half @ half.T


def _top_vectors(reflectors, diagonal, beside, factors, rank) -> np.ndarray:
    n = len(diagonal)
    options = dict(select="i", select_range=(n - rank, n - 1), lapack_driver="stemr", check_finite=False)
    vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside, **options)[1]
    # dsytrd stores the reflectors of Q below the subdiagonal: one row lower than a QR factorisation would.
    turned = lapack.dormqr("L", "N", reflectors[1:, :-1], factors, vectors[1:], 64 * rank)[0]
    return np.vstack([vectors[:1], turned])
