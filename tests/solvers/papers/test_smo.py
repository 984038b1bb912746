import numpy as np
import pytest
from sklearn.svm import SVC

from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.solvers import SMO, BlockDual, KernelSDCA, solve


def problem_of(rows, lam, kernel=None, **options):
    X, y = rows
    return KernelRegularized(Gram(as_points(X, kernel or Gaussian(0.25), exact=True)), y, lam, **options)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_it_finds_the_answer_of_libsvm(tiny, weighted, C):
    X, y = tiny
    weight = np.arange(60) % 4 / 2.0 if weighted else np.ones(60)
    problem = KernelRegularized.from_C(
        Gram(as_points(X, Gaussian(0.25), exact=True)), y, C, weight=weight if weighted else None, bias="free"
    )
    result = solve(problem, SMO(), stop=Stop(tol=1e-9))
    model = SVC(C=C, gamma=0.25, tol=1e-9).fit(X, y, weight)
    decisions = result.solution.responses + result.solution.b
    np.testing.assert_allclose(decisions, model.decision_function(X), rtol=1e-4, atol=1e-4)
    assert result.status is Status.CONVERGED
    assert np.count_nonzero(result.solution.beta) == pytest.approx(len(model.support_), abs=1)


@pytest.mark.slow
def test_without_a_bias_it_finds_the_answer_of_others(tiny):
    problem = problem_of(tiny, 0.01)
    answers = [solve(problem, s, stop=Stop(tol=1e-8)) for s in (SMO(), KernelSDCA(), BlockDual())]
    for other in answers[1:]:
        np.testing.assert_allclose(answers[0].solution.responses, other.solution.responses, atol=1e-3)
        assert answers[0].certificate.objective == pytest.approx(other.certificate.objective, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
def test_every_step_is_feasible_and_upwards(tiny, bias):
    weight = np.arange(60) % 4 / 2.0
    problem = problem_of(tiny, 0.02, bias=bias, weight=weight)
    solver = SMO()
    state, before = solver.init(problem), 0.0
    for t in range(150):
        state = solver.advance(problem, state, 1)
        signed = state.beta * problem.y
        assert (signed >= 0).all()
        assert (signed <= problem.boxes).all()
        if bias == "free":
            assert abs(state.beta.sum()) < 1e-12
            assert np.count_nonzero(state.beta) <= 2 * (t + 1)
        dual = state.beta @ problem.y - state.beta @ state.r / 2
        assert dual >= before - 1e-12
        before = dual


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
def test_it_goes_on_to_rounding_and_is_then_finished(tiny, bias):
    problem = problem_of(tiny, 0.05, bias=bias)
    result = solve(problem, SMO(), stop=Stop(tol=0, max_iter=10**5))
    assert result.status is Status.FINISHED
    assert result.certificate.gap < 1e-11
    again = solve(problem, SMO(), state=result.state, stop=Stop(tol=0))
    assert again.status is Status.FINISHED
    assert again.n_iter == result.n_iter


def test_an_iteration_asks_for_one_or_two_rows(tiny):
    for bias, rows in (("none", 1), ("free", 2)):
        problem = problem_of(tiny, 0.02, bias=bias)
        solver = SMO()
        state = solver.advance(problem, solver.init(problem), 30)
        assert problem.gram.asked == 30 * rows * 60
        assert solver.cost(problem, state).kernel_values == rows * 60


def test_the_diagonal_of_an_expensive_kernel_is_in_the_bound(tiny):
    X, y = tiny
    kernel = Function(lambda x, z: float(np.exp(-0.25 * ((x - z) ** 2).sum())))
    problem = KernelRegularized(Gram(as_points(X, kernel)), y, 0.02, bias="free")
    solver = SMO()
    state = solver.init(problem)
    bound = solver.cost(problem, state).kernel_values
    solver.advance(problem, state, 1)
    assert 60 < problem.kernel_evals <= bound == 180


def test_the_estimate_is_the_certificate(tiny):
    problem = problem_of(tiny, 0.02, bias="free")
    solver = SMO()
    state = solver.init(problem)
    for _ in range(12):
        state = solver.advance(problem, state, solver.pause(problem, state))
        certificate = problem.certificate(solver.solution(problem, state))
        assert solver.estimate(problem, state) == certificate.unrounded <= certificate.gap
        assert solver.solution(problem, state).b == certificate.b


def test_one_class_only():
    X = np.eye(3)
    result = solve(problem_of((X, np.ones(3)), 0.1, bias="free"), SMO(), stop=Stop(tol=1e-3))
    assert result.status is Status.FINISHED
    assert not result.solution.beta.any()
    assert result.certificate.objective == 0.0
    result = solve(problem_of((X, np.ones(3)), 0.1), SMO(), stop=Stop(tol=1e-9))
    assert result.status in (Status.CONVERGED, Status.FINISHED)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_same_point_in_both_classes(bias):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    problem = problem_of((X, np.array([1, -1, 1, -1, -1])), 0.1, Linear(), bias=bias)
    result = solve(problem, SMO(), stop=Stop(tol=1e-9, max_iter=1000))
    assert result.status in (Status.CONVERGED, Status.FINISHED)
    assert result.certificate.gap <= 1e-9


def test_what_it_cannot_solve(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="not KernelSlackConstrained; use SBP"):
        solve(KernelSlackConstrained(X, y, 0.1, Gaussian(0.25)), SMO())
