"""Some complete rows of a Gram matrix, and sums over rows: of rows that are kept, or by tiles that are not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hinge.access.gram.inner_points import Points
from hinge.compiled import compiled

TILE = 64
"""Side of a tile of a block that is mirrored."""
TILE_ROWS, TILE_COLUMNS = 256, 512
"""A tile of kernel values stays in the second level cache from its products to its last use."""


class CachedRows:
    """Some complete rows in the cache, until others are fetched."""

    def __init__(self, gram: Any, slots: np.ndarray) -> None:
        self.gram, self.slots = gram, slots

    def block(self) -> np.ndarray:
        """The kernel values of these points among themselves, which must be among the columns; until the next call."""
        cache = self.gram._cache
        places = cache.places(self.slots)
        if len(places) and places.min() < 0:
            i = int(cache.row_of[self.slots[places.argmin()]])
            raise ValueError(f"The point of row {i} is not among the columns: its values are not there.")
        n = len(self.slots)
        K = self.gram.room_for(n * n).reshape(n, n)
        # Of few columns a value is read once and written twice, since each read costs a cache line.
        _gather(cache.slab, self.slots, places, n < 0.12 * cache.slab.shape[1], K)
        return K

    def in_place(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where the rows lie, against all columns, and in which lines; None where columns are not side by side."""
        cache = self.gram._cache
        return (cache.slab, self.slots) if cache.where is None else None

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """``coef @ rows`` in float64."""
        out = np.zeros(len(self.gram.columns))
        self.add_to(out, coef)
        return out

    def combine_at(self, coef: np.ndarray, at: np.ndarray) -> np.ndarray:
        """``coef @ rows[:, at]`` in float64, by places among the columns."""
        if len(at) >= 0.25 * len(self.gram.columns):  # to read all of them in order is faster
            return self.combine(coef)[at]
        where, out = self.gram._cache.where, np.zeros(len(at))
        coef = np.ascontiguousarray(coef, np.float64)
        _combine_at(self.gram._cache.slab, self.slots, coef, at if where is None else where[at], out)
        return out

    def add_to(self, out: np.ndarray, coef: np.ndarray) -> None:
        """``out += coef @ rows``."""
        slab, where = self.gram._cache.slab, self.gram._cache.where
        coef = np.ascontiguousarray(coef, np.float64)
        used = np.flatnonzero(coef)
        slots, coef = self.slots[used], coef[used]

        def span(lo: int, hi: int) -> None:
            if where is None:
                add_rows(slab, lo, slots, coef, out[lo:hi])
            else:
                _combine_at(slab, slots, coef, where[lo:hi], out[lo:hi])

        self.gram._spread(span, len(out), 4096)


class PassingRows:
    """Some complete rows of which the cache holds the first; the others are computed as they are summed.

    So a working set is limited by the values of its points among themselves, not by their rows: sets that hold a
    part of the support vectors only converge slowly.
    """

    def __init__(self, held: CachedRows, i: np.ndarray) -> None:
        self.gram, self.held, self.i = held.gram, held, i

    def block(self) -> np.ndarray:
        """The kernel values of these points among themselves, until the next call."""
        n = len(self.i)
        K = self.gram.room_for(n * n).reshape(n, n)
        self.gram.fill_values(self.i, self.i, K)
        return K

    def in_place(self) -> None:
        """They lie nowhere."""

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """``coef @ rows`` in float64."""
        kept = len(self.held.slots)
        rest = np.flatnonzero(coef[kept:]) + kept
        out = self.gram.sum_over(self.i[rest], coef[rest], self.gram.columns)
        self.held.add_to(out, coef[:kept])
        return out


@compiled
def _gather(slab, slots, places, half, K):
    """K[r, c] = slab[slots[r], places[c]]; where `half`, one triangle is read and mirrored: scattered reads are slow.

    It is mirrored in tiles, which stay in the first cache from their reading to their writing.
    """
    n = len(slots)
    for r in range(n):
        row, out = slab[slots[r]], K[r]
        for c in range(r + 1 if half else n):
            out[c] = row[places[c]]
    for at in range(0, n if half else 0, TILE):
        for first in range(0, at + TILE, TILE):
            for c in range(first, min(first + TILE, n)):
                out = K[c]
                for r in range(max(at, c + 1), min(at + TILE, n)):
                    out[r] = K[r, c]


@compiled(fastmath={"contract", "nsz"})
def add_rows(slab, first, slots, coef, out):
    """``out += coef @ slab[slots, first:]``, in blocks of columns that fit the first cache, four rows at a time."""
    R = len(slots)
    for at in range(0, len(out), 1024):
        sums = out[at : at + 1024]
        lo, hi = first + at, first + at + len(sums)
        for r in range(0, R - R % 4, 4):
            _add_four(
                slab[slots[r], lo:hi],
                slab[slots[r + 1], lo:hi],
                slab[slots[r + 2], lo:hi],
                slab[slots[r + 3], lo:hi],
                coef[r : r + 4],
                sums,
            )
        for r in range(R - R % 4, R):
            row, a = slab[slots[r], lo:hi], coef[r]
            for c in range(len(sums)):
                sums[c] += a * row[c]


