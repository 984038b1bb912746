"""Dual ascent by blocks of rows that are in memory one after the other: for more rows than memory holds."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.access.streams.base import Ranges, Streamed
from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, count
from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.problems.base import Cost, rounding
from hinge.problems.batch import Batch, BatchSolution, combine_certificates
from hinge.problems.svm.examples import balance
from hinge.sampling import key_of, stream_of
from hinge.solvers.ascent.active_rows import shuffle, unmarked
from hinge.solvers.ascent.local_ascent import AscentRows, Share, local_ascent
from hinge.solvers.ascent.sdca import SGD_PAYS, TYPICAL, bias_constant, first_dual, start_dual
from hinge.solvers.base import Paper, Solver, certified, reason_against
from hinge.threads import stretches

OWN, EPOCHS = 1 << 40, 1 << 10  # random streams from OWN on order the rows within blocks: EPOCHS of them for each block


class BlockAscentState(NamedTuple):
    """A dual point, the sums of the present pass, and the best certified answer.

    ================= ==================================================================================
    `alpha`, `v`      the dual weights, and :math:`v = \\sum_is_i\\alpha_iy_ix_i`
    `w`               the answer that the present pass began with, whose loss the pass sums up
    `sums`            :math:`\\sum_ic_i\\alpha_iy_ix_i` over the rows that the pass has visited, separately for
                      each sign of :math:`\\alpha_iy_i`
    `best`            the best certified answer
    `dual`            numbers of the ascent, see :class:`hinge.solvers.ascent.sdca.SDCAState`
    `place.t`         blocks visited so far
    `place.passes`    passes done
    `place.done`      blocks done in the present pass
    `place.b`, `loss` bias of `w`, and its loss so far
    `place.largest`   largest squared norm of a row
    `place.best_b`    bias of `best`
    `place.primal`    objective of `best`
    `place.bound`     largest lower bound on the optimum
    `key`             key of the random numbers
    ================= ==================================================================================
    """

    alpha: np.ndarray
    v: np.ndarray
    w: np.ndarray
    sums: np.ndarray
    best: np.ndarray
    dual: Scalars
    place: Scalars
    key: np.uint64

    @property
    def t(self) -> int:
        """Blocks visited so far."""
        return int(self.place.t)


class Cut(NamedTuple):
    """The stretches into which rows are cut, and the number of blocks of several stretches in a pass."""

    stretches: list[tuple[int, int]]
    blocks: int

    def cells(self, problem: Regularized) -> int:
        """The most cells that a block may have."""
        rows = -(-len(self.stretches) // self.blocks) * max(hi - lo for lo, hi in self.stretches)
        return min(rows * problem.matrix.max_row_cells, problem.matrix.n_cells)


@dataclass(frozen=True)
class BlockAscent(Solver[Regularized, BlockAscentState]):
    """Dual coordinate ascent for `Regularized` that reads rows in large blocks, each once in a pass.

    A block is some stretches of neighbouring rows, dealt anew at random in every pass. While it is in memory its dual
    weights ascend by the steps of `SDCA` on these rows alone, while all other dual weights are fixed:

    .. math:: \\max_{\\alpha_B}\\; \\sum_{i\\in B} s_i\\big(t_i\\alpha_i - \\ell^*(\\alpha_i)\\big)
              - \\frac1{2\\Lambda}\\Big\\|v + \\sum_{i\\in B}s_i\\,\\Delta\\alpha_i\\,y_ix_i\\Big\\|^2 .

    v is exact, so that every step raises the dual. A block's rows are visited until what they have of the gap is a
    tenth of what it was when they were met, and `epochs` times at most: rows that are in memory cost less than others
    that have to be read.

    **A pass certifies the answer that it began with**, for every row comes by: its responses make the objective P of
    that answer, and what is left of α behind the pass makes a sum of rows from scratch, and so the dual D without the
    roundings of the steps. No row is read for a certificate alone. The answer that is given out is the one of the
    smallest P so far, and its gap is to the largest D.

    An iteration is a block. It costs a read of its rows and, in memory, two products with each and up to `epochs`
    visits. Memory: a block and the one that is read meanwhile, n dual weights and 5d numbers.

    Parameters
    ----------
    epochs : int
        The most visits to a row while its block is in memory. Three take about as long as it takes to decode a row of
        Parquet, and so cost nothing where another core does that; from a slow disk more are free, and save passes.

    Notes
    -----
    *Differs* from the paper: blocks are dealt anew in each pass, of stretches from all over the file, since
    neighbouring rows are often alike; the first pass grows Λ where `SDCA` does, and visits rows once. A free bias is
    treated as in `SDCA`; its multiplier moves after each pass.

    References
    ----------
    H.-F. Yu, C.-J. Hsieh, K.-W. Chang, C.-J. Lin, *Large Linear Classification When Data Cannot Fit in Memory*, 2010.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import BlockAscent
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, BlockAscent(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3
    True
    """

    epochs: int = 3

    any_loss = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    paper = Paper(
        "Large Linear Classification When Data Cannot Fit in Memory",
        "Yu, Hsieh, Chang, Lin",
        2010,
        "block minimisation in the dual, with blocks dealt anew and certificates from the pass itself",
    )
    constraints = Constraints(epochs=count(most=EPOCHS))
    solves, instead = Regularized, "SGD for a norm bound"

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> BlockAscentState:
        d, full, dual = problem.d, problem.lam * problem.total, first_dual()
        alpha, v = np.zeros(problem.n), np.zeros(d)
        place = scalars(t=0, passes=0, done=0, b=0.0, loss=0.0, largest=0.0, best_b=0.0, primal=np.inf, bound=-np.inf)
        if start_dual(problem, start, alpha, v, dual):
            dual.beta = dual.beta if problem.bias == "free" else 0.0
        dual.growing = dual.Lam == 0.0 and full >= SGD_PAYS
        dual.Lam = 0.0 if dual.growing else full
        return BlockAscentState(alpha, v, np.zeros(d), np.zeros((2, d)), np.zeros(d), dual, place, key_of(seed))

    def advance(self, problem: Regularized, state: BlockAscentState, n_iter: int) -> BlockAscentState:
        cut, place = cut_of(problem), state.place
        for _ in range(n_iter):
            block, rows = next_block(problem, cut, state.key, place)
            if place.t == 0:
                state.dual.kappa = bias_constant(problem, rows) if problem.bias == "free" else problem.constant_sq
            _visit(problem, state, block, rows, 1 if state.dual.growing else self.epochs)
            if isinstance(problem.matrix, Matrix):
                problem.matrix.count(rows.reads)
            place.t += 1
            place.done += 1
            if place.done == cut.blocks:
                _end_pass(problem, state, cut)
        return state

    def solution(self, problem: Regularized, state: BlockAscentState) -> Solution:
        """The best certified answer, or the present one before there is any; with its dual if rows are in memory."""
        alpha = state.alpha if problem.in_memory else None
        if state.place.primal < np.inf:
            return Solution(state.best, float(state.place.best_b), alpha)
        return Solution(state.v / (state.dual.Lam or 1.0), _bias(state.dual), alpha)

    def cost(self, problem: Regularized, state: BlockAscentState | None = None) -> Cost:
        cut = cut_of(problem)
        cells = cut.cells(problem)
        setup = 2 * TYPICAL * problem.matrix.max_row_cells if problem.bias == "free" else 0
        return Cost(cells=(self.epochs + 4) * cells, setup=setup, certificate=0, a_pass=cut.blocks)

    def pause(self, problem: Regularized, state: BlockAscentState) -> int:
        """The end of the pass."""
        return cut_of(problem).blocks - int(state.place.done)

    def estimate(self, problem: Regularized, state: BlockAscentState) -> Certificate:
        """The certificate of the best answer so far; the second pass is the first to compute one."""
        place = state.place
        if place.primal == np.inf:
            return Certificate.unknown(_bias(state.dual))
        primal, bound = float(place.primal), float(place.bound)
        return Certificate(primal, bound, problem.relative(primal, bound), float(place.best_b))


def cut_of(problem: Regularized, *, parts: int = 64, in_block: int = 8) -> Cut:
    """The stretches of the data, and the blocks of a pass; an array has 64 stretches, of which 8 make a block."""
    matrix = problem.matrix
    if isinstance(matrix, Streamed):
        return Cut(matrix.stretches, -(-len(matrix.stretches) // matrix.layout.stretches))
    parts = min(problem.n, parts)
    return Cut(stretches(problem.n, parts), -(-parts // in_block))


def shuffled_block(cut: Cut, key: np.uint64, passes: int, k: int) -> Ranges:
    """Block k of a pass: its stretches, in the order of the file."""
    count = len(cut.stretches)
    order = np.empty(count, np.uint32)
    shuffle(order, count, np.uint64(stream_of(key, passes)), 0)  # compiled code gives out a signed number
    first, stop = (count * j // cut.blocks for j in (k, k + 1))
    return tuple(cut.stretches[at] for at in sorted(order[first:stop].tolist()))


def next_block(problem: Regularized, cut: Cut, key: np.uint64, place: Scalars) -> tuple[Ranges, Matrix]:
    """The block at this place among the passes, and its rows; rows of the next block are read ahead."""
    block = shuffled_block(cut, key, int(place.passes), int(place.done))
    ahead = shuffled_block(cut, key, *divmod(int(place.passes * cut.blocks + place.done) + 1, cut.blocks))
    return block, load_block(problem, block, ahead)


def load_block(problem: Regularized, block: Ranges, ahead: Ranges) -> Matrix:
    """The rows of a block, in memory."""
    if isinstance(problem.matrix, Streamed):
        return problem.matrix.take(block, ahead)
    return problem.matrix.gather(numbers_of(block))


def numbers_of(block: Ranges) -> np.ndarray:
    """The numbers of the rows of a block."""
    return np.concatenate([np.arange(lo, hi) for lo, hi in block])


def _bias(dual: Scalars) -> float:
    return float(dual.beta + dual.kappa * dual.u / (dual.Lam or 1.0))


def _visit(problem: Regularized, state: BlockAscentState, block: Ranges, rows: Matrix, epochs: int) -> None:
    """Do all that is done with a block while it is in memory; the state changes at the end."""
    known, place, dual, at = problem.matrix.sq_norms, state.place, state.dual, numbers_of(block)
    if place.done == 0:
        state.w[:] = state.v / (dual.Lam or 1.0)
        state.sums[:] = 0.0
        place.b, place.loss = _bias(dual), 0.0
    loss = _loss_of(problem, state, block, rows) if place.passes > 0 else 0.0
    sq, alpha = np.full(rows.n, np.nan) if known is None else known[at], state.alpha[at]
    part = AscentRows.from_problem(problem, rows.rows, at)
    _ascend(state, part, alpha, sq, epochs)
    coef, z = alpha * part.y * (part.weight / problem.total), np.zeros_like(state.sums)
    rows.combine(np.maximum(coef, 0.0), 0, rows.n, z[0])
    rows.combine(np.minimum(coef, 0.0), 0, rows.n, z[1])
    state.sums[:] += z
    state.alpha[at] = alpha
    if known is not None:
        known[at] = sq
    place.loss += loss
    place.largest = max(place.largest, np.max(sq, initial=0.0, where=~np.isnan(sq)))


def _loss_of(problem: Regularized, state: BlockAscentState, block: Ranges, rows: Matrix) -> float:
    """An upper bound on the contribution of a block to the mean loss of w."""
    b, at, loss = float(state.place.b), 0, 0.0
    if isinstance(problem.matrix, Streamed):  # the first pass has measured the rows, in whatever process
        problem.matrix.largest_sq = max(problem.matrix.largest_sq, float(state.place.largest))
    error = problem.response_error(state.w, b)
    r = rows.responses(state.w, 0, rows.n)
    for lo, hi in block:
        loss += problem.loss_of(r[at : at + hi - lo], b, lo, hi, error)
        at += hi - lo
    return loss


def _ascend(state: BlockAscentState, part: AscentRows, alpha: np.ndarray, sq: np.ndarray, epochs: int) -> None:
    """Take dual steps on the rows of a block, whose α and squared norms are given; update v and u."""
    place, dual, deal = state.place, state.dual, np.zeros(1, np.uint32)
    active = np.flatnonzero(np.broadcast_to(part.weight, len(alpha))).astype(np.uint32)
    met, listed = np.inf, len(active)
    first = OWN + EPOCHS * int(place.t)  # whatever the number of epochs was before
    for epoch in range(epochs):
        share = Share(active, listed, deal, 0, 1, listed, 2, state.key, first + epoch)
        change = local_ascent(part, share, alpha, sq, state.v, dual, 1.0)
        state.v[:] += change.dv
        dual.u += change.du
        dual.Lam += change.grown
        met = change.gap if epoch == 0 else met
        listed = int(unmarked(active, listed))
        dual.upper = change.highest if change.highest > 0.0 else np.inf
        dual.lower = change.lowest if change.lowest < 0.0 else -np.inf
        if listed == 0 or (epoch > 0 and change.gap <= 0.1 * met):  # another block is worth more then
            break
    dual.upper, dual.lower = np.inf, -np.inf


def _end_pass(problem: Regularized, state: BlockAscentState, cut: Cut) -> None:
    """Certify the answer that the pass began with, and begin the next with v as it was summed up."""
    alpha, place, dual, free = state.alpha, state.place, state.dual, problem.bias == "free"
    full = problem.lam * problem.total
    longest = max(hi - lo for lo, hi in cut.stretches)
    chain = longest * -(-len(cut.stretches) // cut.blocks) + cut.blocks
    if isinstance(problem.matrix, Streamed):
        problem.matrix.largest_sq = max(problem.matrix.largest_sq, float(place.largest))
    side, ratio = balance(*problem.class_mass(alpha)) if free else (1, 1.0)
    up, down = (ratio, 1.0) if side > 0 else (1.0, ratio)
    z = up * state.sums[0] + down * state.sums[1]
    place.bound = max(place.bound, problem.dual_of(problem.side_scaled(alpha, side, ratio), z, chain))
    if place.passes > 0:
        loss = float(place.loss)
        primal = problem.primal_at(state.w, float(place.b), loss + rounding(longest + len(cut.stretches), loss))
        if primal < place.primal:
            state.best[:] = state.w
            place.primal, place.best_b = primal, place.b
    state.v[:] = problem.total * (state.sums[0] + state.sums[1])
    positive, negative = problem.class_mass(alpha)
    dual.u, dual.Lam, dual.growing = problem.total * (positive - negative), full, False
    if free:
        dual.beta += dual.kappa * dual.u / full
    place.passes += 1
    place.done = 0


class SideBySideState(NamedTuple):
    """A state for each task, and the number of turns `turn.t`; the next task is number `turn.t` modulo their count."""

    members: tuple[Any, ...]
    turn: Scalars

    @property
    def t(self) -> int:
        """Turns so far."""
        return int(self.turn.t)


@dataclass(frozen=True)
class SideBySide(Solver[Batch, SideBySideState]):
    """One solver for several problems over the same rows, in turns: an iteration is one iteration of one task.

    With `BlockAscent`, which draws the same blocks for all tasks, each block is read once for all of them.

    Parameters
    ----------
    solver : Solver
        A solver whose `estimate` is a certificate.
    """

    solver: Solver = field(default_factory=BlockAscent)

    any_loss = True
    joint = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    paper = BlockAscent.paper

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, Batch):
            return f"SideBySide solves several tasks at once, not one {type(problem).__name__}; use its solver."
        return next((reason for task in problem.members if (reason := reason_against(self.solver, task))), None)

    def init(self, problem: Batch, seed: int = 0, start: Any = None) -> SideBySideState:
        starts = start or [None] * len(problem.members)
        states = (self.solver.init(task, seed, one) for task, one in zip(problem.members, starts, strict=True))
        return SideBySideState(tuple(states), scalars(t=0))

    def advance(self, problem: Batch, state: SideBySideState, n_iter: int) -> SideBySideState:
        tasks = list(state.members)
        for _ in range(n_iter):
            k = int(state.turn.t) % len(tasks)
            tasks[k] = self.solver.advance(problem.members[k], tasks[k], 1)
            state.turn.t += 1
        return state._replace(members=tuple(tasks))

    def solution(self, problem: Batch, state: SideBySideState) -> BatchSolution:
        pairs = zip(problem.members, state.members, strict=True)
        return BatchSolution(tuple(self.solver.solution(task, one) for task, one in pairs))

    def cost(self, problem: Batch, state: SideBySideState | None = None) -> Cost:
        one = self.solver.cost(problem.members[0])
        return one._replace(a_pass=len(problem.members) * one.a_pass)

    def pause(self, problem: Batch, state: SideBySideState) -> int:
        """To the end of the present pass of all tasks."""
        return sum(self.solver.pause(task, one) for task, one in zip(problem.members, state.members, strict=True))

    def estimate(self, problem: Batch, state: SideBySideState) -> Certificate:
        """The certificates of all members, combined."""
        pairs = zip(problem.members, state.members, strict=True)
        return combine_certificates([certified(member, self.solver, one) for member, one in pairs])
