"""A linear SVM from columns that are worth their price: what a row costs, afterwards too, is part of the choice."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars, scalars
from hinge.constraints import INFINITE, Constraints, number
from hinge.problems import Certificate, Regularized, Solution
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper
from hinge.solvers.cells import weighted_sample as sampled

MOST = 0.99
"""Largest fraction of the variance that columns are taken to explain: 1 would need no rows."""


def column_worth(X: np.ndarray, y: np.ndarray, kind: np.ndarray, steps: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """The share of the labels' variance that each column is expected to explain, if there were rows enough.

    Labels less their mean are taken for :math:`y = X\\beta + \\varepsilon`, the columns having variance one, with
    :math:`\\beta_j \\sim N(0, \\lambda_g)` for the columns of kind g and :math:`\\varepsilon_i \\sim N(0, \\sigma^2)`.
    The variances of greatest likelihood are found by the monotone steps

    .. math:: \\lambda_g \\leftarrow \\lambda_g\\sqrt{\\frac{y^\\top P K_g P y}{\\mathrm{tr}\\,P K_g}}, \\qquad
              K_g = X_gX_g^\\top, \\quad P = \\Big(\\sum_g\\lambda_gK_g + \\sigma^2I\\Big)^{-1},

    and the worth is :math:`E[\\beta_j^2 \\mid y]`, less for kinds that are uncertain: by half a standard error of
    :math:`\\lambda_g`, without which every second useless kind would seem to be useful, but to no less than a tenth,
    so that cheap columns are bought all the same. What may be hoped for is a whole standard error more. So what is
    known of many columns of a kind together is used for each of them: where none of twenty useless columns could be
    distinguished from a useful one, all of them can.

    Costs `steps` systems of order m or d, whichever is less.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    y : ndarray of shape (m,)
        -1 and 1.
    kind : ndarray of int of shape (d,)
    steps : int
        Number of monotone steps.

    Returns
    -------
    worth, hope : ndarray of shape (d,)

    References
    ----------
    H. Zhou, L. Hu, J. Zhou, K. Lange, 2019, for the steps.
    """
    m, d = X.shape
    X = X - X.mean(axis=0)
    spread = X.std(axis=0)
    X = np.divide(X, spread, out=np.zeros_like(X), where=spread > 1e-12 * max(1.0, spread.max(initial=0.0)))
    y = (y - y.mean()) / max(float(y.std()), 1e-12)
    kinds, place = np.unique(kind, return_inverse=True)
    lam, noise = np.full(len(kinds), 0.5 / d), 0.5
    for _ in range(steps):
        mean, var = _weights(X, y, lam[place], noise)
        known = np.bincount(place, 1.0 - var / lam[place])  # tr P Kg times the variance: the number of known weights
        up = np.bincount(place, mean**2)  # of the root, times the variance squared
        lam = np.maximum(np.sqrt(lam * up / np.maximum(known, 1e-12)), 1e-12)
        left = y - X @ mean
        noise = max(float(np.sqrt(noise * (left @ left) / max(m - known.sum(), 1e-12))), 1e-6)
    mean, var = _weights(X, y, lam[place], noise)
    error = _errors(X, place, lam, noise)
    worth = (mean**2 + var) * np.maximum(0.1, 1.0 - 0.5 * error / lam)[place]
    worth *= min(1.0, MOST / max(float(worth.sum()), 1e-300))
    return worth, np.maximum(worth, mean**2 + var + error[place])


def _errors(X: np.ndarray, place: np.ndarray, lam: np.ndarray, noise: float) -> np.ndarray:
    """Standard errors of the variances of each kind.

    By the likelihood's curvature, :math:`2 / \\mathrm{tr}\\,(PK_g)^2`, less the part :math:`2\\lambda_g^2/k_g` that
    would be there if all :math:`k_g` weights of the kind were known.
    """
    P = np.linalg.inv((X * lam[place]) @ X.T + noise * np.eye(len(X)))
    PK = [P @ X[:, place == g] @ X[:, place == g].T for g in range(len(lam))]
    error = 2.0 / np.maximum([np.sum(M * M.T) for M in PK], 1e-300) - 2.0 * lam**2 / np.bincount(place)
    return np.sqrt(np.maximum(error, 0.0))


def _weights(X: np.ndarray, y: np.ndarray, lam: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each weight, given the labels: by a system of the order of the columns, or of the rows."""
    m, d = X.shape
    if d <= m:
        S = np.linalg.inv(X.T @ X / noise + np.diag(1.0 / lam))
        return S @ (X.T @ y) / noise, np.maximum(np.diag(S), 0.0)
    PX = np.linalg.solve((X * lam) @ X.T + noise * np.eye(m), X)
    return lam * (PX.T @ y), np.maximum(lam - lam**2 * np.einsum("ij,ij->j", X, PX), 0.0)


