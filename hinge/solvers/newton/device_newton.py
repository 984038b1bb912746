"""Newton's method on a GPU, for all classes jointly: by products of all rows with a matrix of weight vectors."""

import importlib.util
import weakref
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hinge.access.arrays import to_host
from hinge.access.device_rows import FEW, SHORT, CompressedRows, FullRows, on_device, sent, width_of
from hinge.access.gram.device import import_torch
from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.problems.base import Cost, rounding
from hinge.problems.batch import Batch, BatchSolution, combine_certificates, members_of
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.penalized import primal_value
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton.newton import GROWTH, NARROWEST, PROGRESS, STALLED, begins_with, sample_tolerance
from hinge.solvers.newton.pass_sums import bound_of_sides, center_of
from hinge.solvers.newton.row_sums import FIRST, next_trial
from hinge.solvers.newton.systems import penalty_of

if TYPE_CHECKING:  # imported when a device is asked for
    import torch


CG_STEPS = 60  # products with the Hessian in a step that does not form it
WORTH = 2e10  # from this many multiplications on, a step takes longer than launching its kernels does
SAMPLE_STEPS = 20  # steps on the sample at most


class Placed(NamedTuple):
    """A problem on a device, its tasks as columns: rows, labels, targets, shares :math:`c_i` and penalties.

    `largest` is the largest norm of a row, and `farthest` the largest target of each task.
    """

    rows: FullRows | CompressedRows
    y: "torch.Tensor"
    target: "torch.Tensor"
    share: "torch.Tensor"
    penalty: "torch.Tensor"
    largest: float
    farthest: np.ndarray


class Stage(NamedTuple):
    """The numbers that the host knows of each task.

    ========== ==============================================================================
    `mu`       width of the smoothing
    `unit`     typical size of a residual at w = 0, in which widths are measured
    `leaving`  whether the next step begins a new stage
    `slope`    derivative of the objective along the last step, at its start
    `gap`      the rows' part of the gap
    `distance` the gradient's part of the gap
    `primal`   least objective so far
    `bound`    largest dual objective so far
    `least`    least gap so far
    `still`    steps in which it has not improved
    ========== ==============================================================================
    """

    mu: np.ndarray
    unit: np.ndarray
    leaving: np.ndarray
    slope: np.ndarray
    gap: np.ndarray
    distance: np.ndarray
    primal: np.ndarray
    bound: np.ndarray
    least: np.ndarray
    still: np.ndarray


class DeviceNewtonState(NamedTuple):
    """Points and dual weights on the device, a column for each task, and the numbers on the host.

    ======== ============================================================================
    `W`      w, the bias, and zeros
    `M`      margins
    `alpha`  dual weights
    `z`      their combination of the rows
    `center` centres of the smoothing
    `best`   best answer so far
    `dual`   dual weights of the best bound so far
    `stage`  numbers of each task
    `t`      steps so far
    ======== ============================================================================
    """

    W: "torch.Tensor"
    M: "torch.Tensor"
    alpha: "torch.Tensor"
    z: "torch.Tensor"
    center: "torch.Tensor"
    best: "torch.Tensor"
    dual: "torch.Tensor"
    stage: Stage
    t: int


