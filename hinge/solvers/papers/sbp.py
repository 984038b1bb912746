"""The Stochastic Batch Perceptron: Cotter, Shalev-Shwartz and Srebro 2012."""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access.gram.base import add_at, counts_to, whole
from hinge.constraints import Constraints, choice, count, number
from hinge.kernels import namespace
from hinge.problems import Expansion, KernelSlackConstrained, Problem
from hinge.problems.base import Cost
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.papers import sbp_steps
from hinge.solvers.papers.sbp_steps import WaterLevel, one_basin, two_basins
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

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, KernelSlackConstrained):
            return f"SBP solves KernelSlackConstrained problems, not {type(problem).__name__}; use BlockDual."
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
        gram, k = problem.gram, self.batch_size
        gram.focus(None)
        v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key = state
        y = gram.array(problem.y.astype(np.float64))
        basins = [gram.array(points) for points in _basins(problem)]
        volume = problem.nu * sum(len(points) for points in basins)
        eta = self.eta or (1.0 if k <= 4 else min(1.0, 2.5 / math.sqrt(k)))
        if k == 1 and self.output != "best" and not self.keep_p and sbp_steps.serves(problem):
            units, averages = draw_units(key, t, n_iter), (s, sq, A, W, gamma)
            s, sq, A, W, gamma = sbp_steps.steps(
                problem, (v, a, u, ua), averages, units, t, eta, self.output == "uniform"
            )
            _check_size(sq)
            t, drawn = t + n_iter, drawn + n_iter
            return SBPState(v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key)
        for draw in gram.array(draw_units(key, t * k, n_iter * k)).reshape(n_iter, k):
            t += 1
            c = y * v
            if len(basins) == 2:  # step 1: levels are homogeneous, so s can wait
                level = two_basins(c, basins[0], basins[1], volume / s, k // 2)
            else:
                level = one_basin(c, basins[0], volume / s, gamma)
            gamma = level.gamma
            if t & (t - 1) == 0 and t >= 64 and level.floods:
                answer = Expansion(gram.host(a) * problem.y, 0.0, gram.host(v))
                raise ValueError(problem.flooded(problem.usable(answer)))
            if self.output == "best" and gamma * s > top:
                top = gamma * s
                best_v[:], best_a[:] = s * v, s * a
            omega = 1.0 if self.output == "uniform" else float(t)
            if self.keep_p:
                for wet in level.wet:
                    p[wet] += omega / (len(basins) * len(wet))
            j = _drawn(level, draw)  # step 2
            drawn += len(j)
            step = eta / math.sqrt(drawn) / s
            delta = step * y[j]
            rows = gram.combine(j, delta)  # step 3, by (3.4)
            sq += float((delta * (2.0 * v[j] + rows[j])).sum())
            v += rows
            u += A * rows
            add_at(a, j, step)
            add_at(ua, j, step * A)
            _check_size(sq)
            s = min(s, 1.0 / math.sqrt(max(sq, 1e-300)))
            A += omega * s
            W += omega
        return SBPState(v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key)

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


def _check_size(sq: float) -> None:
    if not sq < sbp_steps.LARGEST:
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
