"""The kernel values of some points among themselves, copied from shared matrices: whole, or rows that steps need.

Pair steps need the rows of points that move, which are often few: the support vectors of a pair of classes.
"""

import math
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled


class RowCopies(NamedTuple):
    """Where rows come from that have not been copied yet.

    Attributes
    ----------
    lines : ndarray of shape (n,)
        The number of each point whose row has been copied, -1 for others: see `pair_moves`.
    places, ends : ndarray of shape (n,)
        Where the points are in the blocks, and where the points that lie side by side with each end.
    diag : ndarray of shape (n,)
        The values of the points with themselves.
    first, across, last : ndarray
        As in `Blocks`.
    """

    lines: np.ndarray
    places: np.ndarray
    ends: np.ndarray
    diag: np.ndarray
    first: np.ndarray
    across: np.ndarray
    last: np.ndarray


@compiled
def member_values(values, blocks, places, beta):
    """The kernel values of the points at these places, the norms of these points, and a `RowCopies`.

    Without `blocks` (None) all are copied from `values`, and there is no source. With them only the rows of points that
    have a coefficient are; others are yet to be filled.
    """
    if blocks is None:
        K, own = _whole(values, places)
        return K, own, None
    n, half = len(places), len(blocks.first)
    own, ends, diag = np.empty(n), np.empty(n, np.int64), np.empty(n, values.dtype)
    for i in range(n - 1, -1, -1):
        p = places[i]
        diag[i] = blocks.first[p, p] if p < half else blocks.last[p - half, p - half]
        own[i] = math.sqrt(diag[i]) if diag[i] > 0.0 else 0.0
        beside = i + 1 < n and places[i + 1] == p + 1 and p + 1 != half
        ends[i] = ends[i + 1] if beside else i + 1
    source = RowCopies(np.full(n, -1), places, ends, diag, blocks.first, blocks.across, blocks.last)
    K = blocks.room[: n * n].reshape(n, n)
    for i in range(n):
        if beta[i] != 0.0:
            copy_row(source, i, K)
    return K, own, source


@compiled(no_cpython_wrapper=True)
def _whole(values, places):
    """The kernel values of some points among themselves, and the norms of these points."""
    n = len(places)
    own, ends = np.empty(n), np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        own[i] = math.sqrt(values[places[i], places[i]]) if values[places[i], places[i]] > 0.0 else 0.0
        ends[i] = ends[i + 1] if i + 1 < n and places[i + 1] == places[i] + 1 else i + 1
    if ends[0] == n == len(values):
        return values, own
    K = np.empty((n, n), values.dtype)
    for i in range(n):
        row, out, first = values[places[i]], K[i], 0
        while first < n:  # points side by side, as in a class, are copied together
            here, there = out[first : ends[first]], row[places[first] : places[first] + ends[first] - first]
            for j in range(len(here)):
                here[j] = there[j]
            first = ends[first]
    return K, own


@compiled
def copy_row(source, i, K):
    """Copy the row of point i."""
    half, p, at = len(source.first), source.places[i], 0
    while at < len(K):  # points side by side, as in a class, are copied together
        q, end = source.places[at], source.ends[at]
        if p < half and q >= half:
            _copy(source.across[p, q - half :], K[i, at:end])
        elif p >= half and q < half:
            _copy(source.across[q:, p - half], K[i, at:end])
        elif p < half:
            _copy(source.first[p, q:], K[i, at:end])
        else:
            _copy(source.last[p - half, q - half :], K[i, at:end])
        at = end
    source.lines[i] = i


@compiled
def _copy(values, out):
    for c in range(len(out)):
        out[c] = values[c]


@compiled
def copy_all(source, K):
    """Copy the rows of all points that have not been copied; K is whole if there is no source."""
    if source is not None:
        for i in range(len(K)):
            if source.lines[i] < 0:
                copy_row(source, i, K)
