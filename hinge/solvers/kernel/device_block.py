"""The block dual method on a GPU: large working sets, each solved where its kernel values are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hinge.access.gram.device import DeviceGram
from hinge.constraints import Constraints, count
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Cost, rounded_gap
from hinge.problems.svm.kernel_duality import WORTH, best_scale
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.block_dual import UNIFORM
from hinge.solvers.kernel.device_rounds import Lines, Seen, first_sets, look, move, working_sets
from hinge.solvers.kernel.douglas_rachford import AT_ONCE
from hinge.solvers.kernel.stalling import STILL, gains

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
GAINS = 0.2
"""Share of the gap that a round should close; where it does not, the next one takes more steps."""


class DeviceBlockState(NamedTuple):
    """β, responses r and the way that each β has come, on the device; what the host knows.

    `b`, `scale`, `gap` and `dual` are from the last evaluation, `free` and `off` the points between their bounds and
    others that violate their conditions. `rho` is the strength of the splitting and `steps` how many a block takes.
    """

    beta: Any
    r: Any
    path: Any
    terms: int
    b: float
    scale: float
    gap: float
    dual: float
    free: int
    off: int
    rho: float
    steps: int
    still: int
    t: int
    key: np.uint64


@dataclass(frozen=True)
class DeviceBlock(Solver[KernelRegularized, DeviceBlockState]):
    """Dual ascent over large blocks of points that never leave the GPU, to a certified gap.

    .. math:: \\max_\\beta\\ \\sum_i y_i\\beta_i - \\varepsilon|\\beta_i| - \\tfrac12\\beta^\\top K\\beta, \\qquad
              lo_i \\le \\beta_i \\le hi_i,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    with :math:`0 \\le y_i\\beta_i \\le c_i/\\lambda` and ε = 0 for the hinge; for the ε-insensitive loss with
    :math:`|\\beta_i| \\le c_i/\\lambda` and y the targets. A round takes all points strictly between their bounds, of
    which zero is one, into the working set B, where it has room, and those whose slopes ask them to leave their bounds:
    drawn uniformly, as `BlockDual` draws them, while the gap is large, the worst afterwards. The block is solved by
    splitting (:mod:`hinge.solvers.kernel.douglas_rachford`), which moves all its points at each step, and all responses
    follow by :math:`r \\leftarrow r + K_{\\cdot B}\\Delta\\beta_B`. A few rounds are enough where the working set holds
    all points between bounds.

    On a GPU kernel values cost next to nothing and synchronising is expensive: a round waits for the device once, for
    the numbers of an evaluation. It costs :math:`|B|(|B| + n)` kernel values, :math:`\\tfrac43|B|^3`
    operations to invert K_BB + ρI, and :math:`2|B|^2` a step. ρ follows from one round to the next the ratio of both
    residuals of the splitting. Where a round closes little of the gap the next takes more steps in its block, and once
    there are four times as many a larger one: blocks take turns where they do not hold all points between bounds.

    Parameters
    ----------
    block : int, optional
        Points of the first working set, and most new ones of a later one; by default 1024, or 2048 of many points.
    most : int
        Largest working set; twice as many points where more steps in a block no longer help.
    steps : int
        Steps in a block, a multiple of 10.

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

    paper = Paper(
        "On the Douglas-Rachford splitting method and the proximal point algorithm",
        "Eckstein, Bertsekas",
        1992,
        "blocks",
    )
    tubes = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(block=count(2) | None, most=count(2), steps=count())

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.block or 2) > self.most:
            raise ValueError(f"block must be at most most={self.most!r}, got {self.block!r}.")
        if self.steps % AT_ONCE:
            raise ValueError(f"steps must be a multiple of {AT_ONCE}, got {self.steps!r}.")

    solves, instead = KernelRegularized, "SBP"

    def _limits(self, problem: KernelRegularized) -> str | None:
        if not isinstance(problem.gram, DeviceGram):
            return "DeviceBlock is for points on a device, such as SVC(device='cuda') puts there; use BlockDual."
        if not problem.certifiable:
            return "DeviceBlock needs a kernel that is positive semidefinite; use BlockDual."
        return None

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> DeviceBlockState:
        gram, n = _gram(problem), problem.n
        beta, r, used = np.zeros(n), gram.array(np.zeros(n)), np.zeros(0, np.int64)
        if start is not None:
            beta = problem.dual_point(start)
            used = np.flatnonzero(beta)
            r = gram.pass_over(used, beta[used], np.arange(n))
            gain = float(problem.aims @ beta) - problem.loss.epsilon * float(np.abs(beta).sum())
            sq = float(beta @ gram.host(r))
            if 0.0 < 2.0 * gain < sq:  # so long that the dual objective is negative, as landmarks may give it
                beta, r = gain / sq * beta, gain / sq * r
        rho = float(gram.diag.mean()) or 1.0
        state = DeviceBlockState(
            gram.array(beta),
            r,
            gram.array(np.abs(beta)),
            len(used),
            0.0,
            1.0,
            np.inf,
            -np.inf,
            0,
            n,
            rho,
            self.steps,
            0,
            0,
            key_of(seed),
        )
        return _look(problem, state)

    def advance(self, problem: KernelRegularized, state: DeviceBlockState, n_iter: int) -> DeviceBlockState:
        for _ in range(n_iter):
            before = state.gap
            state, balance = self._round(problem, state)
            state = _look(problem, state)
            slow = state.t > 1 and state.gap > (1.0 - GAINS) * before
            steps = min(2 * state.steps, PATIENCE * self.steps) if slow else state.steps
            state = state._replace(rho=balanced(state.rho, float(balance)), steps=steps)
        return state

    def _round(self, problem: KernelRegularized, state: DeviceBlockState) -> "tuple[DeviceBlockState, torch.Tensor]":
        """One working set: chosen, solved, and its change spread over all responses."""
        gram, lines, free = _gram(problem), _lines(problem, state), problem.bias == "free"
        b = lines.r.new_full((1, 1), state.b / state.scale if free else 0.0)
        work = self._working_set(problem, state, lines, b)
        rho = lines.r.new_full((1, 1), state.rho)
        change, balance = move(lines, work, gram.among(work), b, rho, state.steps, free, problem.loss.epsilon)
        state.r.add_(gram.combine(work[0], change[0]))
        return state._replace(t=state.t + 1, terms=state.terms + work.shape[1] + 1), balance

    def _working_set(
        self, problem: KernelRegularized, state: DeviceBlockState, lines: Lines, b: "torch.Tensor"
    ) -> "torch.Tensor":
        gram, n = _gram(problem), problem.n
        size, drawn = min(n, next_size(self, gram, n, state)), state.gap > UNIFORM
        if size == n:
            return gram.xp.arange(n, device=lines.r.device)[None]
        u = gram.array(draw_units(state.key, state.t * n, n))[None] if drawn else None
        if u is not None and state.t == 0 and not state.free:  # nothing is known
            return first_sets(lines, size, u)
        draw, roomy = (gram.xp.full((1, 1), flag, device=b.device) for flag in (drawn, state.free <= ROOM * size))
        return working_sets(lines, b, size, u, draw, roomy, problem.loss.epsilon)

    def size(self, n: int, free: int, off: int, steps: int = 0) -> int:
        """A power of two that holds the points between bounds, and new ones; it may be more than n."""
        most = 2 * self.most if steps >= LARGER * self.steps else self.most
        block = min(most, self.block or (1024 if n < MANY else 2048))
        return min(most, 1 << (max(block, free + min(block, off)) - 1).bit_length())

    def solution(self, problem: KernelRegularized, state: DeviceBlockState) -> Expansion:
        """The best multiple of w."""
        host, s = problem.gram.host, state.scale
        beta, r, path = (s * host(a) for a in (state.beta, state.r, state.path))
        return Expansion(beta, state.b, r, path, state.terms + problem.n + 2)

    def refresh(self, problem: KernelRegularized, state: DeviceBlockState) -> DeviceBlockState:
        """Responses of β in float64: what was rounded so far is gone, and what follows is small."""
        gram = _gram(problem)
        if gram.finer is None:
            return state
        beta = gram.host(state.beta)
        used, before = np.flatnonzero(beta), gram.finer.evals
        state.r.copy_(gram.finer.pass_over(used, beta[used], np.arange(problem.n)))
        gram.evals += gram.finer.evals - before
        state.path.copy_(state.beta.abs())
        return _look(problem, state._replace(terms=len(used)))

    def estimate(self, problem: KernelRegularized, state: DeviceBlockState) -> float:
        return state.gap

    def pause(self, problem: KernelRegularized, state: DeviceBlockState) -> int:
        return 0 if state.still >= STILL else 1

    def cost(self, problem: KernelRegularized, state: DeviceBlockState | None = None) -> Cost:
        n = problem.n
        size = min(n, self.size(n, 0, 0) if state is None else next_size(self, _gram(problem), n, state))
        return Cost(kernel_values=size * (size + n), a_pass=max(1, n // max(1, size)))


def _gram(problem: KernelRegularized) -> DeviceGram:
    assert isinstance(problem.gram, DeviceGram)
    return problem.gram


def next_size(solver: DeviceBlock, gram: DeviceGram, n: int, state: Any) -> int:
    """As `DeviceBlock.size`, but more than `most` only where memory has room."""
    size = solver.size(n, state.free, state.off, state.steps)
    crowded = size > solver.most and gram.free() < 2 * OF_A_VALUE * size**2
    return solver.size(n, state.free, state.off) if crowded else size


def _lines(problem: KernelRegularized, state: DeviceBlockState) -> Lines:
    """The problem as the only line."""
    gram = _gram(problem)
    y, box = gram.constant(problem.aims).to(gram.xp.float64), gram.constant(problem.boxes)
    lo, hi = (-box, box) if problem.loss.two_sided else (-box * (y < 0), box * (y > 0))
    return Lines(*(one[None] for one in (y, lo, hi, state.beta, state.r, state.path)))


def _look(problem: KernelRegularized, state: DeviceBlockState) -> DeviceBlockState:
    """The state with the bias, the relative gap, and the numbers of points that a working set should have."""
    gram, lines, lam, free = _gram(problem), _lines(problem, state), problem.lam, problem.bias == "free"
    seen = Seen(*gram.host(look(lines, free, problem.loss.epsilon))[0].tolist())
    primal, dual, scale, b = lam * (0.5 * seen.sq + seen.loss), lam * (seen.linear - 0.5 * seen.sq), 1.0, seen.b
    near = primal - dual <= NEAR * dual
    if near and WORTH * (primal - dual) < 0.5 * lam * abs(seen.sq - seen.pull):  # another scale may be worth while
        share = problem.share()
        c: Any = share if isinstance(share, float) else lam * gram.xp.maximum(lines.hi[0], -lines.lo[0])
        s, its, less = best_scale(lam, seen.sq, state.r, lines.y[0], c, b, primal - dual, problem.epsilon, free)
        if less < primal:
            scale, b, primal = s, its, less
    size = max(dual, problem.unit)
    gap = rounded_gap(primal, dual, size) if size > 0.0 else problem.relative(primal - dual, dual)
    moves = gains(dual, state.dual, abs(dual), min(primal, problem.spread) - dual, 1.0)
    return state._replace(
        b=b,
        scale=scale,
        gap=gap,
        dual=dual,
        free=int(seen.free),
        off=int(seen.off),
        still=0 if moves else state.still + 1,
    )


def balanced(rho: float, balance: float) -> float:
    """ρ of the next block, by the balance of the last."""
    return rho * min(max(balance, 0.3), 3.0) if np.isfinite(balance) and balance > 0.0 else rho
