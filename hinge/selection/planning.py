"""A forecast of the cost of an accuracy, if cells have to be bought, from a pilot sample."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from hinge.access import Table, as_table
from hinge.access.tables.oracle import FeatureOracle, as_oracle
from hinge.column_table import in_short
from hinge.constraints import INFINITE, number
from hinge.estimators import LinearSVC
from hinge.types import MatrixLike

FEWEST_ROWS = 40
"""Least number of rows of a pilot."""
EXPONENTS = np.linspace(0.3, 1.2, 10)
"""Exponents c of the learning curve that are tried."""


class CostPlan(NamedTuple):
    """A forecast of the cost at which an error is reached.

    Attributes
    ----------
    cost : float
        Median forecast: the price of all cells of the random rows needed, including the pilot; infinite if the
        error will probably not be reached with any number of rows.
    low, high : float
        Interval for the cost, with the requested confidence.
    rows : float
        The number of rows of the median forecast.
    reachable : float
        Probability that the error can be reached with any number of rows.
    full_cost : float
        Price of all rows of the table.
    pilot_cost : float
        Price of the pilot; its cells are kept by the table.
    sizes, errors : ndarray
        The learning curve measured on the pilot.

    Examples
    --------
    >>> from hinge.selection import CostPlan
    >>> CostPlan._fields[:3]
    ('cost', 'low', 'high')
    """

    cost: float
    low: float
    high: float
    rows: float
    reachable: float
    full_cost: float
    pilot_cost: float
    sizes: np.ndarray
    errors: np.ndarray

    def __repr__(self) -> str:
        return in_short(self)


def plan_cost(
    model: LinearSVC,
    X: MatrixLike | Table | FeatureOracle,
    y: ArrayLike,
    *,
    error: float,
    pilot_cost: float,
    confidence: float = 0.8,
    seed: int = 0,
) -> CostPlan:
    """Forecast the cost of reaching an error, from a pilot of a given cost.

    Before any cell is bought nothing is known about how the columns relate to the labels, so a pilot is needed: random
    rows, bought whole, which a later fit on the same table does not pay for again. A third of them is held out, the
    errors of models trained on growing parts of the others are measured, for many random splits, and a learning curve

    .. math:: e(n) = a + b\\,n^{-c}, \\qquad a, b \\ge 0

    is fitted and solved for n. The interval comes from a bootstrap over the splits, with each curve shifted by the
    sampling error of the pilot.

    Parameters
    ----------
    model : LinearSVC
        With the parameters that it will be trained with; it is not changed.
    X : {array-like, sparse matrix, Table or FeatureOracle} of shape (n_samples, n_features)
        The data for sale. A cell of an array costs 1.
    y : array-like of shape (n_samples,)
        All labels, which are free.
    error : float
        The error rate to reach.
    pilot_cost : float
        Limit of the price of the pilot: at least the price of 40 rows.
    confidence : float, default=0.8
        Confidence of the interval.
    seed : int, default=0

    Returns
    -------
    CostPlan

    Notes
    -----
    The cost counts whole random rows. The frugal learner, which ``fit`` uses if cells are sold, usually pays less;
    so does ``solver="thrifty"`` if columns differ in price. Extrapolation to ten times the rows of the pilot or more is
    uncertain: the interval is wide there, and still too narrow if the curve changes its exponent.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.access import DenseTable
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((5000, 20))
    >>> y = X.sum(axis=1) + rng.standard_normal(5000) > 0
    >>> table = DenseTable(X, prices=[5.0] * 20)
    >>> plan = hinge.plan_cost(hinge.LinearSVC(C=0.1), table, y, error=0.1, pilot_cost=20_000)
    >>> plan.pilot_cost, bool(plan.low <= plan.cost <= plan.high < plan.full_cost)
    (20000.0, True)
    """
    table = as_oracle(X)
    table = as_table(check_array(X, accept_sparse="csr", dtype=np.float64, order="C")) if table is None else table
    labels = column_or_1d(y)
    if table.shape[0] != len(labels):
        check_consistent_length(np.empty(table.shape[0]), labels)
    for name, value in (("error", error), ("confidence", confidence)):
        number(above=0, below=1).check(name, value)
    price, before = table.bill.row_price, table.bill.cost
    if not (number(least=FEWEST_ROWS * price) | INFINITE).allows(pilot_cost):
        raise ValueError(
            f"A pilot takes {FEWEST_ROWS} rows at least, which cost {FEWEST_ROWS * price:g}; pilot_cost is "
            f"{pilot_cost!r}."
        )
    rng = np.random.default_rng(seed)
    m = int(min(table.shape[0], pilot_cost / max(price, 1e-300)))
    rows = rng.permutation(len(labels))[:m]
    if len(np.unique(labels[rows])) < 2:
        raise ValueError(f"All {m} rows of the pilot have the same label: allow a larger pilot_cost.")
    table.keep = True
    table.read_whole(rows)
    sizes, errors = _curve(model, table.held(rows), labels[rows], rng)
    drawn = _rows_for(error, sizes, errors, m, rng)
    low, middle, high = np.quantile(drawn, [0.5 - confidence / 2, 0.5, 0.5 + confidence / 2], method="nearest")
    cost, least, most = (float(needed * price) for needed in (middle, low, high))
    reachable, spent = float(np.mean(np.isfinite(drawn))), float(table.bill.cost - before)
    full = float(table.shape[0] * price)
    return CostPlan(cost, least, most, float(middle), reachable, full, spent, sizes, errors.mean(axis=0))


def _curve(
    model: LinearSVC, X: sp.csr_array, y: np.ndarray, rng: np.random.Generator, *, halvings: int = 4, repeats: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of training sets, halved so often, and the held-out errors of models trained on them, for each split."""
    m = len(y)
    aside = m // 3
    sizes = np.unique(((m - aside) / 2.0 ** np.arange(halvings)).astype(int))
    errors = np.empty((repeats, len(sizes)))
    for errors_of_one in errors:
        order = rng.permutation(m)
        test, rest = order[:aside], order[aside:]
        for k, size in enumerate(sizes):
            some = rest[:size]
            if len(np.unique(y[some])) < 2:
                errors_of_one[k] = np.mean(y[test] != y[some[0]])
            else:
                errors_of_one[k] = np.mean(clone(model).fit(X[some], y[some]).predict(X[test]) != y[test])
    return sizes, errors


