"""What a worker does in a round: dual ascent on the rows of a part, CoCoA+'s subproblem, for all classes.

The part begins with all parts' v and changes it by :math:`\\Delta_k`. After some rows it continues from
:math:`v + \\sigma'\\Delta_k`, as if the others had done :math:`\\sigma' - 1` times what it did itself, so that any
number of blocks and passes is one ascent on the subproblem of :mod:`hinge.solvers.ascent.local_ascent`.

A round is a function of values: the part, its α, a message. Who loses the result computes it again, bit for bit.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars
from hinge.dask.parts import ClusterTask, Part, problems_of
from hinge.problems import Certificate, Regularized
from hinge.problems.svm.penalized import primal_value, relative_gap
from hinge.problems.svm.regularized import DualShare, dual_value
from hinge.sampling import key_of, stream_of
from hinge.solvers.ascent.active_rows import first_epoch, list_rows, rows_a_block, shuffle, unmarked
from hinge.solvers.ascent.local_ascent import AscentRows, Change, Share, end_epoch, local_ascent
from hinge.solvers.ascent.sdca import first_dual

MOST_PASSES = 1 << 10
"""Passes of a round, at most: each has a stream of random numbers of its own."""


class Message(NamedTuple):
    """What all parts begin a round with; arrays have a row for each task that is still open.

    `step` is by how much of the last round's change of α was applied, and `at` the places of the tasks among all.
    """

    round: int
    seed: int
    passes: int
    tasks: tuple[ClusterTask, ...]
    at: np.ndarray
    step: np.ndarray
    v: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    kappa: np.ndarray
    sigma: np.ndarray
    growing: np.ndarray


class Kept(NamedTuple):
    """α of a part before and after its last round, a row a task: how much of the change counts is decided later."""

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


def apply_step(kept: Kept, step: np.ndarray) -> np.ndarray:
    """α after a step of each task; within its bounds, as both ends are."""
    alpha = kept.after.copy()
    for t in np.flatnonzero(step != 1.0):
        before, after = kept.before[t], kept.after[t]
        alpha[t] = np.clip(before + step[t] * (after - before), np.minimum(before, after), np.maximum(before, after))
    return alpha


def kept_from(alpha: np.ndarray) -> Kept:
    """α as the client has kept it."""
    return Kept(alpha, alpha)


def ascend(part: Part, kept: Kept, message: Message) -> Ascended:
    """A round of a part: some passes over its rows for each open task. It reads them once a pass, or fewer of them."""
    before = apply_step(kept, message.step)
    after, reports = before.copy(), []
    for place, (task, t) in enumerate(zip(message.tasks, message.at, strict=True)):
        key = key_of(message.seed, part.number * len(before) + int(t))
        reports.append(_ascend(part, task, after[t], message, place, key))
    columns = zip(*reports, strict=True)
    return Ascended(Kept(before, after), Report(*(np.concatenate(column) for column in columns)))


def add_reports(*reports: Report) -> Report:
    """What several parts changed together, added in their order."""
    total = reports[0]
    for report in reports[1:]:
        total = Report(*(a + b for a, b in zip(total, report, strict=True)))
    return total


def _ascend(part: Part, task: ClusterTask, alpha: np.ndarray, message: Message, place: int, key: np.uint64) -> Report:
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


class _RowBlock:
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


def _rows_of(part: Part, task: ClusterTask, alpha: np.ndarray) -> Iterator[_RowBlock | None]:
    first = 0
    for block, problem in zip(part.blocks, problems_of(part, task), strict=True):
        stop = first + len(block.y)
        yield None if problem is None else _RowBlock(problem, alpha[first:stop], block.sq)
        first = stop


def _shares(
    rows: Sequence[_RowBlock], key: np.uint64, *, slices: int = 4, neighbours: int = 64
) -> Iterator[tuple[_RowBlock, Share]]:
    """The shares of a pass, in a random order: a block as a whole, or slices of several blocks that alternate.

    Slices let a part read rows of all blocks early; they are dealt out in groups of at most `neighbours` rows.
    """
    slices = slices if len(rows) > 1 else 1
    deals, number = [], len(rows) + slices  # of the next stream
    for place, block in enumerate(rows):
        group = rows_a_block(block.problem.matrix)
        size = block.listed if slices == 1 else min(block.listed // slices, neighbours) // group * group
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


def _end(dual: Scalars, changes: Sequence[Change], rows: Sequence[_RowBlock], Lam: float) -> bool:
    """After a pass: rows that were marked leave the lists, as in `SDCA`, but for the bias; whether any are left."""
    if not changes:
        return False
    dual.highest = max(change.highest for change in changes)
    dual.lowest = min(change.lowest for change in changes)
    end_epoch(dual, first_epoch(), rows[0].active, Lam, False, True)
    for block in rows:
        block.listed = int(unmarked(block.active, block.listed))
    return any(block.listed for block in rows)


class CertificateQuery(NamedTuple):
    """Which answers are to be certified: w and b of some tasks, at the places `at` among all.

    `step` belongs to the last round. α of the side of the sign `side` is scaled by `ratio`, for a free bias.
    """

    tasks: tuple[ClusterTask, ...]
    at: np.ndarray
    step: np.ndarray
    w: np.ndarray
    b: np.ndarray
    side: np.ndarray
    ratio: np.ndarray


class TaskShare(NamedTuple):
    """Shares of one task: its loss at most, its dual, its unit, and the terms added up one after the other."""

    loss: float
    dual: DualShare
    unit: float
    terms: int


class CertifiedPart(NamedTuple):
    """Shares of all tasks, with the responses ⟨w, x⟩ of the rows, which stay with the part; and cells read."""

    shares: tuple[TaskShare, ...]
    responses: tuple[np.ndarray, ...]
    cells: int


def certify_part(part: Part, kept: Kept, question: CertificateQuery) -> CertifiedPart:
    """The shares of a part. It reads its rows twice; rows with α = 0 once."""
    alpha = apply_step(kept, question.step)
    found = [
        _certify_task(part, task, alpha[t], question, k)
        for k, (task, t) in enumerate(zip(question.tasks, question.at, strict=True))
    ]
    shares, responses, cells = zip(*found, strict=True)
    return CertifiedPart(shares, responses, sum(cells))


def losses(part: Part, found: CertifiedPart, question: CertificateQuery, biases: np.ndarray) -> np.ndarray:
    """Shares of the losses, at most, at other biases: a row for each task. It reads no row."""
    out = np.zeros(biases.shape)
    for k, task in enumerate(question.tasks):
        first = 0
        for problem, block in zip(problems_of(part, task), part.blocks, strict=True):
            r = found.responses[k][first : first + len(block.y)]
            first += len(block.y)
            for at, b in enumerate(biases[k] if problem is not None else ()):
                assert problem is not None
                out[k, at] += problem.mean_loss_from(r, float(b), problem.response_error(question.w[k], float(b)))
    return out


def _certify_task(
    part: Part, task: ClusterTask, alpha: np.ndarray, question: CertificateQuery, k: int
) -> tuple[TaskShare, np.ndarray, int]:
    """One task over all blocks."""
    w, b, responses, shares, cells, first = question.w[k], float(question.b[k]), np.zeros(part.n), [], 0, 0
    for problem, block in zip(problems_of(part, task), part.blocks, strict=True):
        here = slice(first, first + len(block.y))
        first = here.stop
        if problem is None:
            continue
        a = alpha[here]
        if task.free:
            a = problem.side_scaled(a, int(question.side[k]), float(question.ratio[k]))
        responses[here] = problem.responses(w)  # which measures the rows, too
        loss = problem.mean_loss_from(responses[here], b, problem.response_error(w, b))
        dual = problem.dual_share(a, problem.combination(a), task.parts + len(part.blocks))
        shares.append(TaskShare(loss, dual, problem.unit, problem.terms))
        cells += problem.reads
    return together(shares, len(w)), responses if task.free else responses[:0], cells


def together(shares: Sequence[TaskShare], d: int) -> TaskShare:
    """The shares of several blocks, or parts, added up in their order."""
    duals = [share.dual for share in shares]
    z = sum((dual.z for dual in duals), np.zeros(d))
    sums = [float(sum(column)) for column in list(zip(*duals, strict=True))[1:-1]] if duals else [0.0] * 6
    dual = DualShare(z, *sums, *[max((dual.largest for dual in duals), default=0.0)])
    terms = max((share.terms for share in shares), default=0)
    return TaskShare(
        sum(share.loss for share in shares), dual, sum(share.unit for share in shares), terms + len(shares)
    )


def certificate(share: TaskShare, task: ClusterTask, w: np.ndarray, b: float) -> Certificate:
    """P at most, D at least, and the relative gap between them, of all rows."""
    paid, constant_sq = 0.5 * float(w @ w), 0.0
    if task.bias == "penalized":
        paid, constant_sq = paid + 0.5 * (b / task.bias_scale) ** 2, task.bias_scale**2
    primal = primal_value(task.lam, paid, len(w), share.loss, share.terms)
    dual = dual_value(share.dual, task.lam, task.loss, constant_sq, share.terms)
    return Certificate(primal, dual, relative_gap(primal, dual, share.unit), b)
