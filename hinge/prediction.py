"""Predictions that read cells one after another, for a price, and stop when the class is certain or probable enough."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.sparsefuncs import mean_variance_axis

from hinge.access.gram.base import whole
from hinge.access.matrix import ROW_BLOCK_CELLS
from hinge.access.tables.table import Table, checked_prices
from hinge.column_table import ColumnTable, Tabled, as_text
from hinge.constraints import BUDGET, number
from hinge.types import Array, Stored

__all__ = ["Looks", "Purchase", "ReadingOrder"]


class Looks(NamedTuple):
    """Coefficients a, g and standard deviations r of the estimates at each stage, of shape (stages, scores).

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.prediction import ReadingOrder
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> order = ReadingOrder(np.ones((1, 3)), np.zeros(1), X)
    >>> order.looks.spread.shape == (len(order.cuts), 1), float(order.looks.spread[-1, 0])
    (True, 0.0)
    """

    offset: np.ndarray
    slope: np.ndarray
    spread: np.ndarray


class ReadingOrder:
    """The order in which columns are read, and estimates of a row's scores after each part of them.

    Columns are sorted by their effect on the scores for their price,

    .. math:: \\sqrt{\\textstyle\\sum_cw_{cj}^2}\\;\\sigma_j / p_j,

    with the standard deviation :math:`\\sigma_j` and the price :math:`p_j` of column j. Columns of weight zero are
    never read. At a *stage*, after the first m columns, the sum :math:`s_c = b_c + \\sum_{j\\le m}w_{cj}x_j` is known,
    and the score of class c is estimated by least squares on the given rows, :math:`\\hat f_c = a_c + g_cs_c`, with the
    standard deviation :math:`r_c` of the residuals. A row is *z ahead* if the estimated score of its best class
    exceeds every other by z standard deviations of the difference. `ahead_for` finds the z at which few of the given
    rows would get another class than by all their cells.

    Parameters
    ----------
    coef : ndarray of shape (n_scores, d)
    intercept : ndarray of shape (n_scores,)
    X : {ndarray, csr} of shape (n, d)
        Rows like those to be predicted. Estimates are learned from some 20,000 of them, evenly spaced; from fewer if
        there are many classes.
    prices : array-like of shape (d,), optional
        Price of a cell in each column; one where not given.
    ranges : pair of array-like of shape (d,), optional
        The smallest and the largest value that a cell of each column can have. With them it is known for certain when
        no unread cell can change the class of a row.

    Attributes
    ----------
    columns : ndarray of int
        Columns with a nonzero weight, in the order in which they are read.
    cuts : ndarray of int
        How many of them are read before each stage: from 0 to all.
    weights : ndarray of shape (n_scores, len(columns))
        The weights of these columns.
    looks : Looks
    low, high : ndarray of shape (len(cuts), n_scores), or None
        The least and the most that the unread cells can add to each score; None without `ranges`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.prediction import ReadingOrder
    >>> X = np.random.default_rng(0).standard_normal((400, 3)) * [1.0, 10.0, 0.1]
    >>> order = ReadingOrder(np.ones((1, 3)), np.zeros(1), X)
    >>> order.columns.tolist(), order.cuts.tolist()
    ([1, 0, 2], [0, 1, 2, 3])
    """

    def __init__(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        X: Stored,
        prices: ArrayLike | None = None,
        ranges: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        coef, d = np.atleast_2d(coef).astype(np.float64), coef.shape[-1]
        price = np.ones(d) if prices is None else checked_prices(prices, d)
        moved = np.sqrt((coef**2).sum(axis=0)) * spreads(X)
        value = moved / np.maximum(price, 1e-300)  # free columns come first
        used = _used(coef)
        columns = used[np.argsort(-value[used], kind="stable")]
        m = len(columns)
        # At most 64 stages, whose distances grow in proportion to the cells read.
        cuts = np.unique(np.append(0, np.rint(np.geomspace(1, max(m, 1), 64)).astype(int)).clip(max=m))
        bounds = None if ranges is None else _checked_ranges(ranges, d)
        self._place(coef, intercept, columns, price[columns], cuts, bounds)
        # Of 20,000 rows for one class, fewer for several, the estimates have a negligible sampling error.
        self._learn(X[:: max(1, X.shape[0] // max(2_000, 20_000 // len(coef)))])

    def _place(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        columns: np.ndarray,
        prices: np.ndarray,
        cuts: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        """Set the columns and the cuts, and the bounds on the sums of the unread columns."""
        self.columns, self.prices, self.cuts, self.bounds = columns, prices, cuts, bounds
        self.n_features = coef.shape[1]
        self.weights, self.intercept = coef[:, columns], np.asarray(intercept, np.float64)
        self.low, self.high = None, None
        if bounds is not None:
            least, most = (side[columns] * self.weights for side in bounds)
            self.low, self.high = self._unread_sums(np.minimum(least, most)), self._unread_sums(np.maximum(least, most))

    def parts(self) -> dict[str, np.ndarray]:
        """All arrays that define the order, by name."""
        found = {"columns": self.columns, "prices": self.prices, "cuts": self.cuts, **self.looks._asdict()}
        if self.bounds is not None:
            found["lowest"], found["highest"] = self.bounds
        return found | {"ahead": self._ahead, "wrong": self._wrong}

    @classmethod
    def of_parts(cls, coef: np.ndarray, intercept: np.ndarray, parts: dict[str, np.ndarray]) -> Self:
        """The inverse of `parts`, for the same weights.

        Raises
        ------
        ValueError
            If the parts do not form an order for such weights.
        """
        coef = np.atleast_2d(coef).astype(np.float64)
        _check_parts(coef, parts)
        order = cls.__new__(cls)
        bounds = None
        if "lowest" in parts:
            bounds = _checked_ranges((parts["lowest"], parts["highest"]), coef.shape[1])
        order._place(coef, intercept, parts["columns"], parts["prices"], parts["cuts"], bounds)
        order.looks = Looks(*(parts[name] for name in Looks._fields))
        order._ahead, order._wrong = parts["ahead"], parts["wrong"]
        return order

    def _unread_sums(self, terms: np.ndarray) -> np.ndarray:
        """Sums of the terms of the unread columns, at each stage."""
        total = np.concatenate([np.zeros((len(terms), 1)), np.cumsum(terms[:, ::-1], axis=1)], axis=1)
        return total[:, terms.shape[1] - self.cuts].T

    def _learn(self, X: Stored) -> None:
        """Fit the estimates of each stage; store for each row whether its class is wrong, and how far it is ahead."""
        sums = self._sums_at_looks(X)
        exact = sums[-1]
        shift, moved = sums.mean(axis=1, keepdims=True), sums - sums.mean(axis=1, keepdims=True)
        variance, target = (moved**2).mean(axis=1), exact.mean(axis=0)
        both = (moved * moved[-1]).mean(axis=1)
        slope = np.divide(both, variance, out=np.zeros_like(both), where=variance > 0)
        slope[-1] = 1.0
        offset = target - slope * shift[:, 0]
        offset[-1] = 0.0
        missed = sums * slope[:, None] + offset[:, None] - exact
        self.looks = Looks(offset, slope, np.sqrt((missed**2).mean(axis=1)))
        self.looks.spread[-1] = 0.0
        scores = [self.estimate(k, s) for k, s in enumerate(sums)]
        self._ahead = np.array([self.ahead(k, f) for k, f in enumerate(scores)])
        right = first_class(exact)
        self._wrong = np.array([first_class(f) != right for f in scores])

    def _sums_at_looks(self, X: Stored) -> np.ndarray:
        """The sums over the columns read so far, at each stage: shape (stages, rows, scores)."""
        part = np.searchsorted(self.cuts, np.arange(len(self.columns)), side="right")
        sums = np.empty((len(self.cuts), X.shape[0], len(self.intercept)))
        for c, w in enumerate(self.weights):
            spread = sp.csr_array((w, (self.columns, part)), shape=(self.n_features, len(self.cuts)))
            moved = X @ spread
            sums[:, :, c] = np.cumsum(moved.toarray() if sp.issparse(moved) else moved, axis=1).T
        return sums + self.intercept

    def estimate(self, k: int, sums: np.ndarray) -> np.ndarray:
        """The estimated scores of rows, from their sums at stage k."""
        return self.looks.offset[k] + self.looks.slope[k] * sums

    def ahead(self, k: int, scores: np.ndarray) -> np.ndarray:
        """By how many standard deviations the best class of each row is ahead of the next one, at stage k."""
        spread = self.looks.spread[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            if scores.shape[1] == 1:
                return np.nan_to_num(np.abs(scores[:, 0]) / spread[0], nan=np.inf, posinf=np.inf)
            first, rows = scores.argmax(axis=1), np.arange(len(scores))
            by = (scores[rows, first, None] - scores) / np.hypot(spread[first, None], spread)
        by = np.nan_to_num(by, nan=np.inf, posinf=np.inf)
        by[rows, first] = np.inf
        return by.min(axis=1)

    def interval(self, look: np.ndarray, sums: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Intervals for the scores of rows, given the last stage of each."""
        if self.low is not None and self.high is not None:
            return sums + self.low[look], sums + self.high[look]
        middle = self.looks.offset[look] + self.looks.slope[look] * sums
        with np.errstate(invalid="ignore"):
            by = np.nan_to_num(z * self.looks.spread[look], nan=0.0, posinf=np.inf)
        return middle - by, middle + by

    def settled(self, k: int, sums: np.ndarray) -> np.ndarray:
        """The class of each row that no unread cell can change, at stage k; -1 if one can, or ranges are not known."""
        if self.low is None or self.high is None or self.bounds is None:
            return np.full(len(sums), -1)
        largest = np.maximum(*map(np.abs, self.bounds))[self.columns]
        size = np.abs(self.weights) @ largest + np.abs(self.intercept)
        rounding = (len(self.columns) + 8) * np.finfo(float).eps * size
        low, high = sums + self.low[k] - rounding, sums + self.high[k] + rounding
        if sums.shape[1] == 1:
            return np.where(low[:, 0] > 0, 1, np.where(high[:, 0] <= 0, 0, -1))
        first, rows = low.argmax(axis=1), np.arange(len(sums))
        high[rows, first] = -np.inf
        return np.where(low[rows, first] > high.max(axis=1), first, -1)

    def ahead_for(self, confidence: float) -> float:
        """The z that a row must be ahead so that a fraction `confidence` of rows get the class of all their cells.

        Counted on the n given rows, plus one row that is taken to be wrong: (n + 1)(1 - confidence) - 1 may differ.
        """
        n = self._wrong.shape[1]
        allowed = (n + 1) * (1.0 - confidence) - 1.0
        if allowed < 0:
            return np.inf
        least, most = 0.0, float(np.max(self._ahead[:-1], initial=0.0, where=np.isfinite(self._ahead[:-1]))) + 1.0
        for _ in range(40):
            z = 0.5 * (least + most)
            stops = self._ahead >= z
            stops[-1] = True
            k = stops.argmax(axis=0)
            if self._wrong[k, np.arange(n)].sum() <= allowed:
                most = z
            else:
                least = z
        return most


