"""Stochastic dual coordinate ascent; where λ is large it begins with a stochastic gradient pass."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.compiled import Scalars, compiled, scalars
from hinge.constraints import Constraints, choice, count, number
from hinge.problems import OneClass, Regularized, Solution
from hinge.problems.base import Combination, Cost
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import begin, first_epoch, rows_a_block, rows_to_look
from hinge.solvers.ascent.local_ascent import (
    SAMPLE,
    AscentRows,
    end_epoch,
    predict_gap,
    sampled_gap,
    target_reached,
    visit,
)
from hinge.solvers.ascent.subspace_step import subspace_step
from hinge.solvers.base import Paper, Solver

SGD_PAYS = 3.0  # λ Σ s from which the gradient pass is a good beginning
TYPICAL = 16  # this many rows, or up to twice this, whose norms set the scale of a free bias


class StoppingTarget(NamedTuple):
    """The gap to reach, and the parts of a gap that do not depend on single rows.

    ============= ====================================================================================
    `tol`         the relative gap to reach; 0 for as small as possible
    `unit`        the gap is relative to the dual objective, or to this if that is smaller
    `Lam`         Λ
    `constant_sq` squared constant feature of a penalised bias
    `u`           if the bias is free, the value of u that its constraint requires
    `spread`      if the bias is free, what a unit of violation of that constraint adds to the gap
    ============= ====================================================================================
    """

    tol: float
    unit: float
    Lam: float
    constant_sq: float
    u: float
    spread: float


class Subspace(NamedTuple):
    """What the last steps of an accelerated ascent changed; empty arrays if it is not accelerated.

    ======== ====================================================================================================
    `walk`   u after the last subspace step, `u_before`; by how much that step changed it, `u_step`; the rows
             visited since; whether such steps have `begun`
    `p, v_p` α and v after the last subspace step
    `q, v_q` by how much it changed them
    ======== ====================================================================================================
    """

    walk: Scalars
    p: np.ndarray
    v_p: np.ndarray
    q: np.ndarray
    v_q: np.ndarray


class SDCAState(NamedTuple):
    """A dual point and the place in the current epoch.

    ================================ ================================================================================
    `alpha`, `v`                     the dual weights, and :math:`v = \\sum_is_i\\alpha_iy_ix_i`
    `sq`                             squared norms of the rows, nan where not yet computed
    `active`, `order`                the list of rows that an epoch visits, and the order of its blocks
    `epoch`                          the place in the epoch, see `first_epoch`
    `key`                            key of the random numbers
    `r`                              all ⟨w, xᵢ⟩, if `dual.rows_gap` is not nan
    `subspace`                       what an accelerated ascent needs besides
    `dual.u`                         :math:`u = \\sum_is_i\\alpha_iy_i`
    `dual.beta`                      the multiplier β of the bias
    `dual.kappa`                     κ, the squared constant feature of the bias
    `dual.pull`                      subtracted from β after each epoch, if the bias costs ν
    `dual.keep`                      factor on β after each epoch, below 1 if the bias is penalised
    `dual.Lam`                       the Λ in use
    `dual.growing`                   whether Λ still grows with the rows, in a first pass of gradient steps
    `dual.upper`, `lower`            derivatives of the dual beyond which rows leave the list
    `dual.highest`, `lowest`         largest and least derivative in this epoch
    `dual.gap_so_far`                the rows' part of the gap as this epoch has met it so far
    `dual.gap`, `gap_before`         the same of the last epoch, and of the epoch before it
    `dual.gap_inflation`             factor on the predicted gap, which grows with each certificate above `tol`
    `dual.gap_safety`                factor on the predicted gap, so that a run continues for a part of a pass
    `dual.ended`                     whether an epoch has ended whose gap has not been compared with `tol` yet
    `dual.max_violation`             largest violation of a margin in the last epoch
    `dual.max_violation_before`      the same in the epoch before it
    `dual.epochs_without_shrinking`  number of coming epochs in which no row leaves the list
    `dual.reference_gap`             the gap that has to be halved next
    `dual.visits_since_halved`       visits since it was set
    `dual.moved`                     :math:`\\sum s_i|\\Delta\\alpha_i|` over all steps
    `dual.rows_gap`                  the rows' part of the gap, if it has just been measured; else nan
    ================================ ================================================================================
    """

    alpha: np.ndarray
    v: np.ndarray
    sq: np.ndarray
    active: np.ndarray
    order: np.ndarray
    dual: Scalars
    epoch: Scalars
    key: np.uint64
    r: np.ndarray
    subspace: Subspace

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return int(self.epoch.t)


@dataclass(frozen=True)
class SDCA(Solver[Regularized, SDCAState]):
    """Stochastic dual coordinate ascent for `Regularized`.

    With :math:`v = \\sum_i s_i\\alpha_i y_i x_i` and :math:`\\Lambda = \\lambda\\sum_i s_i`, so that
    :math:`w = v/\\Lambda`, an iteration visits a row i and maximises the dual over :math:`\\alpha_i`:

    .. math:: \\alpha_i \\leftarrow \\Pi_{[0,1]}\\Big(\\alpha_i
              + \\frac{\\Lambda - y_i\\langle v, x_i\\rangle}{s_i\\|x_i\\|^2}\\Big),
              \\qquad v \\leftarrow v + s_i\\,\\Delta\\alpha_i\\, y_i x_i .

    That is the step for the hinge. For any loss of :mod:`hinge.problems.svm.losses`, with
    :math:`h = s_i\\|x_i\\|^2/\\Lambda` and :math:`g = t_i - y_i(\\langle w, x_i\\rangle + b)`,
    :math:`h\\alpha_i + g` is moved towards 0 by ε, divided by h + q and projected onto the loss's bounds.

    An iteration reads one row. Theorem of the talk: with probability 1-δ,
    :math:`\\rho \\le \\frac{8\\ln(1/\\delta)}{T}(\\frac1\\lambda + m)`.

    Parameters
    ----------
    first_pass : {"auto", "sgd", "plain"}
        "sgd" begins with one pass of dual-feasible stochastic gradient steps, see Notes; "auto" does so
        where it helps, λ Σ s ≥ 3.
    shrinking : bool
        Leave rows alone whose α sits at a bound and whose margin says that it will stay there.
        Every certificate that is not good enough brings all rows back.
    block_rows : int, optional
        An epoch visits blocks of this many neighbouring rows in random order. By default 2: the ascent needs
        a random order, since rows have a direction in common (as with a bias, or if data is not centred)
        and neighbours are often alike; but a row alone costs memory more time than two. Of data so large that
        it may be a file mapped into memory, some pages.
    tol : float
        `advance` ends after the first epoch that predicts a gap of no more than this, if a pass over all rows confirms
        it, even if iterations are left. So the driver need not evaluate the answer often, which takes as long as an
        epoch over some thousand short rows. By default it never ends early.
    acceleration : {"none", "subspace"}
        "subspace" maximises the dual, after an epoch or some short ones, over :math:`\\alpha + \\tau_0 p + \\tau_1 q`,
        with p for what these epochs changed and q for what the last such step did: conjugate gradients from one epoch
        to the next, see :mod:`hinge.solvers.ascent.subspace_step`. It costs O(m + d), and pays where
        :math:`\\lambda m` is small and many epochs change α in much the same way. Measured on text, to a gap of 1e-3,
        epochs without it and with it: 31 and 17 (1,000 rows, :math:`\\lambda m = 0.01`), 66 and 25 (1,594 rows,
        0.0016), 123 and 32 (7,770 rows, 0.008), 50 and 29 (11,314 rows, 0.1).
    after : float
        Passes before the first subspace step, to the end of an epoch: most runs end within a few, and need none.

    Notes
    -----
    **"Can we combine SGD and DCA?"**, the talk asks. In the first pass the step above is taken with
    :math:`\\Lambda_t = \\lambda\\sum_{j\\le t}s_j`, the dual of the t rows seen so far: rows enter with
    weight 1/t as in Pegasos, the step is the exact dual step and so never too aggressive, and the
    pass ends on a feasible dual point of the whole problem from which the ascent continues. Measured
    on CCAT-like text of 100,000 rows (``benchmarks/first_pass.py``), relative suboptimality after
    passes 1, 2, 3: at λm = 10 it is 1.1e-2, 2.3e-3, 6.0e-4 instead of 1.4e-1, 2.1e-2, 3.4e-3, a pass
    and a half saved; at λm = 100 both are below 5e-5 after one pass; at λm = 1 it is 3.5e-1, 1.2e-1, 4.4e-2
    instead of 1.8e-1, 9.5e-2, 3.5e-2, no gain, as the talk's λm ≷ log T predicts.

    *Differs* from the talk: rows are visited without replacement, in blocks. A free bias is the
    multiplier β of the dual constraint :math:`u = \\sum_i s_i\\alpha_i y_i = 0`: each row gets a
    constant feature of squared value κ, 0.03 of the rows' median squared norm (more slows the ascent
    down), so that :math:`b = \\beta + \\kappa u/\\Lambda`, and after each epoch
    :math:`\\beta \\leftarrow \\beta + \\kappa u/\\Lambda` (the method of multipliers, which
    does not stall where alternating between w and b does). Where the bias costs ν besides, as in `OneClass`, the
    constraint is :math:`u = \\nu\\sum_i s_i`, and :math:`\\kappa\\nu/\\lambda` is subtracted from β at first and
    after each epoch. A bias that is penalised as the weight of a feature of squared value c is found in the same way:
    as a feature among others it would be a direction that all rows have in common, and slow. Proximal steps on b have
    :math:`\\kappa c/(c + \\kappa)` in place of κ, and :math:`\\beta \\leftarrow \\frac c{c + \\kappa}(\\beta +
    \\kappa u/\\Lambda)`, which end at :math:`b = cu/\\Lambda`.

    References
    ----------
    S. Shalev-Shwartz, *Large-Scale SVM Optimization: Taking a Machine Learning Perspective*, 2008.
    Squares and shrinking: C.-J. Hsieh et al., *A Dual Coordinate Descent Method for Large-scale Linear SVM*,
    2008; regression: C.-H. Ho, C.-J. Lin, *Large-scale Linear Support Vector Regression*, 2012. Subspace steps:
    G. Narkiss, M. Zibulevsky, *Sequential Subspace Optimization Method for Large-Scale Unconstrained Problems*, 2005.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3
    True
    """

    first_pass: str = "auto"
    shrinking: bool = True
    block_rows: int | None = None
    tol: float = 0.0
    acceleration: str = "none"
    after: float = 0.0

    any_loss = True
    any_conjugate = True
    free_level = True
    ends_itself = True
    paper = Paper(
        "Large-Scale SVM Optimization: Taking a Machine Learning Perspective",
        "Shalev-Shwartz, Srebro",
        2008,
        "talk, slides on stochastic DCA",
    )
    constraints = Constraints(
        first_pass=choice("auto", "sgd", "plain"),
        block_rows=count() | None,
        tol=number(least=0),
        acceleration=choice("none", "subspace"),
        after=number(least=0),
    )
    solves, instead = Regularized, "SGD for a norm bound"

    def _limits(self, problem: Regularized) -> str | None:
        if self.acceleration == "none" or problem.loss.piecewise:
            return None
        return f"Subspace steps are for piecewise quadratic losses, not the {problem.loss.name} loss; use SDCA()."

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> SDCAState:
        n, full, dual = problem.n, problem.lam * problem.total, first_dual()
        alpha, v = np.zeros(n), np.zeros(problem.d)
        if not start_dual(problem, start, alpha, v, dual):
            dual.growing = self.first_pass == "sgd" or (self.first_pass == "auto" and full >= SGD_PAYS)
            dual.Lam = 0.0 if dual.growing else full
        order = np.zeros(-(-n // self.rows_a_block(problem)), np.uint32)
        accelerated = self.acceleration == "subspace"
        walk = scalars(u_before=float(dual.u), u_step=0.0, rows=0, begun=False)
        p, v_p = (alpha.copy(), v.copy()) if accelerated else (np.zeros(0), np.zeros(0))
        return SDCAState(
            alpha,
            v,
            problem.matrix.sq_norms,
            np.zeros(n, np.uint32),
            order,
            dual,
            first_epoch(),
            key_of(seed),
            np.zeros(n if self.tol > 0.0 else 0),
            Subspace(walk, p, v_p, np.zeros(len(p)), np.zeros(len(v_p))),
        )

    def restart(self, problem: Regularized, state: SDCAState) -> SDCAState:
        """Continue with the best multiple of α for another λ; rows that have left the list stay away."""
        if state.dual.growing or not state.dual.Lam:
            return self.init(problem, 0, self.solution(problem, state))
        dual, Lam = state.dual, problem.lam * problem.total
        norm_sq = float(state.v @ state.v) + problem.constant_sq * float(dual.u) ** 2
        factor = best_dual_multiple(problem, state.alpha, norm_sq / (Lam * problem.total))
        np.clip(state.alpha * factor, problem.loss.low, problem.loss.high, out=state.alpha)
        state.v[:] *= factor
        u, moved, b = dual.u * factor, dual.moved * factor, dual.beta + dual.kappa * dual.u / dual.Lam
        for name, value in FIRST_DUAL.items():
            setattr(dual, name, value)
        dual.u, dual.moved, dual.Lam = u, moved, Lam
        dual.beta = b if problem.bias == "free" else problem.constant_sq * u / Lam
        epoch = first_epoch()
        epoch.active, epoch.stale, epoch.draws = state.epoch.active, state.epoch.active == 0, state.epoch.draws
        subspace, walk = state.subspace, state.subspace.walk
        if len(subspace.p):
            subspace.p[:], subspace.v_p[:], subspace.q[:], subspace.v_q[:] = state.alpha, state.v, 0.0, 0.0
        walk.u_before, walk.u_step, walk.rows = u, 0.0, 0
        return state._replace(epoch=epoch)

    def advance(self, problem: Regularized, state: SDCAState, n_iter: int) -> SDCAState:
        if state.t == 0 and n_iter > 0:
            begin_bias(problem, state.dual)
        self.run(problem, state, n_iter, stopping_target(problem, self.tol), moves=problem.bias != "none")
        return state

    def run(self, problem: Regularized, state: SDCAState, n_iter: int, goal: StoppingTarget, *, moves: bool) -> None:
        """Run iterations with a given Λ; `moves` says whether the bias multiplier moves."""
        first = self.after * problem.n if self.acceleration == "subspace" else np.inf
        settings = goal, moves, self.shrinking, self.rows_a_block(problem), n_iter, first
        _visit(AscentRows.from_problem(problem), *settings, state)

    def solution(self, problem: Regularized, state: SDCAState) -> Solution:
        dual, answer = state.dual, Combination(*answer_of(state))
        if not np.isnan(dual.rows_gap):
            answer.responses = state.r
        if not dual.growing and dual.Lam and not state.subspace.walk.begun:  # so w = v/Λ belongs to α
            answer.mass, answer.chain = float(dual.moved / problem.total), problem.n + state.t
        return answer

    def cost(self, problem: Regularized, state: SDCAState | None = None) -> Cost:
        """A row; with subspace steps, the first iteration of an epoch may read any number of rows."""
        setup = 2 * TYPICAL * problem.matrix.max_row_cells if problem.bias != "none" else 0
        cells = problem.matrix.n_cells if self.acceleration == "subspace" else 0
        return Cost(rows=1, cells=cells, setup=setup, a_pass=problem.n)

    def pause(self, problem: Regularized, state: SDCAState) -> int:
        """The end of the epoch, or later if an evaluation costs more than an epoch."""
        return rows_to_look(problem, state.epoch, ends_itself=self.tol > 0)

    def estimate(self, problem: Regularized, state: SDCAState) -> float:
        """The gap as the last epochs predict it; after a long epoch, as a sample of the rows does."""
        if state.dual.growing:
            return np.inf
        goal, gap = stopping_target(problem), float(state.dual.rows_gap)
        if np.isnan(gap) and state.epoch.rows > 16 * SAMPLE:
            gap = sampled_gap(AscentRows.from_problem(problem), goal.Lam, state.alpha, state.v, state.dual)
        gap, dual, sq = predict_gap(
            problem.target, problem.weight, problem.loss, goal, gap, state.alpha, state.v, state.dual
        )
        if isinstance(problem, OneClass) and problem.vanishes(sq / goal.Lam**2):
            return 0.0  # more epochs make w smaller still
        return problem.relative((dual + gap) / problem.total, dual / problem.total)

    def refresh(self, problem: Regularized, state: SDCAState) -> SDCAState:
        """Visit all rows for two epochs, as the second measures what the first has left; predict a larger gap."""
        dual = state.dual
        state.epoch.stale, dual.ended, dual.epochs_without_shrinking = True, False, 2
        dual.gap_inflation *= 2.0
        return state

    def rows_a_block(self, problem: Regularized) -> int:
        """Neighbouring rows that are visited together."""
        return self.block_rows or rows_a_block(problem.matrix)


def stopping_target(problem: Regularized, tol: float = 0.0) -> StoppingTarget:
    """The target of an ascent on a problem."""
    free, total = problem.bias == "free", problem.total
    return StoppingTarget(
        float(tol),
        float(problem.unit * total),
        problem.lam * total,
        float(problem.constant_sq),
        float(problem.pull * total) if free else 0.0,
        float(problem.spread) if free else 0.0,
    )


def answer_of(state: SDCAState) -> Solution:
    """The answer that belongs to v and α."""
    dual = state.dual
    Lam = dual.Lam or 1.0  # within the first pass, Λ of the rows visited so far
    return Solution(state.v / Lam, float(dual.beta + dual.kappa * dual.u / Lam), state.alpha)


def start_dual(problem: Regularized, start: Solution | None, alpha: np.ndarray, v: np.ndarray, dual: Scalars) -> bool:
    """Set α, v and the numbers of the dual by an earlier answer; returns whether that has a dual point."""
    if problem.bias == "free" and problem.loss.two_sided:
        dual.beta = problem.best_bias(alpha)  # targets may lie far from 0, and a multiplier takes long to get there
    if start is None or start.alpha is None:
        return False
    alpha[:] = np.clip(start.alpha, problem.loss.low, problem.loss.high)
    v[:] = problem.combination(alpha) * problem.total
    positive, negative = problem.class_mass(alpha)
    dual.u, dual.moved = (positive - negative) * problem.total, (positive + negative) * problem.total
    dual.beta, dual.Lam = start.b if problem.bias != "none" else 0.0, problem.lam * problem.total
    return True


def bias_constant(problem: Regularized, rows: Matrix | None = None) -> float:
    """κ of a free bias, by the norms of some rows.

    More slows the steps down; less than some λ does not move it, by κ/λ Σ cᵢαᵢyᵢ an epoch.
    """
    return max(0.03 * (problem.matrix if rows is None else rows).typical_sq_norm(TYPICAL), 10.0 * problem.lam)


def begin_bias(problem: Regularized, dual: Scalars) -> None:
    """Set κ and the initial multiplier of a bias, see the Notes of `SDCA`."""
    if problem.bias == "none":
        return
    rho, c = bias_constant(problem), problem.constant_sq
    # A bias that costs keeps a share; rows may be so long that ρ is infinite.
    dual.kappa, dual.keep = (c / (1.0 + c / rho), 1.0 / (1.0 + rho / c)) if c else (rho, 1.0)
    dual.pull = dual.kappa * problem.pull / problem.lam
    dual.beta = dual.keep * dual.beta - dual.pull


def best_dual_multiple(problem: Regularized, alpha: np.ndarray, norm_sq: float) -> float:
    """The factor within bounds at which the dual is largest: along a ray it is a parabola, with its top at

    .. math:: \\sum_ic_i(t_i\\alpha_i - \\varepsilon|\\alpha_i|) \\Big/
              \\big(\\|z\\|^2/\\lambda + q\\sum_ic_i\\alpha_i^2\\big), \\qquad z = \\sum_ic_i\\alpha_iy_ix_i,

    where `norm_sq` is the first term of the divisor.
    """
    if not problem.loss.piecewise:
        return 1.0
    linear, _, square = problem.conjugates(alpha)
    quadratic = norm_sq + problem.loss.curvature * square
    largest = float(np.abs(alpha).max(initial=0.0))
    if not (linear > 0.0 and quadratic > 0.0 and largest > 0.0):
        return 1.0
    return min(linear / quadratic, problem.loss.high / largest)


FIRST_DUAL = dict(
    u=0.0,
    beta=0.0,
    kappa=0.0,
    pull=0.0,
    keep=1.0,
    Lam=0.0,
    growing=False,
    upper=np.inf,
    lower=-np.inf,
    highest=-np.inf,
    lowest=np.inf,
    gap_so_far=0.0,
    gap=np.inf,
    gap_before=np.inf,
    max_violation=np.inf,
    max_violation_before=np.inf,
    epochs_without_shrinking=0,
    gap_inflation=1.0,
    gap_safety=1.0,
    reference_gap=np.inf,
    visits_since_halved=0,
    moved=0.0,
    ended=False,
    rows_gap=np.nan,
)
"""Initial values of `SDCAState.dual`."""


def first_dual() -> Scalars:
    """The numbers of `SDCAState.dual` before the first step."""
    return scalars(**FIRST_DUAL)


@compiled(inline="always")
def dual_step(alpha_i, tau):
    """αᵢ ← Π(αᵢ + τ) on [0, 1], the step of `UniformDCA` and `StaleSDCA`.

    Of numbers alone: to hand rows on to a function costs as much as a short row.
    """
    return min(1.0, max(0.0, alpha_i + tau))


@compiled
def _visit(rows, goal, moves, shrinking, block_rows, n_iter, first, state):
    alpha, v, sq, active, order, dual, epoch, key, r, (walk, p, v_p, q, v_q) = state
    A, y, target, weight, loss, lam = rows
    left = n_iter
    while left > 0:
        if epoch.visited == 0:
            if target_reached(rows, goal, alpha, v, dual, epoch, r):
                return
            if not walk.begun and epoch.t >= first:
                for i in range(len(alpha)):
                    p[i] = alpha[i]
                for j in range(len(v)):
                    v_p[j] = v[j]
                walk.u_before, walk.rows, walk.begun = dual.u, 0, True
            # A step costs O(m + d), so it comes after visits to a fifth of the rows: shrunk epochs may be shorter. It
            # does not come at the end of an epoch, since it would change the gap that the epoch has met.
            if walk.begun and walk.rows >= 0.2 * len(alpha):
                # A bias that is penalised is a feature, a free one has its multiplier; without one both are zero.
                c, beta = (goal.constant_sq, 0.0) if goal.constant_sq > 0.0 else (dual.kappa, dual.beta)
                subspace_step(A, y, target, weight, loss, goal.Lam, c, beta, alpha, v, dual, walk, p, v_p, q, v_q)
                walk.rows = 0
            if begin(epoch, active, order, weight, block_rows, key):
                dual.upper, dual.lower = np.inf, -np.inf
            dual.gap_so_far, dual.highest, dual.lowest = 0.0, -np.inf, np.inf
        left, over = visit(A, y, target, weight, loss, lam, block_rows, left, alpha, v, sq, active, order, dual, epoch)
        if over:
            end_epoch(dual, epoch, active, goal.Lam, moves, shrinking)
            walk.rows += epoch.rows
