"""The Stochastic Batch Perceptron: Cotter, Shalev-Shwartz and Srebro 2012.

The algorithm of section 3.4 for one point an iteration, without a bias::

    v_0 ← 0, the responses c_i = y_i⟨w, φ(x_i)⟩ ← 0                                # 1
    for t = 1, 2, ..., T                                                           # 2
        η ← 1/√t                                                                   # 3
        γ ← the water level of c with the volume νn                                # 4
        choose j uniformly among the points with c_j ≤ γ                           # 5
        w ← w + η y_j φ(x_j);  c_i ← c_i + η y_i y_j K(x_i, x_j) for all i         # 6
        w ← w/max{1, ‖w‖}, and c alike                                             # 7
    return w̄ = 1/T Σ w_t                                                           # 8

In the code w = s v, and c is made of the responses of v, which w shares. Batches, a free bias (section 3.6) and
devices are iterations by arrays, `advance_batches`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access.gram.base import add_at, counts_to, whole
from hinge.access.gram.gram import Gram
from hinge.compiled import compiled
from hinge.constraints import Constraints, choice, count, number
from hinge.kernels import namespace
from hinge.problems import Expansion, KernelSlackConstrained
from hinge.problems.base import Cost
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.papers.water_level import WaterLevel, lowest_level, one_basin, two_basins, wet_point
from hinge.types import Array


class SBPState(NamedTuple):
    """w = s v, with v in responses and coefficients a, and what makes its averages.

    `u` and `ua` hold what the average lacks of v and a: mean = (A v - u)/W with A = Σ ωₜsₜ, W = Σ ωₜ.
    `top` is the best level so far, and `best_v`, `best_a` the w that had it, where it is kept; `p` is the sum
    of ωₜpₜ where it is kept; `gamma` the last level of v, by which the next begins.
    """

    v: Any
    a: Any
    u: Any
    ua: Any
    s: float
    sq: float
    A: float
    W: float
    gamma: float
    top: float
    best_v: Any
    best_a: Any
    p: Any
    drawn: int
    t: int
    key: np.uint64


@dataclass(frozen=True)
class SBP(Solver[KernelSlackConstrained, SBPState]):
    """Stochastic supergradient ascent on the margin after slack.

    .. math:: w \\leftarrow \\mathcal P\\Big(w + \\eta_t\\, y_j\\phi(x_j)\\Big), \\qquad j \\sim p^*, \\quad
              \\eta_t = 1/\\sqrt t

    where p* is uniform on the points below the water level of the responses (section 3.2) and P projects
    on the unit ball. Each iteration updates all n responses by one kernel row (3.4). The level costs O(n), by
    Newton's method; with a free bias it costs a sort of each class. After T iterations the average is within
    :math:`O(\\sqrt{\\log(1/\\delta)/T})` of the optimum with probability 1 - δ (Lemma 3.2).

    With a free bias there are two basins (section 3.6): p* has mass one half, uniform on m points, in each
    class.

    Parameters
    ----------
    batch_size : int
        Points drawn in an iteration. 1 is the paper's algorithm; 32 to 64 let kernel rows be computed
        together and are much faster on a CPU; on a GPU thousands pay if there are enough rows.
    eta : float, optional
        The step of a point is eta/√(points drawn so far). By default 1 up to batches of 4, then
        2.5/√batch_size: many points drawn at one w pull the same way.
    output : {"average", "uniform", "last", "best"}
        The mean with weights t (default), the plain mean of Lemma 3.2, the last iterate, or the iterate
        with the highest level.
    keep_p : bool
        Keep the mean of the p*, from which `bound` makes the certificate D(p).
    passes : int
        It is finished when it has drawn this multiple of n points.

    Notes
    -----
    *Differs*, for batches: each point is added with the step of one; a batch has no point twice, one from
    each of `batch_size` equal parts of the wet ones, which leaves the chances of a point as they are; with a
    free bias half of it is drawn from each class, without a coin, and from at least half a batch of points.

    References
    ----------
    A. Cotter, S. Shalev-Shwartz, N. Srebro, *The Kernelized Stochastic Batch Perceptron*, ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelSlackConstrained
    >>> from hinge.solvers import SBP
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelSlackConstrained(X, 2 * y - 1, 0.05, Gaussian(gamma=2.0))
    >>> result = solve(problem, SBP(), stop=Stop(tol=0, max_iter=500))
    >>> bool(((result.solution.responses > 0) == (y == 1)).mean() > 0.9)
    True
    """

    batch_size: int = 1
    eta: float | None = None
    output: Literal["average", "uniform", "last", "best"] = "average"
    keep_p: bool = False
    passes: int = 10

    paper = Paper("The Kernelized Stochastic Batch Perceptron", "Cotter, Shalev-Shwartz, Srebro", 2012, "section 3.4")
    exact_estimate = True
    constraints = Constraints(
        batch_size=count(),
        eta=number(above=0) | None,
        output=choice("average", "uniform", "last", "best"),
        passes=count(),
    )
    solves, instead = KernelSlackConstrained, "BlockDual"

    def _limits(self, problem: KernelSlackConstrained) -> str | None:
        if len(np.unique(problem.weight[problem.weight > 0])) > 1:
            return "SBP takes no weights other than zero: p* is uniform. Give C instead of slack."
        return None

    def init(self, problem: KernelSlackConstrained, seed: int = 0, start: Expansion | None = None) -> SBPState:
        gram = problem.gram

        def zeros(kept: bool = True) -> Any:
            return gram.array(np.zeros(problem.n if kept else 0))

        v, a, u, ua = (zeros() for _ in range(4))
        best_v, best_a = (zeros(self.output == "best") for _ in range(2))
        p = zeros(self.keep_p)
        return SBPState(
            v, a, u, ua, 1.0, 0.0, 0.0, 0.0, np.inf, -np.inf, best_v, best_a, p, drawn=0, t=0, key=key_of(seed)
        )

    def advance(self, problem: KernelSlackConstrained, state: SBPState, n_iter: int) -> SBPState:
        problem.gram.focus(None)
        k, key, t = self.batch_size, state.key, state.t
        eta = self.eta or (1.0 if k <= 4 else min(1.0, 2.5 / math.sqrt(k)))
        uniform, best = self.output == "uniform", self.output == "best"
        units = draw_units(key, t * k, n_iter * k)
        if k == 1 and not best and not self.keep_p and serves(problem):
            return _advance(problem, state, units, eta, uniform)
        return advance_batches(problem, state, units.reshape(n_iter, k), eta, uniform, best, self.keep_p)

    def solution(self, problem: KernelSlackConstrained, state: SBPState) -> Expansion:
        gram = problem.gram
        if self.output == "last":
            r, a = state.s * state.v, state.s * state.a
        elif self.output == "best":
            r, a = state.best_v, state.best_a
        else:
            W = max(state.W, 1.0)
            r, a = (state.A * state.v - state.u) / W, (state.A * state.a - state.ua) / W
            path = gram.host((state.A * abs(state.a) + abs(state.ua)) / W)  # both parts are rounded
            return Expansion(gram.host(a) * problem.y, 0.0, gram.host(r).copy(), path)
        return Expansion(gram.host(a) * problem.y, 0.0, gram.host(r).copy())

    def bound(self, problem: KernelSlackConstrained, state: SBPState) -> float:
        """An upper bound D(p) on the optimum, from the mean of the p* on the points drawn so far.

        Its kernel values among those points are billed where the cache lacks them.
        """
        if not self.keep_p:
            raise ValueError("SBP(keep_p=True) keeps the mean of p, from which a bound is made.")
        p, a = problem.gram.host(state.p), problem.gram.host(state.a)
        return problem.bound(np.where(a > 0, p, 0.0))

    def cost(self, problem: KernelSlackConstrained, state: SBPState | None = None) -> Cost:
        return Cost(kernel_values=self.batch_size * problem.n, a_pass=-(-problem.n // self.batch_size))

    def pause(self, problem: KernelSlackConstrained, state: SBPState) -> int:
        left = self.passes * self.cost(problem).a_pass - state.t
        return max(0, min(left, math.ceil(state.t * 0.25) or 1))

    def estimate(self, problem: KernelSlackConstrained, state: SBPState) -> float:
        return np.inf  # D(p) of its own α shrinks too slowly to stop by


def serves(problem: KernelSlackConstrained) -> bool:
    """Whether there is one basin of all points, and rows of K are held on the host."""
    return isinstance(problem.gram, Gram) and problem.bias == "none" and bool(np.all(problem.weight > 0))


def _advance(
    problem: KernelSlackConstrained, state: SBPState, units: np.ndarray, eta: float, uniform: bool
) -> SBPState:
    """An iteration for each of these draws; the rows of K that the compiled loop lacks are made in between."""
    y, gram, t = problem.y.astype(np.float64), problem.gram, state.t
    v, a, u, ua, s, sq, A, W, gamma, *_ = state
    averages = s, sq, A, W, gamma
    slot_of = np.full(problem.n, -1)
    slab, done, asked = np.empty((0, 0), gram.dtype), 0, 0
    while True:
        k, missing, averages = _perceptron(
            y, v, a, u, ua, averages, problem.nu * problem.n, eta, uniform, units[done:], t + done, slab, slot_of
        )
        gram.asked += problem.n * (k - asked)  # for the row of the first one it was asked below
        done, asked = done + k, 1
        if missing < 0:
            break
        in_place = gram.rows(np.array([missing])).in_place()
        assert in_place is not None
        if gram.capacity < problem.n:
            slot_of[:] = -1  # others may have been given up for it
        slab, slot_of[missing] = in_place[0], in_place[1][0]
    s, sq, A, W, gamma = averages
    check_size(sq)
    n_iter = len(units)
    return state._replace(s=s, sq=sq, A=A, W=W, gamma=gamma, drawn=state.drawn + n_iter, t=t + n_iter)


@compiled
def _perceptron(y, v, a, u, ua, averages, volume, eta, uniform, units, t, slab, slot_of):
    """The iterations until a row is missing: how many, the point of that row or -1, and the averages."""
    s, sq, A, W, gamma = averages
    c = np.empty(len(y))
    for k in range(len(units)):  # 2
        for i in range(len(y)):
            c[i] = y[i] * v[i]
        level, count = lowest_level(c, volume / s, gamma)  # 4: levels are homogeneous, so s can wait
        j = wet_point(c, level, int(units[k] * count))  # 5
        if slot_of[j] < 0:
            return k, j, (s, sq, A, W, gamma)
        gamma, row = level, slab[slot_of[j]]
        omega = 1.0 if uniform else t + k + 1.0
        step = eta / math.sqrt(t + k + 1.0) / s  # 3
        delta = step * y[j]
        sq += delta * (2.0 * v[j] + delta * row[j])
        _add(row, delta, A, v, u)  # 6, by (3.4)
        a[j] += step
        ua[j] += step * A
        if not sq < math.inf:
            return k + 1, -1, (s, sq, A, W, gamma)
        s = min(s, 1.0 / math.sqrt(max(sq, 1e-300)))  # 7
        A += omega * s  # 8
        W += omega
    return len(units), -1, (s, sq, A, W, gamma)


@compiled(fastmath={"contract", "nsz"})
def _add(row, delta, A, v, u):
    """v += δ K_j, and A times as much to u."""
    for i in range(len(v)):
        part = delta * row[i]
        v[i] += part
        u[i] += A * part


def advance_batches(
    problem: KernelSlackConstrained, state: SBPState, draws: Array, eta: float, uniform: bool, best: bool, keep_p: bool
) -> SBPState:
    """An iteration for each row of `draws`, which has a number of [0, 1) for each point of the batch."""
    gram, k = problem.gram, draws.shape[1]
    v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key = state
    y = gram.array(problem.y.astype(np.float64))
    basins = [gram.array(points) for points in _basins(problem)]
    volume = problem.nu * sum(len(points) for points in basins)
    for draw in gram.array(draws):
        t += 1
        c = y * v
        if len(basins) == 2:  # levels are homogeneous, so s can wait
            level = two_basins(c, basins[0], basins[1], volume / s, k // 2)
        else:
            level = one_basin(c, basins[0], volume / s, gamma)
        gamma = level.gamma
        if t & (t - 1) == 0 and t >= 64 and level.floods:
            answer = Expansion(gram.host(a) * problem.y, 0.0, gram.host(v))
            raise ValueError(problem.flooded(problem.usable(answer)))
        if best and gamma * s > top:
            top = gamma * s
            best_v[:], best_a[:] = s * v, s * a
        omega = 1.0 if uniform else float(t)
        if keep_p:
            for wet in level.wet:
                p[wet] += omega / (len(basins) * len(wet))
        j = _drawn(level, draw)
        drawn += len(j)
        step = eta / math.sqrt(drawn) / s
        delta = step * y[j]
        rows = gram.combine(j, delta)  # by (3.4)
        sq += float((delta * (2.0 * v[j] + rows[j])).sum())
        v += rows
        u += A * rows
        add_at(a, j, step)
        add_at(ua, j, step * A)
        check_size(sq)
        s = min(s, 1.0 / math.sqrt(max(sq, 1e-300)))
        A += omega * s
        W += omega
    return SBPState(v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key)


def check_size(sq: float) -> None:
    """An error if the squared norm has overflown."""
    if not sq < math.inf:
        raise ValueError(
            "The norm of the answer overflows: the steps of SBP are for kernel values of about one. "
            "Divide the kernel, or the features, by their size."
        )


def _basins(problem: KernelSlackConstrained) -> list[np.ndarray]:
    """The points of each basin; points of weight zero are in none."""
    counts = np.broadcast_to(problem.weight > 0, (problem.n,))
    if problem.bias == "none":
        return [np.flatnonzero(counts)]
    return [np.flatnonzero(counts & (problem.y == side)) for side in (1, -1)]


def _drawn(level: WaterLevel, u: Array) -> Array:
    """Points drawn from p*, uniform among the wet ones.

    With two classes, a single point is of a random class; a batch has half its points of each.
    """
    half = len(u) // 2
    if len(level.wet) == 1:
        return _some(level.wet[0], u)
    if half:
        return namespace(u).concatenate([_some(level.wet[0], u[:half]), _some(level.wet[1], u[half : 2 * half])])
    return _some(level.wet[int(u[0] >= 0.5)], (2.0 * u) % 1.0)


def _some(wet: Array, u: Array) -> Array:
    """One wet point from each of k equal parts of the list, for k draws; all of them if there are no more."""
    k = len(u)
    return wet if len(wet) <= k and k > 1 else wet[whole((counts_to(k, u) - 1.0 + u) * (len(wet) / k))]
