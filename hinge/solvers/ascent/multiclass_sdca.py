"""Stochastic dual ascent for several classes together: all dual weights of a row in one exact step."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import add_row, dot, dots, read_row, sq_norm
from hinge.compiled import Scalars, compiled, scalars
from hinge.constraints import Constraints, count
from hinge.problems import Multiclass, Solution
from hinge.problems.base import Cost
from hinge.problems.max_min.linear import project_onto_simplex
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import (
    SHRUNK,
    begin,
    ends_epoch,
    first_epoch,
    next_rows,
    rows_a_block,
    rows_to_look,
    unmarked,
)
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton.systems import solved

LISTED = 2  # a list of active classes pays where it is shorter than all of them by this factor
REST = 0.6  # rows whose violation is below this share of a typical one are skipped for a while
WAKE = 0.2  # skipped rows come back once the gap of the others is this share of the gap of all undecided rows
AGAIN = 0.1  # decided rows come back once the gap of the undecided is this share of the gap of all rows
LONG = 8  # or after this many passes
MOST_DOUBT = 30.0  # times the gap of a part of the rows
PASSES = 4.0  # passes before the first Newton step
VISIT = 256.0  # a visit costs as much as this many multiplications, besides its own


class MulticlassSDCAState(NamedTuple):
    """A dual point and the place in the current epoch.

    `p` has the dual weights, `V` the combination of rows. Of row i, `listed[i, :size[i]]` are the classes that are
    still looked at; all are where the size is 0, and the row is decided where it is 1. `dual` has the value of the
    dual, times Σ s; the gap as this epoch has met it so far, and as the last one did; the gaps of the last epoch
    over all rows (`whole`) and over all that are not decided (`awake`), whether this is such an epoch, whether the
    next is to be one, and the iteration `since` the former; the gap of the rows that `rest`; the `doubt` about a
    gap of some rows; the sum of this epoch's violations, and the mean of the last one's; the work since the last
    Newton step, and that after which one is due. `epoch` is described in `first_epoch`.
    """

    p: np.ndarray
    V: np.ndarray
    sq: np.ndarray
    active: np.ndarray
    order: np.ndarray
    listed: np.ndarray
    size: np.ndarray
    dual: Scalars
    epoch: Scalars
    key: np.uint64

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return int(self.epoch.t)


@dataclass(frozen=True)
class MulticlassSDCA(Solver[Multiclass, MulticlassSDCAState]):
    """Stochastic dual block ascent for `Multiclass`.

    With :math:`v_k = \\sum_i s_i([k = y_i] - p_{ik})x_i` and :math:`\\Lambda = \\lambda\\sum_i s_i`, so that
    :math:`w_k = v_k/\\Lambda`, an iteration visits a row i and maximises the dual over all of :math:`p_i`: with
    :math:`G_k = \\langle w_k, x_i\\rangle + [k \\ne y_i]` and :math:`h = s_i\\|x_i\\|^2/\\Lambda`,

    .. math:: p_i \\leftarrow \\Pi_\\Delta(p_i + G/h), \\qquad
              v_k \\leftarrow v_k - s_i\\,\\Delta p_{ik}\\, x_i .

    The projection onto the simplex is :math:`\\max(0, \\cdot - \\theta)`, whose level θ Newton's method finds in a
    few rounds over the classes that can be above it. An iteration reads one row, and costs its nonzeros times the
    classes.

    Parameters
    ----------
    shrinking : bool
        Leave alone classes of a row without weight whose :math:`G_k` is below the G of all with weight, and rows of
        which one class is left or whose violation is small. All come back when the gap of the others has fallen,
        and after every certificate that is not good enough.
    newton : bool
        With shrinking, and while few weights are between 0 and 1, move them all together now and then, see
        :mod:`hinge.solvers.ascent.multiclass_sdca`.
    block_rows : int, optional
        An epoch visits blocks of this many neighbouring rows in random order; by default some KiB of rows.

    Notes
    -----
    *Differs* from Crammer and Singer, who sort for θ and take the row that violates most; and from Keerthi and
    others, where rows rest only when one class is left. The violation of a row is what the largest G is above the
    least of a class with weight. On 20 newsgroups, tf-idf, a gap of 1e-4 took 3.0 s where rows with less than 0.6
    of the mean violation rest, and 4.0 s where none does. Of a row of which many classes are left, all are looked
    at: side by side in memory they are faster than one by one. The Newton steps are our own.

    References
    ----------
    K. Crammer, Y. Singer, *On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines*, JMLR 2,
    2001, section 6. Order and shrinking: S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, *A
    Sequential Dual Method for Large Scale Multi-class Linear SVMs*, KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Multiclass
    >>> from hinge.solvers import MulticlassSDCA
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Multiclass(X, y, lam=0.01, bias_scale=1.0)
    >>> result = solve(problem, MulticlassSDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3, result.solution.w.shape
    (True, (5, 3))
    """

    shrinking: bool = True
    newton: bool = True
    block_rows: int | None = None

    paper = Paper(
        "On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines",
        "Crammer, Singer",
        2001,
        "section 6",
    )
    constraints = Constraints(block_rows=count() | None)
    solves, instead = Multiclass, "SDCA"

    def init(self, problem: Multiclass, seed: int = 0, start: Solution | None = None) -> MulticlassSDCAState:
        n, k = problem.n, problem.k
        dual = scalars(
            value=0.0,
            gap_so_far=0.0,
            gap=np.inf,
            whole=True,
            awake=True,
            wake=False,
            whole_gap=np.inf,
            awake_gap=np.inf,
            since=0,
            rest=0.0,
            doubt=1.0,
            violation=0.0,
            typical=0.0,
            work=0.0,
            due=np.inf,
        )
        if self.shrinking and self.newton:
            dual.due = PASSES * (problem.matrix.n_cells * k + VISIT * n)
        p = np.zeros((n, k))
        if start is not None and start.alpha is not None:
            p = problem.feasible(start.alpha.copy())
            V, mass = problem.combination(p)
            V *= problem.total
            dual.value = float(np.sum(mass * problem.share())) * problem.total
            dual.value -= float(np.vdot(V, V)) / (2.0 * problem.lam * problem.total)
        else:
            V = np.zeros((problem.d + 1, k))
            p[np.arange(n), problem.labels] = 1.0
        listed = np.zeros((n, k // LISTED), np.min_scalar_type(k))
        blocks = -(-n // self.rows_a_block(problem))
        return MulticlassSDCAState(
            p,
            V,
            problem.matrix.sq_norms,
            np.zeros(n, np.uint32),
            np.zeros(blocks, np.uint32),
            listed,
            np.zeros(n, np.uint32),
            dual,
            first_epoch(),
            key_of(seed),
        )

    def advance(self, problem: Multiclass, state: MulticlassSDCAState, n_iter: int) -> MulticlassSDCAState:
        end, full = state.t + n_iter, problem.lam * problem.total
        width = problem.matrix.n_cells / problem.n
        while True:
            given = problem.matrix.rows, problem.labels, problem.weight, problem.bias_scale, full
            _visit(*given, self.shrinking, width, self.rows_a_block(problem), end - state.t, state)
            if state.epoch.visited == 0 and state.dual.work >= state.dual.due:
                self.step(problem, state)
            if state.t >= end:
                return state

    def step(self, problem: Multiclass, state: MulticlassSDCAState) -> None:
        """A Newton step, if the free weights are few; the next one after as much other work as this one takes."""
        dual, positive = state.dual, np.count_nonzero(state.p > 0, axis=1)
        rows = np.flatnonzero(positive > 1)
        work = step_work(problem, len(rows), int((positive - 1).sum()))
        if len(rows) == 0 or work > dual.work:
            dual.due = 1.5 * dual.work
            return
        rise = face_step(problem, state.p, state.V, rows)
        dual.value += rise
        dual.due = work if rise > 0.0 else 4.0 * work
        dual.work = 0.0

    def solution(self, problem: Multiclass, state: MulticlassSDCAState) -> Solution:
        return Solution(state.V / (problem.lam * problem.total), 0.0, state.p)

    def cost(self, problem: Multiclass, state: MulticlassSDCAState | None = None) -> Cost:
        most = rows_read(problem) if self.shrinking and self.newton else 0
        return Cost(rows=1 + most, a_pass=problem.n)

    def pause(self, problem: Multiclass, state: MulticlassSDCAState) -> int:
        """The end of the epoch, or later where epochs are short beside an evaluation of the answer."""
        return rows_to_look(problem, state.epoch)

    def estimate(self, problem: Multiclass, state: MulticlassSDCAState) -> float:
        """The gap as the last epoch met the rows, and those that rest before it; more, if that was too little last."""
        dual = state.dual
        gap = dual.gap if dual.whole else dual.doubt * dual.gap
        return problem.relative(dual.value + gap, dual.value)

    def refresh(self, problem: Multiclass, state: MulticlassSDCAState) -> MulticlassSDCAState:
        """Bring all rows and all their classes back."""
        state.epoch.stale = True
        state.dual.doubt *= 2.0
        return state

    def rows_a_block(self, problem: Multiclass) -> int:
        """Neighbouring rows that are visited together."""
        return self.block_rows or rows_a_block(problem.matrix)


@compiled
def _visit(A, labels, weight, constant, Lam, shrinking, width, block_rows, n_iter, state):
    p, V, sq, active, order, listed, size, dual, epoch, key = state
    G, old, new = np.empty(V.shape[1]), np.empty(V.shape[1]), np.empty(V.shape[1])
    classes = np.empty(V.shape[1], np.int64)
    value, gap, violation, work = dual.value, dual.gap_so_far, dual.violation, dual.work
    left = n_iter
    while left > 0:
        if epoch.visited == 0:
            if left < n_iter and work >= dual.due:
                break
            dual.awake = epoch.stale or epoch.active == 0 or dual.wake
            if dual.awake:
                epoch.active = _open_rows(active, size, weight)
                dual.rest = 0.0
            dual.whole = begin(epoch, active, order, weight, block_rows, key)
            if dual.whole:
                size[:] = 0
            gap, violation = 0.0, 0.0
        still = REST * dual.typical
        first, stop, last = next_rows(epoch, order[epoch.block], block_rows, left)
        for at in range(first, stop):
            i = np.uint64(active[at])
            row = read_row(A, i)
            s = weight[i] if len(weight) > 1 else weight[0]
            if np.isnan(sq[i]):
                sq[i] = sq_norm(A, row)
            m = _scores(A, row, V, constant, Lam, labels[i], listed, size[i], i, classes, G)
            work += m * width + VISIT
            top, low, share = _spread(G, p, i, classes, m, old)
            gap += s * share
            violation += top - low
            if shrinking:
                kept = _survivors(G, old, classes, m, low, listed, i)
                if kept == 1 or top - low < still:
                    active[at] |= SHRUNK
                    dual.rest += s * share
                if kept == 1 or kept <= listed.shape[1]:
                    size[i] = kept
            if top > low:
                h = s * (sq[i] + constant * constant) / Lam
                for j in range(m):  # p + G/h, less what makes no difference and much rounding
                    new[j] = old[j] + ((G[j] - top) / h if G[j] < top else 0.0)
                project_onto_simplex(new[:m])
                value += s * _move(A, row, p, i, V, constant, s, h, G, old, new, classes, m)
        left -= stop - first
        if ends_epoch(epoch, stop - first, stop == last):
            _end_epoch(dual, epoch, len(labels), gap, violation)
            epoch.active = unmarked(active, epoch.active)
    dual.value, dual.gap_so_far, dual.violation, dual.work = value, gap, violation, work


@compiled
def _end_epoch(dual, epoch, n, gap, violation):
    """Note what the epoch met, and bring rows back where those that were visited have little left to gain."""
    before, dual.gap, dual.wake = dual.gap, gap, False
    if dual.whole:
        dual.whole_gap = dual.awake_gap = gap
        dual.since = epoch.t
        dual.doubt = min(max(gap / before if before > 0.0 else 1.0, 0.7 * dual.doubt, 1.0), MOST_DOUBT)
    elif dual.awake:
        dual.awake_gap = gap
        epoch.stale = epoch.stale or gap < AGAIN * dual.whole_gap or epoch.t - dual.since >= LONG * n
    else:
        dual.gap += dual.rest
        dual.wake = gap < WAKE * dual.awake_gap
    dual.typical = violation / epoch.rows


@compiled
def _open_rows(active, size, weight):
    """List the rows that are not decided, and say how many they are."""
    kept = 0
    for i in range(len(active)):
        if size[i] != 1 and (len(weight) == 1 or weight[i] > 0.0):
            active[kept] = i
            kept += 1
    return kept


@compiled
def _scores(A, row, V, constant, Lam, y, listed, size, i, classes, G):
    """G of the classes that are looked at, which are named in `classes`; how many they are."""
    d, m = V.shape[0] - 1, np.int64(size)
    if m == 0:
        m = V.shape[1]
        dots(A, row, V, G)
        for j in range(m):
            classes[j] = j
    else:
        for j in range(m):
            classes[j] = listed[i, j]
            G[j] = dot(A, row, V[:, np.uint64(classes[j])])
    for j in range(m):
        k = classes[j]
        G[j] = (G[j] + constant * V[d, k]) / Lam + (0.0 if k == y else 1.0)
    return m


@compiled
def _spread(G, p, i, classes, m, old):
    """max G, the least G of a class with weight, and max G - Σ pG: the row's violation and its share in the gap.

    Fills `old` with the weights of the classes.
    """
    top, low, mean = -np.inf, np.inf, 0.0
    for j in range(m):
        old[j] = p[i, classes[j]]
        top = max(top, G[j])
        if old[j] > 0.0:
            low = min(low, G[j])
            mean += old[j] * G[j]
    return top, low, top - mean


@compiled
def _survivors(G, old, classes, m, least, listed, i):
    """How many classes have weight or a G of at least this; they are listed if all fit."""
    kept = 0
    for j in range(m):
        if old[j] > 0.0 or G[j] >= least:
            kept += 1
    if kept < m and 1 < kept <= listed.shape[1]:
        kept = 0
        for j in range(m):
            if old[j] > 0.0 or G[j] >= least:
                listed[i, kept] = classes[j]
                kept += 1
    return kept


@compiled
def _move(A, row, p, i, V, constant, s, h, G, old, new, classes, m):
    """Take the step to the new weights; by how much the dual rises, for weight one."""
    d, rise = V.shape[0] - 1, 0.0
    for j in range(m):
        step = new[j] - old[j]
        if step != 0.0:
            k = classes[j]
            p[i, k] = new[j]
            add_row(A, row, -s * step, V[:, np.uint64(k)])
            V[d, k] -= s * step * constant
            rise += step * G[j] - 0.5 * h * step * step
    return rise


MOST = 1024
"""Free weights that a step is made for."""
CALL = 1e6
"""Multiplications in the time that a step takes besides its products."""
ROUNDS = 8
"""Solutions of a step, each without the weights that the one before made negative."""
DAMPING = 1e-4
"""By which a step does not go too far where the system is singular, as a share of the diagonal."""
FEW = 128
"""So few free weights are given up one by one, as the dual wants it."""


def rows_read(problem: Multiclass) -> int:
    """Rows that a step reads at most."""
    return min(problem.n, MOST)


def step_work(problem: Multiclass, rows: int, count: int) -> float:
    """The cost of a step over some rows and free weights, in multiplications of a row step; none is too large."""
    if rows > rows_read(problem) or count > MOST:
        return np.inf
    products = rows**2 * problem.matrix.n_cells / problem.n + count**2 * (problem.k + count / 6.0)
    return products + 8.0 * count**2 + CALL


def face_step(problem: Multiclass, p: np.ndarray, V: np.ndarray, rows: np.ndarray) -> float:
    """Move the weights of these rows, in place, to the optimum of their face or one near it, if the dual rises by that.

    Where few rows have weights on more than one class, row steps repeat the same rows, and one linear system has their
    limit.

    With a pivot class :math:`q_i` for each row, a free weight (i, a) moves along :math:`e_a - e_{q_i}`. The dual's
    slope there is :math:`s_i(G_{ia} - G_{iq_i})`, its curvature between (i, a) and (j, b) the product of
    :math:`s_is_j\\langle x_i, x_j\\rangle/\\Lambda` and :math:`\\langle e_a - e_{q_i}, e_b - e_{q_j}\\rangle`. Weights
    that become negative by the step are given up, one by one where they are few, and it is made again without them.
    Of the way from the old weights to these, which are all feasible, the best length is taken.

    Returns
    -------
    float
        By how much the dual has risen, times Σ s.
    """
    Lam, constant = problem.lam * problem.total, problem.bias_scale
    X, s = problem.matrix.gather(rows), np.broadcast_to(problem.weight, (problem.n,))[rows]
    with np.errstate(all="ignore"):  # what is not finite is seen, and no step
        old, G = p[rows], (X.products(V[:-1]) + constant * V[-1]) / Lam + 1.0
        G[np.arange(len(rows)), problem.labels[rows]] -= 1.0
        K, slope = (X.inner_products() + constant * constant) * (s[:, None] / Lam * s), s[:, None] * G
        if not (np.isfinite(K).all() and np.isfinite(slope).all()):
            return 0.0
        new = _optimum(K, slope, old)
        _project_rows(new)
        moved = s[:, None] * (new - old)
        down = np.vstack([X.combinations(moved), constant * moved.sum(axis=0)])
        rate, bend = float(np.vdot(moved, G)), float(np.vdot(down, down)) / Lam
    if not (0.0 < rate < np.inf and bend < np.inf):
        return 0.0
    length = min(1.0, rate / bend) if bend > 0.0 else 1.0
    p[rows] = old + length * (new - old)
    V -= length * down
    return length * rate - 0.5 * length**2 * bend


def _optimum(K: np.ndarray, slope: np.ndarray, old: np.ndarray) -> np.ndarray:
    """The weights at the optimum of the face, or of what is left of it when the negative ones are given up."""
    new, rows, classes = old.copy(), np.arange(len(old)), np.eye(old.shape[1])
    few = np.count_nonzero(old > 0) - len(old) <= FEW
    damping = 0.0 if few else DAMPING
    for _ in range(FEW if few else ROUNDS):
        pivot, free = new.argmax(axis=1), new > 0
        new[rows, pivot] += 1.0 - new.sum(axis=1)  # what was given up
        free[rows, pivot] = False
        i, a = np.nonzero(free)
        if len(i) == 0:
            break
        along, g = classes[a] - classes[pivot[i]], slope - K @ (new - old)
        H = K[np.ix_(i, i)] * (along @ along.T)
        H[np.diag_indices(len(i))] *= 1.0 + damping
        direction = np.zeros_like(new)
        np.add.at(direction, i, solved(H, g[i, a] - g[i, pivot[i]])[:, None] * along)
        whole = bool((new + direction >= 0).all())
        if not whole and few:  # up to the first that vanishes
            reach = np.where(direction < 0, new / -direction, np.inf)
            first = reach <= reach.min()
            direction *= reach.min()
            direction[first] = -new[first]
        elif not whole and damping == 0.0:
            break
        new = np.maximum(new + direction, 0.0)
        if whole and damping == 0.0:
            break
        damping = 0.0 if whole else damping  # once more, to the optimum itself
    return new


@compiled
def _project_rows(z):
    for i in range(len(z)):
        project_onto_simplex(z[i])
