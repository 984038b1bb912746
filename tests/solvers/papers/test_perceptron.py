import numpy as np
import pytest

from hinge.datasets import make_separable
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized, SlackConstrained
from hinge.solvers import Perceptron, solve


def test_novikoffs_bound():
    for seed in range(5):
        known = make_separable(200, 10, 0.1, seed=seed)
        problem = Regularized(known.X_train, known.y_train, 1.0)
        solver = Perceptron(average=False, passes=50)
        result = solve(problem, solver)
        mistakes = result.state.z.beta.sum()  # each adds one row
        R = np.linalg.norm(known.X_train, axis=1).max()
        assert 0 < mistakes <= (R / known.margin) ** 2
        assert (known.y_train * (known.X_train @ result.solution.w) > 0).all()


def test_it_ends_after_its_passes(tiny):
    problem = Regularized(*tiny, 1.0)
    for passes in (1, 3):
        result = solve(problem, Perceptron(passes=passes))
        assert result.status is Status.FINISHED
        assert result.n_iter == passes * 60


def test_a_state_beyond_its_passes_ends_at_once(tiny):
    problem = Regularized(*tiny, 1.0)
    state = solve(problem, Perceptron(passes=3)).state
    looks = []

    def enough(record, solution):
        looks.append(record)
        return len(looks) > 100  # rather than for ever

    result = solve(problem, Perceptron(passes=1), state=state, callbacks=[enough])
    assert result.status is Status.FINISHED
    assert result.n_iter == 180


def test_every_pass_reads_every_row_once(tiny_csr):
    S, y = tiny_csr
    problem = Regularized(S, y, 1.0)
    solver = Perceptron(passes=3)
    state = solver.init(problem)
    for passes in (1, 2, 3):
        state = solver.advance(problem, state, 60)
        assert problem.matrix.reads == passes * S.nnz


def test_passes_are_shuffled_afresh(tiny):
    X, y = tiny
    problem = Regularized(X, y, 1.0)
    solver = Perceptron(average=False)
    state, visits = solver.init(problem), []
    for _ in range(2):
        order = []
        for _ in range(60):
            before = state.z.beta.copy()
            state = solver.advance(problem, state, 1)
            order += np.flatnonzero(state.z.beta != before).tolist()
        visits.append(order)
    assert visits[0]
    assert visits[1]
    assert visits[0] != sorted(visits[0])
    assert visits[0] != visits[1]


def test_w_counts_mistakes(tiny):
    X, y = tiny
    problem = Regularized(X, y, 1.0)
    result = solve(problem, Perceptron(average=False, passes=2))
    beta = result.state.z.beta
    np.testing.assert_array_equal(beta, np.rint(beta))
    np.testing.assert_allclose(result.solution.w, (beta * y) @ X)


def test_the_average_predicts_better_than_the_last(adult):
    X, y = adult
    errors = {}
    for average in (False, True):
        runs = [solve(Regularized(X, y, 1.0), Perceptron(average), seed=seed) for seed in range(10)]
        errors[average] = np.mean([np.mean(np.sign(X @ run.solution.w) != y) for run in runs])
    assert errors[True] < errors[False]


def test_any_linear_problem_will_do(tiny):
    w = [
        solve(problem, Perceptron(), stop=Stop(tol=0)).solution.w
        for problem in (Regularized(*tiny, 0.1), NormConstrained(*tiny, 9.0), SlackConstrained(*tiny, 0.1))
    ]
    np.testing.assert_array_equal(w[0], w[1])
    np.testing.assert_array_equal(w[0], w[2])


def test_settings_are_checked(tiny):
    with pytest.raises(ValueError, match="passes must be a whole number of at least 1"):
        Perceptron(passes=0)
    with pytest.raises(ValueError, match="Perceptron has no bias"):
        solve(Regularized(*tiny, 0.1, bias="free"), Perceptron())
    with pytest.raises(ValueError, match="not object"):
        solve(object(), Perceptron())
