"""Newton's method on the loss, smoothed where it has kinks, over growing subsamples, for many rows and few features."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems import Regularized, Solution
from hinge.problems.base import EPS, FEW, Cost
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton import systems
from hinge.solvers.newton.row_sums import add_outers, along, dual_at, margins_along, slopes, step_along
from hinge.solvers.newton.systems import STEP, factor_cost, form_of, hessian_cost, most_products, pass_cost, penalty_of

GROWTH = 4  # factor by which the rows in use grow from stage to stage
STALLED = 50  # steps without progress, on all rows, that end a run: rounding is all that is left
PROGRESS = 0.999  # progress is a gap or an objective below this share of the least one so far
NOTHING = FEW * EPS  # a decrease of the objective, which is at most about one, that is not worth a step
NARROWEST = 1e-2  # μ does not shrink below this share of the width; moving the centre does the rest
MOST_FEATURES = 20_000  # beyond, conjugate gradients take too many steps to be of use
DEAR = (
    5.0  # start with a narrow smoothing width if a full Hessian costs more than this many steps: it takes twice as long
)


class Evaluation(NamedTuple):
    """The objective, its gradient and the duality gap at x; the defaults are what is known before the first.

    ========== ====================================================================================
    `slope`    gᵀp, the derivative along the next direction
    `gap`      the rows' part of the gap
    `distance` ‖∇F‖²/(2λ), the gradient's part of the gap
    `dual`     dual objective
    `mass`     total weight of the rows in use
    `primal`   objective at x, or at the least multiple of x where every row has its margin if less
    `bound`    dual objective at α, or at a smaller multiple of α if larger
    ========== ====================================================================================
    """

    slope: float = 0.0
    gap: float = np.inf
    distance: float = np.inf
    dual: float = 0.0
    mass: float = 1.0
    primal: float = np.inf
    bound: float = 0.0


class NewtonState(NamedTuple):
    """The point and the next direction, the margins, the dual, and the level.

    ============ ==================================================================================
    `x`, `p`     the point and the next direction; the bias is the last entry
    `m`          margins yᵢ⟨x, (xᵢ, 1)⟩, in the order of `rows`
    `alpha`      dual weights
    `center`     centres of the smoothing, in the order of `rows`
    `z`          the combination of the rows with the dual weights
    `rows`       the rows in random order
    `curved`     which rows are on the parabola, in the order of `rows`
    `H`          lower triangle of the sum of their (xᵢ, 1)(xᵢ, 1)ᵀ; or the inner products of all rows
    `mu`         width of the smoothing
    `level`      the first `level` rows are in use
    `evaluation` the objective and the gap at x
    `known`      the first `known` margins are known
    `moved`      rows added to H or removed from it since it was summed up from scratch
    `least`      least gap so far
    `lowest`     least objective so far
    `still`      iterations in which neither has improved
    `leaving`    whether the next iteration begins a new stage
    `t`          iterations so far
    ============ ==================================================================================
    """

    x: np.ndarray
    p: np.ndarray
    m: np.ndarray
    alpha: np.ndarray
    center: np.ndarray
    z: np.ndarray
    rows: np.ndarray
    curved: np.ndarray
    H: np.ndarray
    mu: float
    level: int
    evaluation: Evaluation = Evaluation()
    known: int = 0
    moved: int = 0
    least: float = np.inf
    lowest: float = np.inf
    still: int = 0
    leaving: bool = False
    t: int = 0


@dataclass(frozen=True)
class Newton(Solver[Regularized, NewtonState]):
    """Newton steps on `Regularized` with a smoothed hinge, for n ≫ d or few features.

    With :math:`e_i = 1 - y_i(\\langle w, x_i\\rangle + b)` and a centre :math:`\\hat\\alpha`, at first ½,
    the hinge becomes a parabola where the slope lies within (0, 1), and the slope is the dual:

    .. math:: \\alpha_i = \\Pi_{[0,1]}\\big(\\hat\\alpha_i + e_i/\\mu\\big),\\qquad
              \\nabla F = \\lambda w - \\sum_i c_i\\alpha_i y_i x_i,\\qquad
              \\nabla^2 F = \\lambda I + \\frac1\\mu\\sum_{0<\\alpha_i<1} c_i x_i x_i^T .

    Each step is followed by an exact line search. A run begins with a few rows and a wide parabola;
    a stage ends when the decrease that Newton promises is small against the error of smoothing, and
    the next has four times the rows and a narrower parabola. On all rows a stage ends by making its
    dual the centre of the next, the proximal point method on the dual, so that the smoothing error
    goes to zero although μ does not. The slopes are a feasible dual, and the gap splits exactly into
    two parts that every step gives for free:

    .. math:: P(w) - D(\\alpha) = \\sum_i c_i\\big(\\ell(e_i) - \\alpha_i e_i\\big)
              + \\frac{\\|\\nabla F\\|^2}{2\\lambda} .

    An iteration reads the rows in use once, and again those whose dual moves; it costs their nonzeros,
    plus d² for each row that comes to the parabola or leaves it, and d³/3. Of fewer rows than features the inner
    products are kept instead, and factored. Where a factorisation would cost more than products with the rows, none
    is made: conjugate gradients multiply with the rows on the parabola. See
    :mod:`hinge.solvers.newton.systems`.

    Squared losses are parabolas themselves: μ = 0, and stages differ by their rows alone. For losses of
    regression α lies within [-1, 1], e is the residual, moved towards 0 by ε, and the first centre is 0. Where the bias
    costs ν besides, as in `OneClass`, its gradient has ν more.

    Parameters
    ----------
    width : float
        μ at which all rows are in use and the centre begins to move.
    shrink : float
        Factor from one μ to the next.
    parts : int
        Stretches into which sums over rows are cut, and the largest number of threads; never more are used than there
        are cores. The answer depends on `parts`, by rounding alone, and not on how fast the threads ran.

    References
    ----------
    O. Chapelle, *Training a Support Vector Machine in the Primal*, 2007. X. Li, D. Sun, K.-C. Toh, *A highly
    efficient semismooth Newton augmented Lagrangian method for solving Lasso problems*, 2018.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Newton
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Newton(), stop=Stop(tol=1e-5, max_iter=10**6))
    >>> result.certificate.gap <= 1e-5
    True
    """

    width: float = 0.1
    shrink: float = 0.4
    parts: int = 1

    any_loss = True
    free_level = True
    status_at_end = Status.STALLED
    paper = Paper("Training a Support Vector Machine in the Primal", "Chapelle", 2007, "with smoothing and subsamples")
    constraints = Constraints(width=number(above=0), shrink=number(above=0, below=1), parts=count())
    solves, instead = Regularized, "SGD for a norm bound"

    def _limits(self, problem: Regularized) -> str | None:
        if problem.d > MOST_FEATURES and form_of(problem) == "products":
            return f"Newton wants few features and many rows, not d = {problem.d}; use SDCA."
        return None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> NewtonState:
        d, rows = problem.d, _shuffled_rows(problem.n, seed)
        if len(problem.weight) > 1:
            rows = rows[problem.weight[rows] > 0]
        n = len(rows)
        x, level, mu = np.zeros(d + 1), n, self._width(problem)
        center = np.full(n, 0.0 if problem.loss.two_sided else 0.5, np.float32)
        if start is None:
            if problem.bias == "free" and problem.loss.two_sided:
                x[d] = problem.best_bias(np.zeros(problem.n))  # targets may lie far from 0
            # From w = 0 every row has e = 1: only a width above 2 puts them on the parabola.
            while 0.0 < mu <= 2.0 * problem.spread:
                mu /= self.shrink
            level = begins_with(problem, n)
            positive = problem.y[rows] > 0
            while level < n and (positive[:level] == positive[0]).all():
                level = min(n, level * GROWTH)  # a sample without both classes teaches nothing
        else:
            x[:d], x[d] = start.w, start.b
            if start.alpha is not None and mu > 0.0 and not problem.pull and _hessian_is_expensive(problem):
                # Few rows are on a narrow parabola about the dual of the start, and many on a wide one.
                center[:] = start.alpha[rows]
            else:
                mu = _width_at(problem, start, mu, self.shrink)
        return NewtonState(
            x,
            np.zeros(d + 1),
            np.zeros(n),
            np.zeros(problem.n),
            center,
            np.zeros(d + 1),
            rows,
            np.zeros(n, bool),
            systems.allocate_hessian(problem, n),
            mu,
            level,
        )

    def advance(self, problem: Regularized, state: NewtonState, n_iter: int) -> NewtonState:
        if n_iter == 0:  # compile: the same calls, over no rows
            A, y, t, weight, none = problem.matrix.rows, problem.y, problem.target, problem.weight, state.rows[:0]
            along(A, state.rows, y, state.x, 0, 0, state.m)
            slopes(A, none, y, t, weight, problem.loss, state.m, state.center, 1.0, state.alpha, state.z, state.curved)
            if form_of(problem) == "features":
                add_outers(A, none, weight, 1.0, state.H)
            step_along(problem, none, state.m[:0], state.m[:0], state.center, 1.0, 1.0, 1.0, 1.0, 1)
        for _ in range(n_iter):
            state = self._iterate(problem, self._next_stage(problem, state) if state.leaving else state)
        return state

    def _next_stage(self, problem: Regularized, state: NewtonState) -> NewtonState:
        """More rows and a narrower parabola; or, where all rows are in use, a new centre."""
        n, mu, width = len(state.rows), state.mu, self._width(problem)
        if state.level == n and mu <= width * 1.01:
            state.center[:] = state.alpha[state.rows]
            mu = max(mu * self.shrink, width * NARROWEST)
        elif mu > width * 1.01:
            mu *= self.shrink
        return state._replace(mu=mu, level=min(n, state.level * GROWTH))

    def _iterate(self, problem: Regularized, state: NewtonState) -> NewtonState:
        x, p, m, center, rows = state.x, state.p, state.m, state.center, state.rows
        level, mu = state.level, state.mu
        if state.known < level:
            margins_along(problem, rows, x, state.known, level, m, self.parts)
        if state.leaving or state.t == 0:
            state = _evaluate(problem, state, self.parts)
        q = np.empty(level)
        margins_along(problem, rows, p, 0, level, q, self.parts)
        penalty = penalty_of(problem)
        first, second = float(penalty @ (x * p)) + problem.pull * float(p[-1]), float(penalty @ (p * p))
        tau = step_along(problem, rows[:level], m, q, center, mu, state.evaluation.mass, first, second, self.parts)
        x += tau * p
        q *= tau
        m[:level] += q
        del q
        state = _evaluate(problem, state, self.parts)
        evaluation = state.evaluation
        if level == len(rows) and mu <= self._width(problem) * 1.01:
            leaving = evaluation.distance <= evaluation.gap or -evaluation.slope <= NOTHING * evaluation.gap
        else:  # what smoothing hides; or, where nothing is smoothed, what so few rows cannot tell
            error = evaluation.gap if mu > 0.0 else evaluation.dual * min(1.0, (problem.d + 1) / level)
            leaving = -evaluation.slope <= error + NOTHING * problem.spread
        total = evaluation.gap + evaluation.distance
        # The gap may long stay as it is while steps bring rows to the parabola one by one; the objective falls then.
        lower = PROGRESS * state.lowest if state.lowest > 0.0 else state.lowest / PROGRESS
        better = level < len(rows) or total < PROGRESS * state.least or evaluation.primal < lower
        return state._replace(
            known=max(state.known, level),
            least=min(total, state.least) if better else state.least,
            lowest=min(evaluation.primal, state.lowest) if better else state.lowest,
            still=0 if better else state.still + 1,
            leaving=leaving,
            t=state.t + 1,
        )

    def _width(self, problem: Regularized) -> float:
        """μ at which all rows are in use, in units of the spread of the targets; 0 if the loss is smooth."""
        return 0.0 if problem.loss.curvature else self.width * problem.spread

    def solution(self, problem: Regularized, state: NewtonState) -> Solution:
        d = problem.d
        b = 0.0 if problem.bias == "none" else float(state.x[d])
        return Solution(state.x[:d], b, state.alpha)

    def cost(self, problem: Regularized, state: NewtonState | None = None) -> Cost:
        """Margins of new rows, two evaluations, the direction; and the products if the Hessian is not formed."""
        passes = 6 + 2 * most_products(problem) if form_of(problem) == "products" else 8
        return Cost(cells=passes * problem.matrix.n_cells)

    def pause(self, problem: Regularized, state: NewtonState) -> int:
        return int(state.still < STALLED)

    def estimate(self, problem: Regularized, state: NewtonState) -> float:
        """The exact gap of the last evaluation, once all rows are in use (but for the bias constraint)."""
        if state.level < len(state.rows):
            return np.inf
        return problem.relative(state.evaluation.primal, state.evaluation.bound)

    def refresh(self, problem: Regularized, state: NewtonState) -> NewtonState:
        return state._replace(leaving=True)


def begins_with(problem: Regularized, n: int | None = None) -> int:
    """Rows of the first level, of n: at least 500, and 4 per feature, since few rows are separable and mislead."""
    level = problem.n if n is None else n
    while level > GROWTH * max(500, 4 * problem.d):
        level = -(-level // GROWTH)
    return level


def sample_tolerance(d: int, rows: int) -> float:
    """The gap to which a sample is solved: it is no more exact than this, other rows would give another answer."""
    return min(0.1, max(1e-4, d / rows))


def _hessian_is_expensive(problem: Regularized) -> bool:
    """Whether a Hessian of all rows costs more than several steps without it."""
    step = STEP + pass_cost(problem) + factor_cost(problem.d)
    return form_of(problem) == "features" and hessian_cost(problem) > DEAR * step


def _width_at(problem: Regularized, start: Solution, mu: float, shrink: float) -> float:
    """The first width at a start: mu, or so wide that the smoothing error is the duality gap of the start, if known."""
    if start.alpha is None or mu == 0.0 or problem.pull:
        return mu
    found = problem.certificate(start)
    # A hinge that is smoothed with the width μ differs from the hinge by up to μ/8.
    while mu <= 2.0 * problem.spread and mu < 8.0 * (found.objective - found.bound):
        mu /= shrink
    return mu


def _evaluate(problem: Regularized, state: NewtonState, parts: int) -> NewtonState:
    """The dual, the parts of the gap and the next direction at x, from the margins there."""
    x, p, alpha, z, rows, mu = state.x, state.p, state.alpha, state.z, state.rows, state.mu
    level, penalty, before = state.level, penalty_of(problem), state.curved.copy()
    mass, gap, linear = dual_at(problem, rows[:level], state.m, state.center, mu, alpha, z, state.curved, parts)
    sharpness = 1.0 / (mu + problem.loss.curvature)
    combined = z / mass
    g = penalty * x - combined
    g[-1] += problem.pull
    if problem.bias == "none":
        g[-1] = 0.0
    scale, moved, form = sharpness / mass, state.moved, form_of(problem)
    if form == "features":
        moved = systems.update_hessian(problem, state.H, rows, before, state.curved, moved, parts)
        p[:] = -systems.by_features(problem, state.H, g, scale)
    elif form == "rows":
        if not moved:
            state.H[:], moved = problem.matrix.inner_products(rows), len(rows)
        p[:] = -systems.by_rows(problem, state.H, rows, state.curved, g, scale)
    else:
        p[:] = -systems.by_products(problem, rows[:level][state.curved[:level]], g, scale, parts)
    paid = penalty if penalty[-1] > 0.0 else penalty[:-1]  # a free bias costs nothing
    n = len(paid)
    gained, square = float(linear / mass), float((combined[:n] ** 2 / paid).sum())
    dual = gained - 0.5 * square
    bound, primal = dual, float(gap / mass + gained + x[:n] @ (0.5 * paid * x[:n] - combined[:n]))
    # The objectives at the best multiples of x and α, for separable data and a small λ: then an α of the right
    # direction may be far too long, and a slightly violated margin may cost far more than w.
    if problem.loss.low == 0.0 == problem.loss.curvature and not problem.pull:
        if 0.0 < gained < square:
            bound = 0.5 * gained**2 / square
        if (least := state.m[:level].min() / problem.spread) > 0.0:
            primal = min(primal, 0.5 * float(paid @ x[:n] ** 2) / least**2)
    evaluation = Evaluation(
        slope=float(g @ p),
        gap=float(gap / mass),
        distance=0.5 * float((g[:n] ** 2 / paid).sum()),
        dual=dual,
        mass=float(mass),
        primal=primal,
        bound=bound,
    )
    return state._replace(evaluation=evaluation, moved=moved)


def _shuffled_rows(n: int, seed: int) -> np.ndarray:
    """All rows, in blocks of 64 neighbours in random order: any prefix is a sample, and reads are local."""
    order = np.random.default_rng(seed).permutation(-(-n // 64)).astype(np.uint32)
    rows = (order[:, None] * np.uint32(64) + np.arange(64, dtype=np.uint32)).ravel()
    return rows[rows < n] if n % 64 else rows
