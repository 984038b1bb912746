"""The block dual method on a GPU: large working sets, each solved where its kernel values are.

The rounds of a `DeviceBatch`, such as all pairs of classes, are made together, a line of every array for each member: a
pair needs some five rounds, each of which is a few milliseconds of a card that is mostly idle.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from hinge.access.gram.device import DeviceGram
from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Certificate, Cost, rounded_gap
from hinge.problems.batch import Batch, BatchSolution, combine_certificates
from hinge.problems.svm.kernel_duality import WORTH, best_scale
from hinge.problems.svm.levels import KernelLevels
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.block_dual import UNIFORM
from hinge.solvers.kernel.device_rounds import Lines, Seen, best_biases, first_sets, look, move, working_sets
from hinge.solvers.kernel.douglas_rachford import AT_ONCE
from hinge.solvers.kernel.level_blocks import completed, first_weights, mixed_order
from hinge.solvers.kernel.stalling import STILL, gains, lacks_margin

if TYPE_CHECKING:
    import torch

LARGER = 4
"""Blocks are twice as large once there are this many times as many steps in them (`gpu.py --only machines`)."""
PATIENCE = 16
"""Steps in a block may become this many times as many where rounds gain little."""
NEAR = 100.0
"""Relative gap from which on a better multiple of w is looked for."""
MANY = 32768
"""Points from which on working sets begin twice as large, and runs with landmarks."""
ROOM = 0.75
"""Share of the largest working set up to which all points between bounds are in it."""
OF_A_VALUE = 40
"""Bytes of a round for each kernel value of its working set."""
OF_A_POINT = 200
"""Bytes of a line for each point."""
GAINS = 0.2
"""Share of the gap that a round should close; where it does not, the next one takes more steps."""
SURE = 0.9
"""Fraction of the tolerance that the gap should have before its rounding is known."""

LEAST = 32
"""Points of the subset with which a ν-SVM begins, at least."""
WITHOUT_MARGIN = 64
"""Rounds after which a ν-SVM whose answers have had no margin is given up: rounds that find one are some ten."""
ROUNDS = 24
"""Rounds of a batch after which other members are left to runs of their own, whose responses are made anew."""

Member = KernelRegularized | KernelLevels


class DeviceBatch(Batch):
    """Problems over parts of one `DeviceGram`, of one kind, with the same loss and the same kind of bias.

    Parameters
    ----------
    members : sequence of KernelRegularized, or of KernelLevels
    """

    members: tuple[Any, ...]

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = tuple(members)
        self.n, self.loss = sum(member.n for member in members), members[0].loss
        self.gram = _gram(members[0]).origin

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


DeviceProblem = Member | DeviceBatch


class LineSummary(NamedTuple):
    """What the host knows of a line: how far its problem is solved.

    ========= ==========================================================================
    `b`       the best bias of each group at the last evaluation
    `off`     points that are at a bound and violate their conditions
    `rho`     strength of the splitting
    `steps`   how many a block takes
    `free`    points between their bounds
    `scale`   the best multiple of w
    `gap`     the relative gap
    `dual`    the dual objective
    `still`   rounds in a row that gained nothing
    `spread`  mean squared distance of points from their mean; zero where no margin is too small to go on
    `t`       rounds so far
    ========= ==========================================================================
    """

    b: tuple[float, ...]
    off: int
    rho: float
    steps: int
    free: int = 0
    scale: float = 1.0
    gap: float = np.inf
    dual: float = -np.inf
    still: int = 0
    spread: float = 0.0
    t: int = 0


class DeviceBlockState(NamedTuple):
    """A line for each member, and what the host knows of it.

    ========= ==========================================================================
    `lines`   labels, bounds, groups, β, responses and paths, on the device
    `rows`    which points of the Gram the columns of each line are
    `known`   what is known of each line
    `terms`   upper bound on the additions to a response
    `answers` of a batch that has ended, with responses in float64
    `key`     of the random numbers
    `t`       rounds so far
    ========= ==========================================================================
    """

    lines: Lines
    rows: "torch.Tensor"
    known: tuple[LineSummary, ...]
    terms: int
    answers: BatchSolution | None
    key: np.uint64
    t: int

    @property
    def dual(self) -> float:
        """The dual objective of a single problem."""
        return self.known[0].dual


@dataclass(frozen=True)
class DeviceBlock(Solver[DeviceProblem, DeviceBlockState]):
    """Dual ascent over large blocks of points that never leave the GPU, to a certified gap.

    .. math:: \\max_\\beta\\ \\sum_i y_i\\beta_i - \\varepsilon|\\beta_i| - \\tfrac12\\beta^\\top K\\beta, \\qquad
              lo_i \\le \\beta_i \\le hi_i,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    with :math:`0 \\le y_i\\beta_i \\le c_i/\\lambda` and ε = 0 for the hinge; for the ε-insensitive loss with
    :math:`|\\beta_i| \\le c_i/\\lambda` and y the targets. Of a ν-SVM (:mod:`hinge.problems.svm.levels`) the β of each
    sign sum to ±M, and a run begins with the answer for a random subset.

    A round takes all points strictly between their bounds, of which zero is one, into the working set B, where it has
    room, and those whose slopes ask them to leave their bounds: drawn uniformly, as `BlockDual` draws them, while the
    gap is large, the worst afterwards. The block is solved by splitting (:mod:`hinge.solvers.kernel.douglas_rachford`),
    which moves all its points at each step, and all responses follow by
    :math:`r \\leftarrow r + K_{\\cdot B}\\Delta\\beta_B`. A few rounds are enough where the working set holds all
    points between bounds.

    On a GPU kernel values cost next to nothing and synchronising is expensive: a round waits for the device once, for
    the numbers of an evaluation. It costs :math:`|B|(|B| + n)` kernel values, :math:`\\tfrac43|B|^3`
    operations to invert K_BB + ρI, and :math:`2|B|^2` a step. ρ follows from one round to the next the ratio of both
    residuals of the splitting. Where a round closes little of the gap the next takes more steps in its block, and, at
    four times the first number, a larger block: blocks take turns where they do not hold all points between bounds.

    Members of a `DeviceBatch` with working sets of equal size go together, up to the number that fits into memory;
    those that are done, or gain nothing any more, rest. Each answer is certified on its own, by responses in float64.

    Parameters
    ----------
    block : int, optional
        Points of the first working set, and most new ones of a later one; by default 1024, or 2048 of many points.
    most : int
        Largest working set; twice as many points where more steps in a block no longer help.
    steps : int
        Steps in a block, a multiple of 10.
    tol : float
        Members of a batch whose gap is below this, with some reserve for rounding, rest.

    References
    ----------
    J. Eckstein, D. P. Bertsekas, *On the Douglas-Rachford splitting method and the proximal point algorithm*, 1992.

    Examples
    --------
    >>> from hinge.solvers import DeviceBlock
    >>> DeviceBlock(block=1024).most
    8192
    """

    block: int | None = None
    most: int = 8192
    steps: int = 40
    tol: float = 0.0

    paper = Paper(
        "On the Douglas-Rachford splitting method and the proximal point algorithm",
        "Eckstein, Bertsekas",
        1992,
        "blocks",
    )
    tubes = True
    joint = True
    ends_itself = True
    exact_estimate = True
    status_at_end = Status.STALLED
    solves, kind, instead = Member, "kernel", "SBP"  # type: ignore[assignment]
    constraints = Constraints(block=count(2) | None, most=count(2), steps=count(), tol=number(least=0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.block or 2) > self.most:
            raise ValueError(f"block must be at most most={self.most!r}, got {self.block!r}.")
        if self.steps % AT_ONCE:
            raise ValueError(f"steps must be a multiple of {AT_ONCE}, got {self.steps!r}.")

    def _limits(self, problem: Member) -> str | None:
        other = "LevelBlocks" if isinstance(problem, KernelLevels) else "BlockDual"
        if not isinstance(problem.gram, DeviceGram):
            return f"DeviceBlock is for points on a device, such as SVC(device='cuda') puts there; use {other}."
        if not problem.certifiable:
            return f"DeviceBlock needs a kernel that is positive semidefinite; use {other}."
        return None

    # --- the first state ------------------------------------------------------------------

    def init(self, problem: DeviceProblem, seed: int = 0, start: Expansion | None = None) -> DeviceBlockState:
        """At zero, or near an answer; a ν-SVM begins with the first iteration, whose kernel values are counted."""
        gram, members = _gram(problem), _members(problem)
        betas = [np.zeros(_columns(member)) for member in members]
        if start is not None:
            betas = [_point_near(members[0], start)]
        lines, rho = _placed(gram, [_dual_of(member) for member in members], betas), float(gram.diag.mean()) or 1.0
        line = LineSummary((0.0,) * lines.sums.shape[1], lines.y.shape[1], rho, self.steps)
        state = DeviceBlockState(lines, _rows_of(problem), (line,) * len(members), 0, None, key_of(seed), 0)
        if start is not None:
            state = _with_responses(problem, state)
            if isinstance(problem, KernelRegularized):
                _shorten(lines, problem.loss.epsilon)
        return state if _is_to_begin(problem, state) else _evaluate_lines(problem, state, list(range(len(members))))

    # --- rounds ---------------------------------------------------------------------------

    def advance(self, problem: DeviceProblem, state: DeviceBlockState, n_iter: int) -> DeviceBlockState:
        for _ in range(n_iter):
            left = self._unfinished(problem, state)
            if not left:
                break
            state = (
                _begin_levels(self, problem, state)
                if _is_to_begin(problem, state)
                else self._round(problem, state, left)
            )
        if isinstance(problem, DeviceBatch) and not self._unfinished(problem, state):
            return state._replace(answers=_answers(problem, state))
        return state

    def _unfinished(self, problem: DeviceProblem, state: DeviceBlockState) -> list[int]:
        """The members that are neither done nor have stalled."""
        if isinstance(problem, DeviceBatch) and state.t >= ROUNDS:
            return []
        done = SURE * self.tol if self.tol else -1.0
        return [q for q, line in enumerate(state.known) if line.still < STILL and not line.gap <= done]

    def _round(self, problem: DeviceProblem, state: DeviceBlockState, left: list[int]) -> DeviceBlockState:
        """A working set of each line: chosen, solved, and its change spread over all responses."""
        gram, lines, known = _gram(problem), state.lines, state.known
        drawn, cells = any(known[q].gap > UNIFORM for q in left), lines.y.numel()
        u = gram.array(draw_units(state.key, state.t * cells, cells)).reshape(lines.y.shape) if drawn else None
        largest, balances = 0, []
        for size, which in _groups(self, problem, state, left):
            balances.append((which, _move(problem, state, which, size, u)))
            largest = max(largest, size)
        if isinstance(problem, DeviceBatch):  # the Gram of all members counts on its own
            for q in left:
                problem.members[q].gram.evals += (values := _values(self, problem, state, q))
                problem.members[q].gram.asked += values
        state = state._replace(t=state.t + 1, terms=state.terms + largest + 1, answers=None)
        state = _evaluate_lines(problem, state, left)
        after = list(state.known)
        for which, balance in balances:
            for q, own in zip(which, gram.host(balance).tolist(), strict=True):
                line = after[q]
                slow = line.t > 1 and (line.gap > (1.0 - GAINS) * known[q].gap or line.gap == np.inf)
                steps = min(2 * line.steps, PATIENCE * self.steps) if slow else line.steps
                after[q] = line._replace(rho=balanced(line.rho, own), steps=steps)
        return state._replace(known=tuple(after))

    def size(self, n: int, free: int, off: int, steps: int = 0) -> int:
        """A power of two that holds the points between bounds, and new ones; it may be more than n."""
        most = 2 * self.most if steps >= LARGER * self.steps else self.most
        block = min(most, self.block or (1024 if n < MANY else 2048))
        return min(most, 1 << (max(block, free + min(block, off)) - 1).bit_length())

    # --- answers --------------------------------------------------------------------------

    def solution(self, problem: DeviceProblem, state: DeviceBlockState) -> Expansion | BatchSolution:
        """The best multiple of w; of a batch with responses in float64."""
        if isinstance(problem, DeviceBatch):
            return _answers(problem, state) if state.answers is None else state.answers
        line, lines, n = state.known[0], state.lines, problem.n
        beta, path = (line.scale * problem.gram.host(one).reshape(-1, n).sum(0) for one in (lines.beta, lines.path))
        r = line.scale * problem.gram.host(lines.r[0, :n])
        return Expansion(beta, _bias(problem, line), r, path, state.terms + n + 2)

    def refresh(self, problem: DeviceProblem, state: DeviceBlockState) -> DeviceBlockState:
        """Responses of β in float64: what was rounded so far is gone, and what follows is small."""
        gram, n = _gram(problem), problem.n
        if isinstance(problem, DeviceBatch) or (finer := gram.finer) is None:
            return state
        beta = gram.host(state.lines.beta).reshape(-1, n).sum(0)
        used, before = np.flatnonzero(beta), finer.evals
        state.lines.r.view(-1, n).copy_(finer.pass_over(used, beta[used], np.arange(n)))
        gram.evals += finer.evals - before
        state.lines.path.copy_(state.lines.beta.abs())
        return _evaluate_lines(problem, state._replace(terms=len(used)), [0])

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: DeviceProblem, state: DeviceBlockState) -> float:
        return max(line.gap for line in state.known)

    def pause(self, problem: DeviceProblem, state: DeviceBlockState) -> int:
        return int(bool(self._unfinished(problem, state)))

    def cost(self, problem: DeviceProblem, state: DeviceBlockState | None = None) -> Cost:
        members = _members(problem)
        if state is None:
            sizes = [min(_columns(member), self.size(member.n, 0, 0)) for member in members]
        else:
            sizes = [_size(self, problem, state, q) for q in range(len(members))]
        values = sum(size * (size + member.n) for size, member in zip(sizes, members, strict=True))
        if isinstance(members[0], KernelLevels) and (state is None or _is_to_begin(problem, state)):
            firsts = [_first_size(member, self.most) for member in members]
            values = sum(m * (m + one.n) + one.n**2 for m, one in zip(firsts, members, strict=True))
        return Cost(kernel_values=values, a_pass=max(1, members[0].n // max(1, sizes[0])))


# --- rounds -----------------------------------------------------------------------------------


def _groups(
    solver: DeviceBlock, problem: DeviceProblem, state: DeviceBlockState, left: list[int]
) -> Iterator[tuple[int, list[int]]]:
    """Lines whose next working sets are equally large and take equally many steps, up to what fits into memory."""
    alike: dict[tuple[int, int], list[int]] = {}
    for q in left:
        line = state.known[q]
        alike.setdefault((_size(solver, problem, state, q), line.steps), []).append(q)
    for (size, _), some in alike.items():
        most = max(1, _gram(problem).free() // 2 // (OF_A_VALUE * size**2)) if len(some) > 1 else 1
        for lo in range(0, len(some), most):
            yield size, some[lo : lo + most]


def _move(
    problem: DeviceProblem, state: DeviceBlockState, which: list[int], size: int, u: "torch.Tensor | None"
) -> "torch.Tensor":
    """A working set of this size for each of these lines; returns by how much their ρ should differ."""
    gram, known, epsilon = _gram(problem), [state.known[q] for q in which], problem.loss.epsilon
    lines, rows = state.lines, state.rows
    if len(which) < len(state.known):
        at = gram.array(np.array(which))
        lines, rows = Lines(*(one[at] for one in lines)), rows[at]
        u = None if u is None else u[at]
    flags = np.array([[line.gap > UNIFORM, line.free <= ROOM * size] for line in known])
    drawn, roomy = gram.array(flags).split(1, dim=1)
    b, rho = gram.array(np.array([line.b for line in known])), gram.array(np.array([[line.rho] for line in known]))
    if size == lines.y.shape[1]:
        work = gram.xp.arange(size, device=rows.device).expand(len(which), size)
    elif u is not None and not any(line.t or line.free for line in known):  # nothing is known
        work = first_sets(lines, size, u)
    else:
        work = working_sets(lines, b, size, u, drawn, roomy, epsilon)
    points = rows.gather(1, work)
    change, balance = move(lines, work, gram.among(points), b, rho, known[0].steps, epsilon)
    if isinstance(problem, DeviceBatch):
        lines.r.add_(gram.sums(rows, points, change))
    else:
        lines.r.view(-1, problem.n).add_(gram.combine(points[0], change[0]))
    if lines is not state.lines:
        for whole, own in zip(state.lines[-3:], lines[-3:], strict=True):
            whole[at] = own
    return balance


def _size(solver: DeviceBlock, problem: DeviceProblem, state: DeviceBlockState, q: int) -> int:
    return min(state.lines.y.shape[1], next_size(solver, _gram(problem), _members(problem)[q].n, state.known[q]))


def _values(solver: DeviceBlock, problem: DeviceProblem, state: DeviceBlockState, q: int) -> int:
    """Kernel values of the next round of a member."""
    size = _size(solver, problem, state, q)
    return size * (size + _members(problem)[q].n)


def _evaluate_lines(problem: DeviceProblem, state: DeviceBlockState, which: list[int]) -> DeviceBlockState:
    """The state with the biases, gaps, and numbers of points of these lines, which have made a round."""
    members, known = _members(problem), list(state.known)
    found = _gram(problem).host(look(state.lines, problem.loss.epsilon))
    for q in which:
        seen, member = Seen.from_numbers(found[q].tolist()), members[q]
        line = known[q]._replace(free=seen.free, off=seen.off, t=state.t)
        if isinstance(member, KernelLevels):
            known[q] = _at_levels(member, line, seen)
        else:
            known[q] = _at_scale(member, line, seen, state.lines, q)
    return state._replace(known=tuple(known))


def batches_of(problems: Sequence[Member], solver: DeviceBlock) -> Iterator[DeviceBatch]:
    """Batches of consecutive problems, each as large as memory allows."""
    done = 0
    while done < len(problems):
        left = problems[done:]
        gram, n = _gram(left[0]), max(problem.n for problem in left)
        size = min(n, solver.size(n, 0, 0))
        number = max(1, gram.free() // 4 // (OF_A_POINT * n + OF_A_VALUE * size**2))
        yield DeviceBatch(left[:number])
        done += number


def next_size(solver: DeviceBlock, gram: DeviceGram, n: int, line: LineSummary) -> int:
    """As `DeviceBlock.size`, but more than `most` only where memory has room."""
    size = solver.size(n, line.free, line.off, line.steps)
    crowded = size > solver.most and gram.free() < 2 * OF_A_VALUE * size**2
    return solver.size(n, line.free, line.off) if crowded else size


def balanced(rho: float, balance: float) -> float:
    """ρ of the next block, by the balance of the last."""
    return rho * min(max(balance, 0.3), 3.0) if np.isfinite(balance) and balance > 0.0 else rho


# --- problems as lines ------------------------------------------------------------------------


def _members(problem: DeviceProblem) -> tuple[Member, ...]:
    return problem.members if isinstance(problem, DeviceBatch) else (problem,)


def _gram(problem: DeviceProblem) -> DeviceGram:
    """The Gram that a problem is of; the members of a batch have one Gram."""
    assert isinstance(problem.gram, DeviceGram)
    return problem.gram


def _apart(member: Member) -> DeviceGram:
    """The Gram of a member, whose copies of points are freed after use, as all together would take much memory."""
    gram = _gram(member)
    return gram if gram.at is None else gram.origin.part(gram.at)


def _in_float64(member: Member) -> DeviceGram:
    own = _apart(member)
    return own.finer or own


class _Dual(NamedTuple):
    """The dual of some points: aims, bounds and groups of β, of both copies where points have two, and the sums."""

    y: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    groups: np.ndarray
    sums: np.ndarray


def _dual_of(problem: Member, points: slice | np.ndarray = slice(None)) -> _Dual:
    if isinstance(problem, KernelLevels):
        sign, signs, copies = problem.sign[:, points].ravel(), np.array(problem.signs), len(problem.sign)
        bound, aims = sign * np.tile(problem.boxes[points], copies), np.tile(problem.linear[points], copies)
        groups = sign[:, None] == signs
        return _Dual(aims, np.minimum(bound, 0.0), np.maximum(bound, 0.0), groups, problem.mass * signs)
    free = int(problem.bias == "free")
    return _Dual(problem.aims, *problem.limits, np.ones((problem.n, free)), np.zeros(free))


def _placed(gram: DeviceGram, duals: Sequence[_Dual], betas: Sequence[np.ndarray]) -> Lines:
    """Lines on the device, filled up with points that stay at zero."""
    shape, k = (len(duals), max(map(len, betas))), len(duals[0].sums)
    y, lo, hi, beta = np.zeros((4, *shape))
    groups, sums = np.zeros((*shape, k)), np.zeros((len(duals), k))
    for q, (dual, own) in enumerate(zip(duals, betas, strict=True)):
        n = len(own)
        y[q, :n], lo[q, :n], hi[q, :n], groups[q, :n], sums[q], beta[q, :n] = *dual, own
    r, path = np.zeros(shape), np.abs(beta)
    return Lines(*(gram.array(one) for one in (y, lo, hi, groups, sums, beta, r, path)))


def _columns(problem: Member) -> int:
    """The number of dual weights: two for each point of a regression with ν."""
    return problem.sign.size if isinstance(problem, KernelLevels) else problem.n


def _rows_of(problem: DeviceProblem) -> "torch.Tensor":
    """Which points of the Gram the columns of each line are."""
    members = _members(problem)
    rows = np.zeros((len(members), max(map(_columns, members))), np.int64)
    for q, member in enumerate(members):
        part = _gram(member).at if isinstance(problem, DeviceBatch) else None
        at = np.arange(member.n) if part is None else part
        rows[q, : _columns(member)] = np.tile(at, _columns(member) // member.n)
    return _gram(problem).array(rows)


def _first_size(problem: Member, most: int) -> int:
    """Points of the subset with which a ν-SVM begins."""
    return min(problem.n, max(LEAST, most // 4))


def _first_point(solver: DeviceBlock, problem: KernelLevels, key: np.uint64, rho: float) -> tuple[np.ndarray, float]:
    """A feasible β: the answer for a random subset, and what each other point needs on its own; and the spread."""
    gram, alpha, n = _apart(problem), np.zeros(problem.sign.shape), problem.n
    order, before = mixed_order(problem, draw_units(key, 0, n)), gram.evals
    some, others = np.split(order, [_first_size(problem, solver.most)])
    alpha[:, some] = first_weights(problem, some)
    sign, copies = problem.sign[:, some], len(alpha)
    lines = _placed(gram, [_dual_of(problem, some)], [(sign * alpha[:, some]).ravel()])
    lines = lines._replace(sums=(lines.groups * lines.beta[:, :, None]).sum(1))
    block = gram.among(gram.array(some))
    K = block.repeat(copies, copies)[None]
    lines.r.copy_(lines.beta.to(K.dtype) @ K[0])
    work = gram.xp.arange(K.shape[1], device=lines.r.device)[None]
    move(lines, work, K, best_biases(lines), lines.r.new_full((1, 1), rho), LARGER * solver.steps)
    beta = gram.host(lines.beta)[0].reshape(sign.shape)
    alpha[:, some] = np.abs(beta)
    if len(others):
        r = gram.host(gram.combine(some, beta.sum(0))) * (n / len(some))
        alpha[:, others] = first_weights(problem, others, r[others])
    _bill(problem, gram, before)
    return (problem.sign * alpha).ravel(), float(block.diagonal().mean() - block.mean())


def _is_to_begin(problem: DeviceProblem, state: DeviceBlockState) -> bool:
    """Whether this is a ν-SVM without a feasible point as yet."""
    return isinstance(_members(problem)[0], KernelLevels) and state.t == 0 and state.terms == 0


def _begin_levels(solver: DeviceBlock, problem: DeviceProblem, state: DeviceBlockState) -> DeviceBlockState:
    """The first iteration of a ν-SVM: a feasible point."""
    members, rho = cast(tuple[KernelLevels, ...], _members(problem)), state.known[0].rho
    betas, spreads = zip(*[_first_point(solver, member, state.key, rho) for member in members], strict=True)
    lines = _placed(_gram(problem), [_dual_of(member) for member in members], betas)
    known = [
        line._replace(spread=spread if len(member.signs) == 2 and not member.loss.two_sided else 0.0)
        for line, member, spread in zip(state.known, members, spreads, strict=True)
    ]
    state = _with_responses(problem, state._replace(lines=lines, known=tuple(known), t=1))
    return _evaluate_lines(problem, state, list(range(len(members))))


def _with_responses(problem: DeviceProblem, state: DeviceBlockState) -> DeviceBlockState:
    """The state with the responses of its β, by kernel rows of those that are not zero."""
    terms, r = 1, state.lines.r
    for q, (member, every) in enumerate(zip(_members(problem), _gram(problem).host(state.lines.beta), strict=True)):
        own = _apart(member) if isinstance(problem, DeviceBatch) else _gram(problem)
        beta, before = every[: _columns(member)].reshape(-1, member.n).sum(0), own.evals
        used = np.flatnonzero(beta)
        r[q, : _columns(member)].view(-1, member.n).copy_(own.pass_over(used, beta[used], np.arange(member.n)))
        _bill(member, own, before)
        terms = max(terms, len(used))
    return state._replace(terms=terms)


def _bill(member: Member, own: DeviceGram, before: int) -> None:
    """Count what a copy of a member's Gram has computed."""
    if own is not member.gram:
        member.gram.evals, member.gram.asked = (
            count + own.evals - before for count in (member.gram.evals, member.gram.asked)
        )


