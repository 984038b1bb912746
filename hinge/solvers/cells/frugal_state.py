"""The state of the frugal learner: a sample, the answer it gives, and the batch at hand."""

from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars, scalars


class FrugalState(NamedTuple):
    """The sample and the answer that it gives.

    `before` is the answer before, from the second pass on that of the pass before; where whole rows are read, the
    last that weighs as much as all rows. `pi` is the probability with which a row is in the sample, 0 if it is not;
    `random` are rows read whole whatever they hold; `order` is that of the first pass; `queue` has the present batch,
    the first of it to be read whole. `ranked` are columns in levels that end at `cuts`; `tails` is what to expect
    behind each.

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
        """Rows looked at so far."""
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
    return FrugalState(
        np.zeros(d),
        np.zeros(d),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, bool),
        u,
        order,
        np.zeros(n, np.int64),
        np.zeros(d, np.int64),
        np.zeros(levels + 1, np.int64),
        np.zeros((2, levels + 1, 2)),
        s,
    )


def enqueue(state: FrugalState, rows: np.ndarray, whole: int) -> None:
    """Make these rows the next batch, the first `whole` of them to be read whole."""
    state.queue[: len(rows)] = rows
    state.s.queued, state.s.done, state.s.whole = len(rows), 0, whole
