"""The one-class SVM by blocks of kernel rows, on a random subset that grows until it is all points."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.monitoring import Status
from hinge.problems import Certificate, Expansion, Problem
from hinge.problems.cost import Cost
from hinge.problems.svm.one_class import KernelOneClass
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.face_steps import face_steps
from hinge.solvers.kernel.two_point import pair_steps

STEP_VALUES = 20_000_000
"""Kernel values of one iteration, about: a fraction of a second."""
STILL = 16
"""Rounds without a gain after which there is none to be had in floating point."""


class LevelState(NamedTuple):
    """α and responses r of the points in their `order`, of which the first `m` are worked on.

    r belongs to `known`, which α runs ahead of while it is taken in; the r of the first `scored` points is
    there. `path` is how far each of them has moved in all, and `terms` how many additions have made an r.
    `gap`, `rho` and `dual` are those of the last α that was all known, and the dual has been `still` for so
    many rounds.
    """

    order: np.ndarray
    alpha: np.ndarray
    known: np.ndarray
    r: np.ndarray
    path: np.ndarray
    terms: int
    m: int
    scored: int
    gap: float
    rho: float
    dual: float
    still: int
    t: int


@dataclass(frozen=True)
class LevelBlocks(Solver[KernelOneClass, LevelState]):
    """Dual descent over blocks of points, from a good beginning: that of a subset.

    .. math:: \\min_\\alpha\\ \\tfrac12\\alpha^\\top K\\alpha, \\qquad 0 \\le \\alpha_i \\le s_i,
              \\quad \\textstyle\\sum_i\\alpha_i = \\nu\\sum_i s_i

    A random subset of `first` points is solved. Then, until the subset is all points: it grows by `growth`;
    the responses of the new points are computed; they get

    .. math:: \\alpha_j = \\min\\big(s_j, \\max(0, (\\theta - r_j)/K_{jj})\\big),

    what each would need on its own, with θ such that their sum is right; all responses are brought up to
    date; and rounds mend what is wrong. A round takes the points that violate

    .. math:: r_i \\ge \\rho \\text{ where } \\alpha_i < s_i, \\qquad
              r_i \\le \\rho \\text{ where } \\alpha_i > 0

    most, and those strictly between their bounds; solves the problem of this block by pair steps; and updates
    all responses.

    An answer with S support vectors has S·n kernel values in its responses, and there are at least νn of
    them. This is what growing costs, whatever the number of steps. To that come n values for each point whose
    α a round changes and whose row is not in the cache.

    Parameters
    ----------
    block : int
        New points of a working set.
    first : int
        Points of the first subset.
    growth : int
        The subset becomes so many times as large.
    rough : float
        Certified relative error of w at which it grows.
    inner : float
        A block is solved to this fraction of its largest violation.
    most : int
        Largest working set.

    References
    ----------
    B. Schölkopf and others, *Estimating the Support of a High-Dimensional Distribution*, 2001;
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005.
    """

    block: int = 512
    first: int = 1024
    growth: int = 4
    rough: float = 0.01
    inner: float = 0.05
    most: int = 2048

    paper = Paper(
        "Estimating the Support of a High-Dimensional Distribution",
        "Schölkopf, Platt, Shawe-Taylor, Smola, Williamson",
        2001,
        "the dual problem",
    )
    exact_estimate = True
    finished = Status.STALLED

    def __post_init__(self) -> None:
        for name in ("block", "first", "growth", "most"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be at least 2, got {getattr(self, name)!r}.")
        if not (0 < self.inner < 1 and self.rough > 0):
            raise ValueError("inner must lie between 0 and 1, and rough above 0.")

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, KernelOneClass):
            return f"LevelBlocks solves KernelOneClass problems, not {type(problem).__name__}; use BlockDual."
        return None

    def init(self, problem: KernelOneClass, seed: int = 0, start: Expansion | None = None) -> LevelState:
        n, m = problem.n, min(problem.n, self.first)
        order = np.arange(n)
        if m < n:
            order = np.argsort(draw_units(key_of(seed), 0, n), kind="stable")
        alpha = np.zeros(n)
        alpha[:m] = problem.nu * problem.boxes[order[:m]]
        known, r, path = np.zeros((3, n))
        return LevelState(order, alpha, known, r, path, 0, m, m, np.inf, 0.0, -np.inf, 0, 0)

    def advance(self, problem: KernelOneClass, state: LevelState, n_iter: int) -> LevelState:
        for _ in range(n_iter):
            problem.gram.focus(state.order[: state.m])
            if state.scored < state.m:
                state = self._score(problem, state)
            elif not np.array_equal(state.alpha, state.known):
                state = self._take_in(problem, state)
            elif state.m < problem.n and (state.gap <= self.rough or state.still >= STILL):
                state = state._replace(m=min(problem.n, self.growth * state.m), still=0, dual=-np.inf)
            else:
                state = self._round(problem, state)
            state = state._replace(t=state.t + 1)
        return state

    # --- growing --------------------------------------------------------------------------

    def _score(self, problem: KernelOneClass, state: LevelState) -> LevelState:
        """The responses of some new points; once they are all there, α for them."""
        old = np.flatnonzero(state.known)
        end = min(state.m, state.scored + max(1, STEP_VALUES // max(1, len(old))))
        new = slice(state.scored, end)
        state.r[new] = problem.gram.pass_over(state.order[old], state.known[old], state.order[new])
        if end == state.m:
            self._begin(problem, state)
        return state._replace(scored=end)

    def _begin(self, problem: KernelOneClass, state: LevelState) -> None:
        """First α of the new points: each as if it were alone, on a common level found by bisection."""
        m = state.m
        first = _before(problem.n, m, self.first, self.growth)
        new = state.order[first:m]
        s, own = problem.boxes[new], np.maximum(problem.gram.diag[new], 1e-12)
        r = state.r[first:m] * (m / first)  # as they will be once the new points share the mass
        target = problem.nu * float(s.sum())
        low, high = float(r.min()), float((r + s * own).max())
        for _ in range(100):
            theta = 0.5 * (low + high)
            enough = np.clip((theta - r) / own, 0.0, s).sum() >= target
            low, high = (low, theta) if enough else (theta, high)
        state.alpha[first:m] = _summing_to(np.clip((high - r) / own, 0.0, s), s, target)

    def _take_in(self, problem: KernelOneClass, state: LevelState) -> LevelState:
        """Bring the responses up to date with some of the α that have changed."""
        ahead = np.flatnonzero(state.alpha != state.known)
        some = ahead[: max(1, STEP_VALUES // state.m)]
        change = (state.alpha - state.known)[some]
        gram, columns = problem.gram, state.order[: state.m]
        if state.m <= min(self.first, gram.capacity):  # these rows will be used again: keep them
            state.r[: state.m] += gram.combine(state.order[some], change)
        else:
            state.r[: state.m] += gram.pass_over(state.order[some], change, columns)
        state.known[some] = state.alpha[some]
        state.path[some] += np.abs(change)
        state = state._replace(terms=state.terms + len(some))
        return _measured(problem, state) if len(some) == len(ahead) else state

    # --- mending --------------------------------------------------------------------------

    def _round(self, problem: KernelOneClass, state: LevelState) -> LevelState:
        """One working set: chosen, solved, and its change spread over all responses."""
        m, gram = state.m, problem.gram
        alpha, e, box = state.alpha[:m], state.r[:m] - state.rho, problem.boxes[state.order[:m]]
        grows, falls = alpha < box, alpha > 0
        size = min(self.most, gram.capacity, gram.largest_block)
        half = max(1, min(self.block, size) // 2)
        between = grows & falls
        low = e < 0
        # Points exactly on the level too (<=, >=): the only partner for a pair may be one of them.
        new = [_worst(~between & side, e, half) for side in (grows & (e <= 0), falls & (e >= 0))]
        room = max(2, size - len(new[0]) - len(new[1]))
        # If they do not all fit, take half from either side: a pair needs one point of each.
        kept = [_worst(between & side, e, room if between.sum() <= room else room // 2) for side in (low, ~low)]
        at = np.sort(np.concatenate([*new, *kept]))
        rows = gram.rows(state.order[at])
        mine, pull, hi = alpha[at], e[at], box[at]
        up, down = pull[mine < hi].min(initial=np.inf), pull[mine > 0].max(initial=-np.inf)
        tol = max(self.inner * (down - up), 1e-14 * float(np.abs(state.r[:m]).max(initial=0.0)))
        if down > up:
            K, lo, limit = rows.block(), 0.0 * hi, 1000 + 50 * len(at)
            if pair_steps(K, mine, pull, lo, hi, tol, limit) == limit and problem.certifiable:
                face_steps(K, mine, pull, lo, hi, True)  # where pairs are slow: K is nearly singular
            state.r[:m] += rows.combine(mine - alpha[at])
            state.path[at] += np.abs(mine - alpha[at])
            state.alpha[at] = state.known[at] = mine
            state = state._replace(terms=state.terms + len(at) + 1)
        return _measured(problem, state)

    # --- answers --------------------------------------------------------------------------

    def solution(self, problem: KernelOneClass, state: LevelState) -> Expansion:
        """The α that are known; those of a subset are scaled to the sum of all."""
        beta, responses, path = np.zeros((3, problem.n))
        scale = 1.0
        if not _complete(problem, state):
            scale = problem.mass / (float(state.known.sum()) or problem.mass)
        beta[state.order], responses[state.order] = scale * state.known, scale * state.r
        path[state.order] = scale * state.path
        return Expansion(beta, -scale * state.rho, responses, path, state.terms + problem.n)

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: KernelOneClass, state: LevelState) -> float | Certificate:
        return state.gap if _complete(problem, state) else Certificate.unknown()

    def pause(self, problem: KernelOneClass, state: LevelState) -> int:
        return 0 if state.m == problem.n and state.still >= STILL else 1

    def cost(self, problem: KernelOneClass, state: LevelState | None = None) -> Cost:
        n = problem.n
        values = max(STEP_VALUES + n, min(self.most, problem.gram.capacity) * n)
        return Cost(kernel_values=values, a_pass=max(1, n // self.block))


def _before(n: int, m: int, first: int, growth: int) -> int:
    """The size from which the subset grew to m."""
    size = min(n, first)
    while min(n, growth * size) < m:
        size *= growth
    return size


def _measured(problem: KernelOneClass, state: LevelState) -> LevelState:
    """The state with the level and the certificate of its first m points."""
    m = state.m
    alpha, r, rows = state.alpha[:m], state.r[:m], state.order[:m]
    sq = float(alpha @ r)
    rho = problem.level(r, alpha, rows)
    gap = problem.error(problem.slack(r, alpha, rho, rows), sq)
    moves = -sq > state.dual + 1e-14 * abs(sq) and not problem.vanishes(sq)
    dual = max(-sq, state.dual)
    return state._replace(rho=rho, gap=gap, dual=dual, still=0 if moves else state.still + 1)


def _complete(problem: KernelOneClass, state: LevelState) -> bool:
    """Whether all points are in, and all responses up to date."""
    return state.scored == problem.n and np.array_equal(state.alpha, state.known)


def _worst(mask: np.ndarray, e: np.ndarray, k: int) -> np.ndarray:
    """Positions of at most k of a mask: those of largest |e|."""
    found = np.flatnonzero(mask)
    return found if len(found) <= k else found[np.argsort(-np.abs(e[found]), kind="stable")[:k]]


def _summing_to(alpha: np.ndarray, s: np.ndarray, total: float) -> np.ndarray:
    """α moved within its bounds until it sums to the total, in proportion to the room that each has."""
    lack = total - float(alpha.sum())
    room = s - alpha if lack > 0 else alpha
    return np.clip(alpha + lack * room / (float(room.sum()) or 1.0), 0.0, s)
