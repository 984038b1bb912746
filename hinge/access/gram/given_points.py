"""Points whose kernel values come from outside: a matrix of them, or a function, which evaluates each value once."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from time import monotonic
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.gram.inner_points import Points
from hinge.access.gram.row_store import RowStore
from hinge.kernels import Function
from hinge.types import MatrixLike, Stored

MOST_FACTORED = 1024
"""Number of points up to which a matrix is factorised to find out whether it is positive."""
SYMMETRIC = 1e-6
"""Largest relative difference between K(x, z) and K(z, x) that counts as rounding, in float64."""

LARGEST = 1e100
"""Kernel values of this size and above are refused: sums of their squares would overflow."""


class GivenPoints(Points):
    """A Gram matrix that was computed elsewhere: symmetric on some pairs, finite wherever it is used."""

    def __init__(self, K: np.ndarray) -> None:
        if K.ndim != 2 or K.shape[0] != K.shape[1] or K.dtype.kind not in "fiub":
            raise ValueError(
                "A precomputed kernel is a square matrix of numbers, K(x_i, x_j) of all training points; got "
                f"shape {K.shape} and type {K.dtype}."
            )
        super().__init__(len(K), K.dtype if K.dtype == np.float32 else np.float64)
        self.matrix = K
        i, j = np.random.default_rng(0).integers(0, max(1, self.n), (2, 256 if self.n else 0))
        a, b, own = K[i, j].astype(float), K[j, i].astype(float), np.abs(np.diagonal(K).astype(float))
        with np.errstate(invalid="ignore"):  # values that are not finite are refused when they are used
            scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.sqrt(own[i] * own[j]))
            bad = np.flatnonzero(np.abs(a - b) > (1e-5 if self.dtype == np.float32 else SYMMETRIC) * scale)
        if len(bad):
            k = int(bad[0])
            raise ValueError(
                f"The precomputed kernel is not symmetric: K[{i[k]}, {j[k]}] is {a[k]:.9g} and "
                f"K[{j[k]}, {i[k]}] is {b[k]:.9g}."
            )

    @cached_property
    def indefinite(self) -> bool:  # type: ignore[override]
        """Whether the matrix has an eigenvalue that is negative beyond rounding."""
        return not is_positive(self.matrix)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """From the matrix; what is not finite is refused."""
        out[...] = self.matrix[rows[:, None], columns]
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not abs(float(out.sum())) < LARGEST
        if suspicious:
            check_finite(rows, columns, out)

    def diag(self) -> np.ndarray:
        """From the matrix."""
        return np.array(np.diagonal(self.matrix), np.float64)


class FunctionPoints(Points):
    """Any items, and a Python function of two of them."""

    by_value = True

    def __init__(self, items: Stored | Sequence[Any], kernel: Function) -> None:
        super().__init__(items.shape[0] if hasattr(items, "shape") else len(items), np.float64)
        self.items, self.kernel = items, kernel

    @property
    def in_blocks(self) -> bool:
        """Whether the function returns blocks of values."""
        return self.kernel.on == "blocks"

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By calls of the function; values given one by one are in `out` even if a later call fails."""
        f = self.kernel.function
        if self.in_blocks:
            try:
                values = f(_pick(self.items, rows), _pick(self.items, columns))
            except Exception as error:
                error.add_note(
                    f"The kernel failed on {len(rows)} points from row {rows[0]} on, and "
                    f"{len(columns)} from row {columns[0]} on."
                )
                raise
            values = as_block(values, out.shape)
            check_finite(rows, columns, values)
            out[...] = values
            return
        by_number = self.kernel.on == "indices"
        for r, i in enumerate(rows.tolist()):
            x = i if by_number else self.items[i]
            for c, j in enumerate(columns.tolist()):
                try:
                    value = f(x, j if by_number else self.items[j])
                except Exception as error:
                    error.add_note(f"The kernel failed on the points of rows {i} and {j}.")
                    raise
                try:
                    number = float(value)
                except (TypeError, ValueError, OverflowError):
                    raise TypeError(
                        f"The kernel gave {type(value).__name__!r} in place of a number for the points of "
                        f"rows {i} and {j}."
                    ) from None
                if not abs(number) < LARGEST:
                    check_finite(rows[r : r + 1], columns[c : c + 1], np.array([[number]]))
                out[r, c] = number

    def diag(self) -> np.ndarray:
        """By one call for each item."""
        out = np.empty(self.n)
        for i in range(self.n):
            one = np.array([i])
            self.fill(one, one, out[i : i + 1].reshape(1, 1))
        return out