@dataclass(frozen=True)
class DeviceNewton(Solver[Regularized, DeviceNewtonState]):
    """Newton steps on `Regularized`, or on several such problems over the same rows, where torch computes.

    The steps of `Newton`, for all tasks jointly and on all rows: with :math:`e_i = t_i - y_i\\langle w, x_i\\rangle`,
    of which the targets t are 1 for labels y and the labels 1 for targets, and the constant feature in x,

    .. math:: \\alpha_i = \\Pi_{[l,h]}\\Big(\\frac{e_i + \\mu\\hat\\alpha_i}{\\mu + q}\\Big),\\qquad
              g = \\lambda w - \\sum_i c_i\\alpha_iy_ix_i,\\qquad
              w \\leftarrow w - \\tau\\Big(\\lambda I + \\frac1{\\mu + q}\\sum_{l<\\alpha_i<h} c_ix_ix_i^T\\Big)^{-1}g,

    where q = ½ and μ = 0 for the squared hinge, and q = 0 for the hinge, whose μ falls, and whose centres
    :math:`\\hat\\alpha` move in the end; losses of regression move :math:`e_i + \\mu\\hat\\alpha_i` towards zero by
    ε. The columns of W are the w of all tasks, so that a step is three products with X, for all of them together:
    the responses to W and to the directions, and the sums of rows. Up to 2,048 features the Hessian of each task is
    formed, of the rows on its parabola, and factored; of more, conjugate gradients with a diagonal preconditioner
    run for all tasks jointly, over the rows that are on the parabola of any task.

    A run begins at the answer of a sample of the rows. All numbers on the device are in float64, which cards for
    computing do at full speed; what they are worth is decided on the host by the sums that come back, rounding
    included: α is feasible, so every step certifies its answer, but for a free level, as one class has. An
    iteration costs :math:`6nd` operations for each task, and :math:`m d^2 + d^3/3` for the m rows on its parabola.
    Memory: 8 bytes a cell, or 24 for each that is not zero of compressed rows, and some 12n numbers a task.

    Parameters
    ----------
    tol : float
        The gap to reach; tasks that have reached it rest while others continue.
    device : str
        A torch device.
    width, shrink : float
        As of `Newton`.

    References
    ----------
    O. Chapelle, *Training a Support Vector Machine in the Primal*, 2007. X. Li, D. Sun, K.-C. Toh, *A highly
    efficient semismooth Newton augmented Lagrangian method for solving Lasso problems*, 2018.

    Examples
    --------
    >>> from hinge.solvers import DeviceNewton
    >>> DeviceNewton(device="cuda:1").device
    'cuda:1'
    """

    tol: float = 1e-3
    device: str = "cuda"
    width: float = 0.1
    shrink: float = 0.4

    any_loss = True
    free_level = True
    joint = True
    exact_estimate = True
    status_at_end = Status.STALLED
    paper = Paper("Training a Support Vector Machine in the Primal", "Chapelle", 2007, "all classes at once, on a GPU")
    constraints = Constraints(width=number(above=0), shrink=number(above=0, below=1))

    solves, instead = Regularized, "SGD for a norm bound"

    def init(self, problem: Regularized | Batch, seed: int = 0, start: Any = None) -> DeviceNewtonState:
        torch, tasks = import_torch(self.device), members_of(problem)
        k, width, loss = len(tasks), width_of(tasks[0].d), tasks[0].loss
        unit = np.array([task.spread for task in tasks])
        W, mu = np.zeros((width, k)), np.zeros(k) if loss.curvature else self.width * unit
        for j, answer in enumerate([start] if isinstance(start, Solution) else start or [None] * k):
            if answer is not None:
                W[: len(answer.w), j], W[len(answer.w), j] = answer.w, answer.b
            elif loss.two_sided and tasks[j].bias == "free":
                W[tasks[j].d, j] = tasks[j].best_bias(np.zeros(problem.n))  # targets may lie far from 0
            while 0.0 < mu[j] <= 2.0 * unit[j] and answer is None:  # from w = 0 every row has e = 1, as in `Newton`
                mu[j] /= self.shrink
        return _initial_state(sent(torch, W, self.device), mu, unit, problem.n, center_of(loss))

    def advance(self, problem: Regularized | Batch, state: DeviceNewtonState, n_iter: int) -> DeviceNewtonState:
        if n_iter == 0:
            return state
        placed = placed_on(problem, self.device)
        if state.t == 0:
            self._begin(problem, placed, state)
            _evaluate(problem, placed, state)
        for _ in range(n_iter):
            self._iterate(problem, placed, state, self.tol)
            state = state._replace(t=state.t + 1)
        return state

    def _begin(self, problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState) -> None:
        """Begin at the answer of a sample of the rows, evenly spread, where there are many and no other start."""
        rows, n, d = placed.rows, placed.rows.n, placed.rows.d
        every = n // max(begins_with(members_of(problem)[0]), n // 16)
        # Without a Hessian a step takes about a hundred multiplications a cell.
        cells = n * rows.width**2 if rows.forms_squares else 100 * members_of(problem)[0].matrix.n_cells
        if every < GROWTH or cells * state.W.shape[1] < WORTH or bool(state.W[:d].any()):
            return
        on = placed.y.new_zeros(n, dtype=rows.xp.bool)
        on[::every] = True
        few, used = rows.some(on)
        share = placed.share[used]
        sample = placed._replace(
            rows=few, y=placed.y[used], target=placed.target[used], share=share / share.sum(0).clamp(min=1e-300)
        )
        stage, center = state.stage, center_of(members_of(problem)[0].loss)
        within = _initial_state(state.W, stage.mu, stage.unit, few.n, center)
        tol = sample_tolerance(d, few.n)
        _evaluate(problem, sample, within)
        for _ in range(SAMPLE_STEPS):
            if (_gaps(problem, within.stage) <= tol).all():
                break
            self._iterate(problem, sample, within, tol)
        if bool(within.W.isfinite().all()):
            state.W.copy_(within.W)
            state.stage.mu[:] = within.stage.mu

    def _iterate(self, problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState, tol: float) -> None:
        """A step of the tasks whose gap is too large, or of all tasks if none is."""
        wanting = _gaps(problem, state.stage) > tol
        on = wanting if wanting.any() else ~wanting
        self._next_stage(problem, placed, state, on)
        _step(problem, placed, state, on)
        _evaluate(problem, placed, state)
        stage = state.stage  # which is left where smoothing hides more than what there is to gain in it
        wide = stage.mu > self.width * 1.01 * stage.unit
        stage.leaving[:] = (stage.distance <= stage.gap) | (wide & (-stage.slope <= stage.gap))

    def _next_stage(
        self, problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState, on: np.ndarray
    ) -> None:
        """A narrower parabola for tasks that leave their stage; or, where it is narrow enough, a new centre."""
        stage, on = state.stage, state.stage.leaving & on
        if not on.any() or not stage.mu.any():
            return
        narrow = on & (stage.mu <= self.width * 1.01 * stage.unit)
        if narrow.any():
            moved = sent(placed.rows.xp, narrow, self.device)
            state.center.copy_(placed.rows.xp.where(moved, state.alpha, state.center))
        least = np.where(narrow, NARROWEST, 1.0) * self.width * stage.unit
        stage.mu[on] = np.maximum(stage.mu * self.shrink, least)[on]
        _duals(problem, placed, state)

    def solution(self, problem: Regularized | Batch, state: DeviceNewtonState) -> Any:
        tasks = members_of(problem)
        d = tasks[0].d
        W, alpha = to_host(state.best), to_host(state.dual)
        every = [
            Solution(W[:d, j].copy(), 0.0 if task.bias == "none" else float(W[d, j]), alpha[:, j].copy())
            for j, task in enumerate(tasks)
        ]
        return BatchSolution(tuple(every)) if isinstance(problem, Batch) else every[0]

    def cost(self, problem: Regularized | Batch, state: DeviceNewtonState | None = None) -> Cost:
        """Four products, and the Hessians, or the products of conjugate gradients; the rows that are sent before."""
        tasks, cells = members_of(problem), problem.pass_cells
        by_features = tasks[0].d <= FEW and not tasks[0].matrix.is_sparse
        an_iteration = (6 + len(tasks) + (0 if by_features else 2 * CG_STEPS)) * cells
        return Cost(cells=an_iteration, setup=4 * cells + SAMPLE_STEPS * an_iteration // GROWTH, certificate=0)

    def pause(self, problem: Regularized | Batch, state: DeviceNewtonState) -> int:
        return int(state.stage.still.min() < STALLED)

    def refresh(self, problem: Regularized | Batch, state: DeviceNewtonState) -> DeviceNewtonState:
        """With a free level the estimate leaves out that the mean of α is not yet right: further steps help."""
        return state._replace() if not isinstance(problem, Batch) and problem.pull else state

    def estimate(self, problem: Regularized | Batch, state: DeviceNewtonState) -> Certificate | float:
        """The certificate of the best answer, or of each member's best answer, combined; with a free level its gap."""
        if not isinstance(problem, Batch) and problem.pull:
            return float(_gaps(problem, state.stage)[0])
        stage, biases = state.stage, state.best[members_of(problem)[0].d].tolist()
        numbers = zip(stage.primal.tolist(), stage.bound.tolist(), _gaps(problem, stage).tolist(), biases, strict=True)
        every = [Certificate(p, *rest) if np.isfinite(p) else Certificate.unknown(rest[-1]) for p, *rest in numbers]
        return combine_certificates(every) if isinstance(problem, Batch) else every[0]


_PLACED: "weakref.WeakKeyDictionary[Problem, dict[str, Placed]]" = weakref.WeakKeyDictionary()


def placed_on(problem: Regularized | Batch, device: str) -> Placed:
    """The copy of a problem on a device, cached while the problem is alive."""
    placed = _PLACED.setdefault(problem, {})
    if device not in placed:
        tasks, torch = members_of(problem), import_torch(device)
        rows = on_device(tasks[0].matrix, device)
        y = sent(torch, np.stack([task.y for task in tasks], 1), device).to(torch.float64)

        def columns(every: list[Any]) -> Any:
            """The numbers of each task and row; where they are the same for all rows they take no memory."""
            even = all(np.size(own) == 1 for own in every)
            own = [np.reshape(one, 1) if even else np.broadcast_to(one, (problem.n,)) for one in every]
            return sent(torch, np.stack(own, 1), device).expand(problem.n, len(tasks))

        penalty = np.stack([np.full(rows.width, task.lam) for task in tasks], 1)
        penalty[: rows.d + 1] = np.stack([penalty_of(task) for task in tasks], 1)
        target, share = columns([task.target for task in tasks]), columns([task.share() for task in tasks])
        farthest = np.array([float(np.abs(task.target).max()) for task in tasks])
        placed[device] = Placed(rows, y, target, share, sent(torch, penalty, device), rows.largest_norm, farthest)
    return placed[device]


def _initial_state(W: "torch.Tensor", mu: np.ndarray, unit: np.ndarray, n: int, center: float) -> DeviceNewtonState:
    """The state of a run over n rows that is to begin at W."""
    k = W.shape[1]
    far, none = np.full(k, np.inf), np.zeros(k)
    known = (far.copy(), far.copy(), far.copy(), -far, far.copy(), np.zeros(k, np.int64))
    M, alpha, dual = (W.new_zeros((n, k)) for _ in range(3))
    return DeviceNewtonState(
        W.clone(),
        M,
        alpha,
        W.new_zeros(W.shape),
        W.new_full((n, k), center),
        W.clone(),
        dual,
        Stage(mu.copy(), unit, none > 0, none, *known),
        0,
    )


def _gaps(problem: Regularized | Batch, stage: Stage) -> np.ndarray:
    """The relative gap of each task."""
    numbers = zip(members_of(problem), stage.primal.tolist(), stage.bound.tolist(), strict=True)
    return np.array([task.relative(primal, bound) for task, primal, bound in numbers])


def _duals(
    problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState, apart: bool = False
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Update the dual weights at the margins, and their combination of the rows.

    Returns the combination of the rows with a positive label (empty unless `apart`), and the sums of `dual_sums`.
    """
    torch, mu = placed.rows.xp, sent(placed.rows.xp, state.stage.mu, state.W.device)
    loss = members_of(problem)[0].loss
    given = placed.y, placed.target, placed.share
    signed, sums = dual_sums(loss, mu, state.M, state.center, *given, state.alpha)
    if not apart:
        state.z.copy_(placed.rows.combine(signed))
        return state.z[:0], sums
    z = placed.rows.combine(torch.cat([signed.clamp(min=0.0), signed.clamp(max=0.0)], 1))
    up, down = z.split(signed.shape[1], 1)
    state.z.copy_(up + down)
    return up, sums


def _evaluate(problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState) -> None:
    """Update the margins, the dual weights and the certificate at W; store the best answer and the best bound."""
    tasks, torch, stage = members_of(problem), placed.rows.xp, state.stage
    free = tasks[0].bias == "free"
    torch.mul(placed.y, placed.rows.responses(state.W), out=state.M)
    up, sums = _duals(problem, placed, state, apart=free)
    width, numbers = placed.rows.width, to_host(torch.cat([state.W, state.z, up, sums]))
    better, tighter = np.zeros(len(tasks), bool), np.zeros(len(tasks), bool)
    for j, task in enumerate(tasks):
        x, z, ups = np.split(numbers[: -len(sums), j], [width, 2 * width])
        penalty, task_sums = penalty_of(task), numbers[-len(sums) :, j]
        g, paid = penalty * x[: task.d + 1] - z[: task.d + 1], penalty > 0.0  # a free bias costs nothing
        stage.gap[j], stage.distance[j] = task_sums[1], 0.5 * float((g[paid] ** 2 / penalty[paid]).sum())
        if task.pull:  # no bounds until the mean of α is right, but both parts of the gap between them
            bound = -0.5 * float(z[: task.d] @ z[: task.d]) / task.lam
            primal = bound + stage.gap[j] + stage.distance[j]
            better[j] = tighter[j] = True
        else:
            primal, bound = _certified(task, placed, j, x, z, ups if free else None, task_sums)
            better[j], tighter[j] = primal < stage.primal[j], bound > stage.bound[j]  # nan is never better
        stage.primal[j] = primal if better[j] else stage.primal[j]
        stage.bound[j] = bound if tighter[j] else stage.bound[j]
    for mask, now, best in ((better, state.W, state.best), (tighter, state.alpha, state.dual)):
        if mask.any():
            best.copy_(now if mask.all() else torch.where(sent(torch, mask, now.device), now, best))
    gaps = _gaps(problem, stage)
    gains = gaps < PROGRESS * stage.least
    stage.still[:] = np.where(gains, 0, stage.still + 1)
    stage.least[:] = np.where(gains, gaps, stage.least)


def _certified(
    task: Regularized, placed: Placed, j: int, x: np.ndarray, z: np.ndarray, ups: np.ndarray | None, sums: np.ndarray
) -> tuple[float, float]:
    """Bounds on P and D of the j-th task, from sums of n terms that were added in any order: those of `dual_sums`.

    Where every response may be off by ε, the mean loss is larger by ε at most, and the mean of squares L, of which the
    root is at least the mean, by :math:`2\\varepsilon\\sqrt L + \\varepsilon^2`.
    """
    n, d, w, b, loss = task.n, task.d, x[: task.d], float(x[task.d]), float(sums[0])
    size = placed.largest * float(np.linalg.norm(w)) + abs(b) + float(placed.farthest[j])
    off = rounding(task.matrix.max_row_cells, size)
    more = (2.0 * float(np.sqrt(loss + rounding(n, loss))) + off) * off if task.loss.curvature else off
    primal = primal_value(task.lam, task.penalty(w, b), d, loss + more, n)
    apart = np.stack([z, np.zeros_like(z)] if ups is None else [ups, z - ups])[:, :d]
    sides = np.insert(sums[2:-1].reshape(2, 4), 1, placed.largest * sums[[2, 6]], axis=1)
    free, largest = ups is not None, float(sums[-1])
    return primal, bound_of_sides(apart, sides, largest, task.lam, task.loss, task.constant_sq, free, n)


def _step(problem: Regularized | Batch, placed: Placed, state: DeviceNewtonState, on: np.ndarray) -> None:
    """Move W along the Newton directions to the least objective; tasks that rest do not move."""
    task, torch = members_of(problem)[0], placed.rows.xp
    loss, mu = task.loss, sent(torch, state.stage.mu, state.W.device)
    sharpness = 1.0 / (mu + loss.curvature)
    g = placed.penalty * state.W - state.z
    g[task.d] += task.pull
    if task.bias == "none":
        g[task.d] = 0.0
    g *= sent(torch, on, state.W.device)
    on_parabola = (state.alpha > loss.low) & (state.alpha < loss.high)
    curved = placed.share * (on_parabola & (state.alpha != 0.0) if loss.two_sided else on_parabola)
    if isinstance(placed.rows, FullRows) and placed.rows.forms_squares:
        p = -_by_features(placed.rows, curved * sharpness, placed.penalty, g, task.bias, on)
    else:
        p = -_by_products(placed.rows, curved * sharpness, placed.penalty, g, task.bias)
    tau = _lengths(task, placed, state, mu, g, p)
    state.W.addcmul_(p, sent(torch, tau, state.W.device).expand_as(p))


def _lengths(
    task: Regularized,
    placed: Placed,
    state: DeviceNewtonState,
    mu: "torch.Tensor",
    g: "torch.Tensor",
    p: "torch.Tensor",
) -> np.ndarray:
    """The minimum of F along each direction, as `search` finds it: the host decides by two sums a task and trial.

    The slope at the beginning is ⟨g, p⟩, and where a Newton step promises the minimum is known: the first trial is 1.
    """
    torch, q, paid = placed.rows.xp, placed.y * placed.rows.responses(p), placed.penalty * p
    known = torch.stack([paid * state.W, paid * p, g * p]).sum(1)
    known[0] += task.pull * p[task.d]
    trials, tau = [FIRST] * p.shape[1], np.ones(p.shape[1])
    while not all(trial.over for trial in trials):
        given = placed.target, placed.share
        sums = trial_sums(task.loss, mu, state.M, state.center, *given, q, sent(torch, tau, p.device))
        numbers = to_host(torch.cat([sums, known]))
        for j, trial in enumerate(trials):
            *found, start = numbers[:, j].tolist()
            now = FIRST._replace(tau=1.0, start=start, number=1) if trial is FIRST else trial
            trials[j] = trial if trial.over else next_trial(now, *found)
        tau = np.array([trial.tau for trial in trials])
    state.stage.slope[:] = [trial.start for trial in trials]
    return tau


def _by_features(
    rows: FullRows, curved: "torch.Tensor", penalty: "torch.Tensor", g: "torch.Tensor", bias: str, on: np.ndarray
) -> "torch.Tensor":
    """(P + Σ sᵢxᵢxᵢᵀ)⁻¹g of each task that is on, by Cholesky factors, which small matrices get in one call."""
    torch, d, tasks = rows.xp, rows.d, np.flatnonzero(on).tolist()
    p, together = torch.zeros_like(g), len(tasks) if rows.width <= SHORT else 1
    for some in (tasks[k : k + together] for k in range(0, len(tasks), together)):
        H = torch.stack([rows.squares(curved[:, j]) for j in some])
        which = some if len(some) < g.shape[1] else slice(None)  # numbers would have to be sent
        sides = g[:, which].T[:, :, None]
        H.diagonal(dim1=1, dim2=2).add_(penalty[:, which].T)
        if bias == "none":
            H[:, d], H[:, :, d], H[:, d, d] = 0.0, 0.0, 1.0
        elif bias == "free":
            H[:, d, d] += sides[:, d, 0].abs()  # without a row on the parabola nothing else holds the bias
        L, info = torch.linalg.cholesky_ex(H)
        p[:, which] = torch.cholesky_solve(sides, L)[:, :, 0].T
        for k, failed in enumerate(info.tolist()):
            if failed:
                p[:, some[k]] = _with_ridge(torch, H[k], sides[k])[:, 0]
    return p


def _with_ridge(torch: ModuleType, H: "torch.Tensor", g: "torch.Tensor") -> "torch.Tensor":
    """H⁻¹g where rounding made H singular: with the least ridge that helps, of 1e-12, 1e-11, … of the trace."""
    size = float(H.diagonal().abs().sum())
    ridge = 1e-12 * size
    for _ in range(20):
        L, info = torch.linalg.cholesky_ex(H + ridge * torch.eye(len(H), dtype=H.dtype, device=H.device))
        if not int(info):
            return torch.cholesky_solve(g, L)
        ridge *= 10.0
    return g / size if 0.0 < size < np.inf else g


def _by_products(
    rows: FullRows | CompressedRows, curved: "torch.Tensor", penalty: "torch.Tensor", g: "torch.Tensor", bias: str
) -> "torch.Tensor":
    """The same by conjugate gradients with a diagonal preconditioner, for all tasks jointly, to a tenth of g.

    The residual is checked after every fourth product, since the device has to be waited for.
    """
    torch, d = rows.xp, rows.d
    few, used = rows.some((curved > 0.0).any(1))
    s = curved if used is None else curved[used]
    held = penalty.clone()
    if bias == "none":
        held[d] = 1.0
    elif bias == "free":
        held[d] += g[d].abs()
    M = held + few.diagonals(s)
    x, residual = torch.zeros_like(g), g.clone()
    y = residual / M
    p, ry = y.clone(), (residual * y).sum(0)
    target, tiny = 0.1**2 * ry, torch.finfo(g.dtype).tiny
    for k in range(CG_STEPS):
        if k % 4 == 0 and not bool((ry > target).any()):
            break
        Hp = few.combine(s * few.responses(p)) + held * p
        if bias == "none":
            Hp[d] = p[d]
        step = ry / (p * Hp).sum(0).clamp(min=tiny)
        x += step * p
        residual -= step * Hp
        y = residual / M
        before, ry = ry, (residual * y).sum(0)
        p = y + ry / before.clamp(min=tiny) * p
    return x


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def dual_sums(
    loss: Loss,
    mu: "torch.Tensor",
    M: "torch.Tensor",
    center: "torch.Tensor",
    y: "torch.Tensor",
    target: "torch.Tensor",
    share: "torch.Tensor",
    alpha: "torch.Tensor",
) -> "tuple[torch.Tensor, torch.Tensor]":
    """The dual weights at margins M, which go to `alpha`: the :math:`c_i\\alpha_iy_i`, and sums of each task.

    These are of the losses, of what the gap has of them, and over the rows where αy is positive, and those where it is
    negative, of :math:`|c\\alpha|`, its product with the target less ε, its product with what these are at most, and
    cα²; and the largest |α|. Sums of squares are zero where the loss has no curvature. On a GPU with Triton all are
    made in one pass, as are `trial_sums` (see `fused_sums`).
    """
    if M.is_cuda and _has_triton():
        from hinge.solvers.newton import fused_sums

        return fused_sums.dual_sums(loss, mu, M, center, y, target, share, alpha)
    torch, e = import_torch(str(M.device)), target - M
    alpha.copy_(_slopes(loss, e, mu, center).clamp_(loss.low, loss.high))
    short = ((e.abs() if loss.two_sided else e) - loss.epsilon).clamp(min=0.0)
    losses, signed, size = short * short if loss.curvature else short, share * alpha * y, alpha.abs()
    mass = share * size
    gap = losses - alpha * e + loss.epsilon * size + 0.5 * loss.curvature * alpha * alpha
    linear, extent = share * alpha * target - loss.epsilon * mass, mass * (target.abs() + loss.epsilon)
    sums = [share * losses, share * gap]
    for side in (signed > 0.0, signed < 0.0):
        sums += [part * side for part in (mass, linear, extent, mass * size if loss.curvature else 0.0 * mass)]
    return signed, torch.stack([*(one.sum(0) for one in sums), size.amax(0)])


def trial_sums(
    loss: Loss,
    mu: "torch.Tensor",
    M: "torch.Tensor",
    center: "torch.Tensor",
    target: "torch.Tensor",
    share: "torch.Tensor",
    q: "torch.Tensor",
    tau: "torch.Tensor",
) -> "torch.Tensor":
    """The slope of the losses after a step τ along which margins change by q, and their curvature there."""
    if M.is_cuda and _has_triton():
        from hinge.solvers.newton import fused_sums

        return fused_sums.trial_sums(loss, mu, M, center, target, share, q, tau)
    torch, a = import_torch(str(M.device)), _slopes(loss, target - M - tau * q, mu, center)
    curved, slopes = (a > loss.low) & (a < loss.high) & (a != 0.0), share * q
    bends = (slopes * q * curved).sum(0) / (mu + loss.curvature)
    return torch.stack([-(slopes * a.clamp(loss.low, loss.high)).sum(0), bends])


def _slopes(loss: Loss, e: "torch.Tensor", mu: "torch.Tensor", center: "torch.Tensor") -> "torch.Tensor":
    """The slopes of the smoothed loss at e, which are not yet clipped to those of the loss."""
    z = e + mu * center
    if loss.epsilon:
        z = z - z.clamp(-loss.epsilon, loss.epsilon)
    return z / (mu + loss.curvature)
