"""What a worker does in a round: dual ascent on the rows of a part, CoCoA+'s subproblem, for all classes at once.

The part begins with all parts' v and changes it by :math:`\\Delta_k`. After some rows it goes on from
:math:`v + \\sigma'\\Delta_k`, as if the others had done :math:`\\sigma' - 1` times what it did itself, so that any
number of blocks and passes is one ascent on the subproblem of :mod:`hinge.solvers.ascent.local_ascent`.

A round is a function of values: the part, its α, a message. Who loses the result computes it again, bit for bit.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars
from hinge.dask.parts import Part, Task, problems_of
from hinge.problems import Regularized
from hinge.sampling import key_of, stream_of
from hinge.solvers.ascent.active_rows import first_epoch, list_rows, rows_a_block, shuffle, unmarked
from hinge.solvers.ascent.local_ascent import AscentRows, Change, Share, end_epoch, local_ascent
from hinge.solvers.ascent.sdca import first_dual

NEIGHBOURS = 64
"""Rows that are dealt out together where a block is not visited at once."""
SLICES = 4
"""A part of several blocks visits them in slices that alternate, so that it sees rows of all of them early."""
MOST_PASSES = 1 << 10
"""Passes of a round, at most: each has a stream of random numbers of its own."""


class Message(NamedTuple):
    """What all parts begin a round with; arrays have a row for each task that is still open.

    `step` is by how much of the last round's change of α was taken, and `at` the places of the tasks among all.
    """

    round: int
    seed: int
    passes: int
    tasks: tuple[Task, ...]
    at: np.ndarray
    step: np.ndarray
    v: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    kappa: np.ndarray
    sigma: np.ndarray
    growing: np.ndarray


class Kept(NamedTuple):
    """α of a part before and after its last round, a row a task: how much of the change counts is told later."""

    before: np.ndarray
    after: np.ndarray


class Report(NamedTuple):
    """What a part, or some parts together, changed: sums, with an entry or a row for each open task.

    Δv and Δu; `apart`, the sum of :math:`\\|\\Delta_k\\|^2 + \\kappa\\Delta u_k^2`; the dual's sum over rows,
    before, and by how much it rose; the gap as the first pass met it; the masses of α where αy is positive and
    negative; cells read.
    """

    dv: np.ndarray
    du: np.ndarray
    apart: np.ndarray
    conjugates: np.ndarray
    rise: np.ndarray
    gap: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    cells: np.ndarray


class Ascended(NamedTuple):
    """What a round leaves: α stays with the part, the report goes to the client."""

    kept: Kept
    report: Report


def first_kept(part: Part, tasks: int) -> Kept:
    """α = 0."""
    return Kept(*(np.zeros((tasks, part.n)) for _ in range(2)))


def taken(kept: Kept, step: np.ndarray) -> np.ndarray:
    """α after the steps that were taken, one for each task; within its bounds, as both ends are."""
    alpha = kept.after.copy()
    for t in np.flatnonzero(step != 1.0):
        alpha[t] = kept.before[t] + step[t] * (kept.after[t] - kept.before[t])
        np.clip(
            alpha[t], np.minimum(kept.before[t], kept.after[t]), np.maximum(kept.before[t], kept.after[t]), out=alpha[t]
        )
    return alpha


def kept_from(alpha: np.ndarray) -> Kept:
    """α as the client has kept it."""
    return Kept(alpha, alpha)


def ascend(part: Part, kept: Kept, message: Message) -> Ascended:
    """A round of a part: some passes over its rows for each open task. It reads them once a pass, or fewer of them."""
    before = taken(kept, message.step)
    after, reports = before.copy(), []
    for place, (task, t) in enumerate(zip(message.tasks, message.at, strict=True)):
        key = key_of(message.seed, part.number * len(before) + int(t))
        reports.append(_ascend(part, task, after[t], message, place, key))
    columns = zip(*reports, strict=True)
    return Ascended(Kept(before, after), Report(*(np.concatenate(column) for column in columns)))


def report_of(ascended: Ascended) -> Report:
    """What goes to the client."""
    return ascended.report


def added(*reports: Report) -> Report:
    """What several parts changed together, added in their order."""
    total = reports[0]
    for report in reports[1:]:
        total = Report(*(a + b for a, b in zip(total, report, strict=True)))
    return total


def _ascend(part: Part, task: Task, alpha: np.ndarray, message: Message, place: int, key: np.uint64) -> Report:
    """One task: α is written in place."""
    v, u, sigma = message.v[place], float(message.u[place]), float(message.sigma[place])
    kappa = float(message.kappa[place])
    rows = [rows for rows in _rows_of(part, task, alpha) if rows is not None]
    conjugates = sum(rows.conjugates() for rows in rows)
    dual, dv, du, grown, gap = first_dual(), np.zeros_like(v), 0.0, 0.0, np.inf
    dual.beta, dual.kappa, dual.growing = message.beta[place], kappa, bool(message.growing[place])
    for turn in range(message.passes):
        met, changes = 0.0, []
        for block, share in _shares(rows, _stream(key, message.round * MOST_PASSES + turn)):
            dual.u, dual.Lam = u + sigma * du, sigma * grown if dual.growing else task.Lam
            change = local_ascent(block.all, share, block.alpha, block.sq, v + sigma * dv, dual, sigma)
            dv += change.dv
            du, grown, met = du + change.du, grown + change.grown, met + change.gap
            changes.append(change)
        gap = met if turn == 0 and not dual.growing else gap
        if not _end(dual, changes, rows, task.Lam):
            break
    masses = [block.problem.class_mass(block.alpha) for block in rows]
    numbers = (
        du,
        dv @ dv + kappa * du**2,
        conjugates,
        sum(block.conjugates() for block in rows) - conjugates,
        gap,
        sum(positive for positive, _ in masses),
        sum(negative for _, negative in masses),
    )
    cells = sum(block.problem.reads for block in rows)
    return Report(dv[None], *(np.array([number], np.float64) for number in (*numbers, cells)))


class _Block:
    """A block within a round: its problem, its rows of α, and the list of rows that are visited."""

    def __init__(self, problem: Regularized, alpha: np.ndarray, sq: np.ndarray) -> None:
        self.problem, self.alpha = problem, alpha
        self.sq = np.require(sq, requirements="W")  # filled by the first round; a copy where it was sent here
        self.all = AscentRows.from_problem(problem)
        self.active, epoch = np.zeros(problem.n, np.uint32), first_epoch()
        list_rows(epoch, self.active, problem.weight)
        self.listed = int(epoch.active)

    def conjugates(self) -> float:
        """Σ s(tα - ℓ*(α))."""
        linear, _, square = self.problem.conjugates(self.alpha)
        return (linear - 0.5 * self.problem.loss.curvature * square) * self.problem.total


def _rows_of(part: Part, task: Task, alpha: np.ndarray) -> Iterator[_Block | None]:
    first = 0
    for block, problem in zip(part.blocks, problems_of(part, task), strict=True):
        stop = first + len(block.y)
        yield None if problem is None else _Block(problem, alpha[first:stop], block.sq)
        first = stop


def _shares(rows: Sequence[_Block], key: np.uint64) -> Iterator[tuple[_Block, Share]]:
    """The shares of a pass, in a random order: a block as a whole, or slices of blocks that alternate."""
    slices = SLICES if len(rows) > 1 else 1
    deals, number = [], len(rows) + slices  # of the next stream
    for place, block in enumerate(rows):
        group = rows_a_block(block.problem.matrix)
        size = block.listed if slices == 1 else min(block.listed // slices, NEIGHBOURS) // group * group
        size = max(group, size)
        deal = np.zeros(-(-block.listed // size), np.uint32)
        shuffle(deal, len(deal), _stream(key, place), 0)
        deals.append((block, deal, size, group))
    for turn in range(slices):
        order = np.zeros(len(rows), np.uint32)
        shuffle(order, len(order), _stream(key, len(rows) + turn), 0)
        for at in order:
            block, deal, size, group = deals[at]
            first, stop = (len(deal) * (turn + more) // slices for more in (0, 1))
            if stop > first:
                yield block, Share(block.active, block.listed, deal, first, stop, size, group, key, number)
            number += 1


def _stream(key: np.uint64, number: int) -> np.uint64:
    return np.uint64(stream_of(key, number))  # which gives Python a number without its type


def _end(dual: Scalars, changes: Sequence[Change], rows: Sequence[_Block], Lam: float) -> bool:
    """After a pass: rows that were marked leave the lists, as in `SDCA`, but for the bias; whether any are left."""
    if not changes:
        return False
    dual.highest = max(change.highest for change in changes)
    dual.lowest = min(change.lowest for change in changes)
    end_epoch(dual, first_epoch(), rows[0].active, Lam, False, True)
    for block in rows:
        block.listed = int(unmarked(block.active, block.listed))
    return any(block.listed for block in rows)
