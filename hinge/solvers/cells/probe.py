"""A linear SVM from few rows: some columns of all rows say where the hard rows are, and these are read."""

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, count
from hinge.problems import Certificate, Regularized, Solution
from hinge.problems.base import Cost
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.cells.weighted_sample import LAST_TOL, READING_TOL, cost_of_a_row, sample_problem, solve_sample

# Why a row was read.
UNREAD, RANDOM, DUG = range(3)


class ProbeState(NamedTuple):
    """What was read, the answer that it gives, and the batch at hand.

    `kind` is why a row was read; `order` a random order of the rows; `probed` has the cells zᵢ of the probed
    `columns`; `queue` the present batch. `s` has the bias b; iterations t; columns read so far; rows queued
    in the batch, how many of them are done, and how many were found to be hard; rounds so far, the last
    of them quiet, as they found none; and whether it is over.
    """

    w: np.ndarray
    alpha: np.ndarray
    kind: np.ndarray
    order: np.ndarray
    columns: np.ndarray
    probed: np.ndarray
    w_J: np.ndarray
    queue: np.ndarray
    s: Scalars

    @property
    def t(self) -> int:
        """Columns and rows read so far."""
        return int(self.s.t)


@dataclass(frozen=True)
class Probe(Solver[Regularized, ProbeState]):
    """Probe and dig: for rare points that decide, among many that say the same, and little noise.

    Cells are paid for once and kept. A set J of random columns is read of all rows, and some random rows are
    read whole. Then, round by round, the SVM of the rows R that were read whole,

    .. math:: \\min_w\\ \\tfrac12\\|w\\|^2 + C\\sum_{i\\in R} \\omega_i\\,
              \\max(0,\\, 1 - y_i\\langle w, x_i\\rangle), \\qquad w = \\sum_{i\\in R} \\beta_i x_i,

    tells by the probed columns what margins to expect of the other rows,

    .. math:: \\hat m_i = y_i\\Big(\\frac{\\|w\\|^2}{\\|w_J\\|^2}\\,\\langle w_J, z_i\\rangle + b\\Big),
              \\qquad w_J = \\sum_{i\\in R} \\beta_i z_i, \\quad z_i = x_{iJ},

    and rows with the lowest are read whole, a quarter of the number that was read before. A row that was dug up
    stands for itself, :math:`\\omega_i = 1`; the random rows of a class stand for all others of it. When all
    rows are read it is the SVM of all rows, and the certificate says so.

    A row is dug up because its probed cells are bad, worse than the row is. Left alone, this bias would
    enter :math:`w_J` with the row, and can turn the estimates round. So the cells are made to tell its true
    margin :math:`m_i` under the answer that chose it: :math:`z_i \\leftarrow z_i + y_i (m_i - \\hat m_i)\\,
    w_J / \\|w\\|^2`.

    An iteration reads a column, n cells, or a row, d cells; a round computes with all n |J| probed cells.

    Parameters
    ----------
    columns : int
        |J|.
    rows : int
        Random rows to begin with; each class has at least a third of this number, if it has so large a number of rows.
    patience : int
        Stop after this many successive rounds that found nothing.
    below : float
        A row counts as found if the answer that had not seen it gave it a margin below this; 0 counts errors.
        With 1, where d is large, hardly a round finds nothing.

    Notes
    -----
    There is no certificate before the end: rows with a low margin may hide behind the unread columns. It
    takes data where a few random columns tell something of a margin: dense, none much heavier than others.

    Wrong labels resemble rare points, only worse: they are all dug up first, and each pulls at w with a
    force of up to C. With one label of a hundred wrong C had to be about 0.1, on unit rows; and a wrong label
    among the random rows, which stand for many, can spoil a run and have it stop too early.

    Labels are free. Rows of weight zero are never read whole.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.access import as_table
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import Probe
    >>> made = make_separable(500, 100, 0.3)
    >>> problem = Regularized(as_table(made.X_train), made.y_train, lam=1e-3)
    >>> result = solve(problem, Probe(), stop=Stop(tol=0, max_reads=40_000))
    >>> bool((made.y_train * (made.X_train @ result.solution.w) > 0).mean() > 0.9)
    True
    """

    columns: int = 50
    rows: int = 30
    patience: int = 2
    below: float = 0.0

    paper = Paper("Probe and dig", "the hinge developers", 2026, "our own")
    reads = "kept cells"
    constraints = Constraints(columns=count(), rows=count(), patience=count())
    solves, instead = Regularized, "Simba for a slack bound"

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> ProbeState:
        n, d = problem.n, problem.d
        problem.table.keep = True
        key = key_of(seed)
        order = np.argsort(draw_units(key, 0, n), kind="stable")
        columns = np.argsort(draw_units(key, n, d), kind="stable")[: self.columns]
        state = ProbeState(
            np.zeros(d),
            np.zeros(n),
            np.zeros(n, np.int8),
            order,
            columns,
            np.zeros((n, len(columns))),
            np.zeros(len(columns)),
            np.zeros(n, np.int64),
            scalars(b=0.0, t=0, columns=0, queued=0, done=0, found=0, rounds=0, quiet=0, over=False),
        )
        order = order[_counts(problem)[order]]
        sides = [order[problem.y[order] == side][: -(-self.rows // 3)] for side in (1, -1)]
        enqueue(state, order[np.isin(order, np.concatenate([order[: self.rows], *sides]))])
        return state

    # --- the run --------------------------------------------------------------------------

    def advance(self, problem: Regularized, state: ProbeState, n_iter: int) -> ProbeState:
        s = state.s
        while n_iter > 0 and not s.over:
            if s.columns < len(state.columns):
                state.probed[:, s.columns] = problem.table.column(int(state.columns[s.columns])).dense(problem.n)
                s.columns += 1
            else:
                self._read(problem, state)
            s.t += 1
            n_iter -= 1
            if s.done == s.queued:
                _learn(problem, state, *self.sample(problem, state))
                self._dig(problem, state)
        return state

    def _read(self, problem: Regularized, state: ProbeState) -> None:
        """Read the next row of the batch; see whether the answer so far fails on it."""
        s = state.s
        i = int(state.queue[s.done])
        at, values = problem.table.row(i)
        m = problem.y[i] * (values @ (state.w[at] if len(at) else state.w[: len(values)]) + state.s.b)
        s.found += m < self.below
        s.done += 1
        state.kind[i] = DUG if s.rounds else RANDOM
        scale = _scale(state)
        if s.rounds and scale > 0:  # correct its probed cells so that they give the true margin, now known
            off = m - problem.y[i] * (scale * (state.probed[i] @ state.w_J) + state.s.b)
            state.probed[i] += problem.y[i] * off / (state.w @ state.w) * state.w_J

    def _dig(self, problem: Regularized, state: ProbeState) -> None:
        """The rows to read next, or the end."""
        s = state.s
        s.quiet = 0 if s.found or s.rounds == 0 else s.quiet + 1
        s.rounds += 1
        left = state.order[((state.kind == UNREAD) & _counts(problem))[state.order]]
        s.over = len(left) == 0 or s.quiet >= self.patience
        lowest = np.argsort(self.margins(problem, state)[left], kind="stable")  # ties in random order
        enqueue(state, left[lowest[: -(-np.count_nonzero(state.kind) // 4)]])

    def margins(self, problem: Regularized, state: ProbeState) -> np.ndarray:
        """The margins of all rows, predicted from the probed columns."""
        return problem.y * (_scale(state) * (state.probed @ state.w_J) + state.s.b)

    def sample(self, problem: Regularized, state: ProbeState) -> tuple[np.ndarray, Regularized]:
        """The rows read whole, and their problem: it costs nothing to solve."""
        share = np.ones(problem.n)
        for side in (1, -1):
            others = (problem.y == side) & _counts(problem) & (state.kind != DUG)
            random = others & (state.kind == RANDOM)
            share[random] = random.sum() / max(1, others.sum())
        rows = np.flatnonzero(state.kind)
        return rows, sample_problem(problem, rows, share[rows])

    # --- what the driver asks -------------------------------------------------------------

    def solution(self, problem: Regularized, state: ProbeState) -> Solution:
        s = state.s
        if 0 < s.done < s.queued and len(np.unique(problem.y[state.kind > 0])) == 2:  # cut off within a batch
            return _fit(problem, state, *self.sample(problem, state))._replace(alpha=None)
        every = bool((state.kind > 0)[_counts(problem)].all())
        return Solution(state.w, float(s.b), state.alpha if every and s.over else None)

    def cost(self, problem: Regularized, state: ProbeState | None = None) -> Cost:
        probing = state is None or int(state.s.columns) < len(state.columns)
        return Cost(columns=int(probing), rows=int(not probing), certificate=0, a_pass=problem.n)

    def estimate(self, problem: Regularized, state: ProbeState) -> Certificate:
        """The certificate of the rows that were read, once these are all rows with a weight."""
        answer = self.solution(problem, state)
        if not state.s.over or answer.alpha is None:
            return Certificate.unknown()
        rows, inner = self.sample(problem, state)
        return inner.certificate(answer._replace(alpha=answer.alpha[rows]))

    def pause(self, problem: Regularized, state: ProbeState) -> int:
        s = state.s
        return 0 if s.over else int(len(state.columns) - s.columns or s.queued - s.done)


def _counts(problem: Regularized) -> np.ndarray:
    """Rows that have a weight."""
    return np.ones(problem.n, bool) if len(problem.weight) == 1 else problem.weight > 0


def _learn(problem: Regularized, state: ProbeState, rows: np.ndarray, inner: Regularized) -> None:
    """Train on the rows that were read whole."""
    answer = _fit(problem, state, rows, inner)
    state.w[:], state.s.b = answer.w, answer.b
    state.alpha[:] = 0.0
    alpha = cast(np.ndarray, answer.alpha)
    state.alpha[rows] = alpha
    beta = cost_of_a_row(problem) * inner.weight * inner.y * alpha
    # The answer may be a multiple of what its α says, see `Regularized.sharpened`: ⟨w, w(α)⟩ tells by how much.
    own = float(beta @ inner.responses(answer.w, billed=False))
    state.w_J[:] = (float(answer.w @ answer.w) / own if own > 0.0 else 1.0) * beta @ state.probed[rows]


def _scale(state: ProbeState) -> float:
    """‖w‖²/‖w_J‖², 0 where the probed columns know nothing of w."""
    J_sq = float(state.w_J @ state.w_J)
    return float(state.w @ state.w) / J_sq if J_sq > 0 else 0.0


def _fit(problem: Regularized, state: ProbeState, rows: np.ndarray, inner: Regularized) -> Solution:
    """The answer of these rows, from the last one."""
    start = Solution(state.w.copy(), float(state.s.b), state.alpha[rows])
    tol = LAST_TOL if len(rows) == _counts(problem).sum() else READING_TOL
    return solve_sample(inner, start, tol)


def enqueue(state: ProbeState, rows: np.ndarray) -> None:
    """Make these rows the next batch."""
    state.queue[: len(rows)] = rows
    state.s.queued, state.s.done, state.s.found = len(rows), 0, 0