@compiled(fastmath={"contract", "nsz"})
def _add_four(x0, x1, x2, x3, coef, sums):
    """sums += Σ coef x, added in the order of single rows: the result does not depend on how rows are grouped."""
    a0, a1, a2, a3 = coef[0], coef[1], coef[2], coef[3]
    for c in range(len(sums)):
        s = sums[c] + a0 * x0[c]
        s += a1 * x1[c]
        s += a2 * x2[c]
        sums[c] = s + a3 * x3[c]


@compiled(fastmath={"contract", "nsz"})
def _combine_at(slab, slots, coef, where, out):
    for r in range(len(slots)):
        row, a = slab[slots[r]], coef[r]
        for c in range(len(out)):
            out[c] += a * row[where[c]]


GROUPS = 8
"""Parts of the sums, which threads share; a fixed number, so that sums do not depend on the number of threads."""


def symmetric_sums(
    points: Points,
    spread: Callable[[Callable[[int, int], None], int, int], None],
    i: np.ndarray,
    coef: np.ndarray,
    columns: np.ndarray,
    first: int | None = None,
) -> tuple[np.ndarray, int]:
    """``coef @ K[i, columns]`` in float64, and how many values that took.

    Points that are among both come first, in the order of `i`; of their values with one another those on and above the
    diagonal are computed. Tiles of rows are dealt to `GROUPS`, whatever the threads: the sums do not depend on them.

    Parameters
    ----------
    points : Points
    spread : callable
        ``spread(span, m, step)`` calls ``span(lo, hi)`` for parts of 0 to m, in threads.
    i, columns : ndarray of int64
        No number twice in either.
    coef : ndarray of shape (k, len(i))
    first : int, optional
        Sum only over pairs of which one is among so many of the first `i`; if not all, i are the columns.
    """
    place = np.full(points.n, -1)
    place[columns] = np.arange(len(columns))
    mine = np.flatnonzero(place[i] >= 0)
    theirs, s = place[i[mine]], len(mine)
    order = np.concatenate([theirs, np.delete(np.arange(len(columns)), theirs)])
    rows, against = np.concatenate([i[mine], np.delete(i, mine)]), columns[order]
    coef = np.concatenate([coef[:, mine], np.delete(coef, mine, axis=1)], axis=1)
    most = len(rows) if first is None else first
    starts = [*range(0, min(s, most), TILE_ROWS), *range(s, most, TILE_ROWS)]
    sums, values = np.zeros((GROUPS, len(coef), len(against))), np.zeros(GROUPS, np.int64)

    def span(lo: int, hi: int) -> None:
        room = np.empty(TILE_ROWS * TILE_COLUMNS, points.dtype)
        for group in range(lo, hi):
            for r in starts[group::GROUPS]:
                end = min(r + TILE_ROWS, most, s if r < s else most)
                add_tiles(r, end, sums[group], room)
                values[group] += (end - r) * (len(against) - r * (r < s))

    def add_tiles(r: int, end: int, out: np.ndarray, room: np.ndarray) -> None:
        used = [np.flatnonzero(one) for one in coef[:, r:end]]
        own = [one[r + at] for one, at in zip(coef, used, strict=True)]
        for c in range(r if r < s else 0, len(against), TILE_COLUMNS):
            some = against[c : c + TILE_COLUMNS]
            tile = room[: (end - r) * len(some)].reshape(end - r, len(some))
            points.fill(rows[r:end], some, tile)
            for k in range(len(coef)):
                add_rows(tile, 0, used[k], own[k], out[k, c : c + len(some)])
            below = slice(max(end, c), min(c + len(some), s))  # points whose own rows leave out these
            if r < s and below.start < below.stop:
                add_columns(tile, below.start - c, np.ascontiguousarray(coef[:, below]), out[:, r:end])

    spread(span, GROUPS, 1)
    found = np.empty(sums.shape[1:])
    found[:, order] = sums.sum(axis=0)
    return found, int(values.sum())


@compiled(fastmath={"contract", "nsz", "reassoc"})
def add_columns(tile, first, coef, out):
    """``out += coef @ tile[:, first:].T`` for as many columns as `coef` has."""
    k, m = coef.shape
    for r in range(len(tile)):
        row = tile[r, first : first + m]
        for one in range(k):
            own, total = coef[one], 0.0
            for c in range(m):
                total += own[c] * row[c]
            out[one, r] += total
