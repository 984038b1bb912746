"""Squared distances of rows from a point, in float64, from differences of coordinates where rows are dense."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access.data import Data
from hinge.access.matrix import Matrix
from hinge.access.rows import read_row, sq_distance
from hinge.access.tables.fetched import Stretched
from hinge.compiled import compiled
from hinge.types import Stored


def sq_distances(matrix: Data, z: np.ndarray, lo: int, hi: int, out: np.ndarray | None = None) -> np.ndarray:
    """:math:`\\|a_i - z\\|^2` of rows lo to hi.

    Parameters
    ----------
    matrix : Matrix or Table
        Its reads are billed.
    z : ndarray of shape (d,)
    lo, hi : int
    out : ndarray of shape (hi - lo,), optional

    Returns
    -------
    ndarray of shape (hi - lo,)
    """
    out = np.empty(hi - lo) if out is None else out
    if isinstance(matrix, Matrix):
        _fill_between(matrix.rows, z, float(z @ z), lo, hi, out)
    elif isinstance(matrix, Stretched):
        out[:] = _sq_distances_of(matrix._rows_between(lo, hi), z)
    else:
        out[:] = _sq_distances_of(matrix.gather(np.arange(lo, hi)), z)
    return out


def sq_distances_at(matrix: Data, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
    """:math:`\\|a_i - z\\|^2` of some rows; reads are billed."""
    if not isinstance(matrix, Matrix):
        return _sq_distances_of(matrix.gather(np.asarray(rows)), z)
    out = np.empty(len(rows))
    _fill_at(matrix.rows, z, float(z @ z), np.asarray(rows), out)
    return out


def inner_products(matrix: Matrix, z: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """:math:`\\langle a_i - z, a_j - z\\rangle` of all rows, computed in the given type; not billed."""
    rows = matrix._array
    if not sp.issparse(rows):
        centred = rows - z if dtype == np.float64 else (rows - z.astype(dtype)).astype(dtype, copy=False)
        return np.asarray(centred @ centred.T, np.float64)
    rows = rows.astype(np.float64)
    G, along = (rows @ rows.T).toarray(), rows @ z
    return G - along[:, None] - along + z @ z


def mean_offset(matrix: Matrix, q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """:math:`\\sum_i q_i(a_i - z)` over all rows, from differences if they are dense; not billed."""
    rows, total = matrix._array, np.zeros(len(z))
    if sp.issparse(rows):
        return rows.T @ q - z * q.sum()
    for lo, hi in matrix.row_blocks():
        total += q[lo:hi] @ (rows[lo:hi] - z)
    return total


def _sq_distances_of(rows: Stored, z: np.ndarray) -> np.ndarray:
    """Squared distances of rows in memory, as an array or a CSR matrix."""
    if isinstance(rows, np.ndarray):
        away = rows - z
        return np.einsum("ij,ij->i", away, away)
    there = z[rows.indices]
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    near = np.bincount(owner, (rows.data - there) ** 2, rows.shape[0])
    return near + np.maximum(0.0, z @ z - np.bincount(owner, there**2, rows.shape[0]))


@compiled
def _fill_between(A, z, sq_z, lo, hi, out):
    for i in range(lo, hi):
        out[i - lo] = sq_distance(A, read_row(A, i), z, sq_z)


@compiled
def _fill_at(A, z, sq_z, rows, out):
    for k in range(len(rows)):
        out[k] = sq_distance(A, read_row(A, rows[k]), z, sq_z)
