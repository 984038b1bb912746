"""Methods that read one row an iteration, on the triplet of section 2 of the Pegasos paper: w = a·v with ν = ‖w‖².

Shrinking w costs O(1) and adding a row costs the row's nonzeros. Beside v stand its coordinates β
in the span of the rows, v = Σ βᵢ yᵢ xᵢ, so that a·β is a candidate for the dual at all times; the
average of the iterates is kept the same way, as A·v + u with coordinates A·β + γ, which costs
nothing while v does not change.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from hinge.access import add_row, dot, read_row, sq_norm
from hinge.compiled import Scalars, compiled, scalars
from hinge.problems import LinearProblem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.sampling import draw_index, key_of
from hinge.solvers.base import Solver

TINY = 1e-5  # a scale is folded into v below this: a smaller limit would cost the average digits, a larger one time


class Scaled(NamedTuple):
    """w = a·v, its average, the coordinates of both in the rows, and a bias.

    `s` has a; `sq` = ν = ‖w‖²; `averaged` = A, and `total`, the sum of the averaging weights; `v0` and `u0`,
    the entries of v and u that belong to a constant feature; the free bias b, and its weighted sum.
    """

    v: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray
    s: Scalars


def zeros(n: int, d: int) -> Scaled:
    """w = 0."""
    s = scalars(a=1.0, sq=0.0, averaged=0.0, total=0.0, v0=0.0, u0=0.0, b=0.0, b_sum=0.0)
    return Scaled(np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(n), s)


def last(z: Scaled) -> tuple[np.ndarray, float, np.ndarray, float]:
    """w, the constant feature's weight, the coordinates of w, and the free bias."""
    a = z.s.a
    return a * z.v, a * z.s.v0, a * z.beta, z.s.b


def average(z: Scaled) -> tuple[np.ndarray, float, np.ndarray, float]:
    """The same four for the average of the iterates."""
    A, total = z.s.averaged, z.s.total or 1.0
    w, w0, coords = A * z.v + z.u, A * z.s.v0 + z.s.u0, A * z.beta + z.gamma
    return w / total, w0 / total, coords / total, z.s.b_sum / total


@compiled
def shrink(z, factor):
    """w ← factor · w, in O(1) but for rare rescaling."""
    s = z.s
    s.a *= factor
    s.sq *= factor * factor
    if abs(s.a) < TINY:  # before a·v loses digits: fold a into v, and A·v into u
        for j in range(len(z.v)):
            z.u[j] += s.averaged * z.v[j]
            z.v[j] *= s.a
        for i in range(len(z.beta)):
            z.gamma[i] += s.averaged * z.beta[i]
            z.beta[i] *= s.a
        s.u0 += s.averaged * s.v0
        s.v0 *= s.a
        s.averaged = 0.0
        s.a = 1.0


@compiled
def add(A, row, z, i, step, yi, constant, response, sq):
    """w ← w + step · yᵢ · (xᵢ, constant), given ⟨w, (xᵢ, constant)⟩ and ‖(xᵢ, constant)‖²."""
    s = z.s
    delta = step / s.a
    s.sq += 2.0 * step * yi * response + step * step * sq
    add_row(A, row, delta * yi, z.v)
    z.beta[i] += delta
    s.v0 += delta * yi * constant
    if s.averaged != 0.0:
        add_row(A, row, -s.averaged * delta * yi, z.u)
        z.gamma[i] -= s.averaged * delta
        s.u0 -= s.averaged * delta * yi * constant


@compiled
def project(z, radius):
    """w ← the nearest point with ‖w‖ ≤ radius."""
    if z.s.sq > radius * radius:
        shrink(z, radius / np.sqrt(z.s.sq))


@compiled
def accumulate(z, rho):
    """Count the present iterate in the average with weight rho."""
    s = z.s
    s.averaged += rho * s.a
    s.total += rho
    s.b_sum += rho * s.b


@compiled
def keep(z):
    """Make the present iterate the average: how a random iterate is kept."""
    s = z.s
    z.u[:] = 0.0
    z.gamma[:] = 0.0
    s.u0 = 0.0
    s.averaged, s.total, s.b_sum = s.a, 1.0, s.b


L = TypeVar("L", bound=LinearProblem)


class OneRowState(NamedTuple):
    """w in scaled form, the iteration, the key of the draws."""

    z: Scaled
    t: int
    key: np.uint64


@dataclass(frozen=True)
class OneRow(Solver[L, OneRowState]):
    """A method that reads one row an iteration; subclasses supply `steps`."""

    average: bool = False

    def steps(self, problem: L, state: OneRowState, n_iter: int) -> None:
        """Run the iterations on ``state.z``."""
        raise NotImplementedError

    solves: ClassVar[type] = LinearProblem
    kind = "linear SVM"

    def _limits(self, problem: LinearProblem) -> str | None:
        if problem.bias != "none":
            return f"{type(self).__name__} has no bias, as in the papers: fit_intercept=False, or use Pegasos."
        if len(problem.weight) > 1:
            return f"{type(self).__name__} takes no weights; use Pegasos or SDCA."
        return None

    def init(self, problem: L, seed: int = 0, start: Solution | None = None) -> OneRowState:
        return OneRowState(zeros(problem.n, problem.d), 0, key_of(seed))

    def advance(self, problem: L, state: OneRowState, n_iter: int) -> OneRowState:
        self.steps(problem, state, n_iter)
        return state._replace(t=state.t + n_iter)

    def solution(self, problem: L, state: OneRowState) -> Solution:
        w, _, coords, _ = (average if self.average else last)(state.z)
        if isinstance(problem, Regularized):
            alpha = problem.lam * coords * problem.total
        else:  # the scale of the dual is free there: let a typical support row weigh one
            used = coords[coords > 0]
            alpha = coords / np.median(used) if len(used) else coords
        return Solution(w, 0.0, np.clip(alpha, 0.0, 1.0))

    def cost(self, problem: L, state: OneRowState | None = None) -> Cost:
        return Cost(rows=1, a_pass=problem.n)

    def estimate(self, problem: L, state: OneRowState) -> float:
        return 0.0 if state.t >= problem.n else np.inf


@compiled
def subgradient_steps(A, y, lam, eta_1, power, radius, average, n_iter, z, t0, key):
    """Steps of size η₁/t^power against λw - [yᵢ⟨w, xᵢ⟩ < 1] yᵢxᵢ, each followed by a projection."""
    for t in range(t0 + 1, t0 + n_iter + 1):
        eta = eta_1 / t**power
        i = draw_index(key, t, len(y))
        row = read_row(A, i)
        yi = np.float64(y[i])
        response = z.s.a * dot(A, row, z.v)
        shrink(z, 1.0 - eta * lam)
        if yi * response < 1.0:
            sq = sq_norm(A, row) if radius < np.inf else 0.0
            add(A, row, z, i, eta, yi, 0.0, (1.0 - eta * lam) * response, sq)
        if radius < np.inf:
            project(z, radius)
        if average:
            accumulate(z, 1.0)
