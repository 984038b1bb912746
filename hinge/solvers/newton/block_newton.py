"""Newton's method by passes: for many more rows than features, and more than memory holds.

A pass is asked for all that a step needs at the place where the last step should lead, and for the objective at other
lengths of it: where that place is good enough, and it nearly always is, the next step is known after the same pass.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.access.streams.base import Ranges
from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, count
from hinge.monitoring import Status, Stop
from hinge.problems import Certificate, Regularized, Solution
from hinge.problems.base import Cost
from hinge.problems.svm.penalized import primal_value, relative_gap
from hinge.sampling import key_of
from hinge.solvers.ascent.block_ascent import cut_of, next_block, numbers_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.driver import solve
from hinge.solvers.newton.central_path import STALLED
from hinge.solvers.newton.newton import PROGRESS, Newton, sample_tolerance
from hinge.solvers.newton.pass_sums import PassQuery, PassSums, add_sums, dual_bound, no_sums, small_answer, sums_of
from hinge.solvers.newton.systems import MOST_DIRECT, Outline, by_features, penalty_of

SAMPLE = 1 << 22  # cells of the sample whose solution is the start: a few tenths of a second
ROWS = 8  # rows per feature in that sample, at least
MOST_STEPS = 60  # Newton steps on the sample, which is in memory
STEPS = np.array([0.0, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0])
"""Lengths at which a pass evaluates the objective, relative to the length of the step that it tries."""
TRIAL = int(np.flatnonzero(STEPS == 1.0)[0])


class Walk(NamedTuple):
    """The point, the next step, and the best certified answer.

    ============== ===============================================================================
    `x`, `p`       the point and the direction; the bias is the last entry
    `best`         the best certified answer
    `squares`      Σ s x² of each feature, once known; empty if the loss is smooth
    `place.tau`    length of the step that is tried
    `place.line`   width of the smoothing for which p was made
    `place.mu`     width of the smoothing in the next pass
    `place.primal` objective of `best`
    `place.b`      bias of `best`
    `place.bound`  largest lower bound on the optimum
    `place.unit`   unit of the gap
    `place.least`  least gap so far
    `place.still`  passes in which it has not improved
    `place.sharp`  width at which the loss is hardly smoothed
    `place.share`  share of the rows that the next pass copies
    `place.thin`   whether H may be made of a sample: until a step was too long, or gained little
    ============== ===============================================================================
    """

    x: np.ndarray
    p: np.ndarray
    best: np.ndarray
    squares: np.ndarray
    place: Scalars


class BlockNewtonState(NamedTuple):
    """The walk from pass to pass, and the sums of the present pass.

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
    sums: PassSums
    place: Scalars
    key: np.uint64

    @property
    def t(self) -> int:
        """Blocks visited so far."""
        return int(self.place.t)


