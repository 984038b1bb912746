"""Kernel values of some points among themselves, copied from shared matrices row by row when they are first needed.

Pair steps need the rows of points that move, which are often few: some support vectors of a pair of classes.
"""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.kernel_batch import Blocks


class MemberRows(NamedTuple):
    """Rows of the kernel values of n points.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        The rows that have been copied, in the order in which they were first needed.
    lines : ndarray of shape (n,)
        The row of K that has the values of each point, -1 if there is none yet.
    made : ndarray of shape (1,)
        How many rows have been copied.
    places, ends : ndarray of shape (n,)
        Where the points are in the blocks, and where the points that lie side by side with each end.
    diag : ndarray of shape (n,)
        The values of the points with themselves.
    blocks : Blocks
    """

    K: np.ndarray
    lines: np.ndarray
    made: np.ndarray
    places: np.ndarray
    ends: np.ndarray
    diag: np.ndarray
    blocks: Blocks


@compiled
def member_rows(blocks, places):
    """The rows of the points at these places; of all points in their order those of the matrix itself."""
    n, half = len(places), len(blocks.first)
    ends, diag = np.empty(n, np.int64), np.empty(n, blocks.first.dtype)
    for i in range(n - 1, -1, -1):
        p = places[i]
        diag[i] = blocks.first[p, p] if p < half else blocks.last[p - half, p - half]
        beside = i + 1 < n and places[i + 1] == p + 1 and p + 1 != half
        ends[i] = ends[i + 1] if beside else i + 1
    if ends[0] == n == half:
        return MemberRows(blocks.first, np.arange(n), np.full(1, n), places, ends, diag, blocks)
    K = np.empty((n, n), blocks.first.dtype)
    return MemberRows(K, np.full(n, -1), np.zeros(1, np.int64), places, ends, diag, blocks)


@compiled
def copy_row(rows, i):
    """Copy the row of point i."""
    line, half, p, at = rows.made[0], len(rows.blocks.first), rows.places[i], 0
    out = rows.K[line]
    while at < len(out):  # points side by side, as in a class, are copied together
        q, end = rows.places[at], rows.ends[at]
        here = out[at:end]
        if p < half and q >= half:
            _copy(rows.blocks.across[p, q - half :], here)
        elif p >= half and q < half:
            _copy(rows.blocks.across[q:, p - half], here)
        elif p < half:
            _copy(rows.blocks.first[p, q:], here)
        else:
            _copy(rows.blocks.last[p - half, q - half :], here)
        at = end
    rows.lines[i] = line
    rows.made[0] = line + 1


@compiled
def _copy(values, out):
    for c in range(len(out)):
        out[c] = values[c]


@compiled
def copy_all(rows):
    """Copy the rows of all points."""
    for i in range(len(rows.lines)):
        if rows.lines[i] < 0:
            copy_row(rows, i)


@compiled(inline="always")
def row_of(rows, i):
    """The row of point i."""
    if rows.lines[i] < 0:
        copy_row(rows, i)
    return rows.K[rows.lines[i]]
