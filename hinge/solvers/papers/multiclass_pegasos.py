"""Pegasos for all classes together."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hinge.access import add_row, dots, read_row, sq_norm
from hinge.compiled import compiled
from hinge.constraints import Constraints, choice
from hinge.problems import Multiclass, Solution
from hinge.problems.base import Cost
from hinge.sampling import draw_index, key_of
from hinge.solvers.base import Solver
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.pegasos import OUTPUTS, Pegasos, count_iterate
from hinge.solvers.papers.scaled_vector import OneRowState, project, shrink


@dataclass(frozen=True)
class MulticlassPegasos(Solver[Multiclass, OneRowState]):
    """Stochastic sub-gradient descent with step 1/(λt) on `Multiclass`.

    Draw a row i, let :math:`r = \\arg\\max_{k \\ne y_i}\\langle w_k, x_i\\rangle` be the class that rivals its own,
    and with :math:`\\eta_t = 1/(\\lambda t)`

    .. math:: W \\leftarrow (1 - \\eta_t\\lambda) W; \\qquad
              w_{y_i} \\leftarrow w_{y_i} + \\eta_t x_i, \\quad w_r \\leftarrow w_r - \\eta_t x_i \\quad
              \\text{if } \\langle w_{y_i} - w_r, x_i\\rangle < 1;

    then W is projected onto the ball of radius :math:`1/\\sqrt\\lambda`, which has the optimum for several classes
    too: :math:`\\lambda\\|W^*\\|^2` is the dual's mass, at most 1, less the loss. An iteration reads one row, and
    costs its nonzeros times the classes.

    Parameters
    ----------
    projection : bool
        Whether to project on that ball.
    output : {"weighted", "last", "uniform", "random"}
        What of the iterates is the answer, as for `Pegasos`.

    Notes
    -----
    *Differs* from the paper, which announces the generalisation without its details, in what `Pegasos` differs. The
    dual point counts how often each class was the rival, and is scaled down row by row to a mass of one.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, *Pegasos: Primal Estimated sub-GrAdient SOlver for SVM*,
    ICML 2007, section 4; the loss of K. Crammer and Y. Singer, JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Multiclass
    >>> from hinge.solvers import MulticlassPegasos
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Multiclass(X, y, lam=0.01, bias_scale=1.0)
    >>> result = solve(problem, MulticlassPegasos(), stop=Stop(tol=0.1, max_iter=20000))
    >>> result.solution.w.shape
    (5, 3)
    """

    projection: bool = True
    output: Literal["weighted", "last", "uniform", "random"] = "weighted"

    paper = Pegasos.paper._replace(place="section 4")
    constraints = Constraints(output=choice(*OUTPUTS))
    solves, instead = Multiclass, "Pegasos"

    def init(self, problem: Multiclass, seed: int = 0, start: Solution | None = None) -> OneRowState:
        # All entries of W in one vector, and so its coordinates.
        z = scaled.zeros(problem.n * problem.k, (problem.d + 1) * problem.k)
        return OneRowState(z, 0, key_of(seed))

    def advance(self, problem: Multiclass, state: OneRowState, n_iter: int) -> OneRowState:
        _pegasos(
            problem.matrix.rows,
            problem.labels,
            problem.k,
            problem.weight,
            problem.n / problem.total,
            problem.lam,
            problem.bias_scale,
            self.projection,
            OUTPUTS[self.output],
            n_iter,
            *state,
        )
        return state._replace(t=state.t + n_iter)

    def solution(self, problem: Multiclass, state: OneRowState) -> Solution:
        w, _, coords, _ = (scaled.last if self.output == "last" else scaled.average)(state.z)
        share = np.broadcast_to(problem.share(), (problem.n,))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # the coordinates of w are pᵢcᵢ/λ
            p = np.nan_to_num(problem.lam * coords.reshape(problem.n, problem.k) / share)
        return Solution(w.reshape(-1, problem.k), 0.0, problem.feasible(p))

    def cost(self, problem: Multiclass, state: OneRowState | None = None) -> Cost:
        return Cost(rows=1, a_pass=problem.n)

    def estimate(self, problem: Multiclass, state: OneRowState) -> float:
        """Unknown; but before a whole pass the dual point is far from the optimum."""
        return 0.0 if state.t >= problem.n else np.inf


@compiled
def _pegasos(A, labels, k, weight, rescale, lam, constant, projection, output, n_iter, z, t0, key):
    radius, r = 1.0 / np.sqrt(lam), np.empty(k)
    V = z.v.reshape((-1, k))
    d = len(V) - 1
    for t in range(t0 + 1, t0 + n_iter + 1):
        i = draw_index(key, 2 * t, len(labels))
        y, row = np.int64(labels[i]), read_row(A, i)
        dots(A, row, V, r)
        rival = -1
        for j in range(k):
            r[j] = z.s.a * (r[j] + constant * V[d, j])
            if j != y and (rival < 0 or r[j] > r[rival]):
                rival = j
        margin = r[y] - r[rival]
        shrink(z, 1.0 - 1.0 / t)  # (1 - η_t λ) W
        if margin < 1.0:
            step = rescale * (weight[i] if len(weight) > 1 else weight[0]) / (lam * t)
            if projection:  # only then is ‖W‖ needed
                sq = sq_norm(A, row) + constant * constant
                z.s.sq += 2.0 * step * (1.0 - 1.0 / t) * margin + 2.0 * step * step * sq
            _add(A, row, z, k, y, rival, i, step / z.s.a, constant)
        if projection:
            project(z, radius)
        count_iterate(z, output, t, key)


@compiled
def _add(A, row, z, k, y, rival, i, delta, constant):
    """v_y ← v_y + δx and v_r ← v_r - δx, which the average is kept from taking part in before its time."""
    _add_difference(A, row, z.v.reshape((-1, k)), y, rival, delta, constant)
    z.beta[i * k + rival] += delta
    if z.s.averaged != 0.0:
        _add_difference(A, row, z.u.reshape((-1, k)), y, rival, -z.s.averaged * delta, constant)
        z.gamma[i * k + rival] -= z.s.averaged * delta


@compiled
def _add_difference(A, row, V, y, rival, delta, constant):
    add_row(A, row, delta, V[:, y])
    add_row(A, row, -delta, V[:, rival])
    V[-1, y] += delta * constant
    V[-1, rival] -= delta * constant
