"""ν-SVMs by landmarks: the bounds are those of the exact problem, and the root in λ or ε is found."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from hinge import Stop, solve
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Laplacian, Linear, Polynomial
from hinge.monitoring import Status
from hinge.problems import KernelNuClassification, KernelNuRegression
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import LevelBlocks, Nystroem
from hinge.solvers.kernel import level_root
from tests.certificates.engine import check

N = 300
X, LABELS = make_moons(N, noise=0.3, random_state=0)
SIGNS, TARGETS = 2 * LABELS - 1, np.sin(3 * X[:, 0]) + 0.2 * np.random.default_rng(0).standard_normal(N)
WEIGHT = 1.0 + np.arange(N) % 3


def made(regression, nu, kernel=None, exact=True, weight=WEIGHT, **options):
    gram = Gram(as_points(X, kernel or Gaussian(2.0), exact=exact))
    if regression:
        return KernelNuRegression(gram, TARGETS, nu, 0.5, weight=weight, **options)
    return KernelNuClassification(gram, SIGNS, nu, weight=weight, **options)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(1.0), Polynomial(3, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("nu", [0.4, 0.9])
def test_bounds_enclose_the_optimum_of_the_exact_kernel(nu, kernel, exact, regression):
    finished = solve(made(regression, nu, kernel), LevelBlocks(), stop=Stop(1e-7)).certificate
    for m in (5, 40, N):
        problem = made(regression, nu, kernel, exact)
        result = solve(problem, Nystroem(m), stop=Stop(1e-6))
        found = result.certificate
        assert np.count_nonzero(result.solution.beta) <= m
        assert found.bound <= finished.objective + 1e-9 * abs(finished.objective)
        assert finished.bound <= found.objective
        assert problem.objective(result.solution) <= found.objective + 1e-9 * abs(found.objective)
    assert found.gap < (1e-5 if exact else 2e-2)  # float32 leaves fewer landmarks that are independent


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("nu", [0.3, 0.6, 1.0])
def test_as_many_landmarks_as_points_give_the_exact_answer(nu, regression):
    nu = nu if regression else nu * 2 * min(WEIGHT[SIGNS > 0].sum(), WEIGHT[SIGNS < 0].sum()) / WEIGHT.sum()
    best = solve(made(regression, nu), LevelBlocks(), stop=Stop(1e-8))
    found = solve(made(regression, nu), Nystroem(10**6), stop=Stop(1e-7))
    assert found.status is Status.CONVERGED and found.state.m == N
    assert found.certificate.objective == pytest.approx(best.certificate.objective, rel=1e-6)
    scale = np.abs(best.solution.responses).max()
    np.testing.assert_allclose(found.solution.responses, best.solution.responses, atol=2e-3 * scale)


@pytest.mark.parametrize("regression", [False, True])
def test_landmarks_are_doubled_until_the_gap_is_reached(regression):
    result = solve(made(regression, 0.5), Nystroem(), stop=Stop(1e-2))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-2
    assert result.state.m == 32 * 2 ** int(np.log2(result.state.m / 32)) > 32


def test_the_root_is_found_by_few_problems(monkeypatch):
    solved = []
    monkeypatch.setattr(level_root, "solve", lambda *args, **options: solved.append(args) or solve(*args, **options))
    for regression in (False, True):
        for nu in (0.3, 0.5, 0.8):
            solved.clear()
            result = solve(made(regression, nu), Nystroem(60), stop=Stop(0.05))
            assert result.state.left <= 1e-2 and len(solved) <= 12


def test_where_the_sum_jumps_both_sides_are_mixed():
    # Of three points on a line that need no slope, ν(ε) is 2/3 for every ε below 1 and then zero.
    problem = KernelNuRegression(np.zeros((3, 1)), [0.0, 1.0, 2.0], 0.4, kernel=Linear())
    result = solve(problem, Nystroem(3), stop=Stop(1e-6))
    assert result.certificate.gap <= 1e-6
    rows, targets = np.arange(9.0)[:, None] - 4.0, np.array([0.0, 1, 0, 1, 0, 1, 0, 1, 0])
    for nu in (0.1, 0.3, 0.7):
        problem = KernelNuRegression(rows, targets, nu, 0.2, kernel=Linear())
        assert solve(problem, Nystroem(9), stop=Stop(1e-5)).certificate.gap <= 1e-5


def test_a_small_nu_leaves_no_margin():
    found = solve(made(False, 0.01), Nystroem(10), stop=Stop(1e-3))
    assert found.status is Status.FINISHED and found.certificate.gap == np.inf
    assert found.certificate.bound <= 0.0


@pytest.mark.parametrize("form", ["one class", "classes", "targets"])
def test_feasible_points_have_the_sums_exactly(form):
    rng = np.random.default_rng(3)
    problem = made(form == "targets", 0.37)
    if form == "one class":
        problem = KernelOneClass(problem.gram, 0.37, weight=WEIGHT)
    for size in (0.1, 1.0, 10.0):
        beta = problem.feasible(size * problem.boxes * rng.standard_normal(N))
        alpha = problem.weights_of(beta)
        sums = [alpha[problem.sign == sign].sum() for sign in problem.signs]
        assert problem._is_feasible(beta) and max(sums) <= problem.mass * (1 + 1e-12)
        assert form == "targets" or min(sums) == pytest.approx(problem.mass, rel=1e-12)
        again = problem.feasible(beta)
        np.testing.assert_allclose(again, beta, rtol=1e-9, atol=1e-12)


def test_what_is_between_its_bounds_is_moved_first():
    problem = made(False, 0.37)
    beta = np.where(np.arange(N) % 2, problem.boxes * SIGNS, 0.0)
    beta[:40] *= 0.5
    moved = np.flatnonzero(problem.feasible(beta) != beta)
    assert len(moved) and len(moved) < N
    beta = problem.feasible(beta)
    inner = np.flatnonzero((beta != 0) & (np.abs(beta) < problem.boxes))[:6]
    beta[inner] *= 1.0 + 1e-6
    assert np.isin(np.flatnonzero(problem.feasible(beta) == 0.0), np.flatnonzero(beta == 0.0)).all()
    assert np.array_equal(problem.feasible(beta) == 0.0, beta == 0.0)


def test_a_point_that_is_not_feasible_bounds_nothing():
    problem = made(False, 0.5)
    result = solve(problem, Nystroem(50), stop=Stop(0.5))
    answer = result.solution
    for wrong in (2.0 * answer.dual, -answer.dual, np.zeros(N)):
        found = problem._bounds_apart(answer, problem.off(answer), (wrong, np.zeros(N)))
        assert found.bound > -np.inf
        found = problem._bounds_apart(answer._replace(dual=wrong), problem.off(answer), (wrong, np.zeros(N)))
        assert found.bound == -np.inf and found.gap == np.inf


def test_rows_without_weight_are_no_landmarks():
    weight = np.arange(N) % 2 + 0.0
    for regression in (False, True):
        beta = solve(made(regression, 0.5, weight=weight), Nystroem(30)).solution.beta
        assert not beta[::2].any() and np.count_nonzero(beta) > 10


def test_no_certificate_of_random_problems_is_false():
    tally = check("low_rank_levels", range(40), seed=2)
    assert tally.violated == 0, "\n".join(tally.failures)
    assert tally.claims > 60