def _point_near(problem: Member, start: Expansion) -> np.ndarray:
    """A feasible β near an answer's."""
    if isinstance(problem, KernelLevels):
        return (problem.sign * completed(problem, start.beta)).ravel()
    return problem.dual_point(start)


def _shorten(lines: Lines, epsilon: float) -> None:
    """Shorten a β so long that the dual objective is negative, as landmarks may give it."""
    gain = float((lines.y * lines.beta - epsilon * lines.beta.abs()).sum())
    sq = float((lines.beta * lines.r).sum())
    if 0.0 < 2.0 * gain < sq:
        for one in (lines.beta, lines.r, lines.path):
            one.mul_(gain / sq)


def _at_levels(problem: KernelLevels, line: LineSummary, seen: Seen) -> LineSummary:
    """What is known after an evaluation of a ν-SVM."""
    primal, dual = 0.5 * seen.sq + seen.loss, seen.linear - 0.5 * seen.sq
    gap = problem.error(max(primal - dual, 0.0), seen.sq, seen.linear)
    moves = gains(dual, line.dual, abs(seen.linear) + 0.5 * abs(seen.sq), primal - dual, 1.0)
    none = problem.vanishes(seen.sq) or lacks_margin(seen.sq, primal - dual, problem.mass, line.spread)
    none |= gap == np.inf and line.t >= WITHOUT_MARGIN  # w = 0 has been no worse ever since: the dual falls slowly
    still = STILL if none else 0 if moves else line.still + 1
    return line._replace(b=seen.b, gap=gap, dual=max(dual, line.dual), still=still)


