import numpy as np
import pytest
from reference.draws import drawn
from reference.multiclass import pegasos

from hinge.monitoring import Status, Stop
from hinge.problems import Multiclass, Regularized
from hinge.solvers import MulticlassPegasos, MulticlassSDCA, solve


def rows(seed=0, n=60, d=7, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)


def answer_of(solver, problem, T, seed):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("output", ["last", "uniform", "weighted"])
@pytest.mark.parametrize("projection", [True, False])
def test_it_is_the_sub_gradient_step_of_the_loss(seed, output, projection):
    X, y = rows()
    draws = drawn(60, range(2, 302, 2), seed)
    W = pegasos(X, y, 4, 0.05, draws, projection=projection, output=output)
    answer = answer_of(MulticlassPegasos(projection, output), Multiclass(X, y, 0.05), 150, seed)
    np.testing.assert_allclose(answer.w[:-1], W, rtol=1e-12, atol=1e-12)
    assert not answer.w[-1].any()


@pytest.mark.parametrize("output", ["last", "weighted"])
def test_with_weights_and_a_constant_feature(output):
    X, y = rows(1)
    s = np.random.default_rng(5).integers(0, 4, 60) / 2.0
    wide = np.column_stack([X, np.full(60, 0.7)])
    W = pegasos(wide, y, 4, 0.05, drawn(60, range(2, 242, 2), 3), output=output, weight=s / s.mean())
    problem = Multiclass(X, y, 0.05, weight=s, bias_scale=0.7)
    np.testing.assert_allclose(
        answer_of(MulticlassPegasos(output=output), problem, 120, 3).w, W, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("output", ["last", "uniform", "weighted", "random"])
def test_the_dual_it_counts_is_what_w_is_made_of(output):
    X, y = rows(2)
    problem = Multiclass(X, y, 2.0, bias_scale=0.5)  # of so large a λ that hardly a row has too much mass
    answer = answer_of(MulticlassPegasos(False, output), problem, 3000, 0)
    if output in ("uniform", "weighted"):
        np.testing.assert_allclose(problem.combination(answer.alpha)[0] / problem.lam, answer.w, atol=0.02)
    assert (answer.alpha >= 0).all()
    np.testing.assert_allclose(answer.alpha.sum(axis=1), 1.0, rtol=1e-12)


def test_it_comes_to_the_optimum_and_knows_it():
    X, y = rows(3, n=200)
    problem = Multiclass(X, y, 0.05, bias_scale=1.0)
    result = solve(problem, MulticlassPegasos(), stop=Stop(0.02, max_iter=10**6))
    assert result.status is Status.CONVERGED
    best = solve(Multiclass(X, y, 0.05, bias_scale=1.0), MulticlassSDCA(), stop=Stop(1e-8)).certificate
    assert best.bound <= result.certificate.objective <= best.objective * 1.02
    assert result.certificate.bound <= best.objective


def test_an_iteration_reads_a_row():
    X, y = rows()
    problem = Multiclass(X, y, 0.05)
    solver = MulticlassPegasos()
    solver.advance(problem, solver.init(problem), 17)
    assert problem.reads == 17 * X.shape[1]


def test_settings():
    with pytest.raises(ValueError, match="output must be one of"):
        MulticlassPegasos(output="first")
    X, y = rows(k=2)
    with pytest.raises(ValueError, match="MulticlassPegasos solves Multiclass problems, not Regularized; use Pegasos"):
        solve(Regularized(X, 2 * y - 1, 0.1), MulticlassPegasos())
