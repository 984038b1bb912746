"""Nyström's approximation: an answer that few points span, certified against the exact kernel."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.access import BaseGram
from hinge.access.streams.base import free_memory
from hinge.constraints import Constraints, count
from hinge.monitoring import Status, Stop
from hinge.problems import Expansion, KernelProblem, KernelRegularized, Solution
from hinge.problems.base import Cost
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.driver import solve
from hinge.solvers.kernel.features import Features, coefficients, features_of
from hinge.solvers.kernel.level_root import FeatureAnswer, LevelProblem, solve_levels
from hinge.solvers.newton.newton import Newton

Landmarked = KernelRegularized | KernelOneClass | LevelProblem
"""The problems that have a form over the features of landmarks: `on_features`, `feasible` and `lost`."""
ROUGH = 1e-2
"""Relative gap to which the linear problem of new landmarks is solved at first."""
SHARE = 0.2
"""Part of the gap that the linear solver may leave: the rest is the approximation's."""
STEPS = 1000
"""Limit of the linear solver's steps in a round, as of the linear machines; it takes some tens."""


class NystroemState(NamedTuple):
    """The answer, its dual point, and what is expected of their gap.

    ============ ===========================================================================
    `beta`, `b`  the answer: coefficients, which are zero but for the landmarks, and bias
    `r`, `off`   its responses by the exact kernel, and bounds on their errors
    `dual`       a feasible dual point
    `m`          landmarks that were asked for, of all points of which these may be a part
    `left`       relative gap of the linear problem
    `lost`       estimate of what the approximation adds to it
    `trust`      factor by which that estimate was found to be too small
    `still`      whether rounding, or the limit of its steps, ended the last run of the linear solver
    `t`, `key`   rounds so far, and the key of the random stream
    ============ ===========================================================================
    """

    beta: np.ndarray
    b: float
    r: np.ndarray
    off: np.ndarray
    dual: np.ndarray
    m: int
    left: float
    lost: float
    trust: float
    still: bool
    t: int
    key: np.uint64