def first_class(scores: Array) -> Array:
    """The predicted class of each row: the sign of a single score, or the largest of several."""
    return whole(scores[:, 0] > 0) if scores.shape[1] == 1 else scores.argmax(1)


def _used(coef: np.ndarray) -> np.ndarray:
    """Columns with a nonzero weight."""
    return np.flatnonzero((coef != 0).any(axis=0))


def _check_parts(coef: np.ndarray, parts: dict[str, np.ndarray]) -> None:
    """Raise if these are not the parts of a `ReadingOrder` for these weights."""
    names = {"columns", "prices", "cuts", *Looks._fields, "ahead", "wrong"}
    if not names <= set(parts) <= names | {"lowest", "highest"} or len(set(parts) - names) == 1:
        raise ValueError("the arrays of its reading order are incomplete, or have other names.")
    columns, prices, cuts, ahead, wrong = (parts[name] for name in ("columns", "prices", "cuts", "ahead", "wrong"))
    kinds = columns.dtype.kind + cuts.dtype.kind + prices.dtype.kind + ahead.dtype.kind + wrong.dtype.kind
    if kinds != "iiffb" or columns.ndim != 1 or not np.array_equal(np.sort(columns), _used(coef)):
        raise ValueError("its reading order does not consist of the columns that have a weight.")
    steps = cuts.ndim == 1 and len(cuts) > 0 and cuts[0] == 0 and cuts[-1] == len(columns)
    if not steps or (np.diff(cuts) <= 0).any() or prices.shape != columns.shape or not (prices >= 0).all():
        raise ValueError("the cuts of its reading order do not rise from no cell to all of them.")
    looks = [parts[name] for name in Looks._fields]
    each = all(look.shape == (len(cuts), len(coef)) and np.isfinite(look).all() for look in looks)
    if not each or wrong.ndim != 2 or ahead.shape != wrong.shape or len(wrong) != len(cuts) or np.isnan(ahead).any():
        raise ValueError("the estimates of its reading order do not match its cuts.")


