"""Landmarks: what they cost, which are kept, and that nothing is certified that is false."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from hinge import Stop, solve
from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from hinge.monitoring import Status
from hinge.problems import KernelNuClassification, KernelNuRegression, KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import ActiveSet, BlockDual, LevelBlocks, Nystroem
from hinge.solvers.kernel import nystroem
from tests.certificates.engine import check


def moons(n=400, kernel=None, exact=True, **options):
    X, y = make_moons(n, noise=0.3, random_state=0)
    gram = Gram(as_points(X, kernel or Gaussian(2.0), exact=exact))
    return KernelRegularized(gram, 2.0 * y - 1, 1.0 / n, bias="free", **options)


def test_no_certificate_of_random_problems_is_false():
    tally = check("low_rank", range(50), seed=2)
    assert tally.violated == 0, "\n".join(tally.failures)
    assert tally.claims > 100


@pytest.mark.parametrize("exact", [True, False])
def test_bounds_enclose_the_optimum_of_the_exact_kernel(exact):
    best = solve(moons(), ActiveSet(), stop=Stop(1e-9)).certificate.objective
    gaps = []
    for m in (10, 40, 160):
        result = solve(moons(exact=exact), Nystroem(m), stop=Stop(1e-9))
        found = result.certificate
        assert found.bound <= best <= found.objective
        assert np.count_nonzero(result.solution.beta) <= m
        gaps.append(found.gap)
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 0.01


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(1.0), Polynomial(3, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_bounds_enclose_the_optimum_of_one_class(nu, kernel, exact):
    X, _ = make_moons(300, noise=0.3, random_state=0)
    weight = 1.0 + np.arange(300) % 3
    whole = KernelOneClass(Gram(as_points(X, kernel, exact=True)), nu, weight=weight)
    finished = solve(whole, LevelBlocks(), stop=Stop(1e-6))
    best, w = finished.certificate.objective, finished.solution.beta
    K = kernel(X, X)
    for m in (5, 40, 300):
        problem = KernelOneClass(Gram(as_points(X, kernel, exact=exact)), nu, weight=weight)
        result = solve(problem, Nystroem(m), stop=Stop(1e-6))
        found, beta = result.certificate, result.solution.beta
        assert np.count_nonzero(beta) <= m
        assert found.bound <= best * (1 - 1e-9) and finished.certificate.bound <= found.objective
        far = np.sqrt(max((beta - w) @ K @ (beta - w), 0.0) / (beta @ K @ beta))
        assert far <= found.gap + finished.certificate.gap * 2.0
    assert found.gap < (1e-3 if exact else 1e-2)  # float32 leaves fewer landmarks that are independent


def test_landmarks_are_doubled_until_the_gap_is_reached():
    result = solve(moons(), Nystroem(), stop=Stop(1e-2))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-2
    assert result.state.m == 32 * 2 ** int(np.log2(result.state.m / 32)) > 32


def test_as_many_landmarks_as_points_give_the_exact_answer():
    result = solve(moons(120), Nystroem(10**6), stop=Stop(1e-7))
    assert result.status is Status.CONVERGED and result.state.m == 120


def test_the_answer_of_a_kernel_that_is_zero_is_constant():
    problem = KernelRegularized(np.zeros((6, 2)), [1, 1, 1, 1, -1, -1], 0.1, Linear(), bias="free")
    result = solve(problem, Nystroem(3))
    assert not result.solution.responses.any() and result.solution.b == 1.0
    assert result.certificate.bound <= 2 / 3 <= result.certificate.objective


def test_rows_without_weight_are_no_landmarks():
    weight = np.arange(400) % 2 + 0.0
    beta = solve(moons(weight=weight), Nystroem(30)).solution.beta
    assert not beta[::2].any() and np.count_nonzero(beta) > 10


def test_parts_of_one_set_draw_the_same_landmarks():
    X, y = make_moons(400, noise=0.3, random_state=0)
    drawn = []
    for rows in (np.arange(0, 300), np.arange(100, 400)):
        gram = Gram(as_points(X[rows], Gaussian(2.0)))
        gram.part_of = rows, 400
        problem = KernelRegularized(gram, 2.0 * y[rows] - 1, 0.01)
        drawn.append(rows[nystroem._landmarks(problem, np.uint64(7), 50)])
    assert np.array_equal(np.intersect1d(*drawn), drawn[0][drawn[0] >= 100])
    assert len(np.union1d(*drawn)) == 50


def test_a_certificate_that_is_not_affordable_is_not_made():
    problem = moons()
    most = Nystroem(20).cost(problem).kernel_values
    result = solve(problem, Nystroem(20), stop=Stop(1e-2, max_kernel_evals=most))
    assert problem.kernel_evals <= most and result.certificate.gap == np.inf
    assert result.certificate.objective == pytest.approx(problem.objective(result.solution), rel=1e-6)


def test_memory_ends_the_doubling_with_a_warning(monkeypatch):
    monkeypatch.setattr(nystroem, "free_memory", lambda: 2 * 8 * 400 * 100)
    with pytest.warns(RuntimeWarning, match="landmarks would take"):
        result = solve(moons(), Nystroem(), stop=Stop(1e-9))
    assert result.state.m == 64 and np.isfinite(result.certificate.gap)


def test_kernels_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        solve(moons(kernel=Sigmoid(1.0, 1.0)), Nystroem(20))
    tanh = Function(lambda A, B: np.tanh(A @ B.T - 1.0) + 1.5 * (A @ B.T > 9), on="blocks")
    with pytest.raises(ValueError, match="not positive"):
        solve(moons(kernel=tanh), Nystroem(60))


def test_other_problems_are_refused():
    problem = KernelSlackConstrained(np.eye(2), [1, -1], 0.1, Gaussian(1.0))
    with pytest.raises(ValueError, match="not KernelSlackConstrained; use BlockDual or SBP"):
        solve(problem, Nystroem())


@pytest.mark.parametrize("solver", [BlockDual(), ActiveSet()])
def test_its_dual_point_starts_an_exact_run(solver):
    problem = moons(600)
    start = solve(problem, Nystroem(200), stop=Stop(1e-9)).solution
    dual = solver.init(problem, 0, start).beta
    assert np.array_equal(dual, problem.feasible(start.dual)) and not np.array_equal(dual, problem.feasible(start.beta))


MADE = {
    "classes": lambda gram, y: KernelRegularized(gram, y, 1.0 / 400, bias="free"),
    "targets": lambda gram, y: KernelRegularized(gram, y + 0.5, 1.0 / 400, bias="free", loss=epsilon_insensitive(0.1)),
    "one class": lambda gram, y: KernelOneClass(gram, 0.3),
    "nu, classes": lambda gram, y: KernelNuClassification(gram, y, 0.5),
    "nu, targets": lambda gram, y: KernelNuRegression(gram, y + 0.1 * np.arange(400), 0.5),
}


@pytest.mark.parametrize("form", MADE)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear()], ids=str)
def test_a_device_gives_the_same_bounds(kernel, form):
    pytest.importorskip("torch")
    from hinge.access.gram.device import DeviceGram

    X, y = make_moons(400, noise=0.3, random_state=0)
    X = X + 1.0  # of one class
    X[1::2], y[1::2] = X[::2], y[::2]  # landmarks depend on others
    grams = DeviceGram(X.astype(np.float32), kernel, "cpu"), Gram(as_points(X, kernel))
    problems = [MADE[form](gram, 2.0 * y - 1) for gram in grams]
    there, here = (solve(problem, Nystroem(60), stop=Stop(1e-3)).certificate for problem in problems)
    assert there.bound <= here.objective + 1e-6 * abs(here.objective)
    assert here.bound <= there.objective + 1e-6 * abs(there.objective)
    assert there.objective == pytest.approx(here.objective, rel=1e-2) and there.gap <= 1.2 * here.gap + 1e-2