def as_block(values: MatrixLike, shape: tuple[int, ...]) -> np.ndarray:
    """What a kernel gave for two lists of points, as an array of this shape; it may be sparse."""
    try:
        block = np.asarray(cast(sp.csr_array, values).toarray() if sp.issparse(values) else values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"The kernel gave {type(values).__name__!r} in place of {shape[0]} x {shape[1]} numbers."
        ) from None
    if block.shape != shape:
        raise ValueError(
            f"The kernel was asked for a block of {shape[0]} x {shape[1]} values and gave shape "
            f"{block.shape}. A function of two items is hinge.kernels.Function(f, on='pairs')."
        )
    return block


def is_positive(K: np.ndarray) -> bool:
    """Whether a symmetric matrix has no eigenvalue below zero, but for rounding.

    By Cholesky's factorization where that is cheap; else by the smallest Ritz value of some Lanczos steps,
    which finds a negative eigenvalue of some weight, and may miss a faint one.
    """
    own = np.diagonal(K).astype(np.float64)
    largest = float(np.abs(own).max(initial=0.0))
    below = (1e-5 if K.dtype == np.float32 else 1e-9) * largest
    if not np.isfinite(own).all() or len(own) == 0:
        return True  # not finite: check_finite refuses it when it is used
    if own.min() < -below or largest == 0.0:
        return own.min() >= -below and not np.any(K)
    if len(own) > MOST_FACTORED:
        start = np.random.default_rng(0).normal(size=len(own))
        return bool(lanczos_least(K, start) >= -below)
    try:
        np.linalg.cholesky(K.astype(np.float64) + below * np.eye(len(own)))
    except np.linalg.LinAlgError:
        return not np.isfinite(K).all()
    return True


def lanczos_least(K: np.ndarray, start: np.ndarray) -> float:
    """The smallest Ritz value of K after 32 Lanczos steps, an upper bound on the smallest eigenvalue."""
    q, basis = start / np.linalg.norm(start), list[np.ndarray]()
    for _ in range(min(32, len(start))):
        basis.append(q)
        v = K @ q
        size = float(np.linalg.norm(v))
        for old in 2 * basis:  # a second time, for the rounding of the first
            v -= (old @ v) * old
        rest = float(np.linalg.norm(v))
        if not rest > 1e-12 * size:
            break
        q = v / rest
    Q = np.array(basis)
    return float(np.linalg.eigvalsh(Q @ (K @ Q.T))[0])


def check_finite(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
    """Refuse a block of kernel values of which one is nan, infinite, or too large to work with."""
    fine = np.abs(values) < LARGEST
    if not fine.all():
        r, c = np.argwhere(~fine)[0]
        what = f"number below {LARGEST:g}" if np.isfinite(values[r, c]) else "finite number"
        raise ValueError(
            f"The kernel gave {float(values[r, c])} for the points of rows {rows[r]} and {columns[c]}; it "
            f"must give a {what} for all pairs."
        )


def check_own_values(points: np.ndarray, values: np.ndarray, *, indefinite: bool = False) -> None:
    """Refuse a kernel of which a value K(x, x) is not finite, or is negative and should not be."""
    bad = np.flatnonzero(~np.isfinite(values) | (~(values >= 0) & (not indefinite)))
    if len(bad):
        i, value = points[bad[0]], values[bad[0]]
        raise ValueError(f"The kernel is not positive: K(x, x) is {value:g} for the point of row {i}.")


def _pick(items: Stored | Sequence[Any], numbers: np.ndarray) -> Stored | Sequence[Any]:
    if isinstance(items, np.ndarray) or sp.issparse(items):
        return cast(Stored, items)[numbers]
    return [items[i] for i in numbers.tolist()]


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
            point = np.array([i])
            self.fill(point, point, np.full((1, 1), np.nan))
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

        def keep() -> None:
            values[r[:, None], at] = fresh
            if self.store is not None:
                for k, own in enumerate(~np.isnan(fresh)):
                    if own.any():
                        self.store.keep(int(rows[r[k]]), columns[at[own]], fresh[k, own])

        try:
            self.points.fill(rows[r], columns[at], fresh)
        except BaseException:
            keep()
            raise
        finally:
            self._evals += int(np.count_nonzero(~np.isnan(fresh)))
        self._check_symmetry(int(rows[r[0]]), columns[at], fresh[0])
        keep()

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
