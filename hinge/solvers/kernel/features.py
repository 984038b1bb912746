"""The features of landmarks, whose inner products are nearly kernel values, on the host or on a device."""

import math
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from hinge.access import BaseGram, Matrix
from hinge.threads import each, stretches

if TYPE_CHECKING:  # imported when a device is asked for
    from hinge.access.gram.device import DeviceGram

BLOCK = 4096
"""Rows whose features are computed together; a device takes more."""


class Features(NamedTuple):
    """The features :math:`z_i = L^{-1}K_{mi}` of all points, by landmarks none of which depends on the others.

    ============ =======================================================
    `asked`      the landmarks that were asked for
    `landmarks`  those that are kept
    `factor`     L, of :math:`K_{mm} = LL^T`; on a device with a ridge, which the rounding of kernel values needs
    `matrix`     Z, of shape (n, m)
    `rest`       :math:`K_{ii} - \\|z_i\\|^2`, what they leave of a point
    ============ =======================================================
    """

    asked: np.ndarray
    landmarks: np.ndarray
    factor: Any
    matrix: Matrix
    rest: np.ndarray


_FEATURES: "weakref.WeakKeyDictionary[BaseGram, Features]" = weakref.WeakKeyDictionary()


def features_of(gram: BaseGram, asked: np.ndarray) -> Features:
    """The features by some landmarks, kept while the Gram lives: problems of other labels and weights share them."""
    known = _FEATURES.get(gram)
    if known is not None and np.array_equal(known.asked, asked):
        return known
    _FEATURES.pop(gram, None)  # frees its memory
    found = (_features_there if gram.on_device else _features_here)(cast(Any, gram), asked)
    rest = found.rest
    if rest.min() < -math.sqrt(eigenvalue_error(gram, len(asked)) * float(gram.diag.max())):
        raise ValueError(
            "The kernel is not positive semidefinite, as landmarks need: the features of row "
            f"{rest.argmin()} are longer than K(x, x) allows. Use another kernel, or fit without n_components."
        )
    _FEATURES[gram] = found._replace(rest=np.maximum(rest, 0.0))
    return _FEATURES[gram]


def _features_here(gram: BaseGram, asked: np.ndarray) -> Features:
    landmarks, L = independent(gram, asked)
    back = solve_triangular(L, np.eye(len(L)), lower=True).T.astype(gram.dtype)
    Z = np.empty((gram.n, len(landmarks)), gram.dtype)
    for lo in range(0, gram.n, BLOCK):
        some = np.arange(lo, min(lo + BLOCK, gram.n))
        _multiply(gram.values(some, landmarks), back, Z[lo : lo + BLOCK], gram.threads)
    rest = gram.diag - np.einsum("ij,ij->i", Z, Z)
    return Features(asked, landmarks, L, Matrix(Z, checked=True), rest)


def _features_there(gram: "DeviceGram", asked: np.ndarray) -> Features:
    """The same on a device: nothing comes back but what they leave of each point.

    A ridge takes the place of pivots, which are slow there: landmarks that depend on others share their weight.
    """
    from hinge.access.device_rows import keep_there, product, width_of
    from hinge.access.gram.device import TILE_ROWS

    torch, m, device = gram.xp, len(asked), str(gram.device)
    landmarks, exact = gram.array(asked), gram.finer or gram
    K = exact.values(landmarks, landmarks).to(torch.float64)
    gram.evals += K.numel() if exact is not gram else 0
    K.diagonal().add_(eigenvalue_error(gram, m) or 1.0)
    L, failed = torch.linalg.cholesky_ex(K)
    if int(failed) or not bool(L.isfinite().all()):
        raise ValueError("The kernel gave values that are not finite, or that no positive semidefinite kernel has.")
    unit = torch.eye(m, dtype=torch.float64, device=gram.device)
    back = torch.linalg.solve_triangular(L, unit, upper=False).T.to(gram.xp_type)
    Z = torch.zeros((gram.n, width_of(m)), dtype=gram.xp_type, device=gram.device)
    Z[:, m] = 1.0
    rest = gram.array(gram.diag)
    every = torch.arange(gram.n, device=gram.device)
    for some, part, left in zip(*(one.split(TILE_ROWS) for one in (every, Z[:, :m], rest)), strict=True):
        product(torch, gram.values(some, landmarks), back, part)
        left -= (part.to(torch.float64) ** 2).sum(1)
    return Features(asked, asked, L, keep_there(Z, m, device), gram.host(rest))


def coefficients(gram: BaseGram, L: Any, u: np.ndarray) -> np.ndarray:
    """L⁻ᵀu: the coefficients of the landmarks in an answer u over the features."""
    if not gram.on_device:
        return solve_triangular(L, u, lower=True, trans="T")
    there = cast(Any, gram)
    return there.host(there.xp.linalg.solve_triangular(L.T, there.array(u)[:, None], upper=True)[:, 0])


def _multiply(K: np.ndarray, back: np.ndarray, out: np.ndarray, threads: int) -> None:
    """out ← K · back, rows spread over threads: BLAS has one."""
    ends = [slice(*one) for one in stretches(len(K), threads)]
    each(lambda k: np.matmul(K[ends[k]], back, out=out[ends[k]]), len(ends), threads)


def independent(gram: BaseGram, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Landmarks that do not depend on others but for the rounding of kernel values, and their Cholesky factor."""
    exact = gram.finer if isinstance(gram.finer, BaseGram) else gram
    K = exact.host(exact.values(asked, asked)).astype(np.float64)
    gram.evals += K.size if exact is not gram else 0
    if not np.isfinite(K).all():
        i, j = asked[np.argwhere(~np.isfinite(K))[0]]
        raise ValueError(f"The kernel gave a value that is not finite, for the points of rows {i} and {j}.")
    L, order, rank, _ = dpstrf(K, tol=eigenvalue_error(gram, len(K)), lower=1)
    if rank == 0:  # all values are zero
        return asked[:1], np.ones((1, 1))
    return asked[order[:rank] - 1], np.tril(L[:rank, :rank])


def eigenvalue_error(gram: BaseGram, m: int) -> float:
    """By how much rounding of kernel values may move the eigenvalues of a matrix of m landmarks."""
    return m * float(np.finfo(gram.dtype).eps) * float(gram.diag.max())
