"""The state of `Frugal`: a sample, its answer, the present batch, and what to expect of unread columns."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access.structure import cells_and_counts
from hinge.compiled import Scalars, scalars


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
    (m, d), levels = E.shape, len(cuts) - 1
    level = np.full(d, levels, np.int16)  # columns in no level count as the last one
    level[ranked[: cuts[-1]]] = np.repeat(np.arange(levels), np.diff(cuts))
    # Cell by cell: a sparse product with a matrix of levels would sort all columns first.
    values, columns, counts = cells_and_counts(E)
    place = np.repeat(np.arange(m) * (levels + 1), counts) + level[columns]
    sums = np.bincount(place, values**2, m * (levels + 1))
    return sums.reshape(m, levels + 1)[:, :-1]
