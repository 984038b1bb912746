"""Caches of kernel rows: the most recently used rows in one stretch of memory, or the values of all pairs.

They know numbers of rows and of columns, and nothing of kernels.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from hinge.access.gram.rows import TILE_ROWS
from hinge.compiled import compiled

LEAST_ROWS = 64
"""Rows that are always kept, whatever the budget: less would be slower than no cache."""
PIECE = 1 << 20
"""Values that are moved in one call: some milliseconds, after which Ctrl-C is noticed."""


class RowCache:
    """Complete or begun rows of an n x n matrix, against some of its columns.

    Where ``_slot_of[i] = s`` is not negative, ``row_of[s] = i`` and the first ``_filled[s]`` values of
    ``slab[s]`` are values of row i; the converse need not hold. Every method keeps to an order in which this
    holds between any two statements, so that an exception, Ctrl-C among them, costs rows and never their truth.

    Parameters
    ----------
    n : int
    dtype : dtype
    budget : int
        Bytes that the rows may take, if that is `LEAST_ROWS` rows or more. Memory is touched as rows are
        added, not before.

    Attributes
    ----------
    columns : ndarray of int64
    position : ndarray of shape (n,)
        Where in a row a column is; -1 if it is not.
    slab : ndarray of shape (capacity, len(columns))
    row_of : ndarray of shape (capacity,)
        The row in each slot of the slab; -1 where it is empty.
    """

    keeps_pairs = False
    """Whether values of single pairs are kept, apart from rows."""

    columns: np.ndarray
    position: np.ndarray
    slab: np.ndarray
    row_of: np.ndarray
    _slot_of: np.ndarray
    _filled: np.ndarray
    _stamp: np.ndarray
    _begun: int
    _clock: int

    def __init__(self, n: int, dtype: DTypeLike, budget: int) -> None:
        self.n, self.dtype, self.budget = n, np.dtype(dtype), max(0, budget)
        self._empty()

    def _empty(self) -> None:
        size = max(LEAST_ROWS * self.n, self.budget // self.dtype.itemsize)
        self._flat = np.empty(min(size, self.n * self.n), self.dtype)
        self._install(np.arange(self.n), *(np.empty(0, np.int64) for _ in range(3)))

    @property
    def capacity(self) -> int:
        """Number of rows that are kept."""
        return len(self.row_of)

    @property
    def where(self) -> np.ndarray | None:
        """Where in a row of the slab the columns are: side by side."""
        return None

    def places(self, slots: np.ndarray) -> np.ndarray:
        """Where in a row of the slab the points of these slots are; -1 if they are not."""
        return self.position[self.row_of[slots]]

    # --- layout ---------------------------------------------------------------------------

    def lay(self, columns: np.ndarray) -> None:
        """Hold rows against these columns; old rows remain where these begin with the old columns."""
        old = len(self.columns)
        extends = len(columns) >= old > 0 and np.array_equal(columns[:old], self.columns)
        if extends and len(columns) == old:
            return
        slots = np.empty(0, np.int64)
        if extends:
            used = np.flatnonzero(self.row_of >= 0)
            recent = np.argsort(-self._stamp[used], kind="stable")[: self._slots_for(len(columns))]
            slots = np.sort(used[recent])
        rows, filled, stamp = self.row_of[slots], self._filled[slots], self._stamp[slots]
        self._slot_of[:] = -1  # until their rows have moved
        self.row_of[:] = -1
        new = len(columns)
        step = max(1, PIECE // max(1, new))
        for lo in range(0, len(slots), step):
            _close_up(self._flat, slots, filled, old, lo, min(lo + step, len(slots)))
        for hi in range(len(slots), 1, -step):
            _spread_out(self._flat, filled, old, new, max(1, hi - step), hi)
        self._install(columns, rows, filled, stamp)

    def _slots_for(self, m: int) -> int:
        return min(self.n, max(LEAST_ROWS, self.budget // (max(1, m) * self.dtype.itemsize)))

    def _install(self, columns: np.ndarray, rows: np.ndarray, filled: np.ndarray, stamp: np.ndarray) -> None:
        slots, k = self._slots_for(len(columns)), len(rows)

        def padded(a: np.ndarray, value: int) -> np.ndarray:
            return np.concatenate([a, np.full(slots - k, value, np.int64)])

        slot_of, position = np.full(self.n, -1), np.full(self.n, -1)
        slot_of[rows] = np.arange(k)
        position[columns] = np.arange(len(columns))
        self.__dict__.update(  # in one call, so that Ctrl-C cannot leave half of it
            columns=columns,
            position=position,
            _slot_of=slot_of,
            _begun=k,
            slab=self._flat[: slots * len(columns)].reshape(slots, len(columns)),
            row_of=padded(rows, -1),
            _filled=padded(filled, 0),
            _stamp=padded(stamp, 0),
            _clock=int(stamp.max(initial=0)) + 1,
        )

    # --- rows -----------------------------------------------------------------------------

    def claim(self, i: np.ndarray) -> np.ndarray:
        """Slots for rows `i`, at most `capacity` of them; what they hold, `unfilled` says."""
        if len(i) > self.capacity:
            raise ValueError(f"{len(i)} rows were asked for at once; the cache holds {self.capacity}.")
        self._clock += 1
        slots = self._slot_of[i]
        self._stamp[slots[slots >= 0]] = self._clock
        if (slots >= 0).all():
            return slots
        missing = np.unique(i[slots < 0])
        free = self._free(len(missing))
        self._begun = max(self._begun, int(free.max()) + 1)
        self._let_go(free)
        self._filled[free] = 0
        self._stamp[free] = self._clock
        self.row_of[free] = missing
        self._slot_of[missing] = free
        return self._slot_of[i]

    def _free(self, k: int) -> np.ndarray:
        """k slots to fill: those never used, in order, then those used longest ago."""
        fresh = np.arange(self._begun, min(self._begun + k, self.capacity))
        if len(fresh) == k:
            return fresh
        stamp = self._stamp[: self._begun]
        old = np.argpartition(stamp, k - len(fresh) - 1)[: k - len(fresh)]
        return np.concatenate([old, fresh])

    def unfilled(self, slots: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The slots that are not complete, by how many of their values are there."""
        short = np.unique(slots[self._filled[slots] < len(self.columns)])
        filled = self._filled[short]
        for first in np.unique(filled).tolist():
            yield first, short[filled == first]

    def complete_slots(self, i: np.ndarray) -> np.ndarray:
        """The slots of those rows that are complete; -1 for the others."""
        slots = self._slot_of[i]
        return np.where((slots >= 0) & (self._filled[slots] == len(self.columns)), slots, -1)

    def complete(self, slots: np.ndarray) -> None:
        """Say that all values of these slots are there."""
        self._filled[slots] = len(self.columns)

    def drop(self, slots: np.ndarray) -> None:
        """Forget these slots, which hold rows that were only partly computed."""
        self._let_go(slots)
        self._stamp[slots] = 0

    def _let_go(self, slots: np.ndarray) -> None:
        """Empty these slots. A row that `claim` was interrupted over may have another slot by now, and keeps that."""
        rows = self.row_of[slots]
        self._slot_of[rows[(rows >= 0) & (self._slot_of[rows] == slots)]] = -1
        self.row_of[slots] = -1

    # --- single values --------------------------------------------------------------------

    def known(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The values of these rows and columns as far as they are held in either order, else nan."""
        values = np.full((len(rows), len(columns)), np.nan)
        at, theirs = self.position[columns], self._slot_of[columns]
        theirs_filled = np.where(theirs >= 0, self._filled[theirs], 0)
        for k, row in enumerate(rows.tolist()):
            slot = int(self._slot_of[row])
            if slot >= 0:
                held = (at >= 0) & (at < self._filled[slot])
                values[k, held] = self.slab[slot, at[held]]
            own = int(self.position[row])
            if own >= 0:
                held = theirs_filled > own
                values[k, held] = self.slab[theirs[held], own]
        return values

    def learn(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Does nothing: only whole rows are kept here."""

    def diagonal(self) -> np.ndarray:
        """The values of points with themselves, nan where they are not held."""
        out = np.full(self.n, np.nan)
        slots = np.flatnonzero(self.row_of >= 0)
        at = self.places(slots)
        held = (at >= 0) & (at < self._filled[slots])
        out[self.row_of[slots[held]]] = self.slab[slots[held], at[held]]
        return out

    def __getstate__(self) -> dict[str, Any]:
        """A copy begins without rows: they can be many, and are computed again."""
        return {"n": self.n, "dtype": self.dtype, "budget": self.budget, "columns": self.columns}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state.pop("columns")
        self.__dict__.update(state)
        self._empty()
        self.lay(columns)


@compiled
def _close_up(flat, slots, filled, old, first, last):
    """Move some of the rows of length `old` from ascending `slots` to slots 0, 1, ..."""
    for k in range(first, last):
        here, there = slots[k] * old, k * old
        if here != there:
            for j in range(filled[k]):
                flat[there + j] = flat[here + j]


@compiled
def _spread_out(flat, filled, old, new, first, last):
    """Make some of the rows of length `old` rows of length `new` >= `old`, the last one first."""
    for k in range(last - 1, first - 1, -1):
        for j in range(filled[k] - 1, -1, -1):
            flat[k * new + j] = flat[k * old + j]


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
        for lo in range(0, len(short), TILE_ROWS):
            yield 0, short[lo : lo + TILE_ROWS]

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
