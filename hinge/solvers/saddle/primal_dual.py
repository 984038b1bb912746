"""The generic sublinear primal-dual algorithm: Algorithm 2 of the survey; 1, 3 and 4 are instances of it.

::

    T ← max{T_ε(LRA), log(n)/ε²}, x_1 ← LRA(initial), w_1 ← 1, η ← √(log(n)/T)/100        # 1
    for t = 1 to T                                                                        # 2
        for i ∈ [n]                                                                       # 3
            ṽ_t(i) ← Sample(x_t, c_i)                                                     # 4
            v_t(i) ← clip(ṽ_t(i), 1/η)                                                    # 5
            w_{t+1}(i) ← w_t(i) (1 - η v_t(i) + η² v_t(i)²)                               # 6
        p_t ← w_t/‖w_t‖₁                                                                  # 8
        choose i_t ← i with probability p_t(i)                                            # 9
        x_{t+1} ← LRA(x_t, c_{i_t})                                                       # 10
    return x̄ = 1/T Σ x_t                                                                  # 12

Algorithms 1 and 3 have files of their own beside the other papers', `sublinear_perceptron.py` and `sublinear_sdp.py`:
there c_i(x) = ⟨a_i, x⟩, Sample reads one column, and LRA adds the row i_t over √(2T) and projects. Algorithm 4 is
this one on `SlackGame`.
"""

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from hinge.compiled import Scalars, compiled, scalars
from hinge.constraints import Constraints, choice, number
from hinge.problems import Certificate
from hinge.problems.base import Cost, OnData
from hinge.problems.max_min.base import MaxMin, Strategies, offers
from hinge.sampling import draw_unit, key_of, pick
from hinge.solvers.base import Paper, Solver

FLOOR = float(np.finfo(np.float64).tiny) ** 0.5
"""Lower limit of the weights: products of two do not vanish, and no weight is lost for ever."""


@compiled
def factor(z):
    """1 - z + z² for z = ηv, clipped to [-1, 1]."""
    z = min(1.0, max(-1.0, z))
    return 1.0 - z + z * z


@compiled
def reweigh(p, v, eta):
    """Variance multiplicative weights, Definition 1 of the survey: p(i) ← p(i)(1 - ηv(i) + η²v(i)²), normalised.

    Returns the sum of p(i) whose estimate was clipped.
    """
    clipped, total = 0.0, 0.0
    for i in range(len(p)):
        z = eta * v[i]
        if abs(z) > 1.0:
            clipped += p[i]
        p[i] = max(p[i] * factor(z), FLOOR)
        total += p[i]
    for i in range(len(p)):
        p[i] /= total
    return clipped


FIRST_CHECK = 64  # iterations before the first evaluation of the bounds: fewer than that prove nothing


class PrimalDualState(NamedTuple):
    """The state of both players, and the best answers so far.

    `y` is the unprojected primal iterate; `x_sum`, `p_sum` and `g_sum` are sums of all x, p and gradients; `drawn`
    counts the draws of each function. `s` has the number of `clipped` estimates and its expectation, `expected`, and
    the best bounds `lower` and `upper`.
    """

    y: np.ndarray
    x_sum: np.ndarray
    p: np.ndarray
    p_sum: np.ndarray
    drawn: np.ndarray
    g_sum: np.ndarray
    best_x: np.ndarray
    best_p: np.ndarray
    s: Scalars
    t: int
    key: np.uint64


