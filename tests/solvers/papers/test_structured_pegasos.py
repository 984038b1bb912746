import numpy as np
import pytest
from reference import multiclass
from reference.draws import visits
from reference.structured import Chain, optimum, pegasos

from hinge.monitoring import Status, Stop
from hinge.problems import Regularized, Structured
from hinge.solvers import StructuredPegasos, solve

CHAIN = Chain(3, 4)


def labelling(n=40, lam=0.2, seed=0):
    inputs, outputs = CHAIN.sample(n, seed)
    return Structured(inputs, outputs, lam, features=CHAIN.features, loss=CHAIN.loss, decode=CHAIN.decode)


def answer_of(solver, problem, T, seed):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("output", ["last", "weighted"])
def test_it_is_the_algorithm(seed, batch_size, output):
    problem, T = labelling(), 100
    sets = np.reshape(visits(40, T * batch_size, seed), (T, batch_size))
    w = pegasos(problem.inputs, problem.outputs, problem.lam, sets, CHAIN.features, CHAIN.decode, output)
    answer = answer_of(StructuredPegasos(batch_size, output == "weighted"), problem, T, seed)
    np.testing.assert_allclose(answer.w, w, rtol=0, atol=1e-12 * np.abs(w).max())


def test_with_one_label_each_it_is_that_of_several_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 6)), rng.integers(0, 4, 50)
    problem = Structured(
        X,
        y,
        0.05,
        features=lambda x, k: np.outer(x, np.arange(4) == k).ravel(),
        loss=lambda k, other: float(k != other),
        decode=lambda w, x, k: int(np.argmax(x @ w.reshape(6, 4) + (np.arange(4) != k))),
    )
    W = multiclass.pegasos(X, y, 4, 0.05, visits(50, 200, 1), projection=False, output="weighted")
    answer = answer_of(StructuredPegasos(), problem, 200, 1)
    np.testing.assert_allclose(answer.w.reshape(6, 4), W, rtol=0, atol=1e-12 * np.abs(W).max())


@pytest.mark.parametrize("average", [True, False])
def test_the_dual_point_is_what_w_is_made_of(average):
    problem, found = labelling(20), {}

    def noted(w, x, y):
        out = CHAIN.decode(w, x, y)
        found.setdefault(next(i for i, given in enumerate(problem.inputs) if given is x), []).append(out)
        return out

    problem.decode = noted
    answer = answer_of(StructuredPegasos(average=average), problem, 60, 0)
    assert all(len(outputs) == 3 for outputs in found.values())
    wrong = np.array([any(map(CHAIN.loss, [problem.outputs[i]] * 3, found[i])) for i in range(20)])
    np.testing.assert_array_equal(answer.alpha > 0, wrong)
    if not average:  # every output has a third of its example's weight
        direct = sum(
            CHAIN.features(problem.inputs[i], problem.outputs[i]) - CHAIN.features(problem.inputs[i], out)
            for i, outputs in found.items()
            for out in outputs
        )
        np.testing.assert_allclose(answer.w, direct / (problem.lam * 60), rtol=0, atol=1e-13 * np.abs(answer.w).max())
        assert answer.alpha.max() <= 1.0
        loss = sum(CHAIN.loss(problem.outputs[i], out) for i, outputs in found.items() for out in outputs)
        assert answer.loss == pytest.approx(loss / 60, rel=1e-12) and answer.loss <= loss / 60


@pytest.mark.parametrize("seed", range(2))
def test_it_labels_a_chain_as_cutting_planes_do(seed):
    problem = labelling(40, 0.2, seed)
    result = solve(problem, StructuredPegasos(), stop=Stop(tol=0.02, max_iter=10**5), seed=seed)
    assert result.status is Status.CONVERGED
    least, best = optimum(
        problem.inputs, problem.outputs, problem.lam, CHAIN.features, CHAIN.loss, CHAIN.decode, tol=1e-3
    )
    assert least <= result.certificate.objective <= 1.02 * best
    assert result.certificate.bound <= best
    assert len(result.history) > 1


@pytest.mark.parametrize("average", [True, False])
def test_certificates_cover_the_optimum_all_along(average):
    problem = labelling(12, 0.5)
    least, best = optimum(
        problem.inputs, problem.outputs, problem.lam, CHAIN.features, CHAIN.loss, CHAIN.decode, tol=1e-4
    )
    solver = StructuredPegasos(average=average)
    state = solver.init(problem)
    for n_iter in (1, 2, 5, 16, 76, 301):
        state = solver.advance(problem, state, n_iter)
        certificate = problem.certificate(solver.solution(problem, state))
        assert certificate.bound <= best and certificate.objective >= least
        assert certificate.gap >= (certificate.objective - best) / best


def test_other_problems_are_refused():
    with pytest.raises(ValueError, match="StructuredPegasos solves Structured problems, not Regularized; use Pegasos"):
        solve(Regularized(np.eye(2), [1, -1], 0.1), StructuredPegasos())
