"""The largest margin by dual coordinate ascent on a growing set of rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import add_row, dot, held_row, sq_norm
from hinge.compiled import Scalars, compiled, scalars
from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems.base import Cost
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.sampling import draw_unit, draw_units, key_of
from hinge.solvers.base import Paper, Solver

EPOCHS_AT_ONCE = 4  # epochs of an iteration: a few, so that Ctrl-C and limits are noticed in time


class WorkingSetState(NamedTuple):
    """α and w = Σ αᵢyᵢaᵢ; the working set, at the beginning of `members`; the x and p with the best bounds.

    `s` has the best bounds `lower` and `upper`; `aim`, the relative gap on all rows at the last pass; `narrowest`, the
    smallest difference of the bounds; the iterations `t`; the number of `rows` in the set; the `epochs` since the last
    pass; and `still`, the iterations without progress.
    """

    alpha: np.ndarray
    w: np.ndarray
    members: np.ndarray
    best_x: np.ndarray
    best_p: np.ndarray
    s: Scalars
    key: np.uint64

    @property
    def t(self) -> int:
        """Iterations so far."""
        return int(self.s.t)


@dataclass(frozen=True)
class WorkingSet(Solver[MaxMargin, WorkingSetState]):
    """Dual coordinate ascent for the hard margin on few rows; passes over all rows certify, and add rows.

    On the rows of the working set W,

    .. math:: \\alpha_i \\leftarrow \\max\\Big(0,\\ \\alpha_i +
              \\frac{1 - y_i\\langle w, a_i\\rangle}{\\|a_i\\|^2}\\Big), \\qquad w = \\sum_i \\alpha_i y_i
              a_i,

    in random order, until the gap on W is a fraction of the gap on all rows. Any α ≥ 0 and any w bound σ,

    .. math:: \\frac{\\min_i y_i\\langle w, a_i\\rangle}{\\|w\\|}\\ \\le\\ \\sigma\\ \\le\\
              \\frac{\\|\\sum_i \\alpha_i y_i a_i\\|}{\\sum_i \\alpha_i},

    and a pass over all rows computes the left side. W then consists of all rows with α > 0, and of rows with the
    smallest margins, up to twice the size of W. If no hyperplane separates the rows, α grows without bound, w does not,
    and the upper bound goes to zero: p = α/Σα proves it.

    An iteration is up to four epochs over W, and the pass if one is due. It takes 3 to 10 passes to a relative gap of
    1e-3 if the margin is not tiny.

    Parameters
    ----------
    first : int
        Rows of the first working set, drawn uniformly.
    tol : float
        The relative gap at which the run will stop, if it is known: W is solved no further than a fraction of it.

    References
    ----------
    C.-J. Hsieh et al., *A Dual Coordinate Descent Method for Large-scale Linear SVM*, ICML 2008, for the
    step.

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import WorkingSet
    >>> made = make_separable(200, 20, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=1e-3, method=WorkingSet())
    >>> found.lower <= made.margin <= found.upper, bool(found.gap <= 1e-3)
    (True, True)
    """

    first: int = 256
    tol: float = 0.0

    exact_estimate = True
    status_at_end = Status.STALLED
    paper = Paper(
        "A Dual Coordinate Descent Method for Large-scale Linear SVM",
        "Hsieh et al.",
        2008,
        "the step; the working set is our own",
    )
    constraints = Constraints(first=count(), tol=number(least=0))
    solves, instead = MaxMargin, "PDHG or PrimalDual"

    def init(self, problem: MaxMargin, seed: int = 0, start: Strategies | None = None) -> WorkingSetState:
        n, d, key = problem.n, problem.d, key_of(seed)
        size = min(n, self.first)
        members = np.zeros(n, np.int64)
        chosen = np.argpartition(draw_units(key, 0, n), size - 1)[:size] if size < n else np.arange(n)
        members[:size] = np.sort(chosen)
        return WorkingSetState(
            np.zeros(n),
            np.zeros(d),
            members,
            np.zeros(d),
            np.full(n, 1.0 / n),
            scalars(lower=0.0, upper=np.inf, aim=1.0, narrowest=np.inf, t=0, rows=size, epochs=0, still=0),
            key,
        )

    def advance(self, problem: MaxMargin, state: WorkingSetState, n_iter: int) -> WorkingSetState:
        for _ in range(n_iter):
            self._epoch(problem, state)
            s = state.s
            width = max(0.0, s.upper - s.lower)
            s.still = 0 if width < 0.999 * s.narrowest else s.still + 1
            s.narrowest = s.narrowest if s.still else width
        return state

    def _epoch(self, problem: MaxMargin, state: WorkingSetState) -> None:
        """A few epochs on the working set; then a pass over all rows, if the set is solved well enough."""
        alpha, w, members, _, best_p, s, key = state
        s.t += 1
        W = members[: s.rows]
        copy = problem.held_rows(W)
        y, mine = problem.y[W], alpha[W]
        # The relative gap to which the set is solved before the next pass.
        enough = max(0.15 * s.aim, 0.3 * self.tol)
        counter, parts = s.t * EPOCHS_AT_ONCE * problem.n, (copy.unbilled, copy.sq_norms)
        worst, zero = epochs(*parts, y, mine, w, key, counter, 1.5 * enough)
        s.epochs += EPOCHS_AT_ONCE
        if zero >= 0:  # a row of norm zero has the margin 0 for every x
            best_p[:] = 0.0
            best_p[W[zero]] = 1.0
            s.upper = 0.0
            return
        alpha[W] = mine
        norm, mass = float(np.linalg.norm(w)), float(mine.sum())
        if not np.isfinite(norm):
            problem.values(np.zeros(problem.d))  # raises, naming the row that is not finite
        if norm < s.upper * mass:
            s.upper = norm / mass
            best_p[:] = alpha / mass
        overdue = s.epochs >= 200
        if norm > 0.0 and (worst <= 1.5 * enough or overdue):
            least = float((y * copy.responses(w, 0, len(W), billed=False)).min())
            if 1.0 - (least / norm) * (mass / norm) <= enough or overdue:
                self._pass(problem, state, norm, mass)

    def _pass(self, problem: MaxMargin, state: WorkingSetState, norm: float, mass: float) -> None:
        """Margins of all rows: evaluate the bounds, and choose the next working set."""
        alpha, w, members, best_x, _, s, _ = state
        m = problem.quick_values(w)
        lower = float(m.min()) / norm
        if lower > s.lower:
            s.lower = lower
            best_x[:] = w / norm
        gap = min(1.0, 1.0 - lower * mass / norm)  # relative, of the present w and α
        s.aim = min(1.0, max(gap, 1e-12))
        kept = alpha > 0.0
        near = np.flatnonzero((m < 1.0 + 0.3 * gap / max(1.0 - gap, 1e-12)) & ~kept)
        room = max(self.first, 2 * int(s.rows))
        if len(near) > room:
            near = near[np.argpartition(m[near], room - 1)[:room]]
        chosen = np.sort(np.concatenate([np.flatnonzero(kept), near]))
        members[: len(chosen)] = chosen
        s.rows, s.epochs = len(chosen), 0

    def solution(self, problem: MaxMargin, state: WorkingSetState) -> Strategies:
        x = state.best_x
        if not x.any() and (norm := float(np.linalg.norm(state.w))) > 0.0:
            x = state.w / norm
        return Strategies(x.copy(), state.best_p.copy())

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: MaxMargin, state: WorkingSetState) -> float:
        """The gap of the best bounds, in the precision of the storage."""
        return problem.gap(state.s.lower, state.s.upper)

    def cost(self, problem: MaxMargin, state: WorkingSetState | None = None) -> Cost:
        return Cost(cells=2 * problem.pass_cells, a_pass=max(1, problem.n // self.first))

    def pause(self, problem: MaxMargin, state: WorkingSetState) -> int:
        return int(state.s.still < 1000)  # iterations that together narrow the bounds by less than a thousandth


@compiled
def epochs(A, sq_norms, y, alpha, w, key, counter, enough):
    """A few epochs; fewer if the largest violation of one is at most `enough`."""
    worst, zero = 0.0, -1
    for k in range(EPOCHS_AT_ONCE):
        worst, zero = epoch(A, sq_norms, y, alpha, w, key, counter + k * len(alpha))
        if zero >= 0 or worst <= enough:
            break
    return worst, zero


@compiled
def epoch(A, sq_norms, y, alpha, w, key, counter):
    """Every row once, in random order; returns the largest violation, and a row of norm zero or -1."""
    order = np.arange(len(alpha))
    worst = 0.0
    for k in range(len(order) - 1, -1, -1):
        other = int(draw_unit(key, counter + k) * (k + 1))
        i = order[other]
        order[other] = order[k]
        x = held_row(A, i)
        if np.isnan(sq_norms[i]):  # not computed yet
            sq_norms[i] = sq_norm(A, x)
        sq = sq_norms[i]
        if sq == 0.0:
            return worst, i
        slack = 1.0 - y[i] * dot(A, x, w)
        step = max(slack / sq, -alpha[i])
        if step != 0.0:
            worst = max(worst, abs(slack))
            alpha[i] += step
            add_row(A, x, step * y[i], w)
    return worst, -1
