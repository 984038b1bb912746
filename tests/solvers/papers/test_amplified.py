import math

import numpy as np
import pytest
from reference.draws import pegasos_draws
from reference.pegasos import pegasos

from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, SGD, Amplified, Pegasos, solve


def finished(solver, problem, seed=0):
    state = solver.init(problem, seed)
    return solver.advance(problem, state, 10**6)


@pytest.mark.parametrize(("delta", "runs"), [(0.5, 1), (0.2, 2), (0.05, 3), (0.01, 5), (1e-6, 14)])
def test_the_number_of_runs(delta, runs):
    assert Amplified(delta=delta).n_runs == runs == math.ceil(math.log(1 / delta))


@pytest.mark.parametrize("inner", [Pegasos(output="random"), SDCA(block_rows=1)])
def test_it_keeps_the_least_objective(tiny, inner):
    problem = Regularized(*tiny, 0.05)
    chosen = set()
    for seed in range(12):
        solver = Amplified(inner, delta=0.02, horizon=200)
        state = finished(solver, problem, seed)
        objectives = [problem.objective(inner.solution(problem, run)) for run in state.runs]
        assert len(set(objectives)) > 1
        assert problem.objective(solver.solution(problem, state)) == min(objectives)
        chosen.add(state.chosen)
    assert len(chosen) > 1


def test_it_is_the_amplification_of_section_3(tiny):
    """By literal runs: the least hinge loss is often that of another run than the least objective."""
    X, y = tiny
    problem, solver, others = Regularized(X, y, 0.05), Amplified(Pegasos(output="last"), delta=0.02, horizon=200), 0
    for seed in range(12):
        runs = []
        for one in np.random.SeedSequence(seed).generate_state(solver.n_runs):
            draws = pegasos_draws(solver.solver, 60, 200 // solver.n_runs, int(one))
            runs.append(pegasos(X, y, 0.05, draws)[0])
        losses = [np.maximum(0, 1 - y * (X @ w)).mean() for w in runs]
        objectives = [0.025 * w @ w + loss for w, loss in zip(runs, losses, strict=True)]
        best = runs[int(np.argmin(objectives))]
        others += int(np.argmin(losses)) != int(np.argmin(objectives))
        w = solver.solution(problem, finished(solver, problem, seed)).w
        np.testing.assert_allclose(w, best, rtol=1e-12, atol=1e-12)
    assert others > 0


def test_it_keeps_the_best_on_validation_rows(tiny):
    X, y = tiny
    problem = Regularized(X, y, 0.05, bias="free", weight=np.arange(len(y)) < 30)
    solver = Amplified(delta=0.02, horizon=100, held_out=True)
    for seed in range(5):
        before = problem.matrix.reads
        state = finished(solver, problem, seed)
        assert problem.matrix.reads - before == (100 + solver.n_runs * (len(y) - 30)) * 7
        answers = [solver.solver.solution(problem, run) for run in state.runs]
        errors = [np.mean(np.where(X[30:] @ a.w + a.b > 0, 1, -1) != y[30:]) for a in answers]
        assert errors[state.chosen] == min(errors)
    with pytest.raises(ValueError, match="rows of weight zero, and there are none"):
        solve(Regularized(X, y, 0.05), solver)


def test_runs_take_turns_and_share_the_horizon(tiny):
    problem = Regularized(*tiny, 0.05)
    solver = Amplified(delta=0.05, horizon=90)
    state = solver.init(problem)
    for t in (10, 30, 45, 89):
        state = solver.advance(problem, state, t - state.t)
        assert state.t == t
        assert [run.t for run in state.runs] == [min(30, max(0, t - 30 * k)) for k in range(3)]
        assert state.chosen == -1
        done = max(0, min(t // 30, 2) - 1)  # the last run that is whole, or the first
        np.testing.assert_array_equal(
            solver.solution(problem, state).w, solver.solver.solution(problem, state.runs[done]).w
        )
    state = solver.advance(problem, state, 10**6)
    assert state.t == 90
    assert state.chosen >= 0


def test_runs_differ_and_follow_from_the_seed(tiny):
    problem = Regularized(*tiny, 0.05)
    solver = Amplified(delta=0.01, horizon=100)
    keys = [run.key for run in solver.init(problem, 1).runs]
    assert len(set(keys)) == 5
    assert keys == [run.key for run in solver.init(problem, 1).runs]
    assert not set(keys) & {run.key for run in solver.init(problem, 2).runs}


def test_it_ends_and_is_certified(tiny):
    problem = Regularized(*tiny, 0.1)
    result = solve(problem, Amplified(Pegasos(), delta=0.1, horizon=30_000), stop=Stop(tol=0))
    assert result.status is Status.FINISHED
    assert result.n_iter == 30_000
    assert result.certificate.gap < 0.2
    default = solve(problem, Amplified(), stop=Stop(tol=0))
    assert default.n_iter == 3 * 2 * 60  # two passes for each of three runs


@pytest.mark.slow
def test_amplification_amplifies():
    # At equal length of a run, the best of five is rarely as bad as one run often is.
    from hinge.datasets import make_known_optimum

    known = make_known_optimum(100, 6, 0.01, noise=0.1, seed=0)
    problem = Regularized(known.X_train, known.y_train, 0.01)

    def excess(solver, seed):
        return problem.objective(solver.solution(problem, finished(solver, problem, seed))) - known.objective

    single = [excess(Amplified(delta=0.9, horizon=200), seed) for seed in range(60)]
    best = [excess(Amplified(delta=0.01, horizon=1000), seed) for seed in range(60)]
    assert np.quantile(best, 0.9) < np.quantile(single, 0.7)


def test_a_state_beyond_the_horizon_ends_at_once(tiny):
    problem = Regularized(*tiny, 0.05)
    state = solve(problem, Amplified(horizon=300), stop=Stop(0)).state
    looks = []

    def enough(record, solution):
        looks.append(record)
        return len(looks) > 100  # rather than for ever

    result = solve(problem, Amplified(horizon=90), stop=Stop(0), state=state, callbacks=[enough])
    assert result.status is Status.FINISHED


@pytest.mark.slow
def test_every_run_s_set_up_counts_against_the_read_budget(tiny):
    X, y = tiny
    solver = Amplified(SDCA(), delta=0.02, horizon=400)
    for limit in range(200, 4000, 100):
        problem = Regularized(X, y, 0.05, bias="free")
        solve(problem, solver, stop=Stop(0, max_reads=limit))
        assert problem.matrix.reads <= limit


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, np.nan])
def test_delta_is_a_probability(delta):
    with pytest.raises(ValueError, match="delta must be a number greater than 0 and less than 1"):
        Amplified(delta=delta)


def test_it_rejects_what_its_solver_rejects(tiny):
    problem = NormConstrained(*tiny, 1.0)
    with pytest.raises(ValueError, match="Pegasos solves Regularized problems"):
        solve(problem, Amplified())
    assert Amplified(SGD()).rejects(problem) is None
