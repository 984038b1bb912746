"""Sums over kernel values of which most are of points with one another: a value that is computed serves both."""

from collections.abc import Callable

import numpy as np

from hinge.access.gram.points.inner import Points

TILE_ROWS, TILE_COLUMNS = 256, 512
"""A tile of kernel values stays in the second level cache from its products to its last use."""
GROUPS = 8
"""Parts of the sums, which threads share."""


def symmetric_sums(
    points: Points,
    spread: Callable[[Callable[[int, int], None], int, int], None],
    i: np.ndarray,
    coef: np.ndarray,
    columns: np.ndarray,
) -> tuple[np.ndarray, int]:
    """``K[columns, i] @ coef`` in float64, and how many values that took.

    Points that are among both come first, in the same order; of their values with one another those on and above the
    diagonal are computed. Tiles of rows are dealt to `GROUPS`, whatever the threads: the sums do not depend on them.

    Parameters
    ----------
    points : Points
    spread : callable
        ``spread(span, m, step)`` calls ``span(lo, hi)`` for parts of 0 to m, in threads.
    i, columns : ndarray of int64
        No number twice in either.
    coef : ndarray of shape (len(i), k)
    """
    both, mine, theirs = np.intersect1d(i, columns, assume_unique=True, return_indices=True)
    s, order = len(both), np.concatenate([theirs, np.delete(np.arange(len(columns)), theirs)])
    rows, against = np.concatenate([both, np.delete(i, mine)]), columns[order]
    coef = np.concatenate([coef[mine], np.delete(coef, mine, axis=0)])
    starts = [*range(0, s, TILE_ROWS), *range(s, len(rows), TILE_ROWS)]
    sums, values = np.zeros((GROUPS, len(against), coef.shape[1])), np.zeros(GROUPS, np.int64)

    def span(lo: int, hi: int) -> None:
        room = np.empty(TILE_ROWS * TILE_COLUMNS, points.dtype)
        for group in range(lo, hi):
            for r in starts[group::GROUPS]:
                add_rows(r, sums[group], room)
                values[group] += (min(r + TILE_ROWS, s if r < s else len(rows)) - r) * (len(against) - r * (r < s))

    def add_rows(r: int, out: np.ndarray, room: np.ndarray) -> None:
        end = min(r + TILE_ROWS, s if r < s else len(rows))
        for c in range(r if r < s else 0, len(against), TILE_COLUMNS):
            some = against[c : c + TILE_COLUMNS]
            tile = room[: (end - r) * len(some)].reshape(end - r, len(some))
            points.fill(rows[r:end], some, tile)
            out[c : c + len(some)] += tile.T @ coef[r:end]
            below = slice(max(end, c), min(c + len(some), s))  # points whose own rows leave out these
            if r < s and below.start < below.stop:
                out[r:end] += tile[:, below.start - c : below.stop - c] @ coef[below]

    spread(span, GROUPS, 1)
    found = np.empty(sums.shape[1:])
    found[order] = sums.sum(axis=0)
    return found, int(values.sum())
