"""An interior-point method on the primal quadratic program, a rival of the Pegasos paper and of the talk."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.base import Paper, Solver


class InteriorPointState(NamedTuple):
    """w with the bias as its last entry, the multipliers α, and the iterations run so far."""

    x: np.ndarray
    alpha: np.ndarray
    t: int


@dataclass(frozen=True)
class InteriorPoint(Solver[Regularized, InteriorPointState]):
    """The quadratic program of the SVM, handed to Clarabel as a whole.

    .. math:: \\min_{w, b, \\xi\\ge0} \\frac\\lambda2\\|w\\|^2 + \\sum_i c_i\\xi_i \\quad\\text{so that}\\quad
              y_i(\\langle w, x_i\\rangle + b) + \\xi_i \\ge 1

    The multipliers of the constraints are :math:`c_i\\alpha_i`, so the answer comes with its dual point, and
    `Regularized` certifies it. One iteration is the whole solve: it copies the data once and
    factorises a system of order n + d some twenty times. The talk gives
    :math:`O(n^{3.5}\\log\\log(1/\\rho))`; sparse rows and few features cost far less, and many dense
    features more than memory holds.

    Parameters
    ----------
    tol : float
        Clarabel's own tolerance on gap and feasibility.

    Notes
    -----
    It needs clarabel, which is not installed with hinge. Ctrl-C waits for the end of the solve.

    References
    ----------
    P. Goulart, Y. Chen, *Clarabel: An interior-point solver for conic programs with quadratic
    objectives*, 2024.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import InteriorPoint
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, InteriorPoint(), stop=Stop(tol=1e-6, max_iter=10**6))
    >>> result.certificate.gap <= 1e-6
    True
    """

    tol: float = 1e-8

    paper = Paper("Clarabel", "Goulart and Chen", 2024, "the algorithm")
    exact_estimate = True

    solves, instead = Regularized, "SGD"

    def _limits(self, problem: Regularized) -> str | None:
        missing = "InteriorPoint needs clarabel, which is not installed: pip install clarabel. Or use SDCA."
        return missing if find_spec("clarabel") is None else None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> InteriorPointState:
        return InteriorPointState(np.zeros(problem.d + 1), np.zeros(problem.n), 0)

    def advance(self, problem: Regularized, state: InteriorPointState, n_iter: int) -> InteriorPointState:
        if n_iter > 0 and state.t == 0:
            self._solve(problem, state)
        return state._replace(t=state.t + n_iter)

    def _solve(self, problem: Regularized, state: InteriorPointState) -> None:
        import clarabel

        n, d = problem.n, problem.d
        y = problem.y.astype(np.float64)
        constant = {"none": 0.0, "free": 1.0, "penalized": problem.bias_scale}[problem.bias]
        c = np.broadcast_to(problem.weight / problem.total, n)
        rows = sp.csr_array(problem.matrix.whole(), dtype=np.float64)
        signed = sp.hstack([sp.diags_array(y) @ rows, sp.csr_array((constant * y)[:, None])])
        # Variables w, bias, ξ; the bias' weight is in the norm where it is penalised.
        norm = np.full(d + 1, problem.lam)
        norm[d] = problem.lam if problem.bias == "penalized" else 0.0
        P = sp.diags_array(np.concatenate([norm, np.zeros(n)])).tocsc()
        A = sp.block_array([[-signed, -sp.eye_array(n)], [None, -sp.eye_array(n)]]).tocsc()
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.tol
        right = np.concatenate([-np.ones(n), np.zeros(n)])
        costs = np.concatenate([np.zeros(d + 1), c])
        answer = clarabel.DefaultSolver(
            sp.csc_matrix(P), costs, sp.csc_matrix(A), right, [clarabel.NonnegativeConeT(2 * n)], settings
        ).solve()
        state.x[:] = np.asarray(answer.x)[: d + 1]
        state.x[d] *= constant
        state.alpha[:] = np.clip(np.asarray(answer.z)[:n] / np.where(c > 0, c, 1.0), 0.0, 1.0)

    def solution(self, problem: Regularized, state: InteriorPointState) -> Solution:
        return Solution(state.x[:-1].copy(), float(state.x[-1]), state.alpha.copy())

    def cost(self, problem: Regularized, state: InteriorPointState | None = None) -> Cost:
        return Cost(cells=problem.matrix.n_cells)

    def pause(self, problem: Regularized, state: InteriorPointState) -> int:
        return 0 if state.t else 1
