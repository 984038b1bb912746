"""Kernel rows: computed in tiles, counted, and kept under a byte budget."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hinge.access.points import Points
from hinge.compiled import compiled

TILE_ROWS, TILE_COLUMNS = 256, 512
"""A tile of kernel values stays in the second level cache from its products to its last use."""

LEAST_ROWS = 64
"""Rows that are always kept, whatever the budget: less would be slower than no cache."""


class Gram:
    """The Gram matrix of a set of points, of which rows are computed when they are asked for.

    Parameters
    ----------
    points : Points
    cache_bytes : int
        Rows are kept in this much memory, the least recently used dropped first.
    threads : int
        Threads over which the columns of a tile are spread.
    store : RowStore, optional
        Where rows survive a restart.

    Attributes
    ----------
    n : int
    evals : int
        Kernel values computed so far.
    asked : int
        Kernel values asked for, those found in the cache included.
    columns : ndarray of int64
        The points against which rows are computed: all of them, until `focus` says otherwise.
    narrows : bool
        Whether rows against fewer columns are cheaper.
    largest_block : int
        Points whose values among themselves fit beside the cache.
    """

    def __init__(
        self, points: Points, cache_bytes: int = 200_000_000, threads: int = 1, store: Any = None
    ) -> None:
        self.points, self.n, self.dtype = points, points.n, points.dtype
        self.evals = self.asked = 0
        self.threads, self.store, self.by_value = threads, store, points.by_value
        self._budget = max(int(cache_bytes) - points.nbytes, 0)
        self.largest_block = max(LEAST_ROWS, int(np.sqrt(self._budget / 8 / self.dtype.itemsize)))
        self._budget -= self.largest_block**2 * self.dtype.itemsize
        self._memo: np.ndarray | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._diag: np.ndarray | None = None
        self._clock = 0
        self._row_of = self._filled = self._stamp = np.empty(0, np.int64)  # of each slot
        self._flat = np.empty(0, self.dtype)
        self.columns = np.empty(0, np.int64)
        self._lay(np.arange(self.n), keep=0)

    xp: Any = np
    narrows = True

    def array(self, a: Any) -> Any:
        """`a` where this Gram computes: on the host, as it is."""
        return np.asarray(a)

    def host(self, a: Any) -> np.ndarray:
        """An array of this Gram's as one of NumPy's."""
        return np.asarray(a)

    # --- what solvers use -----------------------------------------------------------------

    @property
    def diag(self) -> np.ndarray:
        """K(x, x) of every point; a negative one is refused."""
        if self._diag is None:
            diag = self.points.diag()
            if self.by_value:
                self.evals += self.n
            bad = np.flatnonzero(~(diag >= 0) | ~np.isfinite(diag))
            if len(bad):
                i = int(bad[0])
                raise ValueError(
                    f"The kernel is not positive: K(x, x) is {diag[i]:g} for the point of row {i}."
                )
            self._diag = diag
        return self._diag

    @property
    def capacity(self) -> int:
        """Rows that are kept at once."""
        return len(self._row_of)

    def focus(self, columns: np.ndarray | None) -> None:
        """Compute rows against these columns only, from now on; None for all.

        Rows in the cache are kept, and completed when they are asked for again, where the new columns
        begin with the old ones.
        """
        columns = np.arange(self.n) if columns is None else np.ascontiguousarray(columns, np.int64)
        old = self.columns
        if len(columns) == len(old) and np.array_equal(columns, old):
            return
        extends = len(columns) > len(old) and np.array_equal(columns[: len(old)], old)
        self._lay(columns, keep=len(old) if extends else 0)

    def rows(self, i: np.ndarray) -> "Rows":
        """The rows of points `i`, at most `capacity` of them, until the next call."""
        return Rows(self, self._fetch(np.ascontiguousarray(i, np.int64)))

    def combine(self, i: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]`` in float64, by rows that are kept."""
        out = np.zeros(len(self.columns))
        step = min(self.capacity, 1024)
        for lo in range(0, len(i), step):
            self.rows(i[lo : lo + step]).add_to(out, coef[lo : lo + step])
        return out

    def pass_over(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]`` for any columns, each tile dropped after use."""
        out = np.zeros(len(columns))
        self.asked += len(i) * len(columns)
        self.evals += len(i) * len(columns)

        def span(lo: int, hi: int) -> None:
            buffer = np.empty(TILE_ROWS * TILE_COLUMNS, self.dtype)
            for c in range(lo, hi, TILE_COLUMNS):
                some = columns[c : min(c + TILE_COLUMNS, hi)]
                for r in range(0, len(i), TILE_ROWS):
                    part = i[r : r + TILE_ROWS]
                    tile = buffer[: len(part) * len(some)].reshape(len(part), len(some))
                    self.points.fill(part, some, tile)
                    _combine(tile, np.arange(len(part)), coef[r : r + TILE_ROWS], out[c : c + len(some)])

        self._spread(span, len(columns))
        return out

    # --- the cache ------------------------------------------------------------------------

    def _lay(self, columns: np.ndarray, keep: int) -> None:
        """Lay the cache out for rows of this length; the first `keep` values of old rows remain."""
        m, old_m = max(1, len(columns)), max(1, len(self.columns))
        slots = min(self.n, max(LEAST_ROWS, self._budget // (m * self.dtype.itemsize)))
        if len(self._flat) < slots * m:
            new = np.empty(max(slots * m, self._budget // self.dtype.itemsize), self.dtype)
            new = new[: min(len(new), self.n * self.n)]
            if keep:
                new[: len(self._flat)] = self._flat
            self._flat = new
        survivors = np.empty(0, np.int64)
        if keep:
            used = np.flatnonzero(self._row_of >= 0)
            survivors = np.sort(used[np.argsort(-self._stamp[used], kind="stable")[:slots]])
        rows, filled = np.full(slots, -1), np.zeros(slots, np.int64)
        stamps = np.zeros(slots, np.int64)
        for k, slot in enumerate(survivors):  # downwards in memory, then upwards: nothing is overwritten
            self._flat[k * old_m : k * old_m + old_m] = self._flat[slot * old_m : slot * old_m + old_m]
        for k in range(len(survivors) - 1, -1, -1):
            self._flat[k * m : k * m + keep] = self._flat[k * old_m : k * old_m + keep].copy()
        if len(survivors):
            rows[: len(survivors)] = self._row_of[survivors]
            filled[: len(survivors)] = self._filled[survivors]
            stamps[: len(survivors)] = self._stamp[survivors]
        self._row_of, self._filled, self._stamp = rows, filled, stamps
        self._slot_of = np.full(self.n, -1)
        self._slot_of[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
        self.columns = columns
        self.position = np.full(self.n, -1)
        self.position[columns] = np.arange(len(columns))
        self._slab = self._flat[: slots * m].reshape(slots, m)

    def _fetch(self, i: np.ndarray) -> np.ndarray:
        """Slots that hold the complete rows of points `i`."""
        if len(i) > self.capacity:
            raise ValueError(f"{len(i)} rows were asked for at once; the cache holds {self.capacity}.")
        m = len(self.columns)
        self.asked += len(i) * m
        self._clock += 1
        slots = self._slot_of[i]
        self._stamp[slots[slots >= 0]] = self._clock
        missing = np.unique(i[slots < 0])
        if len(missing):
            free = np.argsort(self._stamp, kind="stable")[: len(missing)]
            gone = self._row_of[free]
            self._slot_of[gone[gone >= 0]] = -1
            self._row_of[free], self._slot_of[missing] = missing, free
            self._filled[free] = 0
            self._stamp[free] = self._clock
            slots = self._slot_of[i]
        short = np.unique(slots[self._filled[slots] < m])
        for first in np.unique(self._filled[short]):
            part = short[self._filled[short] == first]
            self._compute(part, int(first))
            self._filled[part] = m
        return slots

    def _compute(self, slots: np.ndarray, first: int) -> None:
        """Complete rows from column `first` on."""
        rows, columns = self._row_of[slots], self.columns[first:]
        try:
            if self.by_value:
                for slot, row in zip(slots, rows, strict=True):
                    self._compute_values(int(slot), int(row), first)
                return
            self.evals += len(rows) * len(columns)

            def span(lo: int, hi: int) -> None:
                buffer = np.empty(TILE_ROWS * TILE_COLUMNS, self.dtype)
                for c in range(lo, hi, TILE_COLUMNS):
                    some = columns[c : min(c + TILE_COLUMNS, hi)]
                    for r in range(0, len(rows), TILE_ROWS):
                        part = rows[r : r + TILE_ROWS]
                        tile = buffer[: len(part) * len(some)].reshape(len(part), len(some))
                        self.points.fill(part, some, tile)
                        _store(self._slab, slots[r : r + TILE_ROWS], first + c, tile)

            self._spread(span, len(columns))
        except BaseException:  # what was only begun is not kept
            self._slot_of[rows] = -1
            self._row_of[slots] = -1
            self._stamp[slots] = 0
            raise

    def _compute_values(self, slot: int, row: int, first: int) -> None:
        """One row of an expensive kernel: what is known by symmetry or from the store is not computed."""
        target, columns = self._slab[slot], self.columns
        unknown = np.zeros(len(columns), bool)
        unknown[first:] = True
        at = self.position[row]
        if at >= 0:
            theirs = self._slot_of[columns]
            known = unknown & (theirs >= 0) & (self._filled[theirs] > at)
            target[known] = self._slab[theirs[known], at]
            unknown &= ~known
        if self.store is not None:
            known, values = self.store.look_up(row, columns)
            known &= unknown
            target[known] = values[known]
            unknown &= ~known
        wanted = np.flatnonzero(unknown)
        if len(wanted) == 0:
            return
        values = np.empty((1, len(wanted)), np.float64)
        self.points.fill(np.array([row]), columns[wanted], values)
        self.evals += len(wanted)
        bad = np.flatnonzero(~np.isfinite(values[0]))
        if len(bad):
            j = int(columns[wanted[bad[0]]])
            raise ValueError(f"The kernel gave {values[0, bad[0]]!r} for the points of rows {row} and {j}.")
        target[wanted] = values[0]
        if self.store is not None:
            self.store.keep(row, columns[wanted], values[0])

    def _spread(self, span: Callable[[int, int], None], m: int) -> None:
        """Run `span` over the columns 0 to m, in as many threads as there are."""
        jobs = min(self.threads, max(1, m // TILE_COLUMNS))
        if jobs <= 1:
            span(0, m)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        cuts = [m * k // jobs for k in range(jobs + 1)]
        for future in [self._pool.submit(span, cuts[k], cuts[k + 1]) for k in range(jobs)]:
            future.result()


class Rows:
    """Some complete rows in the cache, until others are fetched."""

    def __init__(self, gram: Gram, slots: np.ndarray) -> None:
        self.gram, self.slots = gram, slots

    def block(self) -> np.ndarray:
        """The kernel values of these points among themselves, which must be among the columns."""
        gram = self.gram
        K = np.empty((len(self.slots), len(self.slots)), gram.dtype)
        _gather(gram._slab, self.slots, gram.position[gram._row_of[self.slots]], K)
        return K

    def combine(self, coef: np.ndarray) -> np.ndarray:
        """``coef @ rows`` in float64."""
        out = np.zeros(len(self.gram.columns))
        self.add_to(out, coef)
        return out

    def add_to(self, out: np.ndarray, coef: np.ndarray) -> None:
        """``out += coef @ rows``."""
        gram, coef = self.gram, np.ascontiguousarray(coef, np.float64)

        def span(lo: int, hi: int) -> None:
            _combine(gram._slab[:, lo:hi], self.slots, coef, out[lo:hi])

        gram._spread(span, len(gram.columns))


@compiled
def _gather(slab, slots, positions, K):
    """One triangle is read and mirrored: the reads, far apart, are what this costs."""
    for r in range(len(slots)):
        row = slab[slots[r]]
        for c in range(r + 1):
            K[r, c] = row[positions[c]]
    for r in range(len(slots)):
        for c in range(r):
            K[c, r] = K[r, c]


@compiled
def _store(slab, slots, first, tile):
    for r in range(len(slots)):
        slab[slots[r], first : first + tile.shape[1]] = tile[r]


@compiled(fastmath={"contract", "nsz"})
def _combine(slab, slots, coef, out):
    """In blocks of columns, so that the sums stay in the first level cache."""
    for lo in range(0, len(out), 1024):
        sums = out[lo : lo + 1024]
        for r in range(len(slots)):
            if coef[r] != 0.0:
                row, a = slab[slots[r], lo : lo + 1024], coef[r]
                for c in range(len(sums)):
                    sums[c] += a * row[c]
