"""The Stochastic Batch Perceptron beyond the laws: outputs, bounds, bad slack."""

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.monitoring import Status, Stop
from hinge.problems import Expansion, KernelRegularized, KernelSlackConstrained
from hinge.solvers import SBP, BlockDual, solve, solve_slack
from hinge.solvers.papers import sbp


def exact_problem(cache_bytes=10**8, bias="none", weight=None, scale=1.0):
    rng = np.random.default_rng(0)
    X = scale * np.round(16 * rng.standard_normal((150, 3))) / 16
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(150) > 0, 1, -1)
    gram = Gram(as_points(X, Gaussian(0.5), exact=True), cache_bytes)
    return KernelSlackConstrained(gram, y, 0.05, bias=bias, weight=weight)


@pytest.mark.parametrize("output", ["average", "uniform", "last"])
def test_they_are_those_of_arrays_and_ask_for_the_same_rows(monkeypatch, output):
    solver, answers, grams = SBP(output=output), [], []
    for compiled in (True, False):
        monkeypatch.setattr(sbp, "serves", lambda problem, compiled=compiled: compiled)
        p = exact_problem()
        state = solver.advance(p, solver.advance(p, solver.init(p, 3), 70), 130)
        answers.append(solver.solution(p, state))
        grams.append(p.gram)
        assert (state.t, state.drawn) == (200, 200)
    np.testing.assert_allclose(answers[0].beta, answers[1].beta, atol=1e-12)
    np.testing.assert_allclose(answers[0].responses, answers[1].responses, atol=1e-10)
    assert grams[0].asked == grams[1].asked == 200 * 150
    assert grams[0].evals == grams[1].evals < 150 * 150


def test_they_serve_where_every_point_can_be_drawn():
    assert sbp.serves(exact_problem())
    assert not sbp.serves(exact_problem(bias="free"))
    assert not sbp.serves(exact_problem(weight=np.arange(150) % 2))


def test_rows_that_were_given_up_are_asked_for_again():
    many, few = exact_problem(), exact_problem(cache_bytes=0)
    assert few.gram.capacity < 150
    answers = [SBP().solution(p, SBP().advance(p, SBP().init(p, 1), 400)).beta for p in (many, few)]
    np.testing.assert_array_equal(*answers)
    assert few.gram.asked == many.gram.asked == 400 * 150
    assert few.gram.evals > many.gram.evals


def test_a_norm_that_overflows_ends_them():
    p = exact_problem()
    state = SBP().init(p, 0)
    with pytest.raises(ValueError, match="overflows"):
        SBP(eta=1e150).advance(p, state, 50)


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(16 * rng.standard_normal((n, 3))) / 16
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    return X, y


def problem(nu=0.05, bias="none", n=120, weight=None):
    X, y = data(n)
    gram = Gram(as_points(X, Gaussian(0.5), exact=True))  # or rounding would be in the certificates
    return KernelSlackConstrained(gram, y, nu, bias=bias, weight=weight)


def optimum(p):
    """The best level, certified to 1e-4."""
    result = solve_slack(p, BlockDual(), stop=Stop(tol=1e-4))
    assert result.status is Status.CONVERGED
    return result.certificate.objective


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("output", ["average", "uniform", "best"])
def test_it_approaches_the_optimum(bias, output):
    p = problem(bias=bias)
    best = optimum(p)
    levels = []
    for T in (100, 3000):
        solver = SBP(output=output, passes=1000)
        answer = solver.solution(p, solver.advance(p, solver.init(p, 0), T))
        levels.append(p.objective(answer))
    assert levels[0] < levels[1] <= best * (1 + 1e-3)
    assert levels[1] > 0.9 * best


