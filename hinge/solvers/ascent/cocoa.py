"""Dual coordinate ascent by several threads: each works on a random part of the rows with its own copy of v."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, count
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.ascent.active_rows import list_rows, rows_to_look, shuffle
from hinge.solvers.ascent.local_ascent import AscentRows, Change, Share, end_epoch, local_ascent
from hinge.solvers.ascent.sdca import SDCA, SDCAState, answer_of, begin_bias
from hinge.solvers.base import Paper, Solver
from hinge.threads import each

NEIGHBOURS = 64  # rows that are dealt out together, so that parts do not write to the same lines of memory
MOST = 1 << 24  # cells of a part in a round, so that Ctrl-C is heard
LEAST = 1 << 17  # cells of a part in a round, so that a thread is worth its waking
FORGET = 0.5  # where σ' may shrink, it keeps this share of its old value


class CoCoAState(NamedTuple):
    """The state of the ascent, and the place in its rounds.

    ===================== ==========================================================================
    `ascent`              the state of the ascent; its `order` is the random order of blocks of rows
    `rounds.t`            rounds so far
    `rounds.sigma`        σ'
    `rounds.parts`        parts in the present epoch
    `rounds.cuts`         rounds in the present epoch
    `rounds.done`         rounds done in the present epoch
    `rounds.blocks`       blocks of rows that the epoch distributes over parts and rounds
    `rounds.neighbours`   rows in a block
    ===================== ==========================================================================
    """

    ascent: SDCAState
    rounds: Scalars

    @property
    def t(self) -> int:
        """Rounds run so far."""
        return int(self.rounds.t)


@dataclass(frozen=True)
class CoCoA(Solver[Regularized, CoCoAState]):
    """Stochastic dual coordinate ascent for `Regularized` by several threads.

    An epoch deals all rows out at random, to K parts in each of some rounds. In a round every part ascends on its own
    rows, as `SDCA` does, with a v of its own, and maximises its share of the dual as if what the others do at the same
    time were :math:`\\sigma' - 1` times what it does itself; then the changes are added:

    .. math:: \\max_{\\alpha_{[k]}}\\; \\sum_{i\\in k} s_i\\big(t_i\\alpha_i - \\ell^*(\\alpha_i)\\big)
              - \\frac1\\Lambda\\langle v, \\Delta_k\\rangle - \\frac{\\sigma'}{2\\Lambda}\\|\\Delta_k\\|^2, \\qquad
              v \\leftarrow v + \\sum_k\\Delta_k .

    :math:`\\sigma' = K` is always safe. What is needed is
    :math:`\\rho = \\|\\sum_k\\Delta_k\\|^2 / \\sum_k\\|\\Delta_k\\|^2`, which each round tells, and which is near one
    where rows have little in common. The next round takes that, or a mean of it and the last σ' where that is larger.

    An iteration is a round, and reads its rows; it costs their nonzeros divided by the threads, and O(Kd).
    The answer depends on `parts`, and not on how many threads there were nor on how fast they ran.

    Parameters
    ----------
    parts : int
        K, and the largest number of threads; never more are used than there are cores.
    cuts : int
        Rounds of an epoch over all rows. More keep the parts closer together, and cost more.
    least : int, optional
        Cells that a part should have in a round; with less data there are fewer rounds and fewer parts. The default
        takes several times as long to visit as a round takes to start and end: 131,072, or 8 for each feature.
    first_pass, shrinking, block_rows
        As for `SDCA`.

    Notes
    -----
    In a gradient pass each part takes steps with :math:`\\Lambda_t/K`, for the rows that it has visited itself: the
    parts together are as far as a single ascent that has visited t rows.

    *Differs* from CoCoA+: σ' follows the parts instead of being K; rows are dealt anew in every epoch (SySCD), so that
    they need not be alike in any part; a round is a fraction of an epoch, for threads are quick to meet.

    References
    ----------
    C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtárik, M. Takáč, *Adding vs. Averaging in Distributed Primal-Dual
    Optimization*, 2015. N. Ioannou, C. Mendler-Dünner, T. Parnell, *SySCD: A System-Aware Parallel Coordinate Descent
    Algorithm*, 2019.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import CoCoA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, CoCoA(parts=2, least=1), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3
    True
    """

    parts: int = 2
    cuts: int = 4
    least: int | None = None
    first_pass: str = "auto"
    shrinking: bool = True
    block_rows: int | None = None

    any_loss = True
    paper = Paper(
        "Adding vs. Averaging in Distributed Primal-Dual Optimization",
        "Ma, Smith, Jaggi, Jordan, Richtárik, Takáč",
        2015,
        "CoCoA+, with parts dealt anew and a σ' that follows them",
    )
    constraints = Constraints(parts=count(), cuts=count(), least=count() | None)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.plain  # which checks its settings

    @property
    def plain(self) -> SDCA:
        """The ascent that takes the same steps."""
        return SDCA(self.first_pass, self.shrinking, self.block_rows)

    solves, instead = Regularized, "SGD for a norm bound"

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> CoCoAState:
        ascent = self.plain.init(problem, seed, start)
        rounds = scalars(t=0, sigma=float(self.parts), parts=1, cuts=1, done=0, neighbours=1, blocks=0)
        return CoCoAState(ascent._replace(order=np.zeros(problem.n, np.uint32)), rounds)

    def advance(self, problem: Regularized, state: CoCoAState, n_iter: int) -> CoCoAState:
        dual = state.ascent.dual
        if n_iter == 0:  # compile: the same calls, over no rows
            _local_change(AscentRows.from_problem(problem), state, 1, (0, 0), 0, 1.0)
        elif state.t == 0:
            begin_bias(problem, dual)
        for _ in range(n_iter):
            if state.rounds.done == 0:
                listed = list_rows(state.ascent.epoch, state.ascent.active, problem.weight)
                parts, cuts = self._cut(problem, int(state.ascent.epoch.active))
                _deal(state, listed, parts, cuts, self.plain.rows_a_block(problem))
            self._round(problem, state)
            if state.rounds.done == state.rounds.cuts:
                epoch = state.ascent.epoch
                state.rounds.done, epoch.rows, epoch.visited = 0, epoch.visited, 0
                moves = problem.bias != "none"
                end_epoch(dual, epoch, state.ascent.active, problem.lam * problem.total, moves, self.shrinking)
        return state

    def _cut(self, problem: Regularized, rows: int) -> tuple[int, int]:
        """Numbers of parts and of rounds of an epoch over a number of rows."""
        cells, least = rows * problem.matrix.n_cells // problem.n, self.least or max(LEAST, 8 * problem.d)
        parts = max(1, min(self.parts, cells // least, rows))
        rounds = max(1, min(self.cuts, cells // (parts * least), rows // parts))
        return parts, min(rows, max(rounds, -(-cells // (parts * MOST))))

    def _round(self, problem: Regularized, state: CoCoAState) -> None:
        """Run all parts, each on its own blocks, and add up their changes."""
        (ascent, rounds), dual, epoch = state, state.ascent.dual, state.ascent.epoch
        parts, number = int(rounds.parts), int(epoch.draws)
        first, stop = (int(rounds.blocks * (rounds.done + more) // rounds.cuts) for more in (0, 1))
        ends = [first + (stop - first) * k // parts for k in range(parts + 1)]
        group = self.plain.rows_a_block(problem)
        sigma = float(parts if dual.growing else min(rounds.sigma, parts))
        with problem.matrix.shared(parts) as A:

            def part(k: int) -> Change:
                rows = AscentRows.from_problem(problem, A[k])
                return _local_change(rows, state, group, (ends[k], ends[k + 1]), number + k, sigma)

            changes = each(part, parts, self.parts)
        epoch.draws += parts
        needed = _add_up(ascent, changes)
        if not dual.growing:
            rounds.sigma = max(needed, FORGET * sigma + (1.0 - FORGET) * needed)
        rounds.t += 1
        rounds.done += 1

    def solution(self, problem: Regularized, state: CoCoAState) -> Solution:
        return answer_of(state.ascent)

    def cost(self, problem: Regularized, state: CoCoAState | None = None) -> Cost:
        """A round, which may be a whole epoch."""
        _, cuts = self._cut(problem, problem.n)
        return self.plain.cost(problem)._replace(rows=0, cells=problem.matrix.n_cells, a_pass=cuts)

    def pause(self, problem: Regularized, state: CoCoAState) -> int:
        """The end of the epoch, or later if an evaluation costs more than an epoch."""
        rounds, epoch = state.rounds, state.ascent.epoch
        rows = rows_to_look(problem, epoch)
        if rounds.done:
            left, cuts = int(epoch.active - epoch.visited), int(rounds.cuts)
        else:
            left = problem.n if epoch.stale or epoch.active == 0 else int(epoch.active)
            _, cuts = self._cut(problem, left)
        later = max(0, rows - left) * cuts // max(1, left + int(epoch.visited))
        return cuts - int(rounds.done) + later

    def estimate(self, problem: Regularized, state: CoCoAState) -> float:
        """The estimate of `SDCA`; half more with several parts, which do not see what the others change meanwhile."""
        estimate = self.plain.estimate(problem, state.ascent)
        return estimate * 1.5 if state.rounds.parts > 1 else estimate

    def refresh(self, problem: Regularized, state: CoCoAState) -> CoCoAState:
        """Bring all rows back."""
        return state._replace(ascent=self.plain.refresh(problem, state.ascent))


def _deal(state: CoCoAState, listed: bool, parts: int, cuts: int, group: int) -> None:
    """Begin an epoch: distribute the rows on the list, which may have all rows again, in blocks of neighbours.

    A part gets at least 8 blocks in a round, so that its rows are a sample of all.
    """
    (ascent, rounds), dual, epoch = state, state.ascent.dual, state.ascent.epoch
    if listed:
        dual.upper, dual.lower = np.inf, -np.inf
    dual.gap_so_far, dual.highest, dual.lowest = 0.0, -np.inf, np.inf
    neighbours = min(int(epoch.active) // (8 * parts * cuts), NEIGHBOURS)
    rounds.parts, rounds.cuts, rounds.neighbours = parts, cuts, max(1, neighbours // group) * group
    rounds.blocks = -(-epoch.active // rounds.neighbours)
    epoch.draws = shuffle(ascent.order, rounds.blocks, ascent.key, epoch.draws)


def _local_change(
    rows: AscentRows, state: CoCoAState, group: int, blocks: tuple[int, int], number: int, sigma: float
) -> Change:
    """What one part does in a round with its blocks; `number` is the stream of its random numbers."""
    ascent, size = state.ascent, int(state.rounds.neighbours)
    share = Share(ascent.active, int(ascent.epoch.active), ascent.order, *blocks, size, group, ascent.key, number)
    return local_ascent(rows, share, ascent.alpha, ascent.sq, ascent.v, ascent.dual, sigma)


def _add_up(ascent: SDCAState, changes: list[Change]) -> float:
    """Add the changes of the parts, in their order; returns ρ, the least σ' that would have been safe."""
    dual, epoch, kappa = ascent.dual, ascent.epoch, float(ascent.dual.kappa)
    du, rows = sum(change.du for change in changes), sum(change.rows for change in changes)
    dual.u += du
    dual.Lam += sum(change.grown for change in changes)
    dual.gap_so_far += sum(change.gap for change in changes)
    dual.highest = max(dual.highest, *(change.highest for change in changes))
    dual.lowest = min(dual.lowest, *(change.lowest for change in changes))
    epoch.t += rows
    epoch.visited += rows
    dv = np.sum([change.dv for change in changes], axis=0)
    ascent.v[:] += dv
    apart = sum(float(change.dv @ change.dv) + kappa * change.du**2 for change in changes)
    return max(1.0, (float(dv @ dv) + kappa * du**2) / apart) if apart > 0.0 else 1.0