def _at_scale(problem: KernelRegularized, line: LineSummary, seen: Seen, lines: Lines, q: int) -> LineSummary:
    """What is known after an evaluation of a regularised problem, at the best multiple of w if that is worth while."""
    lam, free = problem.lam, problem.bias == "free"
    primal, dual, scale, b = lam * (0.5 * seen.sq + seen.loss), lam * (seen.linear - 0.5 * seen.sq), 1.0, sum(seen.b)
    near = primal - dual <= NEAR * dual
    if near and WORTH * (primal - dual) < 0.5 * lam * abs(seen.sq - seen.pull):  # another scale may be worth while
        y, lo, hi, r = (one[q, : problem.n] for one in (lines.y, lines.lo, lines.hi, lines.r))
        share = problem.share()
        c: Any = share if isinstance(share, float) else lam * _gram(problem).xp.maximum(hi, -lo)
        s, its, less = best_scale(lam, seen.sq, r, y, c, b, primal - dual, problem.epsilon, free)
        if less < primal:
            scale, b, primal = s, its, less
    size = max(dual, problem.unit)
    gap = rounded_gap(primal, dual, size) if size > 0.0 else problem.relative(primal - dual, dual)
    moves = gains(dual, line.dual, abs(dual), min(primal, problem.spread) - dual, 1.0)
    biases = (b / scale,) if free else ()
    return line._replace(b=biases, scale=scale, gap=gap, dual=dual, still=0 if moves else line.still + 1)


def _bias(problem: Member, line: LineSummary) -> float:
    """The bias of the answer: of a ν-SVM from its levels, which are biases up to their signs."""
    if isinstance(problem, KernelLevels):
        return problem.bias_of(-np.array(problem.signs) * np.array(line.b))
    return line.scale * sum(line.b)


def _answers(problem: DeviceBatch, state: DeviceBlockState) -> BatchSolution:
    every = zip(problem.members, _gram(problem).host(state.lines.beta), state.known, strict=True)
    return BatchSolution(tuple(_answer(*one) for one in every))


def _answer(member: Member, beta: np.ndarray, line: LineSummary) -> Expansion:
    """The answer of a member of a batch, with responses in float64."""
    beta = line.scale * beta[: _columns(member)].reshape(-1, member.n).sum(0)
    used = np.flatnonzero(beta)
    exact = _in_float64(member)
    r = exact.host(exact.pass_over(used, beta[used], np.arange(member.n)))
    member.gram.evals += len(used) * member.n
    return Expansion(beta, _bias(member, line), r, None, len(used) + 1)
