"""Semidefinite programs with an objective, by bisection on feasibility problems."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import held_row, sq_norm
from hinge.compiled import compiled
from hinge.constraints import choice, number
from hinge.monitoring import Status, Stop
from hinge.problems.base import rounding
from hinge.problems.max_min.base import MaxMin, Strategies
from hinge.problems.max_min.symmetric import Semidefinite, few_threads, onto_bounded_cone, smat, svec, top_eigenvalue
from hinge.solvers.driver import solve
from hinge.solvers.papers.sublinear_sdp import SublinearSDP
from hinge.solvers.saddle.pdhg import PDHG
from hinge.types import MatrixLike


class SemidefiniteResult(NamedTuple):
    """An answer of `maximize_semidefinite`.

    Attributes
    ----------
    X : ndarray of shape (n, n)
        Positive semidefinite, of trace 1 or 0, with :math:`C \\circ X` = `lower`.
    lower, upper : float
        The optimum is at most `upper`. It is at least `lower` if `violation` is 0.
    violation : float
        The largest :math:`-A_i \\circ X / \\|A_i\\|_F`; 0 if X is feasible.
    y : ndarray of shape (m,)
        Multipliers that prove `upper`, which is :math:`\\max(0, \\lambda_{\\max}(C + \\sum_i y_i A_i))`.
    steps : int
        Feasibility problems solved.
    n_iter : int
        Iterations of all of them.
    status : Status
    """

    X: np.ndarray
    lower: float
    upper: float
    violation: float
    y: np.ndarray
    steps: int
    n_iter: int
    status: Status


class ProgramLevel(MaxMin):
    """The feasibility problem of one bisection step: whether some X of trace 1 has :math:`A_i \\circ X \\ge 0` and
    :math:`C \\circ X \\ge c`. It is decided by the sign of

    .. math:: \\sigma(c) = \\max_{X \\succeq 0,\\, \\mathrm{tr} X = 1}
              \\min\\big(\\min_i \\hat A_i \\circ X,\\ (\\hat C - \\hat c I) \\circ X\\big),

    where hats mean division by Frobenius norms. The trace is 1 here, since with tr X ≤ 1 the value of an infeasible
    level would be 0, the level of X = 0. The gap is set to 0 as soon as the sign is known, which ends the run.

    Parameters
    ----------
    constraints : Semidefinite
        None of its matrices may be zero.
    C : ndarray of shape (n, n)
    """

    relative = False

    def __init__(self, constraints: Semidefinite, C: np.ndarray) -> None:
        self.constraints, self.n, self.order = constraints, constraints.n + 1, constraints.order
        self.weights = 1.0 / _norms(constraints.matrix.unbilled, constraints.n)
        self.norm = float(np.linalg.norm(C)) or 1.0
        self.goal = svec(C) / self.norm
        self.identity = svec(np.eye(self.order)) / self.norm
        self.c = 0.0

    @property
    def row(self) -> np.ndarray:
        """The coefficients of the objective's function."""
        return self.goal - self.c * self.identity

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Entries of the constraints read so far."""
        return self.constraints.reads

    @property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Entries read by one pass."""
        return self.constraints.pass_cells

    def start(self) -> np.ndarray:
        return svec(np.eye(self.order) / self.order)

    def project(self, x: np.ndarray) -> np.ndarray:
        return svec(onto_bounded_cone(smat(x, self.order), unit_trace=True))

    def support(self, g: np.ndarray) -> float:
        return top_eigenvalue(smat(g, self.order)) + rounding(4 * self.order, float(np.linalg.norm(g)))

    def values(self, x: np.ndarray) -> np.ndarray:
        return np.append(self.weights * self.constraints.values(x), self.row @ x)

    def combine(self, p: np.ndarray) -> np.ndarray:
        return self.constraints.combine(self.weights * p[:-1]) + p[-1] * self.row

    def quick_values(self, x: np.ndarray) -> np.ndarray:
        values = self.constraints.quick_values(x)
        return np.append(self.weights.astype(values.dtype) * values, values.dtype.type(self.row @ x))

    def quick_combine(self, p: np.ndarray) -> np.ndarray:
        return self.constraints.quick_combine(self.weights * p[:-1]) + p[-1] * self.row

    def gap(self, lower: float, upper: float) -> float:
        return 0.0 if lower > 0.0 or upper < 0.0 else max(0.0, upper - lower)