@dataclass(frozen=True)
class BlockNewton(Solver[Regularized, BlockNewtonState]):
    """Newton steps on `Regularized` with a smoothed loss, from sums over all rows: one step in each pass.

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
    see :mod:`hinge.solvers.newton.pass_sums`.

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
    status_at_end = Status.STALLED
    paper = Paper("Training a Support Vector Machine in the Primal", "Chapelle", 2007, "by sums over passes")
    constraints = Constraints(cells=count())
    solves, instead = Regularized, "SGD for a norm bound"

    def _limits(self, problem: Regularized) -> str | None:
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
            block, rows = next_block(problem, cut, state.key, place)
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
        """The best certified answer, or the present one before there is any."""
        walk = state.walk
        if walk.place.primal < np.inf:
            return Solution(walk.best, float(walk.place.b))
        return Solution(walk.x[:-1], float(walk.x[-1]))

    def cost(self, problem: Regularized, state: BlockNewtonState | None = None) -> Cost:
        cut = cut_of(problem)
        cells = cut.cells(problem)
        return Cost(cells=4 * cells, setup=8 * MOST_STEPS * cells, certificate=0, a_pass=cut.blocks)

    def pause(self, problem: Regularized, state: BlockNewtonState) -> int:
        """Blocks to the end of the pass; 0 after some passes without progress."""
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
    """The problem over the rows of a block, with the total weight of all rows; None if the rows have no weight."""
    at = numbers_of(block)
    if len(problem.weight) == problem.n and not problem.weight[at].any():
        return None
    part = problem.with_rows(rows, at)
    part.total = problem.total
    return part


def sampled_start(part: Regularized | None, lam: float) -> np.ndarray | None:
    """The solution (w, b) of evenly spread rows of a part; None if they are too few, or of one class."""
    if part is None:
        return None
    d, cells = part.d, max(1, part.matrix.n_cells // part.n)
    wanted = max(ROWS * d, SAMPLE // cells)
    rows = np.arange(0, part.n, max(1, part.n // wanted))
    y, weight = part.y[rows], part.weight if len(part.weight) == 1 else part.weight[rows]
    one_class = not part.loss.two_sided and bool((y == y[0]).all())
    if len(rows) < 2 * d or one_class or not weight.any():
        return None
    sample = part.with_rows(part.matrix.gather(rows), rows)
    sample.lam = lam
    stop = Stop(sample_tolerance(d, len(rows)), max_iter=MOST_STEPS)
    answer = solve(sample, Newton(), stop=stop).solution
    found = np.append(answer.w, answer.b)
    return found if np.isfinite(found).all() else None


def initial_walk(outline: Outline, spread: float, start: np.ndarray | None = None) -> Walk:
    """The walk at a start, or at 0 if there is none; `spread` is the typical residual at w = 0.

    In units of it, 2.5 and 0.1 are the first widths of the smoothing at 0, where all rows have to be on the parabola,
    and at a start; at the width 1e-6 the smoothed loss is as good as the loss.
    """
    d = outline.d
    mu = 0.0 if outline.loss.curvature else spread * (2.5 if start is None else 0.1)
    x = np.zeros(d + 1) if start is None else start.copy()
    numbers = scalars(
        tau=1.0,
        line=mu,
        mu=mu,
        primal=np.inf,
        b=0.0,
        bound=-np.inf,
        unit=0.0,
        least=np.inf,
        still=0,
        sharp=1e-6 * spread,
        share=0.0,
        thin=True,
    )
    return Walk(x, np.zeros(d + 1), np.zeros(d), np.zeros(d if mu else 0), numbers)


def next_query(walk: Walk) -> PassQuery:
    """What the next pass has to sum up."""
    x, p, place = walk.x, walk.p, walk.place
    tau, widths = float(place.tau), (float(place.line), float(place.mu))
    return PassQuery(x + tau * p, p, (STEPS - 1.0) * tau, *widths, float(place.share), walk.squares, bool(place.thin))


def certificate_of(walk: Walk) -> Certificate:
    """The certificate of the best answer."""
    place = walk.place
    primal, bound = float(place.primal), float(place.bound)
    if primal == np.inf:
        return Certificate.unknown(float(walk.x[-1]))
    return Certificate(primal, bound, relative_gap(primal, bound, float(place.unit)), float(place.b))


def update_walk(walk: Walk, outline: Outline, sums: PassSums) -> None:
    """Use the sums of a pass: certify its point, and move there with a new step, or try another length.

    A Newton step that is far too long was made of too few rows: along features that no row on the parabola has, only
    λ bounds it. Then the next passes copy the rows near their kink, and steps lead to the solution of the small
    problem that :mod:`hinge.solvers.newton.pass_sums` makes of them.
    """
    x, p, place = walk.x, walk.p, walk.place
    question = next_query(walk)
    _certify(walk, outline, question.u, sums)
    if len(walk.squares) and not walk.squares.any():
        walk.squares[:] = sums.squares
    if p.any():
        tau = _length(question, penalty_of(outline), sums.along) * float(place.tau)
        if tau != place.tau:
            place.tau, place.share = tau, outline.keep if len(walk.squares) else 0.0
            place.thin = False
            return
    x[:] = question.u
    place.tau = 1.0
    if question.share > 0.0:
        gap, terms = certificate_of(walk).gap, int(sums.costs.terms)
        to, bound = small_answer(outline, outline.loss, sums.rows, x, gap, terms)
        p[:], place.bound, place.line = to - x, max(place.bound, bound), place.sharp
    else:
        _newton_step(walk, outline, sums)


def _newton_step(walk: Walk, outline: Outline, sums: PassSums) -> None:
    """Set the Newton step from x for the width of the pass; reduce the width if the step promises little."""
    x, p, place, penalty = walk.x, walk.p, walk.place, penalty_of(outline)
    g = penalty * x - sums.z.sum(axis=0)
    if outline.bias == "none":
        g[-1] = 0.0
    p[:] = -by_features(outline, sums.H, g, 1.0 / (place.mu + outline.loss.curvature))
    place.line = place.mu
    paid = penalty > 0.0
    if 0.5 * float((g[paid] ** 2 / penalty[paid]).sum()) <= sums.costs.gap:  # smoothing now costs more
        place.mu *= 0.2


def _length(question: PassQuery, penalty: np.ndarray, along: np.ndarray) -> float:
    """The length to try next, relative to the one that was tried; 1 if that was good enough."""
    points = question.u + question.offsets[:, None] * question.p
    F = 0.5 * (points**2) @ penalty + along
    at = int(F.argmin())
    if F[0] - F[TRIAL] >= 0.5 * (F[0] - F[at]) - 1e-13 * abs(F[0]):  # half of the best decrease, but for rounding
        return 1.0
    if at in (0, len(F) - 1):
        return float(STEPS[-1] if at else 0.25 * STEPS[1])
    # The minimum of the parabola through the best and its neighbours, between which the minimum lies.
    (a, b, c), (fa, fb, fc) = STEPS[at - 1 : at + 2], F[at - 1 : at + 2]
    left, right = (b - a) * (fb - fc), (b - c) * (fb - fa)
    low = float(b - 0.5 * ((b - a) * left - (b - c) * right) / (left - right))
    return low if abs(low - 1.0) > 0.05 else float(b)


def _certify(walk: Walk, outline: Outline, u: np.ndarray, sums: PassSums) -> None:
    """Bound the objective at u from above, and the optimum from below; store the best of both."""
    place, w, b = walk.place, u[:-1], float(u[-1])
    paid, constant_sq = 0.5 * float(w @ w), 0.0
    if outline.bias == "penalized":
        paid, constant_sq = paid + 0.5 * (b / outline.bias_scale) ** 2, outline.bias_scale**2
    primal = primal_value(outline.lam, paid, len(w), float(sums.costs.loss), int(sums.costs.terms))
    place.bound = max(place.bound, dual_bound(sums, outline.lam, outline.loss, constant_sq, outline.bias == "free"))
    if primal < place.primal:
        walk.best[:] = w
        place.primal, place.b = primal, b
    place.unit = sums.costs.unit
    gap = certificate_of(walk).gap
    place.thin &= gap <= 0.1 * place.least  # a sampled H is kept only while passes gain a digit each
    better = gap < PROGRESS * place.least
    place.still = 0 if better else place.still + 1
    place.least = min(gap, place.least)
