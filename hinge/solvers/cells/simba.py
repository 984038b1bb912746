"""SIMBA: sublinear importance-sampling bi-stochastic algorithm, Hazan, Koren and Srebro 2011.

Algorithm 1 of the paper, with b_t of "Incorporating a bias term" and η for the ν of line 11::

    input: ε > 0, 0 ≤ ν ≤ 1, X ∈ R^{n×d} with ‖x_i‖ ≤ 1                            # 1
    T ← 100² ε⁻² log n, η ← √(log(n)/T), u_0 ← 0, q_1 ← 1                          # 2
    for t = 1 to T                                                                 # 3
        choose i_t ← i with probability p_t(i)                                     # 4
        u_t ← u_{t-1} + x_{i_t}/√(2T),  ξ_t ← argmax_{ξ ∈ Ξ_ν} p_tᵀξ               # 5
        w_t ← u_t / max{1, ‖u_t‖}                                                  # 6
        choose j_t ← j with probability w_t(j)²/‖w_t‖²                             # 7
        for i = 1 to n                                                             # 8
            ṽ_t(i) ← x_i(j_t) ‖w_t‖²/w_t(j_t) + ξ_t(i) + y_i b_t                   # 9
            v_t(i) ← clip(ṽ_t(i), 1/η)                                             # 10
            q_{t+1}(i) ← q_t(i) (1 - η v_t(i) + η² v_t(i)²)                        # 11
        p_{t+1} ← q_{t+1}/‖q_{t+1}‖₁                                               # 13
    return w̄ = 1/T Σ w_t, ξ̄ = 1/T Σ ξ_t                                            # 15
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.constraints import Constraints, choice, count, number
from hinge.problems import Certificate, SlackConstrained, Solution
from hinge.problems.base import ROUNDING_32, Cost
from hinge.sampling import key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.cells import simba_exact, simba_lazy
from hinge.solvers.cells.simba_exact import OUTSIDE, Exact
from hinge.solvers.cells.simba_lazy import Lazy
from hinge.solvers.saddle.primal_dual import FIRST_CHECK


class SimbaState(NamedTuple):
    """Both sides of the saddle point, in the exact or the lazy form, for rows divided by `radius`."""

    parts: Exact | Lazy
    radius: float
    t: int
    key: np.uint64


@dataclass(frozen=True)
class Simba(Solver[SlackConstrained, SimbaState]):
    """Primal-dual ascent for `SlackConstrained` that reads one row and one column an iteration.

    Algorithm 1, with the labels in the rows (:math:`x_i \\leftarrow y_i x_i`). Begin with :math:`u_0 = 0` and
    :math:`p_1` uniform; with :math:`\\eta_t = \\sqrt{\\log n / t}`, draw :math:`i_t \\sim p_t`, then

    .. math:: u_t = u_{t-1} + \\frac{x_{i_t}}{\\sqrt{2t}}, \\qquad w_t = \\frac{u_t}{\\max(1, \\|u_t\\|)},
              \\qquad (\\xi_t, b_t) = \\arg\\max_{\\xi \\in \\Xi_\\nu,\\, |b| \\le 1} p_t^\\top(\\xi + b y),

    draw :math:`j_t` with probability :math:`w_t(j)^2/\\|w_t\\|^2`, and reweigh every point by its estimate

    .. math:: v_t(i) = \\mathrm{clip}\\Big(x_i(j_t)\\frac{\\|w_t\\|^2}{w_t(j_t)} + \\xi_t(i) + y_i b_t,\\;
              \\tfrac1{\\eta_t}\\Big), \\qquad
              p_{t+1}(i) \\propto p_t(i)\\,(1 - \\eta_t v_t(i) + \\eta_t^2 v_t(i)^2).

    The answer is the mean of the :math:`(w_t, b_t)`. The greedy :math:`\\xi_t` is 2 on the largest p and
    shares what is left among ties, so that :math:`\\sum_i \\xi_t(i) = \\nu n`; and
    :math:`b_t = \\mathrm{sign}(p_t^\\top y)`. Theorem 4.3: after :math:`T = 100^2\\varepsilon^{-2}\\log n`
    iterations, with T for t in both rates, the answer is ε-suboptimal with probability 1/2, at a cost of
    :math:`\\tilde O(\\varepsilon^{-2}(n + d))`.

    *Capped.* Without ξ, but with :math:`p_i \\le 1/(\\nu' n)`, the game is
    :math:`\\max_w \\min_p \\sum_i p_i m_i(w)` over the margins :math:`m_i`. Its inner minimum is the mean of
    the :math:`\\nu' n` smallest margins, their conditional value at risk, by Rockafellar and Uryasev

    .. math:: \\max_\\rho\\ \\rho - \\frac{1}{\\nu' n}\\sum_i (\\rho - m_i(w))_+ ,

    the ν-SVM. This ρ is a water level: to fill up to it takes a mean slack
    :math:`\\nu = \\frac1n\\sum_i(\\rho - m_i)_+`, which is ν' times the mean depth of the wet points. So both
    problems have the same w where ν' is the share of wet points at the optimum for ν, that is
    :math:`1/(n\\max_i p^*_i)`. Depths of about a tenth of the radius are common, hence the default ν' = 10ν.
    The projection on the capped simplex, in relative entropy, is :math:`p_i \\propto \\min(p_i, \\theta)`.

    Parameters
    ----------
    form : {"auto", "exact", "lazy", "capped"}
        Algorithm 1 to the letter, which costs O(n + d) an iteration; the sparse scheme of `simba_lazy`,
        with ξ settled every `refresh_every` iterations; or the capped one, lazy too. By default lazy for
        compressed data with n + d > 2000, else exact: a dense column touches all points anyway.
    steps : {"adaptive", "fixed"}
        The rates of section 6, above; or the rates of Algorithm 1, with T in the place of t, where the run ends.
    epsilon, constant : float
        For fixed steps: :math:`T = \\lceil constant^2\\varepsilon^{-2}\\log n\\rceil`.
    eta_scale : float
        Multiplies η.
    output : {"average", "last"}
        The mean of all w, or the last; it can be faster on data without noise, and erratic on other.
    refresh_every : int
        Iterations between two settlements of ξ, or of the cap.
    cap : float, optional
        ν' of the capped form.
    scale : {"max", None}
        Divide the rows by the largest norm among them, or refuse rows outside of the unit ball. Data
        that is not in memory is not searched: a longer row is an error when it is read.
    radius : float, optional
        A bound on the norms of the rows, used instead of computing them.
    certify : bool, optional
        Whether to compute certificates, which read all rows; by default where the data is in memory.

    Notes
    -----
    *Differs* from the paper as printed. Line 11 has ν for η, and section 6 :math:`\\sqrt{\\log n}/t` for
    :math:`\\sqrt{\\log n/t}`; neither learns. Lines 2 and 13 begin u and p one iteration off. Weights are
    kept above 1e-154, in the lazy forms above 1e-15 of the largest, and those within 1e-9 of one another are
    ties. ξ̄ is not kept: a certificate has the best ξ for w̄. The bias of the last w is the mean one too, since a single
    one is ±1. Of rows of norm up to R the
    algorithm sees x/R, with ν/R; the answer is in the units of the data.

    The certificate is the problem's, with p the mean of all :math:`p_t`, cut off at its (νn/2)-th largest
    value: then :math:`\\nu n \\max p` is near the greedy :math:`p^\\top\\xi`. It is computed when t doubles,
    once the iterations have read as much as one pass.

    References
    ----------
    E. Hazan, T. Koren, N. Srebro, *Beating SGD: Learning SVMs in Sublinear Time*, NIPS 2011.

    Examples
    --------
    >>> from hinge import SlackConstrained, Stop, solve
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import Simba
    >>> made = make_separable(100, 50, 0.3)
    >>> problem = SlackConstrained(made.X_train, made.y_train, nu=0.01)
    >>> result = solve(problem, Simba(), stop=Stop(tol=0, max_iter=2000))
    >>> bool((made.y_train * (made.X_train @ result.solution.w) > 0).mean() > 0.9)
    True
    """

    form: Literal["auto", "exact", "lazy", "capped"] = "auto"
    steps: Literal["adaptive", "fixed"] = "adaptive"
    epsilon: float | None = None
    constant: float = 100.0
    eta_scale: float = 1.0
    output: Literal["average", "last"] = "average"
    refresh_every: int = 20
    cap: float | None = None
    scale: Literal["max"] | None = "max"
    radius: float | None = None
    certify: bool | None = None

    paper = Paper("Beating SGD: Learning SVMs in Sublinear Time", "Hazan, Koren, Srebro", 2011, "Algorithm 1")
    reads = "cells"
    constraints = Constraints(
        form=choice("auto", "exact", "lazy", "capped"),
        steps=choice("adaptive", "fixed"),
        epsilon=number(above=0) | None,
        constant=number(above=0),
        eta_scale=number(above=0),
        output=choice("average", "last"),
        refresh_every=count(),
        cap=number(above=0, most=1) | None,
        scale=choice("max") | None,
        radius=number(above=0) | None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps == "fixed" and self.epsilon is None:
            raise ValueError("Fixed steps need epsilon, from which the number of iterations follows.")

    solves, instead = SlackConstrained, "SDCA or Newton"

    def _limits(self, problem: SlackConstrained) -> str | None:
        if len(problem.weight) > 1:
            return "Simba takes no weights: the slack of all points counts alike. Use solve_slack."
        if self.scale is None and self.radius is None and problem.table.in_memory:
            norm = problem.largest_norm()
            if norm > 1.0 + ROUNDING_32:
                return f"There are rows of norm up to {norm:.6g}, outside of the unit ball: use scale='max'."
        return None

    def init(self, problem: SlackConstrained, seed: int = 0, start: Solution | None = None) -> SimbaState:
        radius, form = self.radius or 1.0, self.form_for(problem)
        if self._knows_norms(problem):
            radius = problem.largest_norm() or 1.0
        parts: Exact | Lazy
        if form == "exact":
            parts = simba_exact.start(problem.n, problem.d)
        else:
            parts = simba_lazy.start(problem.y, problem.d, form == "capped")
        return SimbaState(parts, radius, 0, key_of(seed))

    def advance(self, problem: SlackConstrained, state: SimbaState, n_iter: int) -> SimbaState:
        s, R, begun, key = state
        y, table = problem.y, problem.table
        form: Any = simba_exact if isinstance(s, Exact) else simba_lazy
        arrays = form.bare(s)
        amount, K, free = self._amount(problem, R), self.refresh_every, problem.bias == "free"
        limit = np.inf if self._knows_norms(problem) else (R * (1.0 + ROUNDING_32)) ** 2
        T = self.horizon(problem) if self.steps == "fixed" else 0
        log_n = math.log(problem.n)
        for t in range(begun + 1, begun + n_iter + 1):
            eta, step = self.eta_scale * math.sqrt(log_n / (T or t)), 1.0 / math.sqrt(2 * (T or t))
            i = form.choose_point(arrays, y, t, key, free, amount, K)  # line 4
            at, x = table.row(i)
            j, ratio = form.add_point(arrays, at, x, step * y[i] / R, t, key, limit)  # lines 5 to 7
            if j == OUTSIDE:
                raise ValueError(
                    f"Row {i} has norm {np.linalg.norm(x):.6g}, and the rows were to lie in the ball of radius {R:g}: "
                    "give radius=, a bound on the norms of all rows, as in solver=Simba(radius=...)."
                )
            if j >= 0:  # else w = 0, which tells nothing of the points
                at, x = table.column(j)
                form.reweigh(arrays, y, at, x, ratio / R, eta, t, amount, K)  # lines 8 to 13
        return state._replace(t=begun + n_iter)

    def solution(self, problem: SlackConstrained, state: SimbaState) -> Solution:
        s, t = state.parts, max(1, state.t)
        w, p, b = simba_exact.sums(s) if isinstance(s, Exact) else simba_lazy.sums(s)
        if self.output == "last":
            w = t * s.u / max(1.0, float(np.linalg.norm(s.u)))
        p = np.maximum(p, 0.0) if state.t else np.ones(problem.n)
        top = int(min(problem.n - 1.0, problem.nu / state.radius * problem.n / 2))
        p = np.minimum(p, np.partition(p, problem.n - 1 - top)[problem.n - 1 - top])
        return Solution(w / t, state.radius * b / t, p / p.max())

    def form_for(self, problem: SlackConstrained) -> str:
        """The form that "auto" stands for."""
        if self.form != "auto":
            return self.form
        # On smaller data the exact form takes no longer than the calls themselves.
        return "lazy" if problem.table.is_sparse and problem.n + problem.d > 2000 else "exact"

    def horizon(self, problem: SlackConstrained) -> int:
        """T of Algorithm 1."""
        return max(1, math.ceil((self.constant / (self.epsilon or 1.0)) ** 2 * math.log(problem.n)))

    def _amount(self, problem: SlackConstrained, R: float) -> float:
        """Number of points that get all the slack they may have; or that share all the weight at the cap."""
        if self.form == "capped":
            return problem.n * (min(1.0, 10.0 * problem.nu / R) if self.cap is None else self.cap)
        return problem.n * problem.nu / (2.0 * R)

    def _knows_norms(self, problem: SlackConstrained) -> bool:
        """Whether the norms of all rows are known to be within the radius."""
        return self.radius is None and self.scale == "max" and problem.table.in_memory

    # --- what the driver asks -------------------------------------------------------------

    def cost(self, problem: SlackConstrained, state: SimbaState | None = None) -> Cost:
        step = problem.table.max_row_cells + problem.table.max_column_cells
        certificate = None if _certifies(self.certify, problem) else 0
        return Cost(1, 1, certificate=certificate, a_pass=max(1, problem.table.n_cells // max(1, step)))

    def pause(self, problem: SlackConstrained, state: SimbaState) -> int:
        """To the next power of two, and no further than T of fixed steps."""
        left = max(FIRST_CHECK, 1 << state.t.bit_length()) - state.t
        return min(left, max(0, self.horizon(problem) - state.t)) if self.steps == "fixed" else left

    def estimate(self, problem: SlackConstrained, state: SimbaState) -> float | Certificate:
        """0, so that a certificate is computed, once as much was read as it reads; infinity before.

        Warns of a slack that covers a whole class.
        """
        answer = self.solution(problem, state)
        size = state.radius * problem.norm(answer.w)
        leaning = problem.bias == "free" and state.t >= FIRST_CHECK and 2 * abs(answer.b) >= size
        if not _certifies(self.certify, problem):
            if leaning and abs(answer.b) >= 0.8 * size:
                warnings.warn(problem.flooded(np.inf), stacklevel=2)
            return Certificate.unknown()
        if state.t < self.cost(problem).a_pass:
            return np.inf
        usable = problem.usable(answer) if leaning else np.inf
        if problem.nu > usable:
            warnings.warn(problem.flooded(usable), stacklevel=2)
        return 0.0


def _certifies(certify: bool | None, problem: SlackConstrained) -> bool:
    """Whether certificates are computed: by default where the data can be read again at no cost."""
    return problem.table.in_memory if certify is None else certify
