"""Values of expensive kernels: each is evaluated once, checked, and kept where it survives."""

from collections.abc import Iterator
from time import monotonic

import numpy as np

from hinge.access.gram.given_points import SYMMETRIC, FunctionPoints, check_own_values
from hinge.access.gram.row_store import RowStore

MOST_AT_ONCE = 1 << 17
"""Values that one call of a function of blocks is asked for."""


class PairValues:
    """Evaluates what is unknown of blocks of kernel values.

    Parameters
    ----------
    points : FunctionPoints
    store : RowStore, optional
    consults : bool
        Whether to read values from the store, rather than only keep them there.
    """

    def __init__(self, points: FunctionPoints, store: RowStore | None = None, consults: bool = True) -> None:
        self.points, self.store, self.consults = points, store, consults
        self.diagonal = np.full(points.n, np.nan)
        self._evals = self._spared = self._mirrored = 0
        self._piece = 1

    def billed(self) -> int:
        """Values evaluated since this was last asked."""
        evals, self._evals = self._evals, 0
        return evals

    def fill(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Evaluate what is nan of ``values[r, c] = K(rows[r], columns[c])``; no number occurs twice.

        What was evaluated before an exception is in `values`, and in the store.
        """
        twin = np.full(self.points.n, -1)
        twin[rows] = np.arange(len(rows))
        twin = twin[columns]  # for each column that is also a row, its place among the rows; else -1
        both = np.flatnonzero(twin >= 0)
        own = twin[both], both
        values[own] = np.where(np.isnan(values[own]), self.diagonal[columns[both]], values[own])
        if self.store is not None and self.consults:
            self._read_store(self.store, rows, columns, values)
        self._spared = int(np.count_nonzero(~np.isnan(values)))
        if self.points.in_blocks:
            for group, at in _alike(np.isnan(values) & (twin < 0)):
                self._evaluate(rows, columns, values, group, at)
        place = np.full(len(rows), -1)
        place[twin[both]] = both
        # Pairs among the rows, each once, make no larger blocks than rows.
        for r in range(len(rows)):
            unknown = np.flatnonzero(np.isnan(values[r]))
            try:
                for at in self._pieces(unknown):
                    self._evaluate(rows, columns, values, np.array([r]), at)
            finally:
                if place[r] >= 0:
                    also = unknown[twin[unknown] > r]
                    values[twin[also], place[r]] = values[r, also]
                    self._spared += len(also)
        check_own_values(columns[both], values[own])
        self.diagonal[columns[both]] = values[own]

    def own(self, i: int) -> float:
        """K(x, x) of point `i`."""
        if np.isnan(self.diagonal[i]):
            point, value = np.array([i]), np.full((1, 1), np.nan)
            self.fill(point, point, value)
            self.diagonal[i] = value[0, 0]
        return float(self.diagonal[i])

    def _read_store(self, store: RowStore, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        for r, row in enumerate(rows.tolist()):
            unknown = np.flatnonzero(np.isnan(values[r]))
            if len(unknown):
                known, found = store.look_up(row, columns[unknown])
                values[r, unknown[known]] = found[known]

    def _pieces(self, unknown: np.ndarray) -> Iterator[np.ndarray]:
        """What to evaluate: everything together for functions of blocks, else half a second's work between writes."""
        at = 0
        while at < len(unknown):
            size = MOST_AT_ONCE if self.points.in_blocks or self.store is None else self._piece
            began = monotonic()
            yield unknown[at : at + size]
            at += size
            if monotonic() - began < 0.25:
                self._piece = min(2 * self._piece, MOST_AT_ONCE)
            elif monotonic() - began > 0.5:
                self._piece = max(1, self._piece // 2)

    def _evaluate(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, r: np.ndarray, at: np.ndarray
    ) -> None:
        """Evaluate ``values[r, at]``, all of them, in one call if the function takes blocks."""
        fresh = np.full((len(r), len(at)), np.nan)
        try:
            self.points.fill(rows[r], columns[at], fresh)
        except BaseException:
            self._keep(rows, columns, values, r, at, fresh)
            raise
        finally:
            self._evals += int(np.count_nonzero(~np.isnan(fresh)))
        self._check_symmetry(int(rows[r[0]]), columns[at], fresh[0])
        self._keep(rows, columns, values, r, at, fresh)

    def _keep(
        self,
        rows: np.ndarray,
        columns: np.ndarray,
        values: np.ndarray,
        r: np.ndarray,
        at: np.ndarray,
        fresh: np.ndarray,
    ) -> None:
        done = ~np.isnan(fresh)
        values[r[:, None], at] = fresh
        if self.store is not None:
            for k, own in enumerate(done):
                if own.any():
                    self.store.keep(int(rows[r[k]]), columns[at[own]], fresh[k, own])

    def _check_symmetry(self, row: int, columns: np.ndarray, values: np.ndarray) -> None:
        """Evaluate up to eight values with their points exchanged too, in calls where symmetry saves that many."""
        others = np.flatnonzero(columns != row)
        k = min(8 - self._mirrored, self._spared, len(others))
        if k <= 0:
            return
        some = others[np.linspace(0, len(others) - 1, k).astype(np.int64)]
        mirrored = np.full((k, 1), np.nan)
        self.points.fill(columns[some], np.array([row]), mirrored)
        self._evals += k
        self._spared -= k
        scale = float(np.abs(values).max())
        for j, a, b in zip(columns[some], values[some], mirrored[:, 0], strict=True):
            if abs(a - b) > SYMMETRIC * max(scale, abs(b)):
                raise ValueError(
                    f"The kernel is not symmetric: it gave {a:.9g} for the points of rows {row} and {j}, and "
                    f"{b:.9g} for those of rows {j} and {row}."
                )
        self._mirrored += k


def _alike(wanted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Groups of at least two rows that need the same columns, and those columns, in pieces of limited size."""
    groups: dict[bytes, list[int]] = {}
    for r, row in enumerate(np.packbits(wanted, axis=1)):
        groups.setdefault(row.tobytes(), []).append(r)
    for members in groups.values():
        at = np.flatnonzero(wanted[members[0]])
        if len(members) > 1 and len(at):
            step = max(1, MOST_AT_ONCE // len(members))
            for lo in range(0, len(at), step):
                yield np.array(members), at[lo : lo + step]