@dataclass(frozen=True)
class Nystroem(Solver[Landmarked, NystroemState]):
    """The SVM in the span of some points, the landmarks, with a certificate for the exact kernel.

    .. math:: \\min_{u, b}\\ \\frac\\lambda2\\|u\\|^2 + \\sum_i c_i\\,\\ell(y_i, \\langle u, z_i\\rangle + b), \\qquad
              z_i = L^{-1}K_{mi}, \\quad K_{mm} = LL^T

    is solved by `Newton`, on a GPU by `DeviceNewton`, and so is the one-class SVM; the ν-SVMs of two classes and of
    regression are solved by a sequence of such problems, see :mod:`hinge.solvers.kernel.level_root`. The answer
    :math:`w = \\sum_j\\beta_j\\phi(x_j)`, :math:`\\beta = L^{-T}u`, is a function in the space of the exact kernel, so
    that its objective there is an upper bound; its dual weights are feasible for the exact kernel too, so that their
    dual objective there is a lower bound.
    The gap between the two is certified, and it is that of the exact problem. With S rows of positive dual weight the
    bound costs S²/2 exact kernel values.

    Landmarks are drawn uniformly without replacement. Those that depend on others, by the rounding of kernel values,
    are dropped by a Cholesky factorisation with pivots. A round solves the linear problem, either for twice as many
    landmarks as the one before, or, where the linear problem's own gap is too large a part of all, more exactly. Of
    what landmarks lose, λ/2 βᵀ(K - ZZᵀ)β for the β of the dual, the diagonal is known for nothing. It says when a
    certificate is worth its price.

    A round costs nm kernel values, and again as many for the responses of its answer; :math:`nm^2` operations for the
    features; and the steps of Newton's method, :math:`m^2` for each row that enters or leaves the parabola and
    :math:`m^3/3` each. Memory: nm values.

    Parameters
    ----------
    n_components : int, optional
        The number of landmarks. By default √n at first, then doubled until the gap is as wanted, a limit ends the run,
        or half of the memory would be used.

    References
    ----------
    C. Williams, M. Seeger, *Using the Nyström Method to Speed Up Kernel Machines*, 2001; A. Rudi, R. Camoriano,
    L. Rosasco, *Less is More: Nyström Computational Regularization*, 2015 (√n landmarks).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import Nystroem
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0), bias="free")
    >>> result = solve(problem, Nystroem(n_components=40), stop=Stop(tol=1e-2))
    >>> bool(result.certificate.gap <= 1e-2), int((result.solution.beta != 0).sum()) <= 40
    (True, True)
    """

    n_components: int | None = None

    tubes = True
    own_dual = False
    reads = "kernel"
    paper = Paper("Using the Nyström Method to Speed Up Kernel Machines", "Williams, Seeger", 2001, "section 2")
    constraints = Constraints(n_components=count() | None)
    solves, instead = KernelProblem, "BlockDual or SBP"

    def _limits(self, problem: KernelProblem) -> str | None:
        if not isinstance(problem, Landmarked):
            return f"Nystroem solves regularised problems and ν-SVMs, not {type(problem).__name__}; use {self.instead}."
        if not problem.certifiable:
            return (
                "Nystroem needs a positive semidefinite kernel, which this one is not: use another kernel, or fit "
                "without n_components."
            )
        if problem.gram.on_device and cast(Any, problem.gram).precision in ("tf32", "bf16"):
            return "Nystroem needs precision='float32' or 'float64': features of landmarks amplify rounding."
        return None

    def init(self, problem: Landmarked, seed: int = 0, start: Expansion | None = None) -> NystroemState:
        beta, r, off, dual = np.zeros((4, problem.n))
        return NystroemState(beta, 0.0, r, off, dual, 0, np.inf, np.inf, 1.0, False, 0, key_of(seed))

    def advance(self, problem: Landmarked, state: NystroemState, n_iter: int) -> NystroemState:
        for _ in range(n_iter):
            step = self._next(problem, state)
            if step is not None:
                state = _solve_with(problem, state, *step)
        return state

    def _next(self, problem: Landmarked, state: NystroemState) -> tuple[int, float] | None:
        """The landmarks and the tolerance of the next round; None if there is none."""
        most = problem.n if problem.gram.part_of is None else problem.gram.part_of[1]
        if state.t == 0:
            return min(most, self.n_components or max(32, math.isqrt(most))), ROUGH
        if state.left > SHARE * state.lost and not state.still:
            return state.m, max(0.5 * SHARE * state.lost, 0.1 * state.left)
        if self.n_components is not None or state.m >= most:
            return None
        m = min(most, 2 * state.m)
        need = m * problem.n * problem.gram.dtype.itemsize
        if need > 0.5 * (cast(Any, problem.gram).free() if problem.gram.on_device else free_memory()):
            warnings.warn(
                f"The features of {m} landmarks would take {need / 1e9:.1f} GB, more than half of the memory that is "
                f"free: there are {state.m}. Ask for a number of landmarks, or for a larger gap (tol).",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
        return m, ROUGH

    def solution(self, problem: Landmarked, state: NystroemState) -> Expansion:
        if state.t == 0:
            return Expansion(state.beta, 0.0, state.r, None, 0)
        return Expansion(state.beta, state.b, state.r, np.zeros(problem.n), 0, state.off, state.dual)

    def refresh(self, problem: Landmarked, state: NystroemState) -> NystroemState:
        return state._replace(trust=1.5 * state.trust)

    def estimate(self, problem: Landmarked, state: NystroemState) -> float:
        return state.left + state.trust * state.lost

    def pause(self, problem: Landmarked, state: NystroemState) -> int:
        return int(self._next(problem, state) is not None)

    def cost(self, problem: Landmarked, state: NystroemState | None = None) -> Cost:
        """Features and responses, and what chooses landmarks; the last answer is certified by a product."""
        step = self._next(problem, self.init(problem) if state is None else state)
        m, used = min(problem.n, 0 if step is None else step[0]), 0 if state is None else np.count_nonzero(state.dual)
        return Cost(kernel_values=m * (2 * problem.n + m) + problem.n, answer=int(used) ** 2)


def _solve_with(problem: Landmarked, state: NystroemState, m: int, tol: float) -> NystroemState:
    """A round: the linear problem in the features of m landmarks, solved to a relative gap, and its exact responses."""
    gram, n = problem.gram, problem.n
    features = features_of(gram, _landmarks(problem, state.key, m))
    if isinstance(problem, LevelProblem):
        found = solve_levels(problem, features.matrix, _newton(gram, tol), tol, STEPS, state.dual, state.r)
        u, dual, left, bound, still = found
    else:
        u, dual, left, bound, still = _solve_once(problem, features, state, tol)
    beta = np.zeros(n)
    beta[features.landmarks] = coefficients(gram, features.factor, u)
    r, off = gram.again(features.landmarks, beta[features.landmarks], np.arange(n))
    b = 0.0 if isinstance(problem, KernelRegularized) and problem.bias == "none" else problem.best_bias(r)
    lost = problem.lost(dual, features.rest, bound)
    return NystroemState(beta, b, r, off, dual, m, left, lost, state.trust, still, state.t + 1, state.key)


def _solve_once(
    problem: KernelRegularized | KernelOneClass, features: Features, state: NystroemState, tol: float
) -> FeatureAnswer:
    """The answer of the linear problem to a relative gap, from the projection of the last answer."""
    linear, start, box = problem.on_features(features.matrix), None, problem.boxes
    if state.t:
        alpha = np.divide(state.dual * linear.y, box, out=np.zeros(problem.n), where=box > 0.0)
        projected = np.zeros(linear.d)
        features.matrix.combine(state.beta, 0, problem.n, projected)
        start = Solution(projected / linear.scale, state.b / linear.scale, alpha)
    found = solve(linear, _newton(problem.gram, tol), stop=Stop(tol, STEPS), start=start)
    dual = problem.feasible(found.solution.alpha * linear.y * box)
    certificate, ended = found.certificate, found.status is not Status.CONVERGED
    return FeatureAnswer(found.solution.w * linear.scale, dual, certificate.gap, certificate.bound, ended)


def _newton(gram: BaseGram, tol: float) -> Solver:
    """The solver of the linear problem, where its rows are."""
    if not gram.on_device:
        return Newton(parts=gram.threads)
    from hinge.solvers.newton.device_newton import DeviceNewton

    return DeviceNewton(tol, str(cast(Any, gram).device))


def _landmarks(problem: Landmarked, key: np.uint64, m: int) -> np.ndarray:
    """The points among the first m of a random order of all, of which these may be a part; one at least."""
    numbers, total = (slice(None), problem.n) if problem.gram.part_of is None else problem.gram.part_of
    drawn = draw_units(key, 0, total)
    own = np.where(problem.weight > 0.0, drawn[numbers], np.inf)
    return np.flatnonzero(own <= max(np.partition(drawn, min(m, total) - 1)[min(m, total) - 1], own.min()))
