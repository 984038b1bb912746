"""Newton's method over parts that lie with workers: a round is a pass, and the client has all that is between passes.

Of a row nothing is kept, see :mod:`hinge.solvers.newton.pass_sums`: the answer of a part is a function of its rows
and of the question. Sums of d² numbers come back, added up by workers where there are many parts; a worker that is lost
costs its share of one pass.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hinge.dask.cluster import ClientLoop, ClusterFit, same
from hinge.dask.parts import ClusterTask, Part, joined, problem_of
from hinge.monitoring import Status
from hinge.problems import Certificate, Solution
from hinge.solvers.newton import block_newton
from hinge.solvers.newton.pass_sums import PassQuery, PassSums, add_sums, dual_bound, no_sums, sums_of


class PassRequest(NamedTuple):
    """What a pass is to sum up, for each of the tasks that are still open."""

    tasks: tuple[ClusterTask, ...]
    questions: tuple[PassQuery, ...]


class Found(NamedTuple):
    """The sums over a part, or over several, for each of those tasks; and the cells that were read."""

    sums: tuple[PassSums, ...]
    cells: int


def summed_up(part: Part, message: PassRequest) -> Found:
    """The sums over a part. It reads its rows once, and those on the parabola again."""
    found, cells = [], 0
    for task, question in zip(message.tasks, message.questions, strict=True):
        problem = problem_of(part, task)
        if problem is None:
            found.append(no_sums(len(question.u) - 1, len(block_newton.STEPS)))
        else:
            found.append(sums_of(problem, question))
            cells += problem.reads
    return Found(tuple(found), cells)


def found_together(*found: Found) -> Found:
    """The sums of several parts, in their order."""
    tasks = zip(*(one.sums for one in found), strict=True)
    return Found(tuple(add_sums(*sums) for sums in tasks), sum(one.cells for one in found))


def sample_of(part: Part, every: int) -> Part:
    """Some rows of a part, evenly spread."""
    weight = None if part.weight is None else part.weight[::every]
    return Part(part.number, part.X[::every], part.y[::every], weight, part.sq[::every])


def started(task: ClusterTask, *samples: Part) -> np.ndarray | None:
    """Where to begin: w and b of the rows of some samples; None if they tell nothing."""
    sample = joined(0, [(part.X, part.y, part.weight) for part in samples])
    return block_newton.sampled_start(problem_of(sample, task), task.lam)


class DualPlace(NamedTuple):
    """Where the smoothing by μ gives dual weights of that dual objective; the bias is the last entry of u."""

    u: np.ndarray
    mu: float
    bound: float


class NewtonRounds(ClientLoop):
    """The passes of one fit.

    Parameters
    ----------
    fit : ClusterFit
    rows, cells : int
        Of all parts.
    starts : sequence of DualPlace, optional
        Where each task begins, in place of an answer of some rows. Each step is then one of the smoothed loss, at whose
        minimum the dual weights of the smoothing are best.

    Attributes
    ----------
    duals : list of DualPlace
        Of each task the place with the best dual weights so far.
    """

    def __init__(self, fit: ClusterFit, rows: int, cells: int, starts: Sequence[DualPlace] | None = None) -> None:
        super().__init__(fit)
        tasks, d, spread = fit.tasks, fit.d, fit.spread
        keep = min(1.0, block_newton.SAMPLE / max(1, cells * len(tasks)))
        self.outlines = [
            block_newton.Outline(d, task.lam, task.loss, task.bias, task.bias_scale, keep) for task in tasks
        ]
        # At most an eighth of the rows is in the sample, which a single worker solves.
        wanted = max(block_newton.ROWS * d, min(block_newton.SAMPLE * rows // max(1, cells), rows // 8))
        self.every = max(1, rows // wanted)
        self.walks: list[block_newton.Walk] = [block_newton.initial_walk(outline, spread) for outline in self.outlines]
        self.duals = [DualPlace(walk.x.copy(), spread, -np.inf) for walk in self.walks]
        self.begins = starts is None
        for k, place in enumerate(starts or ()):
            self.walks[k] = block_newton.initial_walk(self.outlines[k], spread, place.u)._replace(squares=np.zeros(0))
            self.walks[k].place.mu = self.walks[k].place.line = place.mu

    def _turn(self, ends: float) -> float:
        if self.round == 0 and self.begins:
            self._begin(ends)
        places = self._open
        message = PassRequest(
            tuple(self.tasks[k] for k in places), tuple(block_newton.next_query(self.walks[k]) for k in places)
        )
        sent = self.cluster.submit("message", same, message)
        jobs = self.cluster.map("pass", summed_up, self.parts, shared=(sent,))
        whole = self._sum_over_parts(message, jobs, found_together, ends, jobs)
        for k, question, sums in zip(places, message.questions, whole.sums, strict=True):
            self._keep_dual(k, question, sums)
            block_newton.update_walk(self.walks[k], self.outlines[k], sums)
        self.round, self.passes, self.reads = self.round + 1, self.passes + 1, self.reads + whole.cells
        return np.nan

    def _keep_dual(self, k: int, question: PassQuery, sums: PassSums) -> None:
        task = self.tasks[k]
        bound = dual_bound(sums, task.lam, task.loss, task.constant_sq, task.free)
        if bound > self.duals[k].bound:
            self.duals[k] = DualPlace(question.u, question.mu, bound)

    def _begin(self, ends: float) -> None:
        """At the answers of some rows of all parts."""
        samples = self.cluster.map("sample", sample_of, self.parts, shared=(self.every,))
        jobs = self.cluster.map("start", started, self.tasks, shared=samples)
        for k, x in enumerate(self.cluster.gather(jobs, ends)):
            if x is not None:
                self.walks[k] = block_newton.initial_walk(self.outlines[k], self.spread, x)
                self.moved += x.nbytes

    @property
    def _open(self) -> list[int]:
        gaps = [block_newton.certificate_of(walk).gap for walk in self.walks]
        return [k for k, gap in enumerate(gaps) if not 0.0 <= gap <= self.stop.tol or self.stop.tol == 0.0]

    @property
    def _answers(self) -> list[tuple[Solution, Certificate]]:
        found = []
        for walk in self.walks:
            known = walk.place.primal < np.inf
            answer = Solution(walk.best, float(walk.place.b)) if known else Solution(walk.x[:-1], float(walk.x[-1]))
            found.append((answer, block_newton.certificate_of(walk)))
        return found

    @property
    def _ended(self) -> Status | None:
        if not self._open:
            return Status.CONVERGED
        return Status.STALLED if all(self.walks[k].place.still >= block_newton.STALLED for k in self._open) else None