def _rows_for(
    error: float, sizes: np.ndarray, errors: np.ndarray, m: int, rng: np.random.Generator, *, draws: int = 400
) -> np.ndarray:
    """Rows needed for the error, by bootstrap over the splits; infinite if the fitted curve stays above it."""
    out = np.empty(draws)
    for k in range(draws):
        mean = errors[rng.integers(len(errors), size=len(errors))].mean(axis=0)
        shift = rng.standard_normal() * np.sqrt(mean[-1] * (1.0 - mean[-1]) / m)
        a, b, c = power_law(sizes, np.clip(mean + shift, 0.0, 1.0))
        out[k] = (b / (error - a)) ** (1.0 / c) if error > a else np.inf
    return np.maximum(out, 1.0)


def power_law(sizes: np.ndarray, errors: np.ndarray) -> tuple[float, float, float]:
    """a, b and c of :math:`a + b\\,n^{-c}` by least squares, weighted by the size of the training set."""
    weight = np.sqrt(sizes / sizes.max())
    best = (np.inf, 0.0, 0.0, 1.0)
    for c in EXPONENTS:
        terms = np.column_stack([np.ones(len(sizes)), (sizes / sizes.max()) ** -c])
        (a, b), left = nnls(terms * weight[:, None], errors * weight)
        best = min(best, (float(left), float(a), float(b * sizes.max() ** c), float(c)))
    return best[1:]
