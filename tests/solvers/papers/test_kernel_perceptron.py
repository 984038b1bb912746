import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.datasets import make_separable
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained, Regularized
from hinge.solvers import SMO, KernelPerceptron, solve


def problem_of(rows, kernel=None):
    X, y = rows
    return KernelRegularized(Gram(as_points(X, kernel or Gaussian(0.25))), y, 1.0)


@pytest.mark.parametrize("batch", [False, True])
def test_novikoffs_bound(batch):
    for seed in range(5):
        known = make_separable(200, 10, 0.1, seed=seed)
        problem = problem_of((known.X_train, known.y_train), Linear())
        result = solve(problem, KernelPerceptron(average=False, passes=50, batch=batch))
        mistakes = np.abs(result.solution.beta).sum()  # each adds one point
        R = np.linalg.norm(known.X_train, axis=1).max()
        assert result.status is Status.FINISHED
        assert 0 < mistakes <= (R / known.margin) ** 2
        assert (known.y_train * (known.X_train @ (result.solution.beta @ known.X_train)) > 0).all()
        assert not batch or result.n_iter == mistakes


def test_it_ends_after_its_passes(tiny):
    for passes in (1, 3):
        result = solve(problem_of(tiny), KernelPerceptron(passes=passes))
        assert result.status is Status.FINISHED
        assert result.n_iter == passes * 60


def test_a_state_beyond_its_passes_ends_at_once(tiny):
    state = solve(problem_of(tiny), KernelPerceptron(passes=3)).state
    result = solve(problem_of(tiny), KernelPerceptron(passes=1), state=state, stop=Stop(max_iter=10**6))
    assert result.status is Status.FINISHED
    assert result.n_iter == 180


def test_w_counts_mistakes(tiny):
    problem = problem_of(tiny)
    solver = KernelPerceptron(average=False, passes=2)
    result = solve(problem, solver)
    beta = result.solution.beta
    np.testing.assert_array_equal(beta, np.rint(beta))
    assert (beta * problem.y >= 0).all()
    assert problem.kernel_evals == 60 * np.count_nonzero(beta)


def test_passes_are_shuffled_afresh(tiny):
    problem = problem_of(tiny)
    solver = KernelPerceptron(average=False, passes=2)
    state, visits = solver.init(problem), []
    for _ in range(2):
        order = []
        for _ in range(60):
            before = state.v.copy()
            state = solver.advance(problem, state, 1)
            order += np.flatnonzero(state.v != before).tolist()
        visits.append(order)
    assert visits[0] != sorted(visits[0])
    assert visits[0] != visits[1]


def test_the_batch_perceptron_ends_when_all_margins_are_positive(tiny):
    problem = problem_of(tiny)
    solver = KernelPerceptron(batch=True)
    result = solve(problem, solver)
    assert result.status is Status.FINISHED
    assert (problem.y * result.solution.responses > 0).all()
    assert (solver.init(problem).r == 0).all()  # and not before the first
    on = solver.advance(problem, result.state, 50)
    assert on.t == result.n_iter


def test_on_points_that_nothing_separates_the_batch_perceptron_goes_on():
    X, y = np.array([[1.0], [1.0], [2.0]]), np.array([1, -1, 1])
    result = solve(problem_of((X, y), Linear()), KernelPerceptron(batch=True), stop=Stop(max_iter=500))
    assert result.status is Status.MAX_ITER
    assert np.abs(result.solution.beta).sum() == 500


@pytest.mark.slow
def test_the_average_predicts_better_than_the_last(adult):
    X, y = adult
    gram = Gram(as_points(X, Gaussian(0.05)))
    train = KernelRegularized(Gram(as_points(X[:1000], Gaussian(0.05))), y[:1000], 1.0)
    errors = {}
    for average in (False, True):
        wrong = []
        for seed in range(5):
            beta = solve(train, KernelPerceptron(average), seed=seed).solution.beta
            responses = gram.pass_over(np.arange(1000), beta, np.arange(1000, 2000))
            wrong.append(np.mean(np.sign(responses) != y[1000:]))
        errors[average] = np.mean(wrong)
    assert errors[True] < errors[False]


def test_any_kernel_problem_will_do(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(0.25)))
    answers = [
        solve(problem, KernelPerceptron(), stop=Stop(tol=0)).solution.beta
        for problem in (KernelRegularized(gram, y, 9.0), KernelSlackConstrained(gram, y, 0.1))
    ]
    np.testing.assert_array_equal(answers[0], answers[1])


def test_it_claims_no_more_than_is_true(tiny):
    problem = problem_of(tiny)
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).certificate.objective
    solver = KernelPerceptron(passes=2)
    result = solve(problem, solver, stop=Stop(tol=1e-2))
    assert result.status is Status.FINISHED
    assert solver.estimate(problem, result.state) == np.inf
    assert result.certificate.gap >= (result.certificate.objective - best) / best


def test_settings_are_checked(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(0.25)))
    with pytest.raises(ValueError, match="passes must be a whole number of at least 1"):
        KernelPerceptron(passes=0)
    with pytest.raises(ValueError, match="has no bias, as in the papers; use BlockDual"):
        solve(KernelSlackConstrained(gram, y, 0.1, bias="free"), KernelPerceptron())
    with pytest.raises(ValueError, match="takes no weights"):
        solve(KernelRegularized(gram, y, 0.1, weight=np.ones(60)), KernelPerceptron())
    with pytest.raises(ValueError, match="not Regularized; use Perceptron"):
        solve(Regularized(X, y, 0.1), KernelPerceptron())
