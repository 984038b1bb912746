import numpy as np
import pytest

from hinge.datasets import make_known_optimum
from hinge.problems import NormConstrained, Regularized, SlackConstrained
from hinge.solvers import SGD, solve


def answer(solver, problem, T, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


def test_the_steps_are_of_the_size_asked_for(tiny):
    X, y = tiny
    w = answer(SGD(eta=0.25), Regularized(X, y, 0.1), 1).w
    assert any(np.allclose(w, 0.25 * y[i] * X[i]) for i in range(60))


def test_the_norm_bound_holds_and_the_norm_is_known(tiny):
    problem = NormConstrained(*tiny, 0.7)
    solver = SGD(eta=0.5)
    state, norms = solver.init(problem), []
    for _ in range(200):
        state = solver.advance(problem, state, 1)
        norms.append(np.linalg.norm(solver.solution(problem, state).w))
        assert np.sqrt(state.z.s.sq) == pytest.approx(norms[-1], rel=1e-8)
    assert max(norms) == pytest.approx(0.7, rel=1e-9)
    assert max(norms) <= 0.7 * (1 + 1e-9)


def test_the_average_is_as_good_as_its_bound():
    # ηR²/2 + B²/(2ηT), in expectation: the regret of projected sub-gradient steps.
    lam = 0.01
    known = make_known_optimum(120, 6, lam, noise=0.1, seed=4)
    B = float(np.linalg.norm(known.w_star))
    problem = NormConstrained(known.X_train, known.y_train, B)
    best = known.objective - lam / 2 * B**2
    for eta, T in ((0.5, 1000), (0.1, 10_000)):
        excess = np.mean([problem.objective(answer(SGD(True, eta), problem, T, s)) for s in range(20)]) - best
        assert 0 < excess <= eta / 2 + B**2 / (2 * eta * T)


def test_a_certificate_of_the_norm_bounded_problem_shrinks():
    lam = 0.01
    known = make_known_optimum(120, 6, lam, noise=0.1, seed=4)
    problem = NormConstrained(known.X_train, known.y_train, float(np.linalg.norm(known.w_star)))
    gaps = [problem.certificate(answer(SGD(True, 0.1), problem, T)).gap for T in (300, 30_000)]
    assert gaps[1] < 0.2
    assert gaps[1] < gaps[0] / 2


def test_regularised_it_comes_within_a_neighbourhood(tiny):
    problem = Regularized(*tiny, 0.1)
    objectives = [problem.objective(answer(SGD(True, eta), problem, 20_000)) for eta in (1.0, 0.1, 0.01)]
    assert objectives[0] > objectives[1] > objectives[2]  # the smaller the step, the nearer in the end


@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan])
def test_the_step_is_positive(eta):
    with pytest.raises(ValueError, match="eta must be a number greater than 0"):
        SGD(eta=eta)


def test_what_it_cannot_solve(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="not SlackConstrained"):
        solve(SlackConstrained(X, y, 0.1), SGD())
    with pytest.raises(ValueError, match="SGD has no bias"):
        solve(Regularized(X, y, 0.1, bias="penalized"), SGD())
    with pytest.raises(ValueError, match="SGD takes no weights"):
        solve(NormConstrained(X, y, 1.0, weight=np.ones(60)), SGD())
