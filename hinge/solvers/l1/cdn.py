"""Coordinate descent by one-dimensional Newton steps, over working sets of columns, where w pays for its 1-norm."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import cell, dot, read_row, span
from hinge.access.matrix import ROW_BLOCK_CELLS, frozen
from hinge.access.rows import DenseRows
from hinge.compiled import compiled
from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems import L1Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.base import Paper, Solver
from hinge.solvers.l1.face_newton import (
    Face,
    add_columns,
    constant,
    cost_of,
    count_cells,
    face_of,
    face_step,
    most_reads,
    penalties,
    shares,
)

FAINT = 1e-12  # a slope that exceeds λ by less than this share is rounding: the weight stays zero
STEPS = 3  # Newton steps in an iteration

_SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity keep their meaning


class CDNState(NamedTuple):
    """A point and its residuals, the best dual point so far, and the next working set.

    ========= ====================================================================================
    `w`       weights; the weight of the constant column is the last entry
    `e`       residuals yᵢ - ⟨w, xᵢ⟩ - b
    `alpha`   dual point of the largest objective so far
    `columns` the first `size` entries are the working set
    `cells`   their cells
    `size`    columns in the working set
    `worst`   largest violation of the optimality conditions over all columns
    `primal`  objective at w, up to rounding
    `dual`    objective at `alpha`, up to rounding
    `spent`   cost of the epochs since the last Newton step
    `ridge`   ridge of the next Newton step
    `still`   iterations without progress
    `stale`   whether e is to be computed anew
    `t`       iterations so far
    ========= ====================================================================================
    """

    w: np.ndarray
    e: np.ndarray
    alpha: np.ndarray
    columns: np.ndarray
    cells: int
    size: int = 0
    worst: float = np.inf
    primal: float = np.inf
    dual: float = 0.0
    spent: float = 0.0
    ridge: float = 1e-2
    still: int = 0
    stale: bool = False
    t: int = 0


@dataclass(frozen=True)
class CDN(Solver[L1Regularized, CDNState]):
    """Coordinate descent by Newton steps for `L1Regularized`, over working sets of columns.

    With :math:`e_i = y_i - \\langle w, x_i\\rangle - b`, and sums over the rows that violate their margin,
    :math:`y_i e_i > 0`, a visit of column j minimises a parabola with the absolute value,

    .. math:: z_j = 2\\sum_i c_i e_i x_{ij},\\quad h_j = 2\\sum_i c_i x_{ij}^2,\\quad
              w_j \\leftarrow \\frac{S_\\lambda(h_j w_j + z_j)}{h_j},\\qquad
              S_\\lambda(u) = \\mathrm{sign}(u)\\max(0, |u| - \\lambda),

    and halves the step until the objective falls by a hundredth of what that promises, which the first nearly always
    does. The working set of an iteration has the columns with a weight, and the same number of columns without one
    that violate :math:`|z_j| \\le \\lambda` most. An iteration visits it until its largest violation is a share of the
    largest violation at first, and then evaluates all columns, which gives the gap: the dual point is
    :math:`\\alpha_i = 2\\max(0, y_i e_i)`, scaled until the constraints hold.

    Where columns hang together, epochs gain little. As soon as those since the last one have cost as much, and
    then for as long as it gains more for its cost, a Newton step is made for all weights that are not zero, see
    `face_newton`. It finds the optimum once signs and violated margins are the same as at the optimum.

    An iteration reads all columns once, and those it takes once an epoch: it costs their nonzeros. The first
    copies the data by columns.

    Parameters
    ----------
    first : int
        Columns that the first iteration takes.
    epochs : int
        The most epochs of an iteration.
    share : float
        Of the worst violation, what the epochs of an iteration leave.

    Notes
    -----
    *Differs* from the paper: columns are visited in their order, not a random one; working sets take the place of
    shrinking, and are solved to a share of what is wrong outside of them; there are Newton steps.

    References
    ----------
    G.-X. Yuan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, *A Comparison of Optimization Methods and Software for
    Large-scale L1-regularized Linear Classification*, 2010. Working sets: M. Massias, A. Gramfort, J. Salmon,
    *Celer: a Fast Solver for the Lasso with Dual Extrapolation*, 2018.

    Examples
    --------
    >>> from hinge import L1Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import CDN
    >>> made = make_known_optimum(200, 30, 0.01)
    >>> result = solve(L1Regularized(made.X_train, made.y_train, lam=0.05), CDN(), stop=Stop(tol=1e-3))
    >>> result.certificate.gap <= 1e-3, bool((result.solution.w == 0).any())
    (True, True)
    """

    first: int = 64
    epochs: int = 6
    share: float = 0.3

    any_loss = True
    status_at_end = Status.STALLED
    paper = Paper(
        "A Comparison of Optimization Methods and Software for Large-scale L1-regularized Linear Classification",
        "Yuan, Chang, Hsieh, Lin",
        2010,
        "Section 4.1, CDN; with working sets",
    )
    constraints = Constraints(first=count(), epochs=count(), share=number(above=0, below=1))
    solves, instead = L1Regularized, "SDCA or Newton, or penalty='l1'"

    def init(self, problem: L1Regularized, seed: int = 0, start: Solution | None = None) -> CDNState:
        d, w, e = problem.d, np.zeros(problem.d + 1), problem.y.astype(np.float64)
        if start is not None:
            w[:d] = start.w
            e -= problem.responses(start.w)
            if problem.bias != "none":
                w[d] = start.b / constant(problem)
                e -= start.b
        return CDNState(w, e, np.zeros(problem.n), np.zeros(d, np.int64), problem.matrix.n_cells)

    def advance(self, problem: L1Regularized, state: CDNState, n_iter: int) -> CDNState:
        for _ in range(n_iter):
            if state.t == 0:
                state = self._evaluate(problem, state)
            if state.stale:
                _compute_anew(problem, state)
            spent, ridge = self._descend(problem, state)
            state = self._evaluate(problem, state)._replace(stale=False, spent=spent, ridge=ridge, t=state.t + 1)
        return state

    def _descend(self, problem: L1Regularized, state: CDNState) -> tuple[float, float]:
        """Run epochs over the working set until it is solved well enough; w and e are overwritten.

        Returns what the epochs since the last Newton step have cost, and the ridge of the next.
        """
        w, e, c, spent, ridge = state.w, state.e, shares(problem), state.spent, state.ridge
        taken = state.columns[: state.size]
        if state.worst <= FAINT * problem.lam:
            return spent, ridge
        rate, cost, steps = 0.0, 3.0 * (state.cells + problem.n), 0  # a visit takes as long as three passes
        for epoch in range(self.epochs if state.t else 1):
            worst, fall = _epoch(problem, c, taken, w, e)
            spent += cost
            if worst <= self.share * state.worst:
                break
            face = face_of(problem, taken, w)
            price = cost_of(problem, face)[0]
            if epoch and steps < STEPS and face.size and (spent >= price or rate > fall / cost):
                ridge, fall, systems = face_step(problem, c, face, w, e, ridge)
                spent, rate, steps = 0.0, fall / (price * systems), steps + 1
        return spent, ridge

    def _evaluate(self, problem: L1Regularized, state: CDNState) -> CDNState:
        """The objectives at w, from all columns, and the next working set."""
        w, c, d, paid = state.w, shares(problem), problem.d, penalties(problem)
        short = np.maximum(problem.y * state.e, 0.0)
        pull = 2.0 * c * problem.y * short
        z, A = np.zeros(d + 1), problem.matrix.columns
        for lo, hi in _pieces(problem, d):
            _scan(A, lo, hi, pull, z)
        if problem.bias != "none":
            z[d] = float(pull.sum()) * constant(problem)
        steepest = float(np.abs(z[paid > 0.0]).max())
        loss, mass = float((c * short) @ short), 2.0 * float(np.sum(c * short))
        primal = float(paid @ np.abs(w)) + loss
        scale = min(problem.lam / steepest if steepest > 0.0 else np.inf, 0.5 * mass / loss if loss > 0.0 else 1.0)
        dual = scale * (mass - scale * loss)
        if dual > state.dual:
            np.multiply(short, 2.0, out=state.alpha)
        rounding = 1e-15
        moved = primal < state.primal * (1.0 - rounding) or dual > state.dual * (1.0 + rounding)
        off = np.where(w == 0.0, np.abs(z) - paid, np.abs(z - paid * np.sign(w)))
        taken = self._working_set(off[:d], np.flatnonzero(w[:d]), problem.lam)
        state.columns[: len(taken)] = taken
        return state._replace(
            size=len(taken),
            cells=int(count_cells(A, taken)),
            worst=max(0.0, float(off.max())),
            primal=primal,
            dual=max(dual, state.dual),
            still=0 if moved else state.still + 1,
        )

    def _working_set(self, off: np.ndarray, support: np.ndarray, lam: float) -> np.ndarray:
        """The columns that have a weight, and the same number of others with the largest violations, in their order."""
        outside = np.flatnonzero(off > FAINT * lam)
        outside = np.setdiff1d(outside, support, assume_unique=True)
        room = max(self.first, len(support))
        if len(outside) > room:
            outside = outside[np.argpartition(off[outside], len(outside) - room)[-room:]]
        return np.sort(np.concatenate([support, outside]))

    def solution(self, problem: L1Regularized, state: CDNState) -> Solution:
        b = 0.0 if problem.bias == "none" else float(state.w[-1]) * constant(problem)
        return Solution(state.w[:-1], b, state.alpha)

    def cost(self, problem: L1Regularized, state: CDNState | None = None) -> Cost:
        """All columns, and epochs and Newton steps over the working set; first, all columns twice and one epoch."""
        cells = problem.matrix.n_cells
        if state is None or state.t == 0:
            return Cost(cells=3 * cells, setup=0 if problem.matrix.has_columns else cells)
        most = most_reads(problem, Face(state.columns[: state.size], True))
        return Cost(cells=cells + (1 + self.epochs + STEPS * most) * state.cells)

    def pause(self, problem: L1Regularized, state: CDNState) -> int:
        """1, or 0 after three iterations without progress: only rounding is left."""
        return int(state.still < 3)

    def estimate(self, problem: L1Regularized, state: CDNState) -> float:
        """The gap of the last evaluation, but for rounding and a free bias."""
        return problem.relative(state.primal, state.dual)

    def refresh(self, problem: L1Regularized, state: CDNState) -> CDNState:
        return state._replace(stale=True)


def _pieces(problem: L1Regularized, count: int) -> Iterator[tuple[int, int]]:
    """A number of columns in ranges that take some milliseconds each, so that Ctrl-C takes effect soon."""
    step = max(1, ROW_BLOCK_CELLS * problem.d // max(1, problem.matrix.n_cells))
    for lo in range(0, count, step):
        yield lo, min(lo + step, count)


def _epoch(
    problem: L1Regularized, c: np.ndarray, taken: np.ndarray, w: np.ndarray, e: np.ndarray
) -> tuple[float, float]:
    """Visit the working set and the constant column; returns the largest violation, and the decrease."""
    A, y, lam, worst, fall = problem.matrix.columns, problem.y, problem.lam, 0.0, 0.0
    least = FAINT * lam
    for lo, hi in _pieces(problem, len(taken)):
        off, more = _visit(A, taken[lo:hi], y, c, lam, least, w, e)
        worst, fall = max(worst, off), fall + more
    if problem.bias != "none":
        ones = DenseRows(frozen(np.full((1, problem.n), constant(problem))), np.zeros(1, np.int64))
        off, more = _visit(ones, np.zeros(1, np.int64), y, c, penalties(problem)[-1], least, w[-1:], e)
        worst, fall = max(worst, off), fall + more
    return worst, fall


def _compute_anew(problem: L1Regularized, state: CDNState) -> None:
    """Compute e from w, without the rounding errors of its updates."""
    e = state.e
    e[:] = problem.y
    support = np.flatnonzero(state.w[:-1])
    A = problem.matrix.columns
    for lo, hi in _pieces(problem, len(support)):
        add_columns(A, support[lo:hi], -state.w[support[lo:hi]], e)
    e -= state.w[-1] * constant(problem)


@compiled
def _visit(A, taken, y, weight, lam, least, w, e):
    """A Newton step for each of these columns that is off by more than the least.

    A step is accepted if the objective falls by a hundredth of what the model promises (Armijo's rule), and halved up
    to 30 times if not. Returns by how much the worst column was off, and by how much the objective fell.
    """
    worst = fall = 0.0
    for k in range(len(taken)):
        j = taken[k]
        column = read_row(A, j)
        old = w[j]
        z, h = _slope(A, column, y, weight, e)
        off = abs(z) - lam if old == 0.0 else abs(z - lam * np.sign(old))
        worst = max(worst, off)
        if off <= least:
            continue
        u = h * old + z
        new = np.sign(u) * max(0.0, abs(u) - lam) / h if h > 0.0 else 0.0
        step = new - old
        promised = lam * (abs(new) - abs(old)) - z * step
        change = _move(A, column, y, weight, step, e)
        tries = 0
        while change + lam * (abs(old + step) - abs(old)) > 0.01 * promised:
            back = -step if tries == 30 else -0.5 * step
            change += _move(A, column, y, weight, back, e)
            step, promised, tries = step + back, 0.5 * promised, tries + 1
            if step == 0.0:
                break
        w[j] = new if tries == 0 else old + step
        fall -= change + lam * (abs(w[j]) - abs(old))
    return worst, fall


@compiled(fastmath=_SUMS)
def _slope(A, column, y, weight, e):
    """z and h of a column: the loss falls by zδ - hδ²/2 where its weight grows by a small δ."""
    first = second = 0.0
    start, stop = span(A, column)
    for p in range(start, stop):
        i, x = cell(A, column, p)
        if y[i] * e[i] > 0.0:
            s = weight[i] if len(weight) > 1 else weight[0]
            first += s * e[i] * x
            second += s * x * x
    return 2.0 * first, 2.0 * second


@compiled(fastmath=_SUMS)
def _move(A, column, y, weight, step, e):
    """e for a weight that grows by a step, and the change of the loss."""
    change = 0.0
    start, stop = span(A, column)
    for p in range(start, stop):
        i, x = cell(A, column, p)
        s = weight[i] if len(weight) > 1 else weight[0]
        old = e[i]
        new = old - step * x
        e[i] = new
        before, after = max(0.0, y[i] * old), max(0.0, y[i] * new)
        change += s * (after - before) * (after + before)
    return change


@compiled
def _scan(A, lo, hi, pull, z):
    for j in range(lo, hi):
        z[j] = dot(A, read_row(A, j), pull)
