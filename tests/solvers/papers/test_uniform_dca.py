import numpy as np
import pytest
from reference.sdca import sdca

from hinge.bounds import dca_gap
from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers import UniformDCA, solve


def test_it_is_the_talks_algorithm(tiny):
    X, y = tiny
    T, key = 400, key_of(7)
    draws = [draw_index(key, t, len(y)) for t in range(T)]
    w, _, alpha = sdca(X, y, 0.05, [draws])
    solver, problem = UniformDCA(), Regularized(X, y, 0.05)
    answer = solver.solution(problem, solver.advance(problem, solver.init(problem, 7), T))
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-12, atol=1e-12)


def test_it_converges_and_obeys_the_theorem():
    known = make_known_optimum(200, 8, 0.02, noise=0.1, seed=1)
    problem = Regularized(known.X_train, known.y_train, 0.02)
    assert solve(problem, UniformDCA(), stop=Stop(1e-4, max_iter=400_000)).status is Status.CONVERGED
    solver, T = UniformDCA(), 2000
    for seed in range(20):
        state = solver.advance(problem, solver.init(problem, seed), T)
        excess = problem.objective(solver.solution(problem, state)) - known.objective
        assert excess <= dca_gap(T, 200, 0.02, delta=0.01)


def test_empty_rows_take_their_whole_weight():
    X, y = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]]), np.array([1, 1, -1])
    solver, problem = UniformDCA(), Regularized(X, y, 0.1)
    answer = solver.solution(problem, solver.advance(problem, solver.init(problem), 60))
    assert answer.alpha[1] == 1.0
    assert np.isfinite(answer.w).all()


def test_biases_and_weights_are_turned_away(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="use SDCA"):
        solve(Regularized(X, y, 0.1, bias="free"), UniformDCA())
    with pytest.raises(ValueError, match="use SDCA"):
        solve(Regularized(X, y, 0.1, weight=np.arange(len(y))), UniformDCA())
