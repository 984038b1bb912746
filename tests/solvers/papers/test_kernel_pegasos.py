import numpy as np
import pytest
from reference.kernel_pegasos import kernel_pegasos

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained, Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers import SMO, KernelPegasos, solve
from hinge.solvers.papers.kernel_pegasos import TINY


def problem_of(rows, lam, kernel=None):
    X, y = rows
    return KernelRegularized(Gram(as_points(X, kernel or Gaussian(0.25), exact=True)), y, lam)


def matrix_of(problem):
    K = np.empty((problem.n, problem.n))
    problem.gram.points.fill(np.arange(problem.n), np.arange(problem.n), K)
    return K


def answer(solver, problem, T, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


@pytest.mark.parametrize("batch_size", [1, 3])
def test_w_counts_violations(tiny, batch_size):
    problem = problem_of(tiny, 0.03)
    solver = KernelPegasos(batch_size, average=False)
    state = solver.advance(problem, solver.init(problem), 200)
    np.testing.assert_array_equal(state.v, np.rint(state.v))
    assert (state.v * problem.y >= 0).all()
    assert 0 < np.abs(state.v).sum() <= 200 * batch_size
    np.testing.assert_allclose(solver.solution(problem, state).beta, state.v / (0.03 * 200 * batch_size), rtol=1e-12)


def test_the_mean_is_made_of_counts_and_times_of_entry(tiny):
    problem = problem_of(tiny, 0.03)
    solver = KernelPegasos()
    state, entries, T = solver.init(problem), np.zeros(60), 100
    for t in range(1, T + 1):
        before = state.v.copy()
        state = solver.advance(problem, state, 1)
        entries += t * (state.v - before)
    mean = 2 / (0.03 * T * (T + 1)) * ((T + 1) * state.v - entries)
    np.testing.assert_allclose(solver.solution(problem, state).beta, mean, rtol=1e-12)


def test_the_average_costs_no_kernel_value(tiny):
    counts = []
    for average in (False, True):
        problem = problem_of(tiny, 0.03)
        answer(KernelPegasos(average=average), problem, 300)
        counts.append(problem.kernel_evals)
    assert counts[0] == counts[1] > 0


def test_projection_keeps_w_in_the_ball(tiny):
    problem = problem_of(tiny, 0.002)
    K = matrix_of(problem)
    solver = KernelPegasos(projection=True, average=False)
    state, norms = solver.init(problem), []
    for _ in range(150):
        state = solver.advance(problem, state, 1)
        assert state.sq == pytest.approx(state.v @ K @ state.v, rel=1e-9)
        beta = solver.solution(problem, state).beta
        norms.append(np.sqrt(beta @ K @ beta))
    assert max(norms) == pytest.approx(1 / np.sqrt(0.002))
    free = KernelPegasos(average=False)
    assert np.sqrt(answer(free, problem, 1).sq_norm) > max(norms)


@pytest.mark.slow
@pytest.mark.parametrize("average", [False, True])
def test_many_projections_lose_no_digits(tiny, average):
    lam, T = 1e-6, 400
    problem = problem_of(tiny, lam)
    solver = KernelPegasos(2, projection=True, average=average)
    key = key_of(0)
    draws = [[int(draw_index(key, 2 * t + j, 60)) for j in range(2)] for t in range(T)]
    beta = kernel_pegasos(matrix_of(problem), problem.y, lam, draws, projection=True, average=average)
    state, folded = solver.init(problem), 0
    for _ in range(T):
        before = state.pi
        state = solver.advance(problem, state, 1)
        assert state.pi >= TINY
        folded += state.pi > before
    assert folded > 1
    close = (1e-11 if average else 1e-14) * np.abs(beta).max()  # A v - u cancels, until it is folded
    np.testing.assert_allclose(solver.solution(problem, state).beta, beta, rtol=0, atol=close)


@pytest.mark.slow
def test_it_approaches_the_optimum(tiny):
    problem = problem_of(tiny, 1 / 60)
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).certificate.objective
    for average in (False, True):
        means = [
            np.mean([problem.objective(answer(KernelPegasos(average=average), problem, T, s)) for s in range(5)])
            for T in (300, 1500)
        ]
        assert best < means[1] < means[0]
        assert means[1] < 1.04 * best


