"""Tables that can fetch a range of rows at once, for whole passes."""

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.access.tables.fetched import Fetched
from hinge.access.tables.table import BLOCK_CELLS, EVERYWHERE, Line
from hinge.types import Stored


class Stretched(Fetched):
    """A table that can fetch a range of consecutive rows at once.

    With `keep`, a pass keeps what it reads, as reading a row does: for a table larger than memory use ``keep=False``.
    A pickle consists of the name of the data and the settings: the copy has read nothing, and has an empty bill.
    """

    @abstractmethod
    def _fetch_rows(self, lo: int, hi: int) -> Any:
        """Rows lo to hi, as an array or a CSR matrix."""

    @abstractmethod
    def _recipe(self) -> dict[str, Any]:
        """Arguments that create such a table, except `keep` and `prices`."""

    def responses(
        self, w: np.ndarray, lo: int, hi: int, out: np.ndarray | None = None, billed: bool = True
    ) -> np.ndarray:
        """``X[lo:hi] @ w``; billed even with ``billed=False``, since the cells have to be fetched."""
        out = np.empty(hi - lo) if out is None else out
        for a, b in self._cut(lo, hi):
            out[a - lo : b - lo] = self._measured_rows(a, b) @ w[: self.shape[1]]
        return out

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""
        used = np.concatenate([[False], coef != 0, [False]])
        for begin, end in np.flatnonzero(used[1:] != used[:-1]).reshape(-1, 2).tolist():
            for a, b in self._cut(lo + begin, lo + end):
                out[: self.shape[1]] += self._measured_rows(a, b).T @ coef[a - lo : b - lo]

    def _measured_rows(self, lo: int, hi: int) -> Any:
        X = self._rows_between(lo, hi)
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        self._largest_sq = max(self._largest_sq, float(np.max(squares, initial=0.0)))
        return X

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        order = np.argsort(rows, kind="stable")  # ascending, so that a stored chunk is read once for all its rows
        out = np.empty((len(rows), len(columns)))
        out[order] = super()._block(rows[order], columns)
        return out

    def _cut(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """Ranges of rows that are fetched at once."""
        step = max(1, BLOCK_CELLS * self.shape[0] // max(1, self.n_cells))
        return [(a, min(a + step, hi)) for a in range(lo, hi, step)]

    def _rows_between(self, lo: int, hi: int) -> Any:
        """Rows lo to hi, billed; with `keep` only cells that were never read are fetched."""
        bill, rows = self.bill, np.arange(lo, hi)
        if self.keep and (bill.whole_columns.any() or (bill.whole_rows | bill.in_part)[lo:hi].any()):
            for i in rows[~bill.whole_rows[lo:hi]].tolist():
                self.row(i)
            return self.held(rows)
        X = self._fetch_rows(lo, hi)
        nonzeros = X.nnz if self.is_sparse else int(np.count_nonzero(X))
        bill.charge(len(rows) * self.shape[1], nonzeros, len(rows) * bill.row_price)
        bill.whole_rows[lo:hi] = True
        if self.keep:
            for k, i in enumerate(rows.tolist()):
                self.kept.put(i, _line(X, k))
        return X

    # --- copies ---------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        recipe = {**self._recipe(), "keep": self.keep, "prices": self.bill.prices}
        return {"recipe": recipe, "budgets": (self.max_reads, self.max_cost)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["recipe"])  # type: ignore[misc]
        self.max_reads, self.max_cost = state["budgets"]


def _line(X: Stored, k: int) -> Line:
    if isinstance(X, np.ndarray):
        return Line(EVERYWHERE, X[k])
    lo, hi = X.indptr[k], X.indptr[k + 1]
    return Line(X.indices[lo:hi], X.data[lo:hi])
