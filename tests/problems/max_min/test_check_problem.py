import numpy as np
import pytest

from hinge.kernels import Gaussian
from hinge.problems.max_min.base import MaxMin
from hinge.problems.max_min.check_problem import check_problem
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import MatrixGame
from hinge.problems.max_min.max_margin import KernelMaxMargin, MaxMargin
from hinge.problems.max_min.symmetric import Semidefinite

RNG = np.random.default_rng(0)
A = RNG.standard_normal((30, 8))
S = RNG.standard_normal((12, 5, 5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [MaxMargin(A), MaxMargin(A, np.sign(A[:, 0])), MatrixGame(A), Semidefinite(S + S.transpose(0, 2, 1))],
    ids=["margin", "margin with labels", "game", "semidefinite"],
)
def test_our_own_problems_pass(problem):
    tested = check_problem(problem)
    assert tested == [
        "start",
        "project",
        "values",
        "combine",
        "support",
        "values_at",
        "grad_at",
        "estimate_values",
        "dual_bound",
    ]


@pytest.mark.slow
def test_the_ball_passes():
    assert {"values", "values_at", "estimate_values", "dual_bound"} <= set(check_problem(EnclosingBall(A)))


def test_a_kernel_passes_what_its_flat_points_allow():
    problem = KernelMaxMargin(A, np.sign(A[:, 0]), Gaussian(0.3))
    p = np.full(30, 1 / 30)
    x = problem.project(problem.combine(p))
    np.testing.assert_allclose(problem.project(x), x)
    assert p @ problem.values(x) == pytest.approx(problem.support(problem.combine(p)) * problem.support(x))


class Own(MaxMin):
    """A user's problem: linear functions on a box."""

    n = 30

    def start(self):
        return np.zeros(8)

    def values(self, x):
        return A @ x

    def combine(self, p):
        return A.T @ p

    def project(self, x):
        return np.clip(x, -1, 1)

    def support(self, g):
        return float(np.abs(g).sum())

    def values_at(self, rows, x):
        return A[rows] @ x

    def grad_at(self, i, x):
        return A[i]

    scale = float(np.linalg.norm(A, axis=1).max())
    diameter = second_moment = 8.0

    def estimate_values(self, x, unit):
        j = int(unit * 8)
        return 8 * A[:, j] * x[j]


def test_a_users_problem_passes():
    assert len(check_problem(Own())) == 9


BROKEN = {
    "idempotent": dict(project=lambda self, x: 0.9 * np.clip(x, -1, 1)),
    "must lie in K": dict(start=lambda self: np.full(8, 2.0)),
    "apart": dict(project=lambda self, x: np.where(np.abs(x) <= 1, x, 3.0 * np.sign(x)).clip(-3, 3)),
    "30 finite numbers": dict(values=lambda self, x: (A @ x)[:-1]),
    "not linear": dict(values=lambda self, x: -((A @ x) ** 2)),
    "adjoint": dict(combine=lambda self, p: 2 * A.T @ p),
    "but a point of K has": dict(support=lambda self, g: 0.5 * float(np.abs(g).sum())),
    "reach only": dict(support=lambda self, g: 2.0 * float(np.abs(g).sum())),
    "values_at": dict(values_at=lambda self, rows, x: A[rows] @ x + 1),
    "gradient": dict(grad_at=lambda self, i, x: np.zeros(8)),
    "biased": dict(estimate_values=lambda self, x, unit: 7 * A[:, int(unit * 8)] * x[int(unit * 8)]),
    "larger second_moment": dict(second_moment=1e-6),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", BROKEN)
def test_a_fault_is_named(words):
    with pytest.raises(ValueError, match=words):
        check_problem(type("Broken", (Own,), BROKEN[words])())


def test_functions_that_are_not_concave_are_found():
    convex = dict(values=lambda self, x: (A @ x) ** 2, linear=False)
    with pytest.raises(ValueError, match="not concave"):
        check_problem(type("Convex", (Own,), convex)())
