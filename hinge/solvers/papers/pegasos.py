"""Pegasos: primal estimated sub-gradient solver for SVM.

Figure 1 of the paper::

    INPUT: S, λ, T, k
    INITIALIZE: choose w_1 with ‖w_1‖ ≤ 1/√λ                       # 1
    FOR t = 1, 2, ..., T                                           # 2
        choose A_t ⊆ S, where |A_t| = k                            # 3
        set A_t⁺ = {(x, y) ∈ A_t : y⟨w_t, x⟩ < 1}                  # 4
        set η_t = 1/(λt)                                           # 5
        set w_{t+½} = (1 - η_t λ) w_t + (η_t/k) Σ_{A_t⁺} y x       # 6
        set w_{t+1} = min{1, (1/√λ)/‖w_{t+½}‖} w_{t+½}             # 7
    OUTPUT: w_{T+1}                                                # 8
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from hinge.access import dot, held_row, read_row, sq_norm
from hinge.compiled import compiled
from hinge.constraints import Constraints, choice, count
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.sampling import draw_index, draw_unit, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.scaled_vector import Scaled, accumulate, add, keep, project, shrink

LAST, UNIFORM, WEIGHTED, RANDOM = range(4)
NO_BIAS, CONSTANT, SUBGRADIENT, ETA, EXACT = range(5)
FREE_BIASES = {"subgradient": SUBGRADIENT, "eta": ETA, "exact": EXACT}
OUTPUTS = {"last": LAST, "uniform": UNIFORM, "weighted": WEIGHTED, "random": RANDOM}


class PegasosState(NamedTuple):
    """w in scaled form, the iteration, and a mini-batch's rows and responses."""

    z: Scaled
    t: int
    rows: np.ndarray
    responses: np.ndarray
    key: np.uint64