@dataclass(frozen=True)
class PrimalDual(Solver[MaxMin, PrimalDualState]):
    """Online gradient ascent against multiplicative weights: one gradient and one estimate of all values an iteration.

    For :math:`\\max_{x \\in K}\\min_i c_i(x)`. Begin with y = 0 and p uniform; with
    :math:`\\eta_t = \\sqrt{\\log n / t}`,

    .. math:: x_t = \\Pi_K(y_t), \\qquad i_t \\sim p_t, \\qquad
              y_{t+1} = y_t + \\frac{1}{\\sqrt{2t}} \\nabla c_{i_t}(x_t),

    and with :math:`\\tilde v_t` an unbiased estimate of all :math:`c_i(x_t)`, whose mean square is at most 1,

    .. math:: v_t(i) = \\mathrm{clip}(\\tilde v_t(i),\\ 1/\\eta_t), \\qquad
              p_{t+1}(i) \\propto p_t(i)\\,(1 - \\eta_t v_t(i) + \\eta_t^2 v_t(i)^2).

    The answer is the mean of all :math:`x_t`. Gradients and estimates are divided by the problem's `scale` (estimates
    also by the root of its `second_moment`), and steps are multiplied by its `diameter`.

    *The primal player* is chosen by the problem (`MaxMin.primal`): lazy gradient steps as above, with regret
    :math:`2\\sqrt{2T}`; the mean of the points drawn, for strongly concave functions; multiplicative weights
    on a simplex; or the best response to :math:`p_t` of Plotkin, Shmoys and Tardos. If only some coordinates are played
    by best response, ``problem.respond`` sets them after the step: that is SIMBA, Algorithm 4.

    Theorem 3.1: after :math:`T = \\max\\{T_\\varepsilon, c^2\\varepsilon^{-2}\\log n\\}` iterations, with T for t in
    both rates, the answer is ε-suboptimal with probability 1/2; :math:`T_\\varepsilon` is the first T at which the
    mean regret of the primal player is ε (`primal_horizon`). The proofs have c = 200 (the perceptron, Theorem
    2.8), 100, and 60 (semidefinite programs, Theorem 4.6); c = 2 was enough in every case tried. An iteration
    costs a gradient, an estimate and O(n): for rows of a matrix n + d entries.

    Parameters
    ----------
    steps : {"adaptive", "fixed"}
        The rates above; or the rates of the theorem, with the final T in place of t.
    epsilon : float, optional
        ε of the theorem for fixed steps, in the units of the functions.
    constants : {"practical", "paper"} or float
        The constant c: 2, the constant of the proof, or a number.
    rate : float, optional
        Multiplies η: 1/100 in Algorithm 2 as printed. By default 1 for fixed steps, and one half for adaptive ones,
        with which ε = 0.1 was reached soonest on the synthetic margins tried.

    Notes
    -----
    The certificate is :math:`[\\min_i c_i(\\bar x),\\ \\max_{x\\in K}\\sum_i \\bar p_i c_i(x)]`, with
    :math:`\\bar p` the frequencies of the draws: since :math:`\\sum_t \\nabla c_{i_t}/T` is kept, the upper bound of
    linear functions costs no read. The bounds are evaluated twice while t doubles; the lower bound takes a pass, so it
    is computed only when at least as much has been read by the iterations.

    *Differs* from the survey as printed. Algorithm 2 has :math:`\\eta = \\sqrt{\\log n/T}/100`, with which p hardly
    changes in that many iterations; the 100 is left out, and is `rate=0.01` of fixed steps. x and p of the same
    iteration are used together, as in Algorithm 1. Where x = 0 the estimate is undefined, and p is kept. Weights are
    kept above 1e-154.

    References
    ----------
    K. L. Clarkson, E. Hazan, D. P. Woodruff, *Sublinear Optimization for Machine Learning*, JACM 2012.
    A. Irpan, R. Kwan, *Sublinear Algorithms for Optimization and Machine Learning*, 2015.

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import PrimalDual
    >>> made = make_separable(200, 20, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=0.1, method=PrimalDual())
    >>> found.lower <= made.margin <= found.upper, bool(found.gap <= 0.1)
    (True, True)
    """

    steps: Literal["adaptive", "fixed"] = "adaptive"
    epsilon: float | None = None
    constants: Literal["practical", "paper"] | float = "practical"
    rate: float | None = None

    paper = Paper(
        "Sublinear Optimization for Machine Learning",
        "Clarkson, Hazan, Woodruff",
        2012,
        "Algorithm 2 of the survey; 1, 3 and 4 are instances",
    )
    reads = "cells"
    constraints = Constraints(
        steps=choice("adaptive", "fixed"),
        epsilon=number(above=0) | None,
        constants=choice("practical", "paper") | number(above=0),
        rate=number(above=0) | None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps == "fixed" and self.epsilon is None:
            raise ValueError("Fixed steps need epsilon, from which the number of iterations follows.")

    solves: ClassVar[type] = MaxMin

    def _limits(self, problem: MaxMin) -> str | None:
        if not offers(problem, "estimate_values"):
            return (
                f"{type(problem).__name__} does not supply estimate_values(), by which PrimalDual sees all "
                "functions; with values, combine, project and support PDHG solves it."
            )
        return None

    def init(self, problem: MaxMin, seed: int = 0, start: Strategies | None = None) -> PrimalDualState:
        problem.announce()
        x = np.asarray(problem.start(), dtype=np.float64)
        y = x.copy() if problem.primal in ("mean", "multiplicative") else np.zeros_like(x)
        p, p_sum, drawn = np.full(problem.n, 1.0 / problem.n), np.zeros(problem.n), np.zeros(problem.n, np.int64)
        best = x.copy(), p.copy()
        s = scalars(clipped=0.0, expected=0.0, lower=-np.inf, upper=np.inf)
        return PrimalDualState(y, np.zeros_like(x), p, p_sum, drawn, np.zeros_like(x), *best, s, 0, key_of(seed))

    def advance(self, problem: MaxMin, state: PrimalDualState, n_iter: int) -> PrimalDualState:
        y, x_sum, p, p_sum, drawn, g_sum, _, _, s, begun, key = state
        reach = problem.scale * math.sqrt(problem.second_moment)
        T, rate = self.rates(problem)
        for t in range(begun + 1, begun + n_iter + 1):  # 2
            eta = rate / math.sqrt(T or t)
            x = problem.respond(p, y if problem.primal != "gradient" else problem.project(y))
            x_sum += x
            if problem.averages:
                p_sum += p
            v = problem.estimate_values(x, draw_unit(key, 2 * t + 1))  # 3 and 4
            i = pick(p, draw_unit(key, 2 * t))  # 9, with p_t: line 8 has w_t, and line 6 w_{t+1}
            if v is not None:  # else x = 0, which tells nothing of the functions
                v = np.asarray(v, np.float64)
                if v.shape != p.shape:
                    raise ValueError(f"estimate_values must give {problem.n} numbers; it gave {v.shape}.")
                s.clipped += reweigh(p, v, eta / reach)  # 5, 6 and 8: w_{t+1}, and of that p_{t+1}
                s.expected += min(1.0, eta * eta)
            if problem.primal != "response":
                g = problem.sample_gradient(i, x)
                self._step(problem, y, g, T or t, t)  # 10
                g_sum += g
            drawn[i] += 1
        return state._replace(t=begun + n_iter)

    def rates(self, problem: MaxMin) -> tuple[int, float]:
        """T of fixed steps, or 0; and √(log n) times `rate`, of which :math:`\\eta_t` is made by √T, or √t."""
        T = self.horizon(problem) if self.steps == "fixed" else 0
        return T, (self.rate or (1.0 if T else 0.5)) * math.sqrt(_log(problem.n))

    def _step(self, problem: MaxMin, y: np.ndarray, g: np.ndarray, rate: int, t: int) -> None:
        """A step of the primal player, unless it plays best response."""
        if problem.primal == "gradient":
            y += (problem.diameter / (problem.scale * math.sqrt(2 * rate))) * g
        elif problem.primal == "mean":
            y += g / t
        else:
            reweigh(y, np.asarray(g, np.float64), -math.sqrt(_log(len(y)) / rate) / problem.scale)

    def horizon(self, problem: MaxMin) -> int:
        """T of the theorem: the larger of what the two players need."""
        c = {"practical": 2.0, "paper": problem.paper_constant}.get(self.constants, self.constants)  # type: ignore[arg-type]
        eps = (self.epsilon or 1.0) / (problem.scale * math.sqrt(problem.second_moment))
        return max(primal_horizon(problem, self.epsilon or 1.0), math.ceil((float(c) / eps) ** 2 * _log(problem.n)))

    def solution(self, problem: MaxMin, state: PrimalDualState) -> Strategies:
        """The x and the p with the best bounds so far; the present means before the first bounds."""
        s, now = state.s, self._means(problem, state)
        return Strategies(
            state.best_x.copy() if s.lower > -np.inf else now.x, state.best_p.copy() if s.upper < np.inf else now.p
        )

    def _means(self, problem: MaxMin, state: PrimalDualState) -> Strategies:
        if state.t == 0:
            return Strategies(state.best_x.copy(), state.best_p.copy())
        t = state.t
        if problem.averages:
            return Strategies(state.x_sum / t, state.p_sum / t)
        if not problem.linear:
            return Strategies(state.x_sum / t, state.drawn / t)
        return Strategies(state.x_sum / t, state.drawn / t, state.g_sum / t, t)

    def estimate(self, problem: MaxMin, state: PrimalDualState) -> float | Certificate:
        """The certificate of the best bounds so far, after evaluating the bounds of the present means.

        A lower bound over all rows is evaluated only when the iterations have read at least as much as it reads.
        """
        if state.t == 0:
            return Certificate(-np.inf, np.inf, np.inf)  # without reading anything
        if problem.fraction is None and problem.lower_reads > state.t * problem.step_reads:
            return np.inf
        clipped, expected = state.s.clipped, state.s.expected
        if state.t >= FIRST_CHECK and clipped > 4.0 * expected + 8.0:
            warnings.warn(
                f"{clipped / state.t:.0%} of the estimates were clipped, where a mean square of "
                f"second_moment={problem.second_moment:g} allows {expected / state.t:.0%}: state a larger "
                "second_moment, or let estimate_values return the mean of several samples. Clipped estimates "
                "are biased.",
                stacklevel=2,
            )
            state.s.clipped = -np.inf  # so that it warns only once
        now = self._means(problem, state)
        assert now.p is not None
        lower, upper = problem.bounds(now)
        if lower > state.s.lower:
            state.best_x[:], state.s.lower = now.x, lower
        if upper < state.s.upper:
            state.best_p[:], state.s.upper = now.p, upper
        return problem.certified(float(state.s.lower), float(state.s.upper))

    # --- what the driver asks -------------------------------------------------------------

    def cost(self, problem: MaxMin, state: PrimalDualState | None = None) -> Cost:
        a_pass = max(1, problem.pass_cells // max(1, problem.step_reads))
        certificate = problem.lower_reads if problem.linear else 2 * problem.lower_reads
        if isinstance(problem, OnData):
            setup = problem.setup_reads
            return Cost(rows=1, columns=1, setup=setup, certificate=certificate, a_pass=a_pass)
        values = problem.step_evals
        return Cost(cells=problem.step_reads, kernel_values=values, certificate=certificate, a_pass=a_pass)

    def pause(self, problem: MaxMin, state: PrimalDualState) -> int:
        """The iterations until t is the next 64 · 2^(k/2), and no more than T of fixed steps."""
        k = math.floor(2.0 * math.log2(max(state.t, 1) / FIRST_CHECK) + 1e-9)
        left = max(FIRST_CHECK, math.ceil(FIRST_CHECK * 2.0 ** ((k + 1) / 2.0))) - state.t
        return min(left, max(0, self.horizon(problem) - state.t)) if self.steps == "fixed" else left


def primal_horizon(problem: MaxMin, eps: float) -> int:
    """:math:`T_\\varepsilon(\\mathrm{LRA})`, the first T at which the primal player's regret is at most εT.

    The regret of T lazy gradient steps is :math:`2\\sqrt{2T}` times scale and diameter (Lemma 2.7), the regret of
    multiplicative weights on d actions :math:`2\\sqrt{T\\log d}` times the scale. A best response has none. The regret
    of the mean of the drawn points is of order log T, so that Õ(1/ε) steps suffice, fewer than the other player takes.
    """
    if problem.primal == "gradient":
        return max(1, math.ceil(8.0 * (problem.scale * problem.diameter / eps) ** 2))
    if problem.primal == "multiplicative":
        return max(1, math.ceil(4.0 * _log(len(problem.start())) * (problem.scale / eps) ** 2))
    return 1


def _log(n: int) -> float:
    """log n, and log 2 for a single function."""
    return math.log(max(2, n))