def maximize_semidefinite(
    C: ArrayLike,
    A: MatrixLike | Sequence[MatrixLike] | Semidefinite,
    eps: float = 1e-3,
    *,
    method: Literal["pdhg", "sublinear"] = "pdhg",
    max_steps: int = 60,
    max_time: float | None = None,
) -> SemidefiniteResult:
    """The largest :math:`C \\circ X` with :math:`A_i \\circ X \\ge 0`, X ⪰ 0 and tr X ≤ 1.

    For c > 0 the optimum is at least c if and only if some X ≠ 0 of the cone has :math:`A_i \\circ X \\ge 0` and
    :math:`(C - cI) \\circ X \\ge 0`, since X may be scaled to trace 1: this is the survey's constraint :math:`C \\circ
    X \\ge c` in the homogeneous form of max-min problems. Each step solves that for one c, by `PDHG` from the last
    answer, or by Algorithm 3. Both bounds follow from its x and p, whatever the sign:

    .. math:: C \\circ X \\le v^* \\le \\max\\Big(0, \\lambda_{\\max}\\Big(C + \\sum_i y_i A_i\\Big)\\Big),
              \\qquad y_i = p_i/p_0,

    with :math:`p_0` the weight of the objective. The first holds if X is feasible; an X that is slightly infeasible is
    mixed with a strictly feasible one found before, so that it becomes feasible. The second holds for any y ≥ 0.

    Parameters
    ----------
    C : array of shape (n, n)
    A : Semidefinite, or its first parameter
        The constraints.
    eps : float
        Stop at an interval of this width, relative to the largest absolute eigenvalue of C.
    method : {"pdhg", "sublinear"}
        How a step is solved. "sublinear" is the survey's Algorithm 3: `SublinearSDP` for ε, a quarter of the width
        that is asked for. A step makes :math:`(2/\\varepsilon)^2\\log m` iterations, each with a projection of up to
        :math:`4/\\varepsilon^2` eigenvectors, as the theory has it: minutes for matrices of order 8 at `eps` of 0.5,
        where "pdhg" takes milliseconds. A step may not be decided: the interval is proved all the same, and
        ``Status.FINISHED`` where it is wider than `eps`.
    max_steps : int
        Upper limit of the number of feasibility problems.
    max_time : float, optional
        Seconds for each of them.

    Returns
    -------
    SemidefiniteResult
        With ``Status.CONVERGED`` if the interval is narrow enough and X is feasible. If no strictly feasible X exists,
        X may violate constraints, by at most `violation`: then the status is ``Status.FINISHED``.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> best = hinge.maximize_semidefinite(np.diag([3.0, 1.0]), [np.diag([-1.0, 1.0])], eps=1e-3)
    >>> bool(best.lower <= 2.0 <= best.upper), best.X.round(2).tolist()
    (True, [[0.5, 0.0], [0.0, 0.5]])
    """
    number(above=0).check("eps", eps)
    choice("pdhg", "sublinear").check("method", method)
    problem = A if isinstance(A, Semidefinite) else Semidefinite(A)
    goal = np.asarray(C, np.float64)
    if goal.shape != (problem.order,) * 2 or not np.isfinite(goal).all():
        raise ValueError(f"C must be a finite matrix of order {problem.order}, as the constraints are.")
    if not problem.in_memory:
        raise ValueError("The constraints must be in memory: bisection reads them many times.")
    # A constraint of norm zero always holds; its value 0 would hide the sign of σ.
    binding = np.flatnonzero(_norms(problem.matrix.unbilled, problem.n) > 0.0)
    y = np.zeros(problem.n)
    kept: Semidefinite | None = problem
    if len(binding) < problem.n:
        kept = Semidefinite(problem.matrix.gather(binding), packed=True) if len(binding) else None
    with few_threads(problem.order):
        result = _Bisection(kept, (goal + goal.T) / 2, eps, method).run(max_steps, max_time)
    y[binding] = result.y
    return result._replace(y=y)