@pytest.mark.slow
def test_the_average_is_better_than_the_last_after_a_few_passes(adult):
    X, y = adult
    problem = KernelRegularized(Gram(as_points(X[:1000], Gaussian(0.05))), y[:1000], 1e-3)
    last, mean = (
        np.mean([problem.objective(answer(KernelPegasos(average=a), problem, 2000, s)) for s in range(4)])
        for a in (False, True)
    )
    best = solve(problem, SMO(), stop=Stop(tol=1e-4)).certificate.objective
    assert mean - best < 0.75 * (last - best)


@pytest.mark.slow
def test_it_stops_by_its_gap(tiny):
    result = solve(problem_of(tiny, 0.3), KernelPegasos(8), stop=Stop(tol=0.1, max_iter=20_000))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 0.1


def test_a_batch_may_be_larger_than_the_set(tiny):
    problem = problem_of(tiny, 0.1)
    solver = KernelPegasos(500)
    assert solver.cost(problem, solver.init(problem)).kernel_values == 60 * 60
    result = solve(problem, solver, stop=Stop(tol=0, max_iter=200))
    assert problem.kernel_evals == 60 * 60
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).certificate.objective
    assert result.certificate.objective < 1.001 * best


def test_without_an_iteration_w_is_zero(tiny):
    problem = problem_of(tiny, 0.1)
    for average in (False, True):
        w = answer(KernelPegasos(average=average), problem, 0)
        assert not w.beta.any()
        assert problem.objective(w) == 1.0


@pytest.mark.slow
def test_a_point_that_the_kernel_maps_to_zero_changes_nothing():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]]), np.array([1, 1, -1])
    problem = problem_of((X, y), 0.5, Linear())
    result = solve(problem, KernelPegasos(projection=True), stop=Stop(tol=0, max_iter=3000))
    assert np.isfinite(result.solution.beta).all()
    # (2/3)(1 - m) + (λ/2) 2m² over the margin m of the other two, and the loss of the first
    assert result.certificate.objective == pytest.approx(1 / 3 + 2 / 3 * (1 - 2 / 3) + 0.5 * (2 / 3) ** 2, rel=0.02)


def test_what_it_cannot_solve(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(0.25)))
    with pytest.raises(ValueError, match="not KernelSlackConstrained; use SBP"):
        solve(KernelSlackConstrained(gram, y, 0.1), KernelPegasos())
    with pytest.raises(ValueError, match="not Regularized"):
        solve(Regularized(X, y, 0.1), KernelPegasos())
    with pytest.raises(ValueError, match="no bias, as in the paper; use BlockDual"):
        solve(KernelRegularized(gram, y, 0.1, bias="free"), KernelPegasos())
    with pytest.raises(ValueError, match="no weights; use BlockDual"):
        solve(KernelRegularized(gram, y, 0.1, weight=np.ones(60)), KernelPegasos())
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1"):
        KernelPegasos(0)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_budget_of_support_vectors(tiny, batch_size, average):
    problem, T = problem_of(tiny, 0.03), 150
    key = key_of(2)
    draws = [[int(draw_index(key, t * batch_size + j, 60)) for j in range(batch_size)] for t in range(T)]
    K = matrix_of(problem)
    beta = kernel_pegasos(K, tiny[1], 0.03, draws, projection=True, average=average, budget=7)
    found = answer(KernelPegasos(batch_size, True, average, budget=7), problem, T, seed=2)
    assert 0 < np.count_nonzero(found.beta) <= 7
    np.testing.assert_allclose(found.beta, beta, rtol=0, atol=1e-12 * np.abs(beta).max())
    np.testing.assert_allclose(found.responses, K @ beta, rtol=0, atol=1e-11 * np.abs(K @ beta).max())


@pytest.mark.parametrize("average", [True, False])
def test_the_certificate_with_a_budget_covers_the_optimum(tiny, average):
    problem = problem_of(tiny, 0.03)
    best = solve(problem_of(tiny, 0.03), SMO(), stop=Stop(tol=1e-8)).certificate
    result = solve(problem, KernelPegasos(average=average, budget=12), stop=Stop(tol=0, max_iter=3000))
    exact = result.solution._replace(responses=matrix_of(problem) @ result.solution.beta)
    assert problem.objective(exact) <= result.certificate.objective * (1 + 1e-12)
    assert result.certificate.bound <= best.objective
    assert result.certificate.gap >= problem.objective(exact) / best.objective - 1 - 1e-6
    assert (result.solution.path >= np.abs(result.solution.beta)).all()


def test_a_budget_that_is_never_reached_changes_nothing(tiny):
    free, wide = (answer(KernelPegasos(budget=b), problem_of(tiny, 0.03), 200) for b in (None, 60))
    np.testing.assert_array_equal(free.beta, wide.beta)