@dataclass(frozen=True)
class Pegasos(Solver[Regularized, PegasosState]):
    """Stochastic sub-gradient descent with step 1/(λt) on `Regularized`.

    Figure 1 of the paper: draw :math:`A_t` of k rows, let :math:`A_t^+` be those with a positive
    loss, and with :math:`\\eta_t = 1/(\\lambda t)`

    .. math:: w_{t+\\frac12} = (1 - \\eta_t\\lambda) w_t
              + \\frac{\\eta_t}{k}\\sum_{i \\in A_t^+} y_i x_i, \\qquad
              w_{t+1} = \\min\\Big\\{1, \\frac{1/\\sqrt\\lambda}{\\|w_{t+\\frac12}\\|}\\Big\\}
              w_{t+\\frac12} .

    An iteration reads k rows and costs their nonzeros. Theorem 2: a random iterate is
    :math:`c\\ln T/(\\lambda T)`-accurate in expectation, :math:`c = (\\sqrt\\lambda + R)^2`.

    Parameters
    ----------
    batch_size : int or "all"
        k; or all rows in each iteration, :math:`A_t = S`, the sub-gradient projection method of Corollary 1. The bounds
        of Theorems 2 and 3 do not depend on k, so that by them k = 1, the default, reads least; at a fixed number of
        rows read, larger k are no better (``hinge reproduce pegasos-figure3``).
    projection : bool
        Whether to project on the ball of radius :math:`1/\\sqrt\\lambda`.
    output : {"weighted", "last", "uniform", "random"}
        The average with weights proportional to t (default), the last iterate as in Figure 1, the
        average of Corollary 1, or an iterate drawn uniformly as in Theorem 2.
    bias : {"subgradient", "eta", "exact"}
        How a free bias moves: by its sub-gradient with steps :math:`1/\\sqrt t`, or with the
        :math:`\\eta_t` of w; or to its exact minimum over each mini-batch (Eq. 12), an order statistic;
        that wants batches with many rows of the smaller class. The first way of the paper, a constant
        feature, is a problem with ``bias="penalized"``.
    block_rows : int
        Draw this many neighbouring rows at a time: each row is as likely as before, and memory is
        read several times faster. 1, the default, is the paper's i.i.d. choice.

    Notes
    -----
    *Differs* from the paper. The sub-gradient of a free bias gets steps :math:`1/\\sqrt t` by default: the
    paper's :math:`1/(\\lambda t)`, ``bias="eta"``, throws the bias out by 1/λ in the first step, and takes
    it back by a harmonic sum (``hinge reproduce pegasos-bias``). Averages
    and the random iterate range over :math:`w_2, \\dots, w_{T+1}` instead of :math:`w_1, \\dots, w_T`. And
    there is a stopping rule, whose lack the talk names as a limitation: w is at all times a
    combination of rows with coordinates that this solver counts, which, clipped to [0, 1], are a
    dual point and give a duality gap; it is of use once every row was drawn a few times.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, *Pegasos: Primal Estimated sub-GrAdient SOlver for SVM*,
    ICML 2007.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Pegasos
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Pegasos(batch_size=10), stop=Stop(tol=0.1, max_iter=10**6))
    >>> result.certificate.gap <= 0.1
    True
    """

    batch_size: int | Literal["all"] = 1
    projection: bool = True
    output: Literal["weighted", "last", "uniform", "random"] = "weighted"
    bias: Literal["subgradient", "eta", "exact"] = "subgradient"
    block_rows: int = 1

    paper = Paper(
        "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM", "Shalev-Shwartz, Singer, Srebro", 2007, "Figure 1"
    )
    constraints = Constraints(
        batch_size=count() | choice("all"), block_rows=count(), output=choice(*OUTPUTS), bias=choice(*FREE_BIASES)
    )
    solves, instead = Regularized, "SGD"

    def _limits(self, problem: Regularized) -> str | None:
        if problem.bias == "free" and self.bias == "exact" and len(problem.weight) > 1:
            return "The exact bias of a mini-batch is for unweighted rows; use bias='subgradient'."
        return None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> PegasosState:
        k = self._rows(problem)
        return PegasosState(scaled.zeros(problem.n, problem.d), 0, np.zeros(k, np.int64), np.zeros(k), key_of(seed))

    def advance(self, problem: Regularized, state: PegasosState, n_iter: int) -> PegasosState:
        biases = {"none": NO_BIAS, "penalized": CONSTANT}
        _pegasos(
            problem.matrix.rows,
            problem.y,
            problem.weight,
            problem.n / problem.total,
            problem.lam,
            problem.bias_scale if problem.bias == "penalized" else 0.0,
            biases.get(problem.bias, FREE_BIASES[self.bias]),
            self.projection,
            OUTPUTS[self.output],
            problem.n if self.batch_size == "all" else self.block_rows,  # a block of n neighbours is all rows
            n_iter,
            *state,
        )
        return state._replace(t=state.t + n_iter)

    def solution(self, problem: Regularized, state: PegasosState) -> Solution:
        w, w0, coords, b = (scaled.last if self.output == "last" else scaled.average)(state.z)
        b = w0 * problem.bias_scale if problem.bias == "penalized" else b
        # λw = Σ cᵢαᵢyᵢxᵢ, so the coordinates of w are αᵢcᵢ/λ; the box asks for a clip.
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha = np.nan_to_num(problem.lam * coords / problem.share())
        return Solution(w, float(b), np.clip(alpha, 0.0, 1.0))

    def cost(self, problem: Regularized, state: PegasosState | None = None) -> Cost:
        k = self._rows(problem)
        return Cost(rows=k, a_pass=max(1, problem.n // k))

    def _rows(self, problem: Regularized) -> int:
        """k."""
        return problem.n if self.batch_size == "all" else int(self.batch_size)

    def estimate(self, problem: Regularized, state: PegasosState) -> float:
        """Unknown; but before a whole pass the dual point is far from the optimum."""
        return 0.0 if state.t >= self.cost(problem).a_pass else np.inf


@compiled
def _pegasos(
    A, y, weight, rescale, lam, constant, bias, projection, output, block_rows, n_iter, z, t0, rows, responses, key
):
    n, k = len(y), len(rows)
    radius = 1.0 / np.sqrt(lam)
    for t in range(t0 + 1, t0 + n_iter + 1):  # 2
        for j in range(k):
            c = (t - 1) * k + j
            i = (draw_index(key, 2 * (c // block_rows), n) + c % block_rows) % n  # 3
            rows[j] = i
            row = read_row(A, i)
            responses[j] = z.s.a * (dot(A, row, z.v) + constant * z.s.v0)
        b = z.s.b
        if bias == EXACT:
            b = _best_bias(y, rows, responses)
        eta = 1.0 / (lam * t)  # 5
        shrink(z, 1.0 - 1.0 / t)  # 6: (1 - η_t λ) w_t
        pull = 0.0
        for j in range(k):
            i = rows[j]
            yi = np.float64(y[i])
            if yi * (responses[j] + b) < 1.0:  # 4
                s = rescale * (weight[i] if len(weight) > 1 else weight[0])
                row = held_row(A, i)
                response, sq = (1.0 - 1.0 / t) * responses[j], 0.0
                if projection:  # only then is ‖w‖ needed
                    sq = sq_norm(A, row) + constant * constant
                    if k > 1:  # w has moved within the batch
                        response = z.s.a * (dot(A, row, z.v) + constant * z.s.v0)
                add(A, row, z, i, s * eta / k, yi, constant, response, sq)  # 6: + (η_t/k) y x
                pull += s * yi / k
        if bias == SUBGRADIENT:
            z.s.b += pull / np.sqrt(t)
        elif bias == ETA:
            z.s.b += eta * pull
        elif bias == EXACT:
            z.s.b = b
        if projection:
            project(z, radius)  # 7
        count_iterate(z, output, t, key)


@compiled
def count_iterate(z, output, t, key):
    """Let the t-th iterate take its part in the answer."""
    if output == UNIFORM:
        accumulate(z, 1.0)
    elif output == WEIGHTED:
        accumulate(z, np.float64(t))
    elif output == RANDOM and draw_unit(key, 2 * t + 1) * t < 1.0:
        keep(z)  # it replaces the kept one with probability 1/t: uniform over all


@compiled
def _best_bias(y, rows, responses):
    """Eq. (12) on the batch: with p positive rows, the p-th smallest of y - ⟨w, x⟩ (midpoint to the next)."""
    kinks = np.empty(len(rows))
    positive = 0
    for j in range(len(rows)):
        kinks[j] = y[rows[j]] - responses[j]
        positive += y[rows[j]] > 0
    kinks.sort()
    if positive == 0:
        return kinks[0]
    if positive == len(rows):
        return kinks[-1]
    return 0.5 * (kinks[positive - 1] + kinks[positive])
