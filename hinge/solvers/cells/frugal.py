"""A linear SVM from a fraction of the cells: rows read column by column, and no further than needed."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr

from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, choice, count, number
from hinge.problems import Certificate, Regularized, Solution
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper
from hinge.solvers.cells import weighted_sample as sampled


class FrugalState(NamedTuple):
    """The sample and the answer that it gives.

    `before` is the answer before, from the second pass on the answer of the last pass; where whole rows are read, the
    last that weighs as much as all rows. `pi` is the probability with which a row is in the sample, 0 if it is not;
    `random` are rows read whole whatever they hold; `order` is the order of the first pass; `queue` has the present
    batch, the first of it to be read whole. `ranked` are columns in levels that end at `cuts`; `tails` is what to
    expect behind each.

    `s` has the biases b and `b_before`; `drift`, how much margins still move; the `flips` of the sample, the
    `error` on rows that were new, its relative standard error, which is the `doubt`, and the share of the sample
    that is wrong though `fitted`; what of the errors is `to_come`, by the last batch of the first pass; t; the number
    of the present pass, and the rows `scanned` in the first one; how many rows are queued, how many of them to be
    read `whole`, and how many are done; whether the batch is `completing` the rows of support vectors; whether it
    is all `over`, and whether the answer is `exact` then: nothing unread could change it.
    """

    w: np.ndarray
    before: np.ndarray
    alpha: np.ndarray
    pi: np.ndarray
    random: np.ndarray
    u: np.ndarray
    order: np.ndarray
    queue: np.ndarray
    ranked: np.ndarray
    cuts: np.ndarray
    tails: np.ndarray
    s: Scalars

    @property
    def t(self) -> int:
        """Rows examined so far."""
        return int(self.s.t)


def empty_state(d: int, u: np.ndarray, order: np.ndarray, levels: int) -> FrugalState:
    """No row in the sample, no batch; with the rows' random numbers, and their order in the first pass."""
    n = len(u)
    s = scalars(
        b=0.0,
        b_before=0.0,
        drift=0.0,
        flips=0.0,
        error=0.0,
        doubt=np.inf,
        fitted=0.0,
        to_come=np.inf,
        t=0,
        pass_number=0,
        scanned=0,
        queued=0,
        whole=0,
        done=0,
        completing=False,
        over=False,
        exact=False,
    )
    (w, before), (alpha, pi), random = np.zeros((2, d)), np.zeros((2, n)), np.zeros(n, bool)
    queue, ranked, cuts = (np.zeros(size, np.int64) for size in (n, d, levels + 1))
    tails = np.zeros((2, levels + 1, 2))
    return FrugalState(w, before, alpha, pi, random, u, order, queue, ranked, cuts, tails, s)


def enqueue(state: FrugalState, rows: np.ndarray, whole: int) -> None:
    """Make these rows the next batch, the first `whole` of them to be read whole."""
    state.queue[: len(rows)] = rows
    state.s.queued, state.s.done, state.s.whole = len(rows), 0, whole


def tails_behind(
    E: sp.csr_array, y: np.ndarray, own: np.ndarray, w: np.ndarray, ranked: np.ndarray, cuts: np.ndarray
) -> np.ndarray:
    """Mean and deviation of the margin that columns behind each level add, for each class.

    A row that w was trained on has its own part in w left out, else its tail would be too good.

    Parameters
    ----------
    E : csr_array of shape (m, d)
        Rows read whole.
    y : ndarray of shape (m,)
    own : ndarray of shape (m,)
        The coefficients of the rows in w, without sign.
    w : ndarray of shape (d,)
    ranked : ndarray of shape (d,)
        Columns in the order of reading.
    cuts : ndarray of shape (levels + 1,)
        The levels' ends in that order; the first is 0.

    Returns
    -------
    ndarray of shape (2, levels + 1, 2)
        For the classes -1 and +1, behind each end.
    """
    used = ranked[: cuts[-1]]
    behind = np.arange(len(used))[:, None] >= cuts[None]
    X = E[:, used]
    unread = y[:, None] * (X @ (behind * w[used, None])) - own[:, None] * (X.power(2) @ behind.astype(float))
    out = np.empty((2, len(cuts), 2))
    mean, var = unread.mean(axis=0), unread.var(axis=0)
    for side in (0, 1):
        rows = unread[(y > 0) == side]
        k = len(rows)
        share = k / (k + 4.0)  # a class of less than four rows is estimated mostly from the rows of both classes
        own_mean, own_var = (rows.mean(axis=0), rows.var(axis=0)) if k else (mean, var)
        out[side, :, 0] = share * own_mean + (1 - share) * mean
        out[side, :, 1] = np.sqrt(share * own_var + (1 - share) * var)
    return out


