import numpy as np
import pytest

from hinge.datasets import make_known_optimum
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import Norma, Pegasos, solve


def answer(solver, problem, T, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


def test_the_first_step(tiny):
    X, y = tiny
    w = answer(Norma(p=0.5), Regularized(X, y, 0.1), 1).w
    assert any(np.allclose(w, 0.5 / 0.1 * y[i] * X[i]) for i in range(60))


def test_projection_keeps_w_in_the_ball(tiny):
    problem = Regularized(*tiny, 0.5)
    solver = Norma(projection=True)
    state, norms = solver.init(problem), []
    for _ in range(200):
        state = solver.advance(problem, state, 1)
        norms.append(np.linalg.norm(solver.solution(problem, state).w))
        assert np.sqrt(state.z.s.sq) == pytest.approx(norms[-1], rel=1e-8)
    assert max(norms) <= 1 / np.sqrt(0.5) * (1 + 1e-9)
    free = Norma()
    assert np.linalg.norm(answer(free, problem, 1).w) > 0
    assert max(np.linalg.norm(answer(free, problem, t).w) for t in range(1, 100)) > max(norms)


@pytest.mark.slow
def test_it_converges_but_more_slowly_than_pegasos():
    known = make_known_optimum(200, 8, 0.003, noise=0.1, seed=2)
    problem = Regularized(known.X_train, known.y_train, 0.003)

    def excess(solver, T):
        objectives = [problem.objective(answer(solver, problem, T, seed)) for seed in range(5)]
        return np.mean(objectives) - known.objective

    norma = Norma(average=True, projection=True)
    assert excess(norma, 50_000) < 0.5 * excess(norma, 2_000)
    assert 0 < excess(Pegasos(), 20_000) < excess(norma, 20_000)


def test_the_average_is_better_than_the_last(tiny):
    problem = Regularized(*tiny, 0.02)
    last = np.mean([problem.objective(answer(Norma(), problem, 5000, s)) for s in range(8)])
    mean = np.mean([problem.objective(answer(Norma(average=True), problem, 5000, s)) for s in range(8)])
    assert mean < last


@pytest.mark.parametrize("p", [0.0, -0.5, np.nan])
def test_the_scale_of_the_steps_is_positive(p):
    with pytest.raises(ValueError, match="p must"):
        Norma(p=p)


def test_what_it_cannot_solve(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="Norma solves Regularized problems, not NormConstrained; use SGD"):
        solve(NormConstrained(X, y, 1.0), Norma())
    with pytest.raises(ValueError, match="Norma has no bias"):
        solve(Regularized(X, y, 0.1, bias="free"), Norma())
    with pytest.raises(ValueError, match="takes no weights; use Pegasos or SDCA"):
        solve(Regularized(X, y, 0.1, weight=np.ones(60)), Norma())
