"""A start for exact runs over many points: the dual point of landmarks, and their answer while it is the better one."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Cost
from hinge.solvers.base import Paper, Solver
from hinge.solvers.driver import LAST_ANSWER
from hinge.solvers.kernel.block_dual import BlockDual, BlockState, first_measured, respond, widens, with_weights
from hinge.solvers.kernel.nystroem import Nystroem, NystroemState

CHUNK = 512
"""Points whose dual weights enter together: their rows take some hundredths of a second."""


class FromLandmarksState(NamedTuple):
    """Both runs.

    ============= ===================================================================
    `landmarks`   the state of `Nystroem`
    `exact`       the state of the exact solver
    `waiting`     points that wait for their weights, or later for their responses
    `weighted`    points whose weights are those of the landmarks
    `primal`      the objective of the landmarks' answer
    `t`, `seed`   iterations, and the seed of the run
    ============= ===================================================================
    """

    landmarks: NystroemState
    exact: Any
    waiting: int
    weighted: int
    primal: float
    t: int
    seed: np.uint64


@dataclass(frozen=True)
class FromLandmarks(Solver[KernelRegularized, FromLandmarksState]):
    """An exact solver that starts from the dual point of an answer in the span of landmarks.

    An exact run visits each support vector before its dual objective is near the optimum, while :math:`\\sqrt n`
    landmarks tell most of them: `Nystroem` gives a dual point that is feasible for the exact kernel. Its S points of
    positive weight are the first subset of the exact solver, if it would begin with fewer. They enter it 512 in an
    iteration, of both classes as much, so that those inside are feasible and a lower bound from the first iteration
    on. Once the exact solver has solved the subset roughly, all other points get their responses, in such pieces too,
    and the nearer ones enter.

    On a device a round of the exact solver comes first. If no more points are to move than a working set holds, it goes
    on, without landmarks; else all points of positive weight enter in one step.

    The answer is the one of both with the smaller objective, and its gap is that to the larger dual objective.

    It costs S²/2 kernel values and the features of landmarks, and saves a visit to each support vector at its bound.

    Parameters
    ----------
    exact : Solver
        `BlockDual` or `DeviceBlock`.
    landmarks : Nystroem
        Of which one round is made.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import FromLandmarks
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0), bias="free")
    >>> result = solve(problem, FromLandmarks(), stop=Stop(tol=1e-3))
    >>> bool(result.certificate.gap <= 1e-3), type(result.solver.exact).__name__
    (True, 'BlockDual')
    """

    exact: Solver = field(default_factory=BlockDual)
    landmarks: Nystroem = field(default_factory=Nystroem)

    paper = Paper("Using the Nyström Method to Speed Up Kernel Machines", "Williams, Seeger", 2001, "as a start")
    tubes = True
    exact_estimate = True
    first_is_long = True
    status_at_end = BlockDual.status_at_end
    solves, instead = KernelRegularized, "SBP"

    def _limits(self, problem: KernelRegularized) -> str | None:
        return self.landmarks.rejects(problem) or self.exact.rejects(problem)

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> FromLandmarksState:
        """With an answer to start from there are no landmarks."""
        exact = self.exact.init(problem, seed, start)
        return FromLandmarksState(
            self.landmarks.init(problem, seed), exact, 0, 0, np.inf, int(start is not None), np.uint64(seed)
        )

    def restart(self, problem: KernelRegularized, state: FromLandmarksState) -> FromLandmarksState:
        if state.waiting or state.t == 0:
            return self.init(problem, int(state.seed))
        return state._replace(exact=self.exact.restart(problem, state.exact), primal=np.inf)

    def advance(self, problem: KernelRegularized, state: FromLandmarksState, n_iter: int) -> FromLandmarksState:
        for _ in range(n_iter):
            if state.t == 0:
                state = self._begin(problem, state)
            elif _widens(problem, state):
                state.exact.past[:] = state.exact.beta
                state = state._replace(waiting=problem.n - state.exact.m)
            if state.waiting:
                state = self._enter(problem, state)
            elif state.t or not problem.gram.on_device:
                state = state._replace(exact=self.exact.advance(problem, state.exact, 1))
            state = state._replace(t=state.t + 1)
        return state

    def _begin(self, problem: KernelRegularized, state: FromLandmarksState) -> FromLandmarksState:
        if problem.gram.on_device:
            state = state._replace(exact=self.exact.advance(problem, state.exact, 1))
            if _fit_into_a_block(self.exact, state.exact):
                return state
        landmarks = self.landmarks.advance(problem, state.landmarks, 1)
        answer = self.landmarks.solution(problem, landmarks)
        state = state._replace(landmarks=landmarks, primal=problem.objective(answer))
        used = int(np.count_nonzero(landmarks.dual))
        if problem.gram.on_device:
            return state._replace(exact=self.exact.init(problem, int(state.seed), answer))
        if used <= state.exact.m:  # no more than the random subset with which the exact solver begins
            return state
        order = _in_step(landmarks.dual, state.exact.order)
        return state._replace(exact=state.exact._replace(order=order, m=0), waiting=used, weighted=used)

    def _enter(self, problem: KernelRegularized, state: FromLandmarksState) -> FromLandmarksState:
        """The next points that wait get their weights; or their responses, if they have none."""
        exact, more = state.exact, min(CHUNK, state.waiting)
        waiting = state.waiting - more
        if exact.m < state.weighted:
            exact = with_weights(problem, exact, more, state.landmarks.dual)
            exact = exact if waiting else first_measured(problem, exact)
        else:
            respond(problem, exact, exact.order[problem.n - state.waiting :][:more])
            exact = exact if waiting else self.exact.refresh(problem, exact._replace(rough=False))._replace(seen=False)
        return state._replace(exact=exact, waiting=waiting)

    def solution(self, problem: KernelRegularized, state: FromLandmarksState) -> Expansion:
        answer = self.landmarks.solution(problem, state.landmarks)
        if state.t == 0:
            return answer
        if not _is_dear(self, problem, state):
            own = self.exact.solution(problem, state.exact)
            if problem.objective(own) <= state.primal:
                return own
        else:
            at, inside = state.exact, state.exact.order[: state.exact.m]
            beta, r = np.zeros((2, problem.n))
            beta[inside], r[inside] = at.beta[inside], at.r[inside]
            own = Expansion(beta, at.b, r, at.path, at.terms, at.known)
        return answer._replace(dual=own.beta, of_dual=(own.responses, problem.off(own)))

    def refresh(self, problem: KernelRegularized, state: FromLandmarksState) -> FromLandmarksState:
        return state if state.waiting else state._replace(exact=self.exact.refresh(problem, state.exact))

    def estimate(self, problem: KernelRegularized, state: FromLandmarksState) -> float:
        if state.t == 0 or state.waiting:
            return np.inf
        found = self.exact.estimate(problem, state.exact)
        apart = state.primal - state.exact.dual
        return min(float(found), problem.relative(apart, state.exact.dual))  # type: ignore[arg-type]

    def pause(self, problem: KernelRegularized, state: FromLandmarksState) -> int:
        if state.t == 0:
            return 1
        return -(-state.waiting // CHUNK) or self.exact.pause(problem, state.exact)

    def cost(self, problem: KernelRegularized, state: FromLandmarksState | None = None) -> Cost:
        """Features (on a device after a round) and the first points; or what enters, with all inside; or a round."""
        if state is None or state.t == 0:
            first, other = (solver.cost(problem).kernel_values for solver in (self.landmarks, self.exact))
            start = problem.n**2 if problem.gram.on_device else CHUNK**2
            return Cost(kernel_values=first + other + start, a_pass=1)
        if state.waiting or _widens(problem, state):
            return Cost(kernel_values=CHUNK * (state.exact.m + CHUNK), a_pass=1)
        cost = self.exact.cost(problem, state.exact)
        return cost._replace(answer=0) if _is_dear(self, problem, state) else cost


def _widens(problem: KernelRegularized, state: FromLandmarksState) -> bool:
    """Whether all points outside are due to get their responses, before `BlockDual` asks for them in one step."""
    exact = state.exact
    if state.waiting or not isinstance(exact, BlockState):
        return False
    return exact.rough and widens(problem, exact)


def _fit_into_a_block(solver: Solver, state: Any) -> bool:
    """Whether one working set on a device can hold all points that are to move: a few rounds are enough then."""
    from hinge.solvers.kernel.device_block import DeviceBlock

    if not isinstance(solver, DeviceBlock):
        return False
    (line,) = state.known
    return line.free + line.off <= 2 * solver.most


def _is_dear(solver: FromLandmarks, problem: KernelRegularized, state: FromLandmarksState) -> bool:
    """Whether the exact solver's answer is not known, and would cost too much beside what was spent on it."""
    if state.waiting:
        return True
    at, answer = state.exact, solver.exact.cost(problem, state.exact).answer
    return isinstance(at, BlockState) and at.rough and answer > LAST_ANSWER * at.spent * problem.n


def _in_step(dual: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The points of a random order with those of positive weight first: both sides' sums grow by the same shares."""
    place, used = np.full(len(dual), np.inf), dual[order]
    for side in (1.0, -1.0):
        mine = np.flatnonzero(side * used > 0.0)
        grown = np.cumsum(side * used[mine])
        place[mine] = grown / grown[-1:]
    return order[np.argsort(place, kind="stable")]
