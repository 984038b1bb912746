import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.solvers import SMO, KernelSDCA, solve


def problem_of(rows, lam, kernel=None, **options):
    X, y = rows
    return KernelRegularized(Gram(as_points(X, kernel or Gaussian(0.25))), y, lam, **options)


def state_after(solver, problem, T, seed=0):
    return solver.advance(problem, solver.init(problem, seed), T)


@pytest.mark.slow
def test_the_block_changes_nothing_but_the_kernel_values_computed(tiny):
    states, counts = [], []
    for block in (1, 2, 7, 32, 1000):
        problem = problem_of(tiny, 0.01)
        states.append(state_after(KernelSDCA(block), problem, 500))
        counts.append(problem.kernel_evals)
    for state in states[1:]:
        assert state.beta.tobytes() == states[0].beta.tobytes()
        assert state.r.tobytes() == states[0].r.tobytes()
        assert state.gap == states[0].gap
    assert counts[0] == min(counts)
    assert max(counts) <= 60 * 60


def test_a_run_cut_into_pieces_computes_rows_in_the_same_tiles():
    """BLAS may round a row otherwise among other rows: of 20 features, with a cache of fewer rows than points."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(150) > 0, 1, -1)
    states = []
    for pieces in ([300], [7] * 42 + [6]):
        problem = KernelRegularized(Gram(as_points(X, Gaussian(0.02)), 0), y, 1e-3)
        state = KernelSDCA().init(problem)
        for piece in pieces:
            state = KernelSDCA().advance(problem, state, piece)
        states.append(state)
    assert states[0].beta.tobytes() == states[1].beta.tobytes()
    assert states[0].r.tobytes() == states[1].r.tobytes()


@pytest.mark.slow
def test_few_rows_are_computed_in_vain(adult):
    X, y = adult
    counts = {}
    for block in (1, 32):
        problem = problem_of((X[:1000], y[:1000]), 1e-3, Gaussian(0.05))
        solve(problem, KernelSDCA(block), stop=Stop(tol=1e-2))
        counts[block] = problem.kernel_evals
    assert counts[1] <= counts[32] < 1.3 * counts[1]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_it_finds_the_optimum(tiny, weighted):
    weight = np.arange(60) % 4 / 2.0 if weighted else None
    problem = problem_of(tiny, 0.02, weight=weight)
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).certificate.objective
    result = solve(problem, KernelSDCA(), stop=Stop(tol=1e-6))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == pytest.approx(best, rel=2e-6)
    beta = result.solution.beta * problem.y
    assert (beta >= 0).all()
    assert (beta <= problem.boxes).all()
    if weighted:
        assert not beta[weight == 0].any()


def test_points_without_weight_cost_nothing(tiny):
    weight = (np.arange(60) < 10) * 1.0
    problem = problem_of(tiny, 0.02, weight=weight)
    state_after(KernelSDCA(), problem, 600)
    assert problem.kernel_evals <= 10 * 60


def test_the_dual_only_grows(tiny):
    problem = problem_of(tiny, 0.02)
    solver = KernelSDCA()
    state, before = solver.init(problem), 0.0
    for _ in range(200):
        state = solver.advance(problem, state, 1)
        dual = state.beta @ problem.y - state.beta @ state.r / 2
        assert dual >= before - 1e-12
        before = dual


def test_the_estimate_is_the_certificate(tiny):
    problem = problem_of(tiny, 0.02)
    solver = KernelSDCA()
    state = solver.init(problem)
    for _ in range(80):
        state = solver.advance(problem, state, solver.pause(problem, state))
        certificate = problem.certificate(solver.solution(problem, state))
        assert solver.estimate(problem, state) == certificate.unrounded <= certificate.gap
    assert state.gap < 0.2


def test_an_earlier_answer_is_taken_up_without_kernel_values(tiny):
    first = solve(problem_of(tiny, 0.02), KernelSDCA(), stop=Stop(tol=1e-4))
    again = problem_of(tiny, 0.02)
    result = solve(again, KernelSDCA(), start=first.solution, stop=Stop(tol=1e-4))
    assert result.status is Status.CONVERGED
    assert again.kernel_evals < 60 * 60
    problem = problem_of(tiny, 0.1)  # smaller boxes
    state = KernelSDCA().init(problem, 0, first.solution)
    assert problem.kernel_evals == 0
    assert (np.abs(state.beta) <= problem.boxes * (1 + 1e-12)).all()
    assert state.gap < KernelSDCA().init(problem).gap
    share = np.abs(state.beta).max() / np.abs(first.solution.beta).max()
    np.testing.assert_allclose(state.beta, share * first.solution.beta)
    np.testing.assert_allclose(state.r, share * first.solution.responses)
    wrong = first.solution._replace(beta=-first.solution.beta)
    assert not KernelSDCA().init(problem, 0, wrong).beta.any()


def test_a_point_that_the_kernel_maps_to_zero_goes_to_its_bound():
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -1.0]]), np.array([1, 1, -1])
    problem = problem_of((X, y), 0.5, Linear())
    result = solve(problem, KernelSDCA(), stop=Stop(tol=0, max_iter=100))
    np.testing.assert_allclose(result.solution.beta, [2 / 3, 2 / 3, -2 / 3])
    assert result.certificate.gap < 1e-12


def test_it_is_finished_where_nothing_is_left_to_do():
    problem = problem_of((np.array([[1.0], [-1.0]]), np.array([1, -1])), 0.25, Linear())
    result = solve(problem, KernelSDCA(), stop=Stop(tol=0, max_iter=10**6))
    assert result.status is Status.FINISHED
    assert result.n_iter < 100


def test_what_it_cannot_solve(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(0.25)))
    with pytest.raises(ValueError, match="not KernelSlackConstrained; use SBP"):
        solve(KernelSlackConstrained(gram, y, 0.1), KernelSDCA())
    with pytest.raises(ValueError, match="which a free bias forbids; use BlockDual or SMO"):
        solve(KernelRegularized(gram, y, 0.1, bias="free"), KernelSDCA())
    with pytest.raises(ValueError, match="block must be a whole number of at least 1"):
        KernelSDCA(0)