@pytest.mark.slow
@pytest.mark.parametrize("T", [400, 1600])
def test_the_plain_mean_comes_as_near_as_lemma_3_2_says(T):
    p = problem()
    best, nothing = optimum(p), p.objective(Expansion(np.zeros(120), 0.0, np.zeros(120)))
    near = best - 0.5 / np.sqrt(T)
    assert near > nothing + 0.7 * (best - nothing)  # w = 0 is far from it
    for seed in range(10):
        solver = SBP(output="uniform", passes=1000)
        answer = solver.solution(p, solver.advance(p, solver.init(p, seed), T))
        assert near <= p.objective(answer) <= best * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("batch", [1, 8])
def test_the_bound_is_one(bias, batch):
    p = problem(bias=bias)
    best = optimum(p)
    solver = SBP(batch, keep_p=True, passes=1000)
    state = solver.init(p, 0)
    bounds = []
    for _ in range(3):
        state = solver.advance(p, state, 300)
        bounds.append(solver.bound(p, state))
        assert bounds[-1] >= best * (1 - 1e-3)
    assert bounds[-1] < bounds[0]
    assert bounds[-1] < 1.5 * best


def test_without_p_there_is_no_bound():
    p = problem()
    with pytest.raises(ValueError, match="keep_p"):
        SBP().bound(p, SBP().init(p, 0))


def test_batches_add_no_point_twice_and_balance_the_classes():
    p = problem(nu=1e-4, bias="free")
    solver = SBP(16)
    state = solver.advance(p, solver.init(p, 0), 5)
    assert state.drawn == 5 * 16
    beta = solver.solution(p, state).beta
    assert abs(beta.sum()) < 1e-12 * np.abs(beta).sum()


def test_rows_without_weight_only_respond():
    weight = np.ones(120)
    weight[::4] = 0.0
    p = problem(bias="free", weight=weight)
    solver = SBP(4)
    answer = solver.solution(p, solver.advance(p, solver.init(p, 0), 200))
    assert not answer.beta[::4].any()
    assert np.abs(answer.responses[::4]).min() > 0
    with pytest.raises(ValueError, match="no weights"):
        solve(problem(weight=np.linspace(1, 2, 120)), SBP())


def test_slack_that_covers_a_class_is_refused_with_the_largest_usable():
    X, y = data(200)
    y[:] = -1
    y[:6] = 1
    p = KernelSlackConstrained(X, y, 0.5, Gaussian(0.5), bias="free")
    with pytest.raises(ValueError, match=r"slack of 0.5 is too large: .* 6 rows.*largest usable slack is about 0\.0"):
        solve(p, SBP(), stop=Stop(max_iter=200))


def test_it_ends_after_its_passes_and_counts():
    p = problem()
    result = solve(p, SBP(passes=2))
    assert result.status is Status.FINISHED
    assert result.n_iter == 240
    assert p.gram.asked == 240 * 120
    assert p.gram.evals <= 120 * 120  # every row fits the cache


@pytest.mark.slow
def test_no_slack_at_all_is_the_hard_margin():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    p = KernelSlackConstrained(X, np.array([1, 1, -1, -1]), 0.0, Gaussian(0.1), bias="free")
    result = solve(p, SBP(passes=200))
    assert result.certificate.objective > 0


def test_other_problems_are_refused():
    X, y = data()
    assert "BlockDual" in SBP().rejects(KernelRegularized(X, y, 0.1, Gaussian(1.0)))
    for bad in ({"batch_size": 0}, {"eta": -1.0}, {"output": "mean"}, {"passes": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SBP(**bad)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
def test_a_small_cache_changes_nothing(bias):
    X, y = data()
    answers = []
    for cache in (0, 10**8):
        gram = Gram(as_points(X, Gaussian(0.5)), cache)
        p = KernelSlackConstrained(gram, y, 0.05, bias=bias)
        solver = SBP(4)
        answers.append(solver.solution(p, solver.advance(p, solver.init(p, 0), 100)).beta)
    np.testing.assert_allclose(*answers, rtol=1e-6, atol=1e-9)
