"""Newton's method by passes: for many more rows than features, and more than memory holds."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.access.streams.streamed import Ranges
from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, count
from hinge.monitoring import Status, Stop
from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.sampling import key_of
from hinge.solvers.ascent.block_ascent import cut_of, load_block, rows_of, shuffled_block
from hinge.solvers.base import Paper, Solver
from hinge.solvers.driver import solve
from hinge.solvers.newton.hessians import MOST_DIRECT
from hinge.solvers.newton.newton import RARE, Newton
from hinge.solvers.newton.newton_sums import Sums, add_sums, no_sums, sums_of
from hinge.solvers.newton.newton_walk import (
    STALLED,
    STEPS,
    Outline,
    Walk,
    certificate_of,
    initial_walk,
    next_query,
    update_walk,
)

SAMPLE = 1 << 22  # cells of the sample whose solution is the start: a few tenths of a second
ROWS = 8  # rows per feature in that sample, at least
MOST_STEPS = 60  # Newton steps on the sample, which is in memory


class BlockNewtonState(NamedTuple):
    """Where the run is, and what the present pass has summed up so far.

    ============== ===============================================================================
    `walk`         the point, the next step and the best answer, see `Walk`
    `sums`         sums over the blocks of the present pass
    `place.t`      blocks visited so far
    `place.passes` passes done
    `place.done`   blocks done in the present pass
    `place.begun`  whether the start has been chosen
    `key`          key of the random numbers
    ============== ===============================================================================
    """

    walk: Walk
    sums: Sums
    place: Scalars
    key: np.uint64

    @property
    def t(self) -> int:
        """Blocks visited so far."""
        return int(self.place.t)


@dataclass(frozen=True)
class BlockNewton(Solver[Regularized, BlockNewtonState]):
    """Newton steps on `Regularized` with a smoothed loss that are made of sums over all rows, one step a pass.

    With :math:`e_i = t_i - y_i(\\langle w, x_i\\rangle + b)`, and the dual weights α that smoothing by μ gives,

    .. math:: \\alpha_i = \\Pi_{[l,h]}\\Big(\\frac{e_i + \\mu\\hat\\alpha}{\\mu + q}\\Big),\\qquad
              g = \\lambda w - \\sum_i c_i\\alpha_iy_ix_i,\\qquad
              H = \\lambda I + \\frac1{\\mu + q}\\sum_{l<\\alpha_i<h} c_ix_ix_i^T,\\qquad
              w \\leftarrow w - \\tau H^{-1}g ,

    where q is ½ for squared losses, which need no smoothing, μ = 0, and 0 for others; the centre of the hinge is ½.
    One pass makes all sums: for g and H, for the losses at several lengths τ of the step that led there, and for the
    objective and the dual of the certificate, since α is feasible. Nothing is stored for a row.

    The first block has a sample of the rows, whose own answer, found in memory, is where the passes begin. Where μ > 0
    it falls as soon as the step promises less than what smoothing costs: with many rows for each feature there are
    always enough of them on the parabola. Where there are not, since no such row has some rare feature, steps are
    far too long. From then on a pass brings back the rows within reach of a step, copied, and the others as means of
    groups, in place of H: a small problem, solved in memory, whose optimum is the next place and whose dual is a bound,
    see :mod:`hinge.solvers.newton.near_rows`.

    An iteration is a block. It costs a read of its rows and, in memory, three products with each and d² for those that
    are on the parabola. Some three to ten passes suffice, whatever λ is. Memory: two blocks, 2d² numbers, or 4d² and
    the rows that are held.

    Parameters
    ----------
    cells : int
        Of the rows that may be held from pass to pass: a quarter of all make 4 to 8 passes of those with rare features,
        a sixteenth 6 to 20.

    References
    ----------
    O. Chapelle, *Training a Support Vector Machine in the Primal*, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.solvers import BlockNewton
    >>> X = np.random.default_rng(0).standard_normal((500, 4))
    >>> problem = Regularized(X, np.where(X[:, 0] > 0, 1, -1), 0.01)
    >>> bool(solve(problem, BlockNewton(), stop=Stop(tol=1e-3)).certificate.gap <= 1e-3)
    True
    """

    cells: int = SAMPLE

    any_loss = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    finished = Status.STALLED
    paper = Paper("Training a Support Vector Machine in the Primal", "Chapelle", 2007, "by sums over passes")
    constraints = Constraints(cells=count())

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, Regularized):
            return f"BlockNewton solves Regularized problems, not {type(problem).__name__}; use SGD for a norm bound."
        if problem.d > MOST_DIRECT:
            return f"BlockNewton needs d² numbers, and takes no more than {MOST_DIRECT} features; use BlockAscent."
        return None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> BlockNewtonState:
        x = None if start is None else np.append(start.w, start.b)
        place = scalars(t=0, passes=0, done=0, begun=x is not None)
        walk = initial_walk(outline_of(problem, self.cells), problem.spread, x)
        return BlockNewtonState(walk, no_sums(problem.d, len(STEPS)), place, key_of(seed))

    def advance(self, problem: Regularized, state: BlockNewtonState, n_iter: int) -> BlockNewtonState:
        cut, place = cut_of(problem), state.place
        for _ in range(n_iter):
            block = shuffled_block(cut, state.key, int(place.passes), int(place.done))
            ahead = shuffled_block(cut, state.key, *divmod(int(place.passes * cut.blocks + place.done) + 1, cut.blocks))
            rows = load_block(problem, block, ahead)
            if not place.begun:
                self._begin(problem, state, block, rows)
            part = part_of(problem, block, rows)
            if part is not None:
                state = state._replace(sums=add_sums(state.sums, sums_of(part, next_query(state.walk))))
            if isinstance(problem.matrix, Matrix):
                problem.matrix.count(rows.reads)
            place.t += 1
            place.done += 1
            if place.done == cut.blocks:
                update_walk(state.walk, outline_of(problem, self.cells), state.sums)
                state = state._replace(sums=no_sums(problem.d, len(STEPS)))
                place.passes, place.done = place.passes + 1, 0
        return state

    def _begin(self, problem: Regularized, state: BlockNewtonState, block: Ranges, rows: Matrix) -> None:
        """Begin at the answer of a sample of the first block, if it has enough rows of both classes."""
        state.place.begun = True
        start = sampled_start(part_of(problem, block, rows), problem.lam)
        if start is not None:
            walk = initial_walk(outline_of(problem, self.cells), problem.spread, start)
            state.walk.x[:] = walk.x
            state.walk.place.line, state.walk.place.mu = walk.place.line, walk.place.mu

    def solution(self, problem: Regularized, state: BlockNewtonState) -> Solution:
        """The best answer that is certified; before there is one, the present one."""
        walk = state.walk
        if walk.place.primal < np.inf:
            return Solution(walk.best, float(walk.place.b))
        return Solution(walk.x[:-1], float(walk.x[-1]))

    def cost(self, problem: Regularized, state: BlockNewtonState | None = None) -> Cost:
        cut = cut_of(problem)
        rows = -(-len(cut.stretches) // cut.blocks) * max(hi - lo for lo, hi in cut.stretches)
        cells = min(rows * problem.matrix.max_row_cells, problem.matrix.n_cells)
        return Cost(cells=4 * cells, setup=8 * MOST_STEPS * cells, certificate=0, a_pass=cut.blocks)

    def pause(self, problem: Regularized, state: BlockNewtonState) -> int:
        """The end of the pass; 0 where nothing has been gained for some passes."""
        if state.walk.place.still >= STALLED and not state.place.done:
            return 0
        return cut_of(problem).blocks - int(state.place.done)

    def estimate(self, problem: Regularized, state: BlockNewtonState) -> Certificate:
        """The certificate of the best answer so far; the first pass computes one."""
        return certificate_of(state.walk)


def outline_of(problem: Regularized, cells: int) -> Outline:
    """A problem without its rows, of which `cells` cells may be held in memory."""
    keep = min(1.0, cells / max(1, problem.matrix.n_cells))
    return Outline(problem.d, problem.lam, problem.loss, problem.bias, problem.bias_scale, keep)


def part_of(problem: Regularized, block: Ranges, rows: Matrix) -> Regularized | None:
    """The problem over the rows of a block, whose means are shares of those over all; None of no weight."""
    weight = rows_of(problem.weight, block) if len(problem.weight) == problem.n else None
    if weight is not None and not weight.any():
        return None
    y = rows_of(problem.target if problem.loss.two_sided else problem.y, block)
    options = {"weight": weight, "bias": problem.bias, "bias_scale": problem.bias_scale, "loss": problem.loss}
    part = Regularized(rows, y, problem.lam, **options)  # type: ignore[arg-type]
    part.total = problem.total
    return part


def sampled_start(part: Regularized | None, lam: float) -> np.ndarray | None:
    """w and b of some rows of a part, evenly spread; None if they are too few, or of one class."""
    if part is None:
        return None
    d, cells = part.d, max(1, part.matrix.n_cells // part.n)
    wanted = max(ROWS * d, SAMPLE // cells)
    rows = np.arange(0, part.n, max(1, part.n // wanted))
    y = part.target[rows] if part.loss.two_sided else part.y[rows]
    weight = None if len(part.weight) == 1 else part.weight[rows]
    rare = min(np.count_nonzero(y > 0), np.count_nonzero(y < 0))
    if len(rows) < 2 * d or (rare < RARE and not part.loss.two_sided) or (weight is not None and not weight.any()):
        return None
    options = {"weight": weight, "bias": part.bias, "bias_scale": part.bias_scale, "loss": part.loss}
    sample = Regularized(part.matrix.gather(rows), y, lam, **options)  # type: ignore[arg-type]
    tol = min(
        0.1, max(1e-4, d / len(rows))
    )  # a sample is no more exact than this: other rows would give another answer
    answer = solve(sample, Newton(), stop=Stop(tol, max_iter=MOST_STEPS)).solution
    found = np.append(answer.w, answer.b)
    return found if np.isfinite(found).all() else None
