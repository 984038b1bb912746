import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from hinge.datasets import make_known_optimum, make_separable
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized, SlackConstrained, Solution
from hinge.problems.svm.slack_constrained import Basins, scalarizations
from hinge.solvers import SDCA, Simba, solve, solve_slack


def water_level(m, c, nu):
    """The level of one basin."""
    return Basins(m, np.ones(len(m)), c, free=False).level(nu)[0]


def best_level(r, y, c, nu):
    """The level and the bias of two."""
    return Basins(r, y, c, free=True).level(nu)


@st.composite
def rows(draw):
    """Responses, labels of both classes, shares (some of them zero), and a slack."""
    n = draw(st.integers(2, 10))
    r = np.array(draw(st.lists(st.integers(-24, 24), min_size=n, max_size=n))) / 8
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    s = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    y[:2], s[:2] = (1, -1), s[:2] + 1
    return r, y, s / s.sum(), draw(st.integers(1, 64)) / 64


def level_by_linear_program(r, y, c, nu, free):
    """max γ with yᵢ(rᵢ + b) + ξᵢ ≥ γ, Σcξ ≤ ν, ξ ≥ 0; the variables are ξ, b, γ."""
    n = len(y)
    A = np.vstack([np.hstack([-np.eye(n), -y[:, None], np.ones((n, 1))]), [*c, 0, 0]])
    bounds = [(0, None)] * n + [(None, None) if free else (0, 0), (None, None)]
    solved = linprog([0.0] * (n + 1) + [-1.0], A, [*(y * r), nu], bounds=bounds)
    assert solved.status == 0
    return -solved.fun


@pytest.mark.slow
@given(rows())
def test_water_level_by_bisection(case):
    r, y, c, nu = case
    m = y * r

    def excess(gamma):
        return c @ np.maximum(0, gamma - m) - nu

    root = brentq(excess, m.min(), m.max() + nu / c[c > 0].min() + 1, xtol=1e-13)
    assert water_level(m, c, nu) == pytest.approx(root, abs=1e-10)


@pytest.mark.slow
@given(rows())
def test_water_level_by_linear_program(case):
    r, y, c, nu = case
    assert water_level(y * r, c, nu) == pytest.approx(level_by_linear_program(r, y, c, nu, False), abs=1e-7)


@pytest.mark.slow
@given(rows())
@example((np.zeros(10), np.array([1] * 9 + [-1]), np.full(10, 0.1), 0.5))  # few negative rows and much slack
def test_best_level_by_linear_program(case):
    r, y, c, nu = case
    gamma, b = best_level(r, y, c, nu)
    assert gamma == pytest.approx(water_level(y * (r + b), c, nu), abs=1e-12)
    assert gamma == pytest.approx(level_by_linear_program(r, y, c, nu, True), abs=1e-7)


def test_objective_by_hand():
    # Margins at unit norm are 1 and 3; half a unit of mean slack lifts the first to 2.
    problem = SlackConstrained([[2.0, 1.0], [0.0, -3.0]], [1, -1], 0.5)
    assert problem.objective(Solution(np.array([0.0, 7.0]))) == pytest.approx(2.0)
    assert problem.objective(Solution(np.zeros(2))) == pytest.approx(0.5)
    assert problem.matrix.reads == 0


