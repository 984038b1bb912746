"""The one-class problem over rows, beside the same one over kernel values."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import Gram, as_points
from hinge.kernels import Linear
from hinge.monitoring import Stop
from hinge.problems import Certificate, Expansion, OneClass, Solution
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import SDCA, SGD, Frugal, Newton, Pegasos, StaleSDCA, UniformDCA, choose, solve


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 3)) + np.array([2.0, 0.0, 1.0]), rng.uniform(0.5, 1.5, 40)


def beside(X, nu, s, alpha):
    """The certificate of α as kernel values have it."""
    problem = KernelOneClass(Gram(as_points(X, Linear(), exact=True)), nu, weight=s)
    beta = s * alpha
    return problem.certificate(Expansion(beta, 0.0, X @ (beta @ X), np.abs(beta), 1))


@pytest.mark.parametrize("lam", [None, 1.0, 1e-3])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_the_certificate_is_that_of_kernel_values(rows, nu, lam):
    X, s = rows
    problem = OneClass(X, nu, weight=s, lam=lam)
    alpha, w = problem.restored(np.random.default_rng(1).random(40))
    found, other = problem.certificate(Solution(w, 0.0, alpha)), beside(X, nu, s, alpha)
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert found.bound == pytest.approx(other.bound, rel=1e-9)
    assert found.gap == pytest.approx(other.gap, rel=1e-6, abs=1e-6)  # each has its own bound on rounding
    assert found.unrounded == pytest.approx(other.unrounded, rel=1e-6, abs=1e-7)
    assert found.b * problem.scale == pytest.approx(other.b, rel=1e-9)
    given = problem.final_answer(Solution(w * 2.0, 7.0, alpha), found)
    np.testing.assert_allclose(given.w, w)
    assert problem.objective(given) == pytest.approx(found.objective, rel=1e-10)
    assert problem.dual(given) == pytest.approx(-0.5 * (w @ w) * problem.scale**2, rel=1e-9)


@pytest.mark.parametrize("start", [0.0, 0.05, 0.9, 1.0])
def test_any_dual_point_is_made_feasible(rows, start):
    X, s = rows
    s = np.where(np.arange(40) % 4, s, 0.0)
    problem = OneClass(X, 0.3, weight=s)
    given = np.clip(start + np.random.default_rng(2).uniform(-0.2, 0.2, 40), 0.0, 1.0)
    given[::3] = start
    alpha, w = problem.restored(given)
    assert problem.share() @ alpha == pytest.approx(0.3, rel=1e-14)
    assert alpha.min() >= 0.0 and alpha.max() <= 1.0 and not alpha[s == 0].any()
    np.testing.assert_allclose(w * problem.scale, (alpha * s) @ X, rtol=1e-12)


def test_rows_at_a_bound_stay_there_where_others_have_room(rows):
    X, _ = rows
    alpha = np.zeros(40)
    alpha[:12] = 1.0
    alpha[12:14] = 0.5
    for nu in (0.31, 0.33):
        moved = OneClass(X, nu).restored(alpha)[0]
        assert (moved[:12] == 1.0).all() and not moved[14:].any()
        assert moved.sum() == pytest.approx(nu * 40)


def test_the_best_bias_is_a_quantile(rows):
    X, s = rows
    problem, r = OneClass(X, 0.25, weight=s), np.random.default_rng(3).random(40)
    rho = -problem.best_bias(r)
    grid = np.linspace(0, 1, 2001)
    costs = [s @ np.maximum(g - r, 0) - 0.25 * s.sum() * g for g in grid]
    assert s @ np.maximum(rho - r, 0) - 0.25 * s.sum() * rho <= min(costs) + 1e-12


@pytest.mark.parametrize("solver", [SDCA(), Newton()], ids=["SDCA", "Newton"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, np.float32])
def test_both_solvers_find_the_same(rows, solver, layout):
    X, s = rows
    best = solve(OneClass(X, 0.3, weight=s), SDCA(), stop=Stop(1e-6))
    problem = OneClass(layout(X), 0.3, weight=s)
    result = solve(problem, solver, stop=Stop(1e-5))
    assert result.certificate.gap <= 1e-5
    scale = np.linalg.norm(best.solution.w) * (1e-5 if layout is not np.float32 else 1e-4)
    np.testing.assert_allclose(
        result.solution.w * problem.lam, best.solution.w * OneClass(X, 0.3, weight=s).lam, atol=scale
    )


@pytest.mark.parametrize("solver", [SDCA(), Newton()], ids=["SDCA", "Newton"])
def test_rows_about_zero_end_a_run(solver):
    X = np.random.default_rng(0).standard_normal((200, 3))
    result = solve(OneClass(X, 0.8), solver, stop=Stop(1e-3, max_iter=10**6))
    assert result.status.name == "STALLED" and result.n_iter < 10**5
    assert result.certificate.gap >= 1.0 and result.certificate.unrounded == 0.0


@pytest.mark.parametrize(
    "solver", [Pegasos(), SGD(), StaleSDCA(), UniformDCA(), Frugal()], ids=lambda s: type(s).__name__
)
def test_others_say_who_can(rows, solver):
    with pytest.raises(ValueError, match="use SDCA"):
        solve(OneClass(rows[0], 0.3), solver)


def test_what_is_chosen(rows):
    X, _ = rows
    assert isinstance(choose(OneClass(X, 0.3), few_reads=True).solver, SDCA)
    assert isinstance(choose(OneClass(X, 0.3)).solver, SDCA | Newton)


def test_what_is_no_problem(rows):
    with pytest.raises(ValueError, match="nu must lie"):
        OneClass(rows[0], 0.0)
    problem = OneClass(rows[0], 0.3)
    assert problem.certificate(Solution(np.zeros(3))).gap == np.inf
    assert problem.dual(Solution(np.zeros(3))) == -np.inf
    answer = Solution(np.ones(3), 1.0, np.ones(40))
    assert problem.final_answer(answer, Certificate.unknown()) is answer
