"""Tables of features that are bought: a database, a service or a laboratory, called for rows, columns and cells."""

import hashlib
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.gram.row_store import RowStore
from hinge.access.tables.calls import Answer, Calls, OracleError, line_of, numbers, unbroken
from hinge.access.tables.fetched import Fetched
from hinge.access.tables.table import EVERYWHERE, Line, Table
from hinge.column_table import as_text
from hinge.constraints import BUDGET, count

__all__ = ["FeatureOracle", "Oracle", "OracleError", "OutOfBudget", "as_oracle"]


class OutOfBudget(RuntimeError):
    """A call was not made, because it would have exceeded a budget."""


@runtime_checkable
class FeatureOracle(Protocol):
    """The interface of a seller of features: any object with these three attributes.

    A row or a column is a sequence of all its numbers, or a pair (positions, values) of those that are not zero, or a
    sparse vector.

    Two more attributes are optional: ``cells(i, columns)``, the numbers of row i in a list of columns, in their order;
    and ``prices``, the price of a cell in each column. Rows and columns are given as plain integers.

    Examples
    --------
    >>> from hinge import FeatureOracle
    >>> class Squares:
    ...     shape = (3, 4)
    ...     def row(self, i):
    ...         return [i * j * j for j in range(4)]
    ...     def column(self, j):
    ...         return [i * j * j for i in range(3)]
    >>> isinstance(Squares(), FeatureOracle)
    True
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def row(self, i: int) -> Any:
        """Row i."""

    def column(self, j: int) -> Any:
        """Column j."""


class Oracle(Fetched):
    """Counted access to a `FeatureOracle` within budgets; no cell is paid for twice.

    What is bought, and billed:

    - A row of which nothing is known is one call of ``row``. If parts of a row or of a block are known, the missing
      cells are bought by one call of ``cells`` for each row.
    - An oracle without ``cells`` sells whole rows and columns only: one cell of a row costs the row. It is kept whole,
      and billed whole.
    - A column is one call of ``column``, unless all of it is known.
    - The bill is the seller's: a row or column that is bought is billed whole, including cells that were known before,
      whose first value is kept. Known cells are never bought on their own.

    A call that raises, takes too long or returns anything but the right number of finite numbers is repeated; finally
    `OracleError` names the row or column. Invalid answers are not billed. A call that would exceed a budget is not
    made: `OutOfBudget`.

    Parameters
    ----------
    oracle : FeatureOracle
    prices : array of shape (d,), optional
        Price of a cell in each column; by default the oracle's prices, else 1.
    max_reads : int, optional
        Limit of the cells to pay for. Those found in the cache count: runs with one cache have one budget.
    max_cost : float, optional
        Limit of their price.
    retries : int
        Number of further calls after one that failed.
    wait : float
        Seconds before the first retry; doubled for each further one.
    timeout : float, optional
        Seconds for a call, which is then made in a thread of its own. After that the thread is abandoned: it runs until
        the oracle answers, its answer is ignored, and it does not keep the program from ending. The seller may charge
        for such a call.
    concurrency : int
        Number of concurrent calls, each in a thread, for rows that are read together. What is bought, and the bill, are
        the same.
    cache : path, optional
        Folder in which everything paid for is written before it is returned. Another `Oracle` of the same shape and
        name starts with it: use another folder or name once the values have changed. Only one at a time can write.
    name : str, optional
        Distinguishes the oracles of one folder; by default the name of the oracle's class.

    Attributes
    ----------
    recovered : int
        Cells found in the cache. On the bill they count as distinct, but neither as read nor as paid for.
    calls : int
        Number of calls of the oracle, retries included.
    sells_cells : bool
        Whether single cells are sold.
    max_reads, max_cost
        The budgets, less what was found in the cache.

    Examples
    --------
    >>> from hinge.access.tables.oracle import Oracle
    >>> class Squares:
    ...     shape = (3, 4)
    ...     def row(self, i):
    ...         return [i * j * j for j in range(4)]
    ...     def column(self, j):
    ...         return [i * j * j for i in range(3)]
    >>> table = Oracle(Squares(), max_reads=9)
    >>> table.column(2).values.tolist()
    [0.0, 4.0, 8.0]
    >>> table.row(1).at.tolist(), table.row(1).values.tolist()  # what is not zero
    ([1, 2, 3], [1.0, 4.0, 9.0])
    >>> table.calls, table.bill.cells, table.bill.distinct  # the row came with a cell that was known
    (2, 7, 6)
    """

    def __init__(
        self,
        oracle: FeatureOracle,
        *,
        prices: ArrayLike | None = None,
        max_reads: int | None = None,
        max_cost: float | None = None,
        retries: int = 3,
        wait: float = 0.5,
        timeout: float | None = None,
        concurrency: int = 1,
        cache: str | Path | None = None,
        name: str | None = None,
    ) -> None:
        prices = getattr(oracle, "prices", None) if prices is None else prices
        super().__init__(_checked_shape(oracle), prices, keep=True)
        for setting, value in (("max_reads", max_reads), ("max_cost", max_cost)):
            BUDGET.check(setting, value)
        count().check("concurrency", concurrency)
        self.oracle, self.concurrency = oracle, int(concurrency)
        self._calls = Calls(retries, wait, timeout)
        self.name = type(oracle).__qualname__ if name is None else name
        self.sells_cells = callable(getattr(oracle, "cells", None))
        self._told = False
        self._lock = threading.RLock()  # the binary problems of one fit may run in several threads
        self._store = None if cache is None else self._recover(cache)
        self.recovered = self.bill.distinct
        if max_reads is not None:
            self.max_reads = max(0, max_reads - self.recovered)
        if max_cost is not None:
            self.max_cost = max(0.0, max_cost - self._known_cost())

    def __repr__(self) -> str:
        n, d = self.shape
        bought = f"{self.bill.cells:,} cells for {as_text(self.bill.cost)} in {self.calls:,} calls"
        return f"{type(self).__name__}({self.name}, {n:,} rows and {d:,} columns: {bought})"

    @property
    def calls(self) -> int:
        """Number of calls of the oracle, retries included."""
        return self._calls.made

    # --- called by readers ----------------------------------------------------------------

    def row(self, i: int) -> Line:
        """Row i."""
        with self._lock:
            self._buy(self._checked(i, 0), np.arange(self.shape[1]))
            return super().row(i)

    def column(self, j: int) -> Line:
        """Column j."""
        with self._lock:
            self._buy_column(self._checked(j, 1))
            return super().column(j)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """The cells rows × columns; what was paid for before a failure is kept."""
        rows, columns = self._all_checked(rows, 0), self._all_checked(columns, 1)
        with self._lock:
            self._buy_together(rows, columns)
            return super().block(rows, columns)

    def read_whole(self, rows: np.ndarray) -> None:
        """Buy these rows."""
        rows = self._all_checked(rows, 0)
        with self._lock:
            self._buy_together(rows, np.arange(self.shape[1]))
            super().read_whole(rows)

    def close(self) -> None:
        """Allow another `Oracle` to write to the cache; this one continues without."""
        if self._store is not None:
            self._store.close()

    # --- buying: fetch, write to the cache, keep, bill ------------------------------------

    def _buy(self, i: int, columns: np.ndarray) -> None:
        """Buy the unknown ones of these cells of row i; without ``cells``, the whole row."""
        asked = self._missing(i, columns)
        if len(asked):
            self._afford(f"Row {i}", len(asked), self.bill.price_of(asked))
            self._keep(i, asked, self._fetch(i, asked))

    def _buy_together(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """The same for several rows, in order; what was paid for before a failure is kept."""
        rows = rows[self.bill.missing(rows[:, None], columns).any(axis=1)]
        if self.concurrency == 1:
            for i in rows.tolist():
                self._buy(i, columns)
            return
        asked = {i: self._missing(i, columns) for i in rows.tolist()}
        cells = np.cumsum([len(missing) for missing in asked.values()])
        cost = np.cumsum([self.bill.price_of(missing) for missing in asked.values()])
        within = sum(map(self._affords, cells.tolist(), cost.tolist()))
        pool = ThreadPoolExecutor(self.concurrency)
        coming = [(i, pool.submit(self._fetch, i, missing)) for i, missing in islice(asked.items(), within)]
        try:
            wait(line for _, line in coming)
        finally:  # after Ctrl-C, wait for calls that have begun: the seller will bill them
            pool.shutdown(cancel_futures=True)
            for i, line in coming:
                if not line.cancelled() and line.exception() is None:
                    self._keep(i, asked[i], line.result())
        for _, line in coming:
            line.result()  # raises if the call failed
        for i in islice(asked, within, None):
            self._buy(i, columns)  # raises OutOfBudget

    def _missing(self, i: int, columns: np.ndarray) -> np.ndarray:
        """The cells of row i that have to be bought for these columns to be known."""
        missing = np.unique(columns[self.bill.missing(i, columns)])
        return missing if self.sells_cells or len(missing) == 0 else np.arange(self.shape[1])

    def _keep(self, i: int, asked: np.ndarray, values: np.ndarray) -> None:
        """Record the bought cells of row i; what was known of a whole row stays."""
        nonzeros, line, whole = np.count_nonzero(values), Line(asked, values), len(asked) == self.shape[1]
        if whole:
            known = np.flatnonzero(~self.bill.missing(i, asked))
            values[known] = self.kept.cells(i, known)
            line = _without_zeros(values)
        self._record(i, line, whole, len(asked), int(nonzeros), self.bill.price_of(asked))

    def _buy_column(self, j: int) -> None:
        fresh, n = self.bill.missing(slice(None), j), self.shape[0]
        if not fresh.any():
            return
        cost = n * self.bill.price_of(np.array([j]))
        self._afford(f"Column {j}", n, cost)
        x = self._fetch_column(j).values
        nonzeros = np.count_nonzero(x)
        known = np.flatnonzero(~fresh)
        x[known] = self.kept.below(j, known)
        self._record(n + j, _without_zeros(x), True, n, int(nonzeros), cost)

    def _record(self, k: int, line: Line, whole: bool, cells: int, nonzeros: int, cost: float) -> None:
        """Write what was bought to the cache, keep it and bill it; rows have numbers k below n, columns follow."""
        at, values = line
        if whole:  # a last position beyond the end marks that all other cells are zero
            at, values = np.append(at, self.shape[1] if k < self.shape[0] else self.shape[0]), np.append(values, 0.0)
        with unbroken():
            if self._store is not None:
                self._store.keep(k, at, values)
                self._warn_if_taken(self._store)
            self._learn(k, line, whole)
            self.bill.charge(cells, nonzeros, cost)

    def _learn(self, k: int, line: Line, whole: bool) -> None:
        """Keep a row, some of its cells or a column, and mark them as read."""
        n = self.shape[0]
        if k >= n:
            self.kept.put_column(k - n, line)
            self.bill.whole_columns[k - n] = True
            return
        self.kept.put(k, line)
        if whole:
            self.bill.whole_rows[k] = True
        else:
            self.bill.mark(np.array([k]), line.at)

    def _affords(self, cells: int, cost: float) -> bool:
        """Whether these cells are within the budgets."""
        reads_left = self.max_reads is None or self.bill.cells + cells <= self.max_reads
        # A cost may exceed its budget by rounding.
        return reads_left and (self.max_cost is None or self.bill.cost + cost <= self.max_cost * (1 + 1e-9))

    def _afford(self, what: str, cells: int, cost: float) -> None:
        """Raise if these cells would exceed a budget."""
        if self._affords(cells, cost):
            return
        bill = self.bill
        if self.max_reads is not None and bill.cells + cells > self.max_reads:
            allowed, spent, wanted = f"{self.max_reads} cells", f"{bill.cells}", f"{cells} more"
        else:
            allowed, spent, wanted = f"a cost of {self.max_cost:g}", f"{bill.cost:g}", f"{cost:g} more"
        found = f", not counting the {self.recovered} found in the cache" if self.recovered else ""
        raise OutOfBudget(
            f"{what} was not asked for: it would take {wanted}, and {spent} is spent of the budget of "
            f"{allowed}{found}. Raise the budget to go on; what was paid for is kept."
        )

    def _fetch(self, i: int, asked: np.ndarray) -> np.ndarray:
        """The values of the cells of row i to buy, by one call."""
        oracle: Any = self.oracle
        if len(asked) == self.shape[1]:
            return self._ask(f"Row {i}", line_of, len(asked), oracle.row, i)
        return self._ask(f"Row {i}", _cells_of, len(asked), oracle.cells, i, asked.tolist())

    def _fetch_column(self, j: int) -> Line:
        return Line(EVERYWHERE, self._ask(f"Column {j}", line_of, self.shape[0], self.oracle.column, j))

    def _ask(
        self, what: str, read: Callable[[Answer, int], Line], length: int, call: Callable[..., Any], *arguments: Any
    ) -> np.ndarray:
        """All cells of the answer in float64, copied: an oracle may return an array of its own."""
        line = self._calls.make(f"{what} of {self.name}", lambda answer: read(answer, length), call, *arguments)
        self.bill.moved(line.at.nbytes + line.values.nbytes, 0)
        return np.array(line.dense(length), np.float64)

    # --- Fetched: what is read has been bought --------------------------------------------

    def _row(self, i: int) -> Line:
        return self.kept.row(i)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), len(columns)))
        for k, i in enumerate(rows.tolist()):
            out[k] = self.kept.cells(i, columns)
        return out

    # --- the cache: records 0 to n - 1 are rows, the others columns -----------------------

    def _recover(self, folder: str | Path) -> RowStore:
        """Open the cache, and load what it has."""
        n, d = self.shape
        fingerprint = hashlib.sha256(f"oracle 1: {n} x {d} {self.name}".encode()).hexdigest()
        store = RowStore(folder, n + d, fingerprint, what="cells of the table")
        for k, at, values in store.records():
            length = d if k < n else n
            whole = at[-1] == length
            if at[-1] > length or not (whole or k < n):
                raise ValueError(f"{store.path} has cells that are not of this table: use another folder.")
            self._learn(k, Line(at[:-1], values[:-1]) if whole else Line(at, values), whole)
        self._warn_if_taken(store)
        return store

    def _warn_if_taken(self, store: RowStore) -> None:
        if store.taken and not self._told:
            self._told = True
            warnings.warn(
                f"Another Oracle writes to the cache in {store.folder}: what this one pays for is not "
                "stored. Close the other one first, or use another folder or name.",
                RuntimeWarning,
                stacklevel=4,
            )

    def _known_cost(self) -> float:
        """The total price of all known cells."""
        if self.bill.prices is None:
            return float(self.bill.distinct)
        known = [self.shape[0] - int(self.bill.missing(slice(None), j).sum()) for j in range(self.shape[1])]
        return float(self.bill.prices @ known)


def as_oracle(X: object) -> Table | None:
    """X itself if it is a table, an `Oracle` if it has the interface of a `FeatureOracle`, else None."""
    if isinstance(X, Table):
        return X
    if isinstance(X, type) or hasattr(X, "__array__") or sp.issparse(X) or not isinstance(X, FeatureOracle):
        return None
    return Oracle(X) if callable(X.row) and callable(X.column) else None


def _checked_shape(oracle: FeatureOracle) -> tuple[int, int]:
    try:
        n, d = (index(k) for k in oracle.shape)
    except (AttributeError, TypeError, ValueError):
        n = d = -1
    if min(n, d) < 0 or not isinstance(oracle, FeatureOracle):
        raise TypeError(f"An oracle has a shape (n, d), row(i) and column(j); {oracle!r} has not.")
    return n, d


def _cells_of(answer: Answer, count: int) -> Line:
    return Line(EVERYWHERE, numbers(answer, count))


def _without_zeros(x: np.ndarray) -> Line:
    at = np.flatnonzero(x)
    return Line(at, x[at])