def spreads(X: Stored) -> np.ndarray:
    """The standard deviation of each column."""
    return np.sqrt(mean_variance_axis(X, axis=0)[1]) if sp.issparse(X) else X.std(axis=0, dtype=np.float64)


def _checked_ranges(ranges: tuple[ArrayLike, ArrayLike], d: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = (np.broadcast_to(np.asarray(side, np.float64), (d,)) for side in ranges)
    except (TypeError, ValueError) as error:
        raise ValueError(f"ranges must be the least and the largest values of the {d} columns: {error}") from error
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise ValueError("ranges must be finite, with no least value above the largest one.")
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class PurchaseTable(ColumnTable):
    """A line for each row that was predicted.

    Attributes
    ----------
    row : ndarray of int
    label : ndarray
        Its class.
    score, low, high : ndarray of float
        The decision value and its interval; with more than two classes those of the predicted class.
    cells : ndarray of int
        Cells that were used.
    certain : ndarray of bool
        Whether no unread cell can change the class.
    """

    row: np.ndarray
    label: np.ndarray
    score: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cells: np.ndarray
    certain: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Purchase(Tabled):
    """Predictions, with the cells that were read for them and their price.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The class of each row.
    scores : ndarray of shape (n,) or (n, n_classes)
        Decision values; estimates if not all cells were read.
    low, high : ndarray of the same shape
        Interval for each decision value: certain if the order has ranges; else z standard deviations about the
        estimate, with the z of `ReadingOrder.ahead_for`; the value itself if all cells were read.
    cells : ndarray of int of shape (n,)
        Cells of each row that were used.
    certain : ndarray of bool of shape (n,)
        Whether no unread cell can change the class.
    n_reads : int
        Cells that were paid for; cells that the table has kept from earlier reads are free.
    cost : float
        Their price.
    undecided : int
        Rows that a budget left before their class was certain enough.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import LinearSVC
    >>> X = np.random.default_rng(0).standard_normal((500, 4)) * [9.0, 1.0, 0.1, 0.01]
    >>> bought = LinearSVC().fit(X, X.sum(axis=1) > 0).learn_order(X).buy(X, confidence=0.95)
    >>> bought.n_reads == int(bought.cells.sum()), bool(bought.cells.mean() < 2)
    (True, True)
    """

    labels: np.ndarray
    scores: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cells: np.ndarray
    certain: np.ndarray
    n_reads: int
    cost: float
    undecided: int = 0

    @property
    def table(self) -> PurchaseTable:
        """A line for each row."""
        score, low, high = self.scores, self.low, self.high
        if score.ndim == 2:
            best = np.argmax(score, axis=1)[:, None]
            score, low, high = (np.take_along_axis(one, best, axis=1)[:, 0] for one in (score, low, high))
        return PurchaseTable(np.arange(len(self.labels)), self.labels, score, low, high, self.cells, self.certain)

    @property
    def _headline(self) -> str:
        a_row = self.n_reads / max(1, len(self.labels))
        price = as_text(self.cost) + (f"; the budget left {self.undecided:,} rows undecided" if self.undecided else "")
        return f"{len(self.labels):,} rows from {self.n_reads:,} cells, {a_row:.3g} a row, for {price}."


def buy(
    order: ReadingOrder, table: Table, classes: np.ndarray, confidence: float = 1.0, max_cost: float | None = None
) -> Purchase:
    """Read the rows of a table in the given order, each only as far as needed.

    All rows that are still undecided are read up to the next cut together, so that a seller who charges for a call is
    called once for all of them. If the budget does not suffice for all, the least certain rows are read first.

    Parameters
    ----------
    order : ReadingOrder
    table : Table
        The rows to predict.
    classes : ndarray
    confidence : float, default=1.0
        The fraction of rows that must get the class that all their cells would give. With 1.0 a row is read until its
        class is certain, by the ranges of the order, or to the end.
    max_cost : float, optional
        Limit of the price, in addition to the budgets of the table.

    Returns
    -------
    Purchase
    """
    n, d = table.shape
    if d != order.n_features:
        raise ValueError(f"The table has {d} features, and the model expects {order.n_features}.")
    number(above=0, most=1).check("confidence", confidence)
    BUDGET.check("max_cost", max_cost)
    z, last = order.ahead_for(confidence), len(order.cuts) - 1
    sums, look = np.tile(order.intercept, (n, 1)), np.zeros(n, int)
    reads, cost = table.bill.cells, table.bill.cost
    rows, k, undecided = np.arange(n), 0, 0
    while k < last:
        ahead = order.ahead(k, order.estimate(k, sums[rows]))
        sure = (ahead >= z) & (z < np.inf)  # if z is infinite, only `settled` decides
        stays = ~sure & (order.settled(k, sums[rows]) < 0)
        rows = rows[stays][np.argsort(ahead[stays], kind="stable")]  # the least sure first
        before, k = k, k + 1 if table.sells_cells else last  # if whole rows are sold, one read has all of the row
        part = slice(order.cuts[before], order.cuts[k])
        left = None if max_cost is None else max_cost - (table.bill.cost - cost)
        afforded = np.sort(rows[: _affordable(table, rows, order.columns[part], left)])
        step = max(1, ROW_BLOCK_CELLS // max(1, part.stop - part.start))
        for lo in range(0, len(afforded), step):
            some = afforded[lo : lo + step]
            sums[some] += _products(order, table, some, part)
        look[afforded] = k
        if len(afforded) < len(rows):
            undecided = len(rows) - len(afforded)
            break
    low, high = order.interval(look, sums, z)
    scores = order.looks.offset[look] + order.looks.slope[look] * sums
    codes, certain = first_class(scores), look == last
    for k in np.unique(look[~certain]):
        at = look == k
        settled = order.settled(k, sums[at])
        certain[at] = settled >= 0
        codes[at] = np.where(settled >= 0, settled, codes[at])  # the estimate may have another class
    if scores.shape[1] == 1:
        scores, low, high = scores[:, 0], low[:, 0], high[:, 0]
    bill, used = table.bill, order.cuts[look]
    spent = int(bill.cells - reads), float(bill.cost - cost)
    return Purchase(classes[codes], scores, low, high, used, certain, *spent, undecided)


def _affordable(table: Table, rows: np.ndarray, columns: np.ndarray, left: float | None) -> int:
    """How many of these rows, from the first on, the budgets suffice for."""
    limits = [limit for limit in (left, _rest(table.max_cost, table.bill.cost)) if limit is not None]
    reads = _rest(table.max_reads, table.bill.cells)
    if not limits and reads is None:
        return len(rows)
    columns = columns if table.sells_cells else np.arange(table.shape[1])
    price = np.ones(len(columns)) if table.bill.prices is None else table.bill.prices[columns]
    fresh = [table.bill.missing(i, columns) if table.keep else np.ones(len(columns), bool) for i in rows.tolist()]
    cost, cells = np.cumsum([price @ f for f in fresh]), np.cumsum([f.sum() for f in fresh])
    within = np.ones(len(rows), bool)
    for limit in limits:
        within &= cost <= limit * (1.0 + 1e-12)
    return int((within & (cells <= reads)).sum() if reads is not None else within.sum())


def _rest(limit: float | None, spent: float) -> float | None:
    return None if limit is None else limit - spent


def _products(order: ReadingOrder, table: Table, rows: np.ndarray, part: slice) -> np.ndarray:
    """The contribution of these columns to the scores of these rows."""
    columns = order.columns[part]
    ascending = np.argsort(columns)
    cells = table.block(rows, columns[ascending])
    if order.bounds is not None:
        low, high = (side[columns[ascending]] for side in order.bounds)
        dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
        out = np.argwhere((dense < low) | (dense > high))
        if len(out):
            i, j = out[0]
            raise ValueError(
                f"Row {rows[i]} has {dense[i, j]:g} in column {columns[ascending][j]}, outside its range of {low[j]:g} "
                f"to {high[j]:g}: classes that were certain by these ranges may be wrong. Learn the order with wider "
                "ranges."
            )
    return np.asarray(cells @ order.weights[:, part].T[ascending])