def squares_in_levels(E: sp.csr_array, ranked: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The sum of the squares that each row holds of the columns of each level, of shape (m, levels)."""
    level = np.zeros((E.shape[1], len(cuts) - 1))
    level[ranked[: cuts[-1]], np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))] = 1.0
    return E.power(2) @ level


FEWEST_ROWS = 2000  # below this, whole rows serve better, and an error is not known well enough to stop by it
GROWTH = 2.0**0.5  # each batch of the first pass multiplies the number of rows by this factor


@dataclass(frozen=True)
class Frugal(sampled.SampleLearner[FrugalState]):
    """Importance-weighted rows, each read column by column and dropped as soon as it promises little.

    Cells are paid for once and kept. The answer is the SVM of a sample of rows,

    .. math:: \\min_w\\ \\tfrac12\\|w\\|^2 + C\\sum_{i\\,\\text{kept}} \\frac1{\\pi_i}\\,
              \\max(0,\\, 1 - y_i\\langle w, x_i\\rangle),

    an estimate of the objective of all rows. Row i is kept if its permanent random number :math:`u_i` is
    below :math:`\\pi_i`, which falls while the row is read, level by level:

    .. math:: \\pi_i = \\min_\\ell\\ \\max\\big(\\pi_0,\\ \\gamma\\, g\\, P_{i\\ell}^{3/4}\\big), \\qquad
              P_{i\\ell} = \\Phi\\Big(\\frac{1 - m_{i\\ell} - \\mu_\\ell}
              {\\sqrt{s_\\ell^2 + \\sigma^2}}\\Big),

    where :math:`m_{i\\ell}` is the margin of the columns read so far, taken in the order of
    :math:`w_j^2\\,E[x_j^2]` (a price divides it), :math:`\\mu_\\ell, s_\\ell` are mean and deviation of what
    is unread, by class, measured on random rows that were read whole, and σ is how much w still moves. So P
    is the chance that the margin is below one, and a row that certainly has no loss is dropped after few
    cells. A row's own share of w is left out of its margins, else its probability would depend on its
    random number and the estimate be biased. Every decision rests on cells that were read.

    The first pass goes over random rows in batches that multiply their number by √2, the later over all rows
    with g = 1, 2, 4 and so on, and more support vectors read whole, which brings new columns. Once every row is
    kept, every support vector whole and every column of w read, it is the SVM of all rows, with its certificate.

    Parameters
    ----------
    mode : {"auto", "scan", "rows"}
        "scan" is the above. "rows" reads whole random rows, of a rare class more than its share, weighted
        back, in batches that multiply their number by √2: "auto" does so for n < 2000, n > 500 d, or cells that come
        in rows. C stays the cost of one row, so that few rows are not overfitted.
    flips : float
        Stop after a pass that changes as few predictions of the sample as this share of the errors, weighted by 1/π.
        Errors are the geometric mean of those on the sample and those on rows of the first pass that were new to the
        answer: one that fits its rows far better than others changes less on them, too. Answers of whole rows have
        weights that add up to all rows for it: at C a row, few rows change little and err. In the first pass it also
        stops where twice the rows would change up to twice that share, but no more than 5% of the errors are expected
        to be gained by that, or by all rows that are left where they are read whole: by Platt's sigmoid of the margins
        of new rows, plus one standard error, where new rows tell the error to 7% (whole ones to 10%).
        0 never stops by it. It is the second control: a limit of reads or cost is the first.
    gamma, least : float
        γ and π₀.
    checks : float
        Share of each batch that is read whole, to measure what is unread.
    levels : int
        Levels of columns, the first the 256th part of all, in geometric progression.
    tol : float
        Gap to which the SVM of all rows is solved at the end; problems of samples are solved to 0.01.

    Notes
    -----
    No certificate before the end: weights 1/π estimate the objective, they do not bound it. Labels are free.

    References
    ----------
    D. G. Horvitz, D. J. Thompson, 1952, for the weights 1/π.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.access import as_table
    >>> from hinge.datasets import load
    >>> from hinge.solvers import Frugal
    >>> adult = load("adult")
    >>> problem = Regularized(as_table(adult.X_train[:4000]), adult.y_train[:4000], lam=1e-3)
    >>> result = solve(problem, Frugal(), stop=Stop(max_reads=100_000))
    >>> result.history[-1].feature_reads <= 100_000
    True
    """

    mode: Literal["auto", "scan", "rows"] = "auto"
    flips: float = 0.2
    gamma: float = 0.7
    least: float = 0.05
    checks: float = 0.01
    levels: int = 12
    tol: float = sampled.LAST_TOL

    paper = Paper(
        "A generalization of sampling without replacement from a finite universe",
        "Horvitz, Thompson",
        1952,
        "the weights; the rest is our own",
    )
    constraints = Constraints(
        mode=choice("auto", "scan", "rows"),
        flips=number(least=0),
        gamma=number(above=0, most=1),
        least=number(above=0, most=1),
        checks=number(above=0, most=1),
        levels=count(2),
        tol=number(least=0),
    )

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> FrugalState:
        n, d = problem.n, problem.d
        problem.table.keep = True
        u = draw_units(key_of(seed), 0, 2 * n)
        order = np.argsort(u[n:] + (problem.weight == 0), kind="stable")  # rows without weight come last
        state = empty_state(d, u[:n].copy(), order, self.levels)
        if self.by_rows(problem):
            first = sampled.alike(problem.y, state.order, 60)
        else:
            first = sampled.with_rare(problem.y, state.order, min(n, max(60, n // 100)))
            state.order[:] = np.concatenate([first, state.order[~np.isin(state.order, first)]])
        enqueue(state, first, len(first))
        return state

    def by_rows(self, problem: Regularized) -> bool:
        """Whether it reads whole rows."""
        few = problem.n < FEWEST_ROWS or problem.n > 500 * problem.d
        few |= not problem.table.sells_cells
        return self.mode == "rows" or (self.mode == "auto" and few)

    # --- the run --------------------------------------------------------------------------

    def advance(self, problem: Regularized, state: FrugalState, n_iter: int) -> FrugalState:
        s = state.s
        while n_iter > 0 and not s.over:
            end = s.whole if s.done < s.whole else s.queued
            rows = state.queue[s.done : min(end, s.done + n_iter)]
            if end == s.whole:
                problem.table.read_whole(rows)
                if not s.completing:  # else they are support vectors, and no random sample
                    state.random[rows], state.pi[rows] = True, 1.0
            else:
                if s.done == s.whole:
                    _plan(problem, state)
                _scan(problem, state, rows, self.gamma, self.least)
            s.done += len(rows)
            s.t += len(rows)
            n_iter -= len(rows)
            if s.done == s.queued:
                self._learn(problem, state)
                self._next(problem, state)
        return state

    def _learn(self, problem: Regularized, state: FrugalState) -> None:
        """Train on the sample; see how many predictions changed since the last pass, and how many are wrong.

        Of the new answer on the sample, and of the last one on rows new to it.
        """
        s = state.s
        rows, inner = self.sample(problem, state)
        new = _fit(problem, state, rows, inner, self.tol)
        if not s.completing:
            whole = self.by_rows(problem)
            now = sampled.solve_for_all(problem, rows, new) if whole and self.flips else new
            scanning = not whole and s.pass_number <= 1
            last = Solution(state.w, s.b) if scanning else Solution(state.before, s.b_before)
            before, after = (inner.responses(one.w) + one.b for one in (last, now))
            old, labels, truth = before > 0, after > 0, inner.y > 0
            s.flips = sampled.changed(inner, old, labels)
            s.fitted = np.average(labels != truth, weights=inner.weight)
            fresh = np.isin(rows, state.queue[: s.queued])
            if s.pass_number <= 1 and inner.weight @ fresh > 0:
                wrong = inner.weight * fresh * (old != truth)
                s.error = wrong.sum() / (inner.weight @ fresh)
                s.doubt = np.linalg.norm(wrong) / wrong.sum() if wrong.any() else np.inf
                examined = len(rows) if whole else s.scanned + s.queued
                share = s.queued / examined  # of the rows: the batch multiplied their number by 1 / (1 - share)
                s.to_come = np.inf
                if self.flips and np.isfinite(s.flips):
                    gain, spread = sampled.expected_gain(inner, before, after, fresh)
                    s.to_come = (gain + spread) * _to_come(share, examined / problem.n if whole else None)
                s.flips /= np.sqrt(2.0 * share)  # answers of m and of rm rows differ by about √(1/m - 1/rm)
            state.before[:], s.b_before = last[:2] if scanning else now[:2]
        state.w[:], s.b = new.w, new.b
        state.alpha[:], state.alpha[rows] = 0.0, new.alpha

    def sample(self, problem: Regularized, state: FrugalState) -> tuple[np.ndarray, Regularized]:
        """The rows kept so far, and their problem with what was read of them: it costs nothing to solve."""
        rows = np.flatnonzero(state.pi)
        share = sampled.shares_at_C(problem.y, rows) if self.by_rows(problem) else state.pi[rows]
        return rows, sampled.sample_problem(problem, rows, share)

    # --- the three phases: what is read next ----------------------------------------------

    def _next(self, problem: Regularized, state: FrugalState) -> None:
        """The next batch of the present phase, or the end."""
        s = state.s
        still = bool(self.flips > 0 and s.flips <= self.flips * np.sqrt(s.error * s.fitted))
        whole = self.by_rows(problem)
        settled = _settled(state, self.flips, whole)
        if whole:
            return _more_rows(problem, state, settled or (still and s.t >= FEWEST_ROWS))
        s.scanned += s.queued if s.pass_number <= 1 else 0
        s.over = settled
        if settled:
            return None
        if s.scanned < problem.n:
            return _first_pass(state, self.checks)
        return _later_pass(problem, state, still)

    # --- what the driver asks -------------------------------------------------------------

    def solution(self, problem: Regularized, state: FrugalState) -> Solution:
        s = state.s
        if 0 < s.done < s.queued and len(np.unique(problem.y[state.pi > 0])) == 2:  # cut off within a batch
            return _fit(problem, state, *self.sample(problem, state), self.tol)._replace(alpha=None)
        return Solution(state.w, float(s.b), state.alpha if s.exact else None)

    def estimate(self, problem: Regularized, state: FrugalState) -> Certificate:
        """The certificate of the sample, once no other row or cell can change the answer."""
        if not state.s.exact:
            return Certificate.unknown()
        return self.sample(problem, state)[1].certificate(self.solution(problem, state))


def _to_come(share: float, of_all: float | None) -> float:
    """What is to come over what a batch gained, which was such a share of the rows, where errors fall as 1/m.

    If rows are scanned, what doubling them would gain, since later passes read on; if they are read whole, what all
    other rows would gain: `of_all` is then the fraction of all rows that was read.
    """
    return 0.5 / share if of_all is None else (1.0 / share - 1.0) * (1.0 - of_all)


def _settled(state: FrugalState, flips: float, whole: bool) -> bool:
    """Whether so little was gained in the first pass that what is to come is little, too.

    At most 5% of the error may be to come, and the error must be known to 7%, or 10% if rows are read whole: few errors
    on new rows tell nothing. An answer that is hardly better than none gains little too, but changes many predictions.
    """
    s = state.s
    known = s.doubt <= 0.1 if whole else s.doubt <= 0.07 and s.t >= FEWEST_ROWS
    little = s.to_come <= 0.05 * s.error and s.flips <= 2 * flips * np.sqrt(s.error * s.fitted)
    return bool(flips > 0 and s.pass_number <= 1 and known and little)


def _plan(problem: Regularized, state: FrugalState) -> None:
    """The order of the columns, and the tails of the margins behind each level."""
    table, w = problem.table, state.w
    whole = np.flatnonzero((state.pi > 0) & table.bill.whole_rows)
    share = 1.0 / state.pi[whole]
    s = w**2 * (share @ table.held(whole).power(2)) / share.sum()
    if table.bill.prices is not None:
        s = s / np.maximum(table.bill.prices, 1e-12)
    state.ranked[:] = np.argsort(-s, kind="stable")
    size = int((s > 0).sum())
    levels = len(state.cuts) - 1
    state.cuts[1:] = np.ceil(size * (1 / 256) ** (1 - np.arange(levels) / (levels - 1)))
    rows = np.flatnonzero(state.random)
    E = table.held(rows)
    own = sampled.coefficients(problem, rows, state.alpha, state.pi)
    state.tails[:] = tails_behind(E, problem.y[rows], own, w, state.ranked, state.cuts)
    moved = E @ (w - state.before) + state.s.b - state.s.b_before
    state.s.drift = np.sqrt(np.mean(moved**2)) if state.s.pass_number == 1 else 0.0


def _scan(problem: Regularized, state: FrugalState, rows: np.ndarray, gamma: float, least: float) -> None:
    """Read rows level by level, as long as their random number is below the probability to keep them."""
    g = 2.0 ** max(0, int(state.s.pass_number) - 2)
    levels, least = len(state.cuts) - 1, min(1.0, least * max(1.0, g / 8.0))
    y = problem.y[rows].astype(float)
    side, m, pi = (y > 0).astype(int), y * state.s.b, np.ones(len(rows))
    kept = state.pi[rows] > 0  # a kept row is read to the end, to know its new probability
    own = sampled.coefficients(problem, rows[kept], state.alpha, state.pi)
    known = own[:, None] * squares_in_levels(problem.table.held(rows[kept]), state.ranked, state.cuts)
    m[kept] -= own * problem.constant_sq
    alive = np.arange(len(rows))
    for level in range(levels + 1):
        mu, sd = state.tails[side[alive], level].T
        P = ndtr((1.0 - m[alive] - mu) / np.sqrt(sd**2 + state.s.drift**2 + 1e-300))
        pi[alive] = np.minimum(pi[alive], np.maximum(least, gamma * g * P**0.75))
        alive = alive[(state.u[rows[alive]] < pi[alive]) | kept[alive]]
        if level < levels:
            columns = state.ranked[state.cuts[level] : state.cuts[level + 1]]
            m[alive] += y[alive] * problem.table.dot(rows[alive], columns, state.w[columns])
            m[kept] -= known[:, level]
    state.pi[rows[alive]] = np.maximum(state.pi[rows[alive]], pi[alive])


def _fit(problem: Regularized, state: FrugalState, rows: np.ndarray, inner: Regularized, last_tol: float) -> Solution:
    """The answer of the sample, from the last one; to the last tolerance where it is all rows."""
    start = Solution(state.w.copy(), float(state.s.b), state.alpha[rows])
    tol = last_tol if len(rows) == problem.n else sampled.READING_TOL
    return sampled.solve_sample(inner, start, tol)


def _more_rows(problem: Regularized, state: FrugalState, enough: bool) -> None:
    """Read further whole rows, which multiply their number by √2."""
    s = state.s
    s.pass_number = 1
    left = state.order[state.pi[state.order] == 0]
    rows = sampled.alike(problem.y, left, _batch(problem.n - len(left), problem.n))
    s.exact = len(rows) == 0
    s.over = s.exact or enough
    if s.over and not s.exact:
        state.w[:], s.b = state.before, s.b_before
    enqueue(state, rows, len(rows))


def _first_pass(state: FrugalState, checks: float) -> None:
    """Scan further random rows, which multiply their number by √2, and read a few of them whole."""
    s = state.s
    s.pass_number = 1
    rows = state.order[s.scanned : s.scanned + _batch(int(s.scanned), len(state.order))]
    enqueue(state, rows, min(len(rows), max(10, int(checks * len(rows)))))


def _batch(done: int, n: int) -> int:
    """The rows of the next batch; all that are left, where what it would leave is less than another."""
    return n - done if n < GROWTH**2 * done else int(np.ceil((GROWTH - 1.0) * done))


def _later_pass(problem: Regularized, state: FrugalState, still: bool) -> None:
    """Complete some rows of support vectors; then scan all rows, at a higher rate than before.

    After 12 passes, in which the rate has grown by 2¹⁰, all rows that are left are read whole.
    """
    s, whole = state.s, problem.table.bill.whole_rows
    support = np.flatnonzero((state.alpha > 0) & ~whole)
    every = bool((state.pi >= 1.0).all())
    unread = np.delete(state.w, state.ranked[: state.cuts[-1]])
    s.exact = every and len(support) == 0 and (bool(whole.all()) or not unread.any())
    # The second pass keeps rows at the rate of the first, so a small change there proves nothing.
    s.over = s.exact or (not s.completing and s.pass_number != 2 and still)
    if not s.completing:
        state.before[:], s.b_before = state.w, s.b
        s.pass_number = max(2, s.pass_number + 1)
        share = min(1.0, 0.1 * 2.0 ** (s.pass_number - 3)) if s.pass_number > 2 else 0.0
        rows = np.flatnonzero(~whole) if every and s.pass_number > 12 else support
        rows = rows[np.argsort(state.u[rows], kind="stable")][: int(np.ceil(share * len(rows)))]
        if len(rows):  # read these rows whole, which finds new columns
            s.completing = True
            return enqueue(state, rows, len(rows))
    s.completing = False
    return enqueue(state, np.flatnonzero(~state.random), 0)
