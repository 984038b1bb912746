"""Kernel rows: computed in tiles, counted, and kept under a byte budget."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hinge.access.gram.base import BaseGram, KernelSums
from hinge.access.gram.given_points import MOST_FACTORED, FunctionPoints, PairValues, check_own_values, is_positive
from hinge.access.gram.inner_points import UNIT, Points, WeightVector
from hinge.access.gram.row_cache import LEAST_ROWS, PairMemo, RowCache
from hinge.access.gram.row_store import RowStore
from hinge.access.gram.rows import TILE_COLUMNS, TILE_ROWS, CachedRows, PassingRows, add_rows, symmetric_sums
from hinge.threads import each


class Gram(BaseGram[np.ndarray]):
    """The Gram matrix of a set of points, computed on the host in tiles; rows are kept while memory lasts.

    Where single values are expensive, and the values of all pairs fit the cache, no pair is evaluated twice.

    Parameters
    ----------
    points : Points
    cache_bytes : int
        Rows are kept in this much memory, the least recently used dropped first.
    threads : int
        Threads over which the columns of a tile are spread; values do not depend on it.
    store : RowStore, optional
        Where values of an expensive kernel survive a restart.

    Attributes
    ----------
    largest_block : int
        Points whose values among themselves fit beside the cache.
    """

    xp = np
    narrows = True

    def __init__(
        self, points: Points, cache_bytes: int = 200_000_000, threads: int = 1, store: RowStore | None = None
    ) -> None:
        self.points, self.n, self.dtype = points, points.n, points.dtype
        self.evals = self.asked = 0
        self.threads, self.store, self.by_value = threads, store, points.by_value
        self._diag: np.ndarray | None = None
        self._pairs: PairValues | None = None
        self._last: tuple[np.ndarray, ...] | None = None
        self._errors: tuple[np.ndarray, np.ndarray] | None = None
        self._finer: Gram | WeightVector | None = None
        self._room = np.empty(0, self.dtype)
        budget, item = max(int(cache_bytes) - points.nbytes, 0), self.dtype.itemsize
        # The most points B whose rows fit beside the block, B(n + B) values; an eighth of all, where rows can be short.
        beside = (np.sqrt(float(self.n) ** 2 + 4.0 * (budget // item)) - self.n) / 2
        self.largest_block = min(self.n, max(LEAST_ROWS, int(np.sqrt(budget // item / 8)), int(beside)))
        self._cache: RowCache | PairMemo
        if isinstance(points, FunctionPoints):
            fits = self.n * self.n * item <= budget
            self._pairs = PairValues(points, store, consults=not fits)
            if fits:
                self._cache = PairMemo(self.n)
                for row, columns, values in store.records() if store is not None else ():
                    self._cache.learn(np.array([row]), columns, values[None])
                return
        self._cache = RowCache(self.n, self.dtype, budget - self.largest_block**2 * item)

    def array(self, a: np.ndarray) -> np.ndarray:
        """As it is: this Gram computes on the host."""
        return np.asarray(a)

    def host(self, a: np.ndarray) -> np.ndarray:
        """As it is."""
        return np.asarray(a)

    # --- what solvers use -----------------------------------------------------------------

    @property
    def diag(self) -> np.ndarray:
        """K(x, x) of every point; a negative one is refused."""
        if self._diag is None:
            diag = self.points.diag() if self._pairs is None else self._diagonal(self._pairs)
            check_own_values(np.arange(self.n), diag, indefinite=self.indefinite)
            self._diag = diag
        return self._diag

    @property
    def indefinite(self) -> bool:
        """Whether the kernel is known not to be positive semidefinite in general."""
        return self.points.indefinite

    def contradicts(self, beta: np.ndarray) -> bool:
        """Whether a function that should be positive is not, on the points of these β."""
        used = np.flatnonzero(beta)
        if not self.by_value or not 0 < len(used) <= MOST_FACTORED:
            return False
        K = self._cache.known(used, used)  # nothing is computed for this
        return not np.isnan(K).any() and not is_positive(K)

    @property
    def norms(self) -> np.ndarray:
        """The norms of the φ(xᵢ); where values are expensive, the largest that is known in place of each."""
        if self.by_value and self._diag is None:
            known = self._cache.diagonal()
            return np.full(self.n, np.sqrt(max(0.0, float(np.nan_to_num(known).max(initial=0.0)))))
        return super().norms

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B of shape (k, n): the value computed for i and j is off by at most Σₖ Aₖᵢ Bₖⱼ."""
        if self._errors is None:
            self._errors = self.points.errors()
        return self._errors

    def error(self, size: np.ndarray, terms: float) -> np.ndarray:
        A, B = self.errors
        own = self.norms
        return (B @ size) @ A + (terms * UNIT * float(own @ size)) * own

    @property
    def finer(self) -> "Gram | WeightVector | None":
        """The same points with sums that are more exact; None where there are none."""
        if self._finer is None:
            points = self.points
            if points.weighted is not None:
                self._finer = WeightVector(points.weighted)
            elif points.finer is not None:
                self._finer = Gram(points.finer, 0, self.threads)
        return self._finer

    @property
    def weights(self) -> WeightVector | None:
        """The sums of a linear kernel by way of w."""
        return self.finer if isinstance(self.finer, WeightVector) else None

    def sharper(self) -> Iterator[KernelSums]:
        """Those who can make the same sums more exactly, each better than the one before; first this Gram itself,
        where summing again is more exact than sums that were kept up to date.
        """
        level: KernelSums | None = self if self.dtype == np.float64 or self.points.sums_tell else self.finer
        while level is not None:
            yield level
            level = level.finer

    def again(
        self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray, first: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """``coef @ K[i, columns]``, and a bound on the error of each; values that are kept serve again.

        With `first` no kept value serves, and if `i` are the columns, these are sums over pairs of which one is among
        so many of the first.
        """
        size, sums = np.abs(coef), np.zeros(len(columns))
        error, tight = self.error(np.bincount(i, size, self.n), len(i) + 1)[columns], np.zeros(len(columns))
        told = self.points.sums_tell
        # Terms of one sign at a time, so that nothing cancels, and of points that are about as exact as one another.
        kinds = 2 * self.points.kinds(i) + (coef > 0) if told else np.zeros(len(i), np.int64)
        some = size > 0
        found, kinds = np.unique(kinds[some], return_inverse=True)
        first = first if first is None else int(np.count_nonzero(some[:first]))
        parts = self._sums_of_kinds(i[some], (size if told else coef)[some], kinds, len(found), columns, first)
        for k, kind in enumerate(found.tolist()):
            mine, part = np.flatnonzero(some)[kinds == k], parts[k]
            sums += part if not told or kind % 2 else -part
            known = self.points.sum_errors(i[mine], size[mine], columns, part) if told else None
            tight += (np.inf if known is None else known) + (len(i) + 2) * UNIT * np.abs(part)
        return sums, np.minimum(error, tight)

    @property
    def capacity(self) -> int:
        """Number of rows that are kept."""
        return self._cache.capacity

    @property
    def columns(self) -> np.ndarray:  # type: ignore[override]
        """The points against which rows are computed: all of them, until `focus` says otherwise."""
        return self._cache.columns

    @property
    def position(self) -> np.ndarray:  # type: ignore[override]
        """Where among the columns each point is; -1 if it is not."""
        return self._cache.position

    def focus(self, columns: np.ndarray | None) -> None:
        """Compute rows against these columns only, from now on; None for all.

        Rows in the cache are kept, and completed when they are asked for again, where the new columns
        begin with the old ones.
        """
        self._cache.lay(np.arange(self.n) if columns is None else np.array(columns, np.int64))

    def rows(self, i: np.ndarray) -> CachedRows | PassingRows:
        """The rows of points `i`, until the next call; those beyond `capacity` are computed when they are summed.

        Where BLAS computes the products, the last bits of a row may depend on the rows that are computed with it.
        """
        i = np.ascontiguousarray(i, np.int64)
        self.asked += len(i) * len(self.columns)
        if self._pairs is not None:  # none is computed to be dropped
            return self._kept_rows(i)
        held = self._kept_rows(i[: self.capacity])
        return held if len(i) <= self.capacity else PassingRows(held, i)

    def _kept_rows(self, i: np.ndarray) -> CachedRows:
        slots = self._cache.claim(i)
        for first, part in self._cache.unfilled(slots):
            self._compute(part, first)
        return CachedRows(self, slots)

    def values(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """K[rows, columns], none of which is kept."""
        self.asked += len(rows) * len(columns)
        if self._pairs is not None:
            return self._values(self._pairs, rows, columns)
        out = np.empty((len(rows), len(columns)), self.dtype)
        self.fill_values(rows, columns, out)
        return out

    def fill_values(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Write K[rows, columns] into an array; none is kept."""

        def tile(r: int, c: int, some: np.ndarray, buffer: np.ndarray) -> None:
            self.points.fill(rows[r : r + TILE_ROWS], some, buffer)
            out[r : r + TILE_ROWS, c : c + len(some)] = buffer

        self._tiles(tile, len(rows), columns)

    def room_for(self, values: int) -> np.ndarray:
        """Memory for the values of a block, the same every time: new memory costs as much as filling it."""
        if len(self._room) < values:
            self._room = np.empty(values, self.dtype)
        return self._room[:values]

    def whole(self) -> np.ndarray:
        """All values, not to be written to; they are kept where the cache holds them."""
        self.focus(None)
        if self.capacity >= self.n:
            every = np.arange(self.n)
            rows = self._kept_rows(every)
            in_order = isinstance(self._cache, RowCache) and np.array_equal(rows.slots, every)
            return self._cache.slab if in_order else rows.block()
        K = np.empty((self.n, self.n), self.dtype)
        for lo in range(0, self.n, self.capacity):
            part = np.arange(lo, min(lo + self.capacity, self.n))
            K[part] = self._cache.slab[self._kept_rows(part).slots]
        return K

    def held(self) -> np.ndarray | None:
        slots = self._cache.complete_slots(np.arange(self.n))
        if len(self.columns) < self.n or (slots < 0).any():
            return None
        return self._cache.slab[slots][:, self.position]

    def combine(self, i: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]`` in float64, by rows that are kept."""
        out = np.zeros(len(self.columns))
        i = np.ascontiguousarray(i, np.int64)
        self.asked += len(i) * len(self.columns)
        step = max(1, min(self.capacity, 1024))
        for lo in range(0, len(i), step):
            self._kept_rows(i[lo : lo + step]).add_to(out, coef[lo : lo + step])
        return out

    def pass_over(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]`` for any columns, each tile dropped after use; free when asked twice."""
        if self._last is None or not all(map(np.array_equal, (i, coef, columns), self._last)):
            self._last = np.array(i), np.array(coef), np.array(columns), self.sum_over(i, coef, columns)
        self.asked += len(i) * len(columns)
        return self._last[-1].copy()

    def _sums_of_kinds(
        self, i: np.ndarray, coef: np.ndarray, kinds: np.ndarray, n_kinds: int, columns: np.ndarray, first: int | None
    ) -> np.ndarray:
        """The sums of each kind of terms, a line each; where no row is kept, a value of two points serves both."""
        weights = coef * (kinds == np.arange(n_kinds)[:, None])
        if self._pairs is not None and first is not None:
            K = self.values(i[:first], columns)
            sums = weights[:, :first] @ K
            if first < len(i):
                sums[:, :first] += weights[:, first:] @ K[:, first:].T
            return sums
        if first is not None or (self._pairs is None and not (self._cache.complete_slots(i) >= 0).any()):
            sums, values = symmetric_sums(self.points, self._spread, i, weights, columns, first)
            self.evals += values
            return sums
        each = [kinds == k for k in range(n_kinds)]
        return np.array([self._sum_held(i[mine], coef[mine], columns) for mine in each]).reshape(n_kinds, len(columns))

    def _sum_held(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]``, of rows in the cache where they are complete; no other is computed for it."""
        slots, at, out = self._cache.complete_slots(i), self.position[columns], np.zeros(len(columns))
        held, inside = slots >= 0, at >= 0
        if held.any() and inside.any():
            out[inside] = CachedRows(self, slots[held]).combine_at(coef[held], at[inside])
            rest = np.flatnonzero(~held)
            if not inside.all():
                out[~inside] = self.sum_over(i[held], coef[held], columns[~inside])
        else:
            rest = np.arange(len(i))
        if len(rest):
            out += self.sum_over(i[rest], coef[rest], columns)
        return out

    def sum_over(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """``coef @ K[i, columns]``, all values of which are computed."""
        i, columns = np.ascontiguousarray(i, np.int64), np.ascontiguousarray(columns, np.int64)
        coef, out = np.ascontiguousarray(coef, np.float64), np.zeros(len(columns))
        if self._pairs is not None:
            rows, back = np.unique(i, return_inverse=True)
            weight = np.bincount(back, coef, len(rows))
            some, where = np.unique(columns, return_inverse=True)
            for lo in range(0, len(rows), TILE_ROWS):
                part = rows[lo : lo + TILE_ROWS]
                out += (weight[lo : lo + TILE_ROWS] @ self._values(self._pairs, part, some))[where]
            return out

        def tile(r: int, c: int, some: np.ndarray, buffer: np.ndarray) -> None:
            part = i[r : r + TILE_ROWS]
            self.points.fill(part, some, buffer)
            add_rows(buffer, 0, np.arange(len(part)), coef[r : r + TILE_ROWS], out[c : c + len(some)])

        self._tiles(tile, len(i), columns)
        return out

    # --- computing ------------------------------------------------------------------------

    def _compute(self, slots: np.ndarray, first: int) -> None:
        """Complete rows from column `first` on."""
        cache, columns = self._cache, self.columns[first:]
        rows = cache.row_of[slots]
        try:
            if self._pairs is not None:
                for lo in range(0, len(rows), TILE_ROWS):
                    part = slots[lo : lo + TILE_ROWS]
                    values = self._values(self._pairs, rows[lo : lo + TILE_ROWS], columns)
                    if not cache.keeps_pairs:
                        cache.slab[part, first:] = values
                    cache.complete(part)
                return

            def tile(r: int, c: int, some: np.ndarray, buffer: np.ndarray) -> None:
                part = slice(r, r + TILE_ROWS)
                self.points.fill_rows(rows[part], some, buffer, cache.slab, slots[part], first + c)

            self._tiles(tile, len(rows), columns)
            cache.complete(slots)
        except BaseException:
            cache.drop(slots)
            raise

    def _values(self, pairs: PairValues, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values of an expensive kernel, of which only those that are unknown are evaluated."""
        values = self._cache.known(rows, columns)
        try:
            pairs.fill(rows, columns, values)
        finally:
            self.evals += pairs.billed()
            self._cache.learn(rows, columns, values)
        return values

    def _diagonal(self, pairs: PairValues) -> np.ndarray:
        held = self._cache.diagonal()
        pairs.diagonal = np.where(np.isnan(held), pairs.diagonal, held)
        try:
            return np.array([pairs.own(i) for i in range(self.n)])
        finally:
            self.evals += pairs.billed()

    def _tiles(self, tile: Callable[..., None], n_rows: int, columns: np.ndarray) -> None:
        """Call ``tile(r, c, columns[c:...], buffer)`` for all tiles, in several threads; count the values."""
        height = max(1, min(n_rows, TILE_ROWS))
        width = min(1 << 14, TILE_ROWS * TILE_COLUMNS // height)  # so that few rows are spread over threads too

        def span(lo: int, hi: int) -> None:
            buffer = np.empty(height * min(width, hi - lo), self.dtype)
            for c in range(lo, hi, width):
                some = columns[c : min(c + width, hi)]
                for r in range(0, n_rows, height):
                    shape = min(height, n_rows - r), len(some)
                    tile(r, c, some, buffer[: shape[0] * shape[1]].reshape(shape))

        self._spread(span, len(columns), width)
        self.evals += n_rows * len(columns)

    def _spread(self, span: Callable[[int, int], None], m: int, step: int) -> None:
        """Run `span` over columns 0 to m in several threads, in pieces of `step` whatever the threads.

        After Ctrl-C pieces that have begun are waited for, so that they must be short.
        """
        steps = -(-m // step)
        if min(self.threads, steps) <= 1:
            if m:
                span(0, m)
            return
        each(lambda k: span(k * step, min(m, (k + 1) * step)), steps, self.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the memory for blocks, which a copy allocates when it needs it."""
        return {**self.__dict__, "_room": np.empty(0, self.dtype)}