def test_bound_by_hand():
    # p = (1/2, 1/2): ‖(1, 2)‖ and ν max p/c = 0.5.
    problem = SlackConstrained([[2.0, 1.0], [0.0, -3.0]], [1, -1], 0.5)
    certificate = problem.certificate(Solution(np.array([0.0, 7.0]), alpha=np.full(2, 0.3)))
    assert certificate.bound == pytest.approx(np.sqrt(5) + 0.5)
    assert certificate.gap == pytest.approx((np.sqrt(5) + 0.5 - 2) / 2)
    for solution in (Solution(np.ones(2)), Solution(np.ones(2), alpha=np.zeros(2))):
        assert problem.certificate(solution).gap == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_objective_is_the_best_of_all_multiples_of_w_in_the_ball(tiny, bias, scale):
    # max γ over 0 ≤ ρ ≤ 1 with yᵢ(ρrᵢ + b) + ξᵢ ≥ γ; the variables are ξ, b, γ, ρ.
    X, y = tiny
    rng = np.random.default_rng(0)
    for nu in (0.02, 0.1, 0.5):
        problem = SlackConstrained(X, y, nu, bias=bias)
        for _ in range(3):
            w = rng.standard_normal(7)
            r = X @ w / np.linalg.norm(w)
            A = np.hstack([-np.eye(60), -y[:, None], np.ones((60, 1)), -(y * r)[:, None]])
            A = np.vstack([A, [1 / 60] * 60 + [0, 0, 0]])
            free = (None, None) if bias == "free" else (0, 0)
            bounds = [(0, None)] * 60 + [free, (None, None), (0, 1)]
            best = -linprog([0.0] * 61 + [-1.0, 0.0], A, [0.0] * 60 + [nu], bounds=bounds).fun
            assert problem.objective(Solution(scale * w)) == pytest.approx(best, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_bound_is_above_any_margin(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, 60) * 1.0 if weighted else None
    problem = SlackConstrained(X, y, 0.4, bias=bias, weight=s)
    bounds, margins = [], []
    for _ in range(60):
        w = rng.standard_normal(7)
        w[:2] = np.abs(w[:2])
        alpha = np.clip(rng.normal(0.5, 1, 60), 0, 1)
        certificate = problem.certificate(Solution(w, 0.0, alpha))
        bounds.append(certificate.bound)
        margins.append(certificate.objective)
        assert problem.objective(Solution(w)) == pytest.approx(certificate.objective)
        assert certificate.gap >= 0
    assert max(margins) < min(bounds)


def test_one_class_without_a_second_has_no_bound_with_a_free_bias():
    problem = SlackConstrained(np.eye(2), [1, -1], 0.1, bias="free")
    certificate = problem.certificate(Solution(np.array([1.0, -1.0]), alpha=np.array([1.0, 0.0])))
    assert certificate.gap == np.inf


def test_known_optimum_has_no_gap():
    # Lemma 2.1: w*/‖w*‖ has the margin 1/‖w*‖ at ν = loss/‖w*‖.
    for seed in range(5):
        known = make_known_optimum(100, 8, 0.01, seed=seed)
        norm = np.linalg.norm(known.w_star)
        nu = (known.objective - known.lam / 2 * norm**2) / norm
        problem = SlackConstrained(known.X_train, known.y_train, nu)
        certificate = problem.certificate(Solution(known.w_star, alpha=known.alpha_star))
        assert certificate.objective == pytest.approx(1 / norm)
        assert certificate.gap <= 1e-10


def test_little_slack_is_maximum_margin():
    known = make_separable(80, 6, 0.2, seed=1)
    problem = SlackConstrained(known.X_train, known.y_train, 1e-9)
    certificate = problem.certificate(Solution(known.w_star, alpha=known.p_star))
    assert certificate.objective == pytest.approx(0.2, rel=1e-6)
    assert certificate.bound == pytest.approx(0.2, rel=1e-6)
    assert certificate.gap < 1e-6


@pytest.mark.parametrize("nu", [-0.1, 1.01, np.nan, np.inf])
def test_slack_is_a_share(nu):
    with pytest.raises(ValueError, match=r"nu must lie in \[0, 1\], got"):
        SlackConstrained(np.eye(2), [1, -1], nu)


@pytest.mark.slow
def test_no_slack_at_all_is_the_widest_margin():
    """As the papers have it: ν = 0 is a hard margin, which the certificate brackets."""
    made = make_separable(200, 30, 0.25)
    problem = SlackConstrained(made.X_train, made.y_train, 0.0)
    certificate = problem.certificate(Solution(made.w_star, alpha=made.p_star))
    assert certificate.objective == pytest.approx(0.25, rel=1e-6) == certificate.bound
    found = solve(problem, Simba(), stop=Stop(tol=0.3, max_iter=20_000), seed=1)
    assert found.status is Status.CONVERGED
    assert found.certificate.objective <= 0.25 <= found.certificate.bound
    with pytest.raises(ValueError, match=r"use Simba, or hinge\.max_margin"):
        solve_slack(problem)


def test_a_penalised_bias_is_refused():
    with pytest.raises(ValueError, match="add a constant feature"):
        SlackConstrained(np.eye(2), [1, -1], 0.1, bias="penalized")


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_one_solution_three_problems(tiny, bias, weighted, lam):
    X, y = tiny
    s = np.random.default_rng(0).integers(0, 4, 60) * 1.0 if weighted else None
    problem = Regularized(X, y, lam, bias=bias, weight=s)
    result = solve(problem, SDCA(), stop=Stop(tol=1e-10, max_time=20))
    assert result.status is Status.CONVERGED
    here = scalarizations(problem, result.solution)
    assert (here.norm, here.loss) == pytest.approx(problem.criteria(result.solution.w, result.solution.b))
    assert here.lam == pytest.approx(lam, rel=1e-9)
    assert here.nu == pytest.approx(here.loss / here.norm)
    assert here.norm == here.B

    slack = SlackConstrained(X, y, here.nu, bias=bias, weight=s)
    ball = NormConstrained(X, y, here.B, bias=bias, weight=s)
    assert slack.certificate(result.solution).gap < 1e-7
    assert slack.objective(result.solution) == pytest.approx(1 / here.norm, rel=1e-6)
    assert ball.certificate(result.solution).gap < 1e-7

    # and back again
    back = scalarizations(slack, result.solution)
    assert back.lam == pytest.approx(lam, rel=1e-4)
    assert back.nu == pytest.approx(here.nu, rel=1e-4)
    assert back.norm == pytest.approx(here.norm, rel=1e-4)
    assert scalarizations(ball, result.solution).lam == pytest.approx(lam, rel=1e-6)


def test_without_a_dual_there_is_no_lam(tiny):
    X, y = tiny
    here = scalarizations(Regularized(X, y, 0.1), Solution(np.ones(7)))
    assert np.isnan(here.lam)
    assert here.norm == pytest.approx(np.sqrt(7))
    at_rest = scalarizations(Regularized(X, y, 0.1), Solution(np.zeros(7), alpha=np.ones(60)))
    assert (at_rest.norm, at_rest.loss, at_rest.nu) == (0, 1, np.inf)


def test_rows_with_a_weight_are_read_and_billed(tiny):
    X, y = tiny
    problem = Regularized(X, y, 0.1)
    scalarizations(problem, Solution(np.ones(7), alpha=(np.arange(60) < 10) * 0.5))
    assert problem.matrix.reads == 10 * 7