class _Bisection:
    """The state of one call: the bounds, and the X and y that prove them."""

    def __init__(self, problem: Semidefinite | None, C: np.ndarray, eps: float, method: str) -> None:
        self.C, self.n, self.method = C, len(C), method
        self.level = None if problem is None else ProgramLevel(problem, C)
        values, vectors = np.linalg.eigh(C)
        self.wanted = eps * (float(np.abs(values).max()) or 1.0)
        self.y = np.zeros(0 if problem is None else problem.n)
        self.upper = max(0.0, float(values[-1]) + rounding(4 * self.n, float(np.linalg.norm(C))))
        self.top = self.upper
        self.x, self.lower, self.violation = svec(np.zeros_like(C)), 0.0, 0.0  # X = 0 is feasible
        self.inner: tuple[np.ndarray, float] | None = None  # a strictly feasible X, and how strictly
        self.offer(svec(np.outer(vectors[:, -1], vectors[:, -1])), 0.0)

    def run(self, max_steps: int, max_time: float | None) -> SemidefiniteResult:
        steps = iterations = 0
        answer: Strategies | None = None
        tol = 0.25 * self.wanted / (1.0 if self.level is None else self.level.norm)
        low, high = self.lower, self.upper
        while self.level is not None and high - low > self.wanted and steps < max_steps:
            before, self.level.c = self.width, 0.5 * (low + high)
            answer, taken = self.decide(self.level, tol, max_time, answer)
            steps, iterations = steps + 1, iterations + taken
            assert answer.p is not None
            self.prove(answer.p)
            if self.method == "pdhg":
                self.offer(answer.x, tol)
                low, high = self.lower, self.upper
                if self.width > 0.9 * before:
                    tol /= 4.0  # the answer was too coarse to decide
            else:  # a level that no feasible X shows is taken for infeasible, as in the survey's binary search
                self.offer(answer.x, 0.0)
                low, high = max(low, self.lower), min(high if self.lower >= self.level.c else self.level.c, self.upper)
        status = Status.CONVERGED if self.violation == 0.0 else Status.FINISHED
        if self.width > self.wanted:
            status = Status.FINISHED if self.method == "sublinear" and high - low <= self.wanted else Status.MAX_ITER
        bounds = self.lower, self.upper, self.violation
        return SemidefiniteResult(smat(self.x, self.n), *bounds, self.y, steps, iterations, status)

    def decide(self, level: ProgramLevel, tol: float, max_time: float | None, answer: Any) -> tuple[Strategies, int]:
        """X of trace 1 and weights of one level, to this accuracy, and the iterations that they took."""
        if self.method == "pdhg":
            result = solve(level, PDHG(), stop=Stop(tol, max_iter=20_000, max_time=max_time), start=answer)
            return result.solution, result.n_iter
        rows = level.weights[:, None] * level.constraints.matrix.gather_dense(np.arange(level.constraints.n))
        every = np.vstack([rows, level.row])
        problem = Semidefinite(every, packed=True, relative=False)
        result = solve(problem, SublinearSDP(epsilon=tol), stop=Stop(0, max_time=max_time))
        return result.solution._replace(x=problem.settled(result.solution.x)), result.n_iter

    @property
    def width(self) -> float:
        return self.upper - self.lower

    def offer(self, x: np.ndarray, tol: float) -> None:
        """Keep an X of trace 1 if it is better; an infeasible one is first mixed with a strictly feasible one."""
        least = self.least(x)
        if least > 0.0 and (self.inner is None or least > self.inner[1]):
            self.inner = x, least
        if least < 0.0 and self.inner is not None:
            inside, depth = self.inner
            share = min(1.0, -least / (depth - least) * (1.0 + 1e-9) + 1e-12)
            x = (1.0 - share) * x + share * inside
            least = self.least(x)
        violation = max(0.0, -least)
        value = float(svec(self.C) @ x) - rounding(len(x) + 8 * self.n, float(np.linalg.norm(self.C)))
        if violation <= tol and value > self.lower:
            self.x, self.lower, self.violation = x, value, violation

    def least(self, x: np.ndarray) -> float:
        """The smallest product with a constraint of norm 1, less its rounding error."""
        level = self.level
        if level is None:
            return np.inf
        return float((level.weights * level.constraints.values(x)).min()) - rounding(len(x) + 8 * self.n, 1.0)

    def prove(self, p: np.ndarray) -> None:
        """The upper bound that these weights prove, kept if it is lower."""
        level = self.level
        assert level is not None
        weighted = level.weights * p[:-1]
        if p[-1] > 0.0:
            scale = level.norm / p[-1]
        else:
            top = top_eigenvalue(smat(level.constraints.combine(weighted), self.n))
            if top >= 0.0:
                return
            scale = 2.0 * self.top / -top  # only X = 0 is feasible
        y = weighted * scale
        M = self.C + smat(level.constraints.combine(y), self.n)
        size = float(np.linalg.norm(self.C) + y @ (1.0 / level.weights))
        upper = max(0.0, top_eigenvalue(M) + rounding(len(y) + 4 * self.n, size))
        if upper < self.upper:
            self.upper, self.y = upper, y


@compiled
def _norms(A, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = np.sqrt(sq_norm(A, held_row(A, i)))
    return out
