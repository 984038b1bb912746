"""Prediction of rows whose cells are bought in several steps, until the class is certain or probable enough."""

from typing import NamedTuple

import numpy as np

from hinge.access.tables.table import BLOCK_CELLS, Table
from hinge.constraints import BUDGET, number
from hinge.prediction.reading_order import ReadingOrder, first_class


class Purchase(NamedTuple):
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
    rows, k = np.arange(n), 0
    while k < last:
        ahead = order.ahead(k, order.estimate(k, sums[rows]))
        sure = (ahead >= z) & (z < np.inf)  # if z is infinite, only `settled` decides
        stays = ~sure & (order.settled(k, sums[rows]) < 0)
        rows = rows[stays][np.argsort(ahead[stays], kind="stable")]  # the least sure first
        before, k = k, k + 1 if table.sells_cells else last  # if whole rows are sold, one read has all of the row
        part = slice(order.cuts[before], order.cuts[k])
        left = None if max_cost is None else max_cost - (table.bill.cost - cost)
        afforded = np.sort(rows[: _affordable(table, rows, order.columns[part], left)])
        step = max(1, BLOCK_CELLS // max(1, part.stop - part.start))
        for lo in range(0, len(afforded), step):
            some = afforded[lo : lo + step]
            sums[some] += _products(order, table, some, part)
        look[afforded] = k
        if len(afforded) < len(rows):
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
    return Purchase(classes[codes], scores, low, high, used, certain, int(bill.cells - reads), float(bill.cost - cost))


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
