"""All values of a symmetric matrix that were ever computed, kept for good."""

from collections.abc import Iterator
from typing import Any

import numpy as np

ROWS = 256
"""Rows that are completed at once."""


class PairMemo:
    """The interface of `RowCache` where all n x n values fit into memory, so that none is ever dropped.

    A row is begun, from what other rows know of it, when it is first asked for; memory that belongs to
    other rows is not touched. From then on a value that is learned is written to both of its rows.

    Parameters
    ----------
    n : int
    """

    keeps_pairs = True

    def __init__(self, n: int) -> None:
        self.n = self.capacity = n
        self.slab = np.empty((n, n))
        self._begun = np.zeros(n, bool)
        self._complete = np.zeros(n, bool)
        self.columns = self.position = np.arange(n)
        self.row_of = np.arange(n)

    @property
    def where(self) -> np.ndarray | None:
        """Where in a row of the slab the columns are; None if all of them are side by side."""
        return None if len(self.columns) == self.n and (self.columns == self.row_of).all() else self.columns

    def places(self, slots: np.ndarray) -> np.ndarray:
        """Where in a row of the slab the points of these slots are."""
        return np.where(self.position[slots] >= 0, slots, -1)

    def lay(self, columns: np.ndarray) -> None:
        """Complete rows at these columns from now on."""
        if np.array_equal(columns, self.columns):
            return
        position = np.full(self.n, -1)
        position[columns] = np.arange(len(columns))
        self._complete[:] = False
        self.columns, self.position = columns, position

    def claim(self, i: np.ndarray) -> np.ndarray:
        """The slots of rows `i`: row number i is always in slot i."""
        return i

    def unfilled(self, slots: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The rows that are not complete at the columns, some at a time."""
        short = np.unique(slots[~self._complete[slots]])
        for lo in range(0, len(short), ROWS):
            yield 0, short[lo : lo + ROWS]

    def complete_slots(self, i: np.ndarray) -> np.ndarray:
        """The slots of those rows that are complete; -1 for the others."""
        return np.where(self._complete[i], i, -1)

    def complete(self, slots: np.ndarray) -> None:
        """Say that all values of these rows are there."""
        self._complete[slots] = True

    def drop(self, slots: np.ndarray) -> None:
        """Nothing to drop: values that are known stay."""

    def known(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The values of these rows and columns, nan where they are unknown."""
        self._begin(rows)
        return self.slab[rows[:, None], columns]

    def learn(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Keep these values, in both orders; nan stands for none, where `known` gave none."""
        self._begin(rows)
        self.slab[rows[:, None], columns] = values
        begun = self._begun[columns]
        mirror, place = values[:, begun].T, (columns[begun][:, None], rows)
        self.slab[place] = np.where(np.isnan(mirror), self.slab[place], mirror)

    def _begin(self, rows: np.ndarray) -> None:
        rows = rows[~self._begun[rows]]
        if len(rows):
            others = np.flatnonzero(self._begun)
            self.slab[rows] = np.nan
            self.slab[rows[:, None], others] = self.slab[others[:, None], rows].T
            self._begun[rows] = True

    def diagonal(self) -> np.ndarray:
        """The values of points with themselves, nan where they are unknown."""
        out = np.full(self.n, np.nan)
        begun = np.flatnonzero(self._begun)
        out[begun] = self.slab[begun, begun]
        return out

    def __getstate__(self) -> dict[str, Any]:
        """Rows that were never begun are not copied."""
        return {**self.__dict__, "slab": self.slab[self._begun]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        rows, self.slab = self.slab, np.empty((self.n, self.n))
        self.slab[self._begun] = rows
