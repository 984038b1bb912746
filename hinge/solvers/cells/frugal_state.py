"""The state of the frugal learner: a sample, the answer it gives, and the batch at hand."""

from typing import NamedTuple

import numpy as np

# Places in the state's two arrays of scalars.
B, B_BEFORE, DRIFT, FLIPS, ERROR = range(5)
T, PASS, SCANNED, SIZE, DONE, WHOLE, COMPLETING, OVER = range(8)


class FrugalState(NamedTuple):
    """The sample and the answer that it gives.

    `before` is the answer before; where whole rows are read, the last that weighs as much as all rows.
    `pi` is the probability with which a row is in the sample, 0 if it is not; `random` are rows read whole
    whatever they hold; `order` is that of the first pass; `queue` has the present batch, the first of it to
    be read whole. `ranked` are columns in levels that end at `cuts`; `tails` is what to expect behind each.
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
    scalars: np.ndarray
    counters: np.ndarray

    @property
    def t(self) -> int:
        """Rows looked at so far."""
        return int(self.counters[T])


def empty_state(d: int, u: np.ndarray, order: np.ndarray, levels: int) -> FrugalState:
    """No row in the sample, no batch; with the rows' random numbers, and their order in the first pass."""
    n = len(u)
    return FrugalState(
        np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(n), np.zeros(n, bool), u, order,
        np.zeros(n, np.int64), np.zeros(d, np.int64), np.zeros(levels + 1, np.int64),
        np.zeros((2, levels + 1, 2)), np.zeros(5), np.zeros(8, np.int64),
    )  # fmt: skip


def enqueue(state: FrugalState, rows: np.ndarray, whole: int) -> None:
    """Make these rows the next batch, the first `whole` of them to be read whole."""
    c = state.counters
    state.queue[: len(rows)] = rows
    c[SIZE], c[DONE], c[WHOLE] = len(rows), 0, whole