def kinds_of(prices: np.ndarray, most: int = 8) -> np.ndarray:
    """Columns of one price; if there are more than `most` prices, columns of neighbouring prices."""
    each, kind = np.unique(prices, return_inverse=True)
    if len(each) <= most:
        return kind
    return np.searchsorted(np.quantile(prices, np.arange(1, most) / most), prices, side="right")


# --- which columns, then ---------------------------------------------------------------------


def path_of(worth: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The columns that are worth something, in the order of their worth for their price."""
    path = np.flatnonzero(worth > 0)
    return path[np.argsort(-worth[path] / np.maximum(prices[path], 1e-300), kind="stable")]


def explained(V: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The share of the variance that w explains after this number of rows.

    .. math:: R^2(n, k) = V\\,\\frac{nV}{nV + k(1 - V)},

    where V is what k columns could explain: to first order :math:`V - (1 - V)k/n`, as for least squares.
    """
    return V * rows * V / np.maximum(rows * V + columns * (1.0 - V), 1e-300)


def columns_to_buy(
    worth: np.ndarray, hope: np.ndarray, prices: np.ndarray, known: int, money: float, n: int, hedge: float
) -> np.ndarray:
    """The first columns of the path, which together explain most for this money beside the rows that are known.

    More columns say more, and leave money for fewer rows. Others are bought too, in the order of what may be hoped of
    them for their price, as far as they would pay if it were so, and for at most `hedge` times the price of the first
    ones: few rows may be wrong, and a column that is left out does not come back.
    """

    def gains(columns: np.ndarray, each: np.ndarray) -> np.ndarray:
        rows = np.minimum(n, known + money / np.maximum(np.cumsum(prices[columns]), 1e-300))
        return explained(np.minimum(np.cumsum(each), MOST), rows, np.arange(1, len(columns) + 1))

    path = path_of(worth, prices)
    best, others = np.split(path, [int(np.argmax(gains(path, worth[path]))) + 1])
    others = others[np.argsort(-hope[others] / np.maximum(prices[others], 1e-300), kind="stable")]
    others = others[np.cumsum(prices[others]) <= hedge * prices[best].sum()]
    both = np.concatenate([best, others])
    hoped = gains(both, np.concatenate([worth[best], hope[others]]))[len(best) - 1 :]
    return both[: len(best) + int(np.argmax(hoped))]


def columns_to_use(worth: np.ndarray, prices: np.ndarray, nearly: float = 0.995) -> np.ndarray:
    """The fewest first columns of the path that explain the fraction `nearly` of what all explain."""
    path = path_of(worth, prices)
    return path[: int(np.searchsorted(np.cumsum(worth[path]), nearly * worth[path].sum())) + 1]


class ThriftyState(NamedTuple):
    """What was bought, the answer that it gives, and the batch at hand.

    `bought` are the rows of which all `chosen` columns are known; `order` is a random order of the rows; `queue` has
    the present batch. `s` has the bias b; rows t; the `budget`, and what of it is `spent` when the batch is there; how
    many rows are queued, and how many of them are done; and whether it is `over`.
    """

    w: np.ndarray
    bought: np.ndarray
    chosen: np.ndarray
    order: np.ndarray
    queue: np.ndarray
    s: Scalars

    @property
    def t(self) -> int:
        """Rows bought so far, whole or in part."""
        return int(self.s.t)


@dataclass(frozen=True)
class Thrifty(sampled.SampleLearner[ThriftyState]):
    """Columns by what they explain for their price, rows by what is left of the budget.

    Cells are paid for once and kept. A pilot of random rows is bought whole. From it follows what share :math:`v_j` of
    the labels' variance each column is expected to explain (`column_worth`). Columns in the order of :math:`v_j/p_j`
    make a path; its first k cost :math:`c_k` a row, so that money M buys :math:`n_k = M/c_k` rows, which explain

    .. math:: V_k\\,\\frac{n_kV_k}{n_kV_k + k(1 - V_k)}, \\qquad V_k = \\sum_{j\\le k}v_j:

    few columns say little, many leave money for few rows. The best k of them are bought of the next rows, with others
    that would pay if they explained a standard error more than it seems. When as much is spent as before, the choice is
    made again among all of these: a column that was left out does not come back. The answer is the SVM of the columns
    that explain nearly all that can be explained. Every other column has a weight of exactly zero: nobody has to pay
    for it in a new row.

    Parameters
    ----------
    budget : float, optional
        What it plans to spend; by default what the table allows, or the price of all cells. A limit on cost ends the
        run at any rate, but columns that are chosen for a larger budget are not the best ones for a smaller.
    pilot : float
        Share of the budget for rows that are bought whole; more, up to a half, where it does not buy a row for each
        column, and less where it buys more than four. At least 20 rows, if half of the budget buys them.
    tol : float
        Gap to which the answer is solved on what was bought.

    Notes ----- No certificate: the answer is the best one for its columns and rows, not for all. Labels are free.
    Between evaluations it takes a few systems of the order of the chosen columns or of 300 rows, whichever is less.

    References
    ----------
    H. D. Daetwyler, B. Villanueva, J. A. Woolliams, 2008, for what n rows explain.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.access import DenseTable
    >>> from hinge.solvers import Thrifty
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 10))
    >>> y = np.where(X[:, :5].sum(axis=1) > 0, 1, -1)
    >>> table = DenseTable(X, prices=[1.0] * 5 + [20.0] * 5)
    >>> result = solve(Regularized(table, y, lam=1e-2), Thrifty(budget=5000.0), stop=Stop(tol=0))
    >>> np.flatnonzero(result.solution.w).tolist(), bool(table.bill.cost <= 5000.0)
    ([0, 1, 2, 3, 4], True)
    """

    budget: float | None = None
    pilot: float = 0.3
    tol: float = sampled.LAST_TOL

    paper = Paper(
        "Accuracy of predicting the genetic risk of disease using a genome-wide approach",
        "Daetwyler, Villanueva, Woolliams",
        2008,
        "what n rows explain; the rest is our own",
    )
    constraints = Constraints(
        budget=number(least=0) | INFINITE | None, pilot=number(above=0, most=1), tol=number(least=0)
    )

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> ThriftyState:
        n, d, table = problem.n, problem.d, problem.table
        table.keep = True
        order = np.argsort(draw_units(key_of(seed), 0, n) + (problem.weight == 0), kind="stable")  # no weight: last
        row = max(table.bill.row_price, 1e-300)
        most = n * row if table.max_cost is None else max(0.0, table.max_cost - table.bill.cost)
        budget = float(most if self.budget is None else self.budget)
        s = scalars(b=0.0, t=0, budget=budget, spent=0.0, queued=0, done=0, over=False)
        state = ThriftyState(np.zeros(d), np.zeros(n, bool), np.ones(d, bool), order, np.zeros(n, np.int64), s)
        affordable = budget / row
        count = min(max(self.pilot * affordable, min(20, 0.5 * affordable)), max(20, 4 * d))
        _enqueue(problem, state, max(2, int(min(n, count))))
        return state

    # --- the run --------------------------------------------------------------------------

    def advance(self, problem: Regularized, state: ThriftyState, n_iter: int) -> ThriftyState:
        s = state.s
        while n_iter > 0 and not s.over:
            rows = state.queue[s.done : min(s.queued, s.done + n_iter)]
            if state.chosen.all():
                problem.table.read_whole(rows)
            else:
                problem.table.block(rows, np.flatnonzero(state.chosen))
            state.bought[rows] = True
            s.done += len(rows)
            s.t += len(rows)
            n_iter -= len(rows)
            if s.done == s.queued:
                self._next(problem, state)
        return state

    def _next(self, problem: Regularized, state: ThriftyState) -> None:
        """The answer of what was bought; then the columns that stay, and rows for as much as was spent before."""
        s, prices = state.s, _prices(problem)
        if len(np.unique(problem.y[state.bought])) < 2:  # double the rows, as long as there are some
            return _enqueue(problem, state, int(state.bought.sum()))
        left, bought = max(0.0, s.budget - s.spent), int(state.bought.sum())
        worth, hope = _worth(problem, state)
        answer = self._answer(problem, state, worth)
        state.w[:], s.b = answer.w, answer.b
        last = left < 2.0 * s.spent
        # Doubtful columns may add 160% to the price of a row as long as there is another choice to come.
        columns = columns_to_buy(worth, hope, prices, bought, left, problem.n, 0.25 if last else 1.6)
        state.chosen[:] = False
        state.chosen[columns] = True
        money = left if last else s.spent
        return _enqueue(problem, state, int(min(problem.n, money / max(prices[columns].sum(), 1e-300))))

    def _answer(self, problem: Regularized, state: ThriftyState, worth: np.ndarray) -> Solution:
        """The SVM of the columns that explain enough, on all rows that were bought."""
        columns, rows = np.zeros(problem.d, bool), np.flatnonzero(state.bought)
        columns[columns_to_use(worth, _prices(problem))] = True
        inner = sampled.sample_problem(problem, rows, sampled.shares_at_C(problem.y, rows), columns)
        start = Solution(np.zeros(problem.d), 0.0, np.zeros(len(rows)))
        return sampled.solve_sample(inner, start, self.tol)._replace(alpha=None)

    # --- what the driver asks -------------------------------------------------------------

    def solution(self, problem: Regularized, state: ThriftyState) -> Solution:
        s = state.s
        if 0 < s.done < s.queued and len(np.unique(problem.y[state.bought])) == 2:  # cut off within a batch
            return self._answer(problem, state, _worth(problem, state)[0])
        return Solution(state.w, float(s.b), None)

    def estimate(self, problem: Regularized, state: ThriftyState) -> Certificate:
        """Unknown: what was not bought may say something else."""
        return Certificate.unknown()


def _prices(problem: Regularized) -> np.ndarray:
    """Of a cell in each column."""
    prices = problem.table.bill.prices
    return np.ones(problem.d) if prices is None else prices


def _worth(problem: Regularized, state: ThriftyState, most: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """What the chosen columns explain, by at most `most` of the rows that were bought."""
    rows, columns = state.order[state.bought[state.order]][:most], np.flatnonzero(state.chosen)
    X = problem.table.held(rows)[:, columns].toarray().astype(np.float64)
    worth, hope = np.zeros((2, problem.d))
    kinds = kinds_of(_prices(problem)[columns])
    worth[columns], hope[columns] = column_worth(X, problem.y[rows].astype(float), kinds)
    return worth, hope


def _enqueue(problem: Regularized, state: ThriftyState, count: int) -> None:
    """Make up to `count` rows the next batch, which were not bought and have a weight."""
    free = ~state.bought & (problem.weight > 0)
    left = state.order[free[state.order]]
    rows = sampled.alike(problem.y, left, min(len(left), count))
    state.queue[: len(rows)] = rows
    state.s.queued, state.s.done, state.s.over = len(rows), 0, len(rows) == 0
    state.s.spent += len(rows) * float(_prices(problem)[state.chosen].sum())
