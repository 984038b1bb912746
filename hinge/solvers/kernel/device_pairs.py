"""Many kernel problems over the points of one `DeviceGram` jointly: all pairs of classes of a multiclass fit.

A pair of classes needs some five rounds, each of which is a few milliseconds of a card that is mostly idle: here the
rounds of all pairs are one, a line for each pair, and wait for the device once. Pairs with working sets of equal size
go together, up to the number that fits into memory; pairs that are done rest. Each answer is certified on its own, by
responses in float64.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hinge.access.gram.device import DeviceGram
from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized, Problem
from hinge.problems.base import Certificate, Cost
from hinge.problems.batch import Batch, BatchSolution, combine_certificates
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Solver
from hinge.solvers.kernel.device_block import (
    GAINS,
    OF_A_VALUE,
    PATIENCE,
    ROOM,
    UNIFORM,
    DeviceBlock,
    balanced,
    next_size,
)
from hinge.solvers.kernel.device_rounds import Lines, Seen, first_sets, look, move, working_sets

if TYPE_CHECKING:
    import torch

SURE = 0.9
"""Fraction of the tolerance that the gap should have before its rounding is known."""
OF_A_POINT = 200
"""Bytes of a line for each point."""


class PairBatch(Batch):
    """Problems over parts of one `DeviceGram`, with the hinge loss and the same kind of bias.

    Parameters
    ----------
    members : sequence of KernelRegularized
    """

    members: tuple[KernelRegularized, ...]  # type: ignore[assignment]

    def __init__(self, members: Sequence[KernelRegularized]) -> None:
        self.members = tuple(members)
        self.n, self.loss = sum(member.n for member in members), members[0].loss
        self.gram = _gram(members[0])

    reads = 0
    pass_cells = 0

    @property
    def kernel_evals(self) -> int:  # type: ignore[override]
        """Kernel values computed so far."""
        return sum(member.kernel_evals for member in self.members)

    def certificate(self, answer: BatchSolution) -> Certificate:
        """The certificates of all members, by the kernel values in float64 that the responses are made of."""
        found = []
        for member, one in zip(self.members, answer.members, strict=True):
            exact = copy.copy(member)
            exact.gram = _in_float64(member)
            found.append(exact.certificate(one))
        return combine_certificates(found)

    def sharpened(self, answer: BatchSolution, found: Certificate, wanted: float) -> Certificate:
        """The same: a member whose certificate is not good enough continues alone."""
        return found


class PairsState(NamedTuple):
    """A line for each pair, and what the host knows of it.

    ============ =========================================================================
    `lines`      labels, bounds, β, responses and paths, on the device
    `rows`       which points of the whole belong to each line
    `pairs`      what is known of each line
    `answers`    the answer with responses in float64, by round
    `key`        of the random numbers
    `t`          rounds so far
    ============ =========================================================================
    """

    lines: Lines
    rows: "torch.Tensor"
    pairs: tuple["Pair", ...]
    answers: dict[int, BatchSolution]
    key: np.uint64
    t: int


class Pair(NamedTuple):
    """What the host knows of a line; see `DeviceBlockState`."""

    b: float = 0.0
    gap: float = np.inf
    free: int = 0
    off: int = 0
    rho: float = 1.0
    steps: int = 0
    t: int = 0


@dataclass(frozen=True)
class DevicePairs(Solver[PairBatch, PairsState]):
    """Rounds of `DeviceBlock` for all members of a `PairBatch` jointly.

    Parameters
    ----------
    solver : DeviceBlock
        The settings of a round.
    tol : float
        Members whose gap is below this, with some reserve for rounding, rest.
    most : int
        Rounds after which the others are left to runs of their own, which also search for a better multiple of w.
    """

    solver: DeviceBlock = field(default_factory=DeviceBlock)
    tol: float = 0.0
    most: int = 24

    paper = DeviceBlock.paper
    joint = True
    ends_itself = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(tol=number(least=0))

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, PairBatch):
            return f"DevicePairs solves several problems over one DeviceGram, not {type(problem).__name__}."
        return next((reason for one in problem.members if (reason := self.solver.rejects(one))), None)

    def init(self, problem: PairBatch, seed: int = 0, start: None = None) -> PairsState:
        rho = float(problem.gram.diag.mean()) or 1.0
        pairs = tuple(Pair(off=member.n, rho=rho, steps=self.solver.steps) for member in problem.members)
        return PairsState(*_placed(problem), pairs, {}, key_of(seed), 0)

    def advance(self, problem: PairBatch, state: PairsState, n_iter: int) -> PairsState:
        for _ in range(n_iter):
            left = self._unfinished(state)
            if not left:
                break
            state = self._round(problem, state, left)
        return state

    def _unfinished(self, state: PairsState) -> list[int]:
        """The members that are not done, while there are rounds left."""
        above = [q for q, pair in enumerate(state.pairs) if not pair.gap <= SURE * self.tol]
        return above if state.t < self.most else []

    def _round(self, problem: PairBatch, state: PairsState, left: list[int]) -> PairsState:
        gram, (lines, rows, known, _, key, t) = problem.gram, state
        pairs, balances, free = list(known), np.empty(len(known)), problem.members[0].bias == "free"
        drawn = any(pairs[q].gap > UNIFORM for q in left)
        u = gram.array(draw_units(key, t * rows.numel(), rows.numel())).reshape(rows.shape) if drawn else None
        waiting = [
            (some, _move(gram, lines, rows, [pairs[q] for q in some], some, u, size, free))
            for size, some in self._groups(problem, pairs, left)
        ]
        seen = gram.host(look(lines, free))
        for some, balance in waiting:
            balances[some] = gram.host(balance)
        for q in left:
            pairs[q] = self._after(problem.members[q], pairs[q], Seen(*seen[q].tolist()), float(balances[q]))
        return state._replace(pairs=tuple(pairs), answers={}, t=t + 1)

    def _groups(self, problem: PairBatch, pairs: list[Pair], left: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Pairs whose next working sets are equally large and take equally many steps, up to what fits into memory."""
        alike: dict[tuple[int, int], list[int]] = {}
        for q in left:
            size = next_size(self.solver, problem.gram, problem.members[q].n, pairs[q])
            alike.setdefault((size, pairs[q].steps), []).append(q)
        for (size, _), some in alike.items():
            most = max(1, problem.gram.free() // 2 // (OF_A_VALUE * size**2))
            for lo in range(0, len(some), most):
                yield size, some[lo : lo + most]

    def _after(self, member: KernelRegularized, pair: Pair, seen: Seen, balance: float) -> Pair:
        """What is known of a line after a round and an evaluation."""
        lam, values = member.lam, self._values(member, pair)
        member.gram.evals, member.gram.asked = member.gram.evals + values, member.gram.asked + values
        primal, dual = lam * (0.5 * seen.sq + seen.loss), lam * (seen.linear - 0.5 * seen.sq)
        gap = (primal - dual) / dual if dual > 0.0 else np.inf
        slow = pair.t > 0 and gap > (1.0 - GAINS) * pair.gap
        steps = min(2 * pair.steps, PATIENCE * self.solver.steps) if slow else pair.steps
        rho = balanced(pair.rho, balance)
        return Pair(seen.b, gap, int(seen.free), int(seen.off), rho, steps, pair.t + 1)

    def _values(self, member: KernelRegularized, pair: Pair) -> int:
        """Kernel values of the next round of a member."""
        size = min(member.n, next_size(self.solver, _gram(member), member.n, pair))
        return size * (size + member.n)

    def solution(self, problem: PairBatch, state: PairsState) -> BatchSolution:
        """The answers of all members, with responses in float64, computed once for each round."""
        if state.t not in state.answers:
            beta = problem.gram.host(state.lines.beta)
            every = zip(problem.members, beta, state.pairs, strict=True)
            state.answers[state.t] = BatchSolution(tuple(_answer(*one) for one in every))
        return state.answers[state.t]

    def cost(self, problem: PairBatch, state: PairsState | None = None) -> Cost:
        pairs = [Pair()] * len(problem.members) if state is None else state.pairs
        return Cost(kernel_values=sum(map(self._values, problem.members, pairs)))

    def pause(self, problem: PairBatch, state: PairsState) -> int:
        return int(bool(self._unfinished(state)))

    def estimate(self, problem: PairBatch, state: PairsState) -> float:
        return max(pair.gap for pair in state.pairs)


def batches_of(problems: Sequence[KernelRegularized], block: DeviceBlock) -> Iterator[PairBatch]:
    """Batches of consecutive problems, each as large as memory allows."""
    done = 0
    while done < len(problems):
        left = problems[done:]
        gram, n = _gram(left[0]), max(problem.n for problem in left)
        size = min(n, block.size(n, 0, 0))
        count = max(1, gram.free() // 4 // (OF_A_POINT * n + OF_A_VALUE * size**2))
        yield PairBatch(left[:count])
        done += count


def _move(
    gram: DeviceGram,
    lines: Lines,
    rows: "torch.Tensor",
    pairs: list[Pair],
    which: list[int],
    u: "torch.Tensor | None",
    size: int,
    free: bool,
) -> "torch.Tensor":
    """A working set for each of these lines: chosen, solved, and its change spread over their responses."""
    at = gram.array(np.array(which))
    some, rows, size = Lines(*(one[at] for one in lines)), rows[at], min(size, rows.shape[1])
    u = None if u is None else u[at]
    known = [[pair.b, pair.rho, pair.gap > UNIFORM, pair.free <= ROOM * size] for pair in pairs]
    b, rho, drawn, roomy = gram.array(np.array(known, np.float64)).split(1, dim=1)
    if u is not None and not pairs[0].t:
        work = first_sets(some, size, u)
    else:
        work = working_sets(some, b, size, u, drawn > 0.0, roomy > 0.0)
    points = rows.gather(1, work)
    change, balance = move(some, work, gram.among(points), b, rho, pairs[0].steps, free)
    some.r.add_(gram.sums(rows, points, change))
    for whole, own in zip(lines[-3:], some[-3:], strict=True):
        whole[at] = own
    return balance


def _gram(problem: KernelRegularized) -> DeviceGram:
    assert isinstance(problem.gram, DeviceGram)
    return problem.gram.origin


def _placed(problem: PairBatch) -> "tuple[Lines, torch.Tensor]":
    """The lines of the members at β = 0, and which points of the whole their rows are."""
    gram, shape = problem.gram, (len(problem.members), max(member.n for member in problem.members))
    rows, (y, box) = np.zeros(shape, np.int64), np.zeros((2, *shape))
    for q, member in enumerate(problem.members):
        at = getattr(member.gram, "at", None)
        rows[q, : member.n] = np.arange(member.n) if at is None else at
        y[q, : member.n], box[q, : member.n] = member.y, member.boxes
    there = [gram.array(one) for one in (y, np.where(y < 0, -box, 0.0), np.where(y > 0, box, 0.0))]
    return Lines(*there, *(there[0].new_zeros(shape) for _ in range(3))), gram.array(rows)


def _answer(member: KernelRegularized, beta: np.ndarray, pair: Pair) -> Expansion:
    """The answer of a member, with responses in float64."""
    beta = beta[: member.n].copy()
    used = np.flatnonzero(beta)
    r = _gram(member).host(_in_float64(member).pass_over(used, beta[used], np.arange(member.n)))
    member.gram.evals += len(used) * member.n
    return Expansion(beta, pair.b, r, None, len(used) + 1)


def _in_float64(member: KernelRegularized) -> DeviceGram:
    """The points of a member in float64; they are freed after use, as together they would take much memory."""
    gram = member.gram
    assert isinstance(gram, DeviceGram)
    own = gram if gram.at is None else gram.origin.part(gram.at)
    return own.finer or own
