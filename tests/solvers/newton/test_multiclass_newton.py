import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from hinge.monitoring import Status, Stop
from hinge.problems import Multiclass, Regularized, Solution
from hinge.solvers import MulticlassNewton, MulticlassSDCA, Switch, solve


def drawn(seed, n=60, d=5, k=4, noise=1.0, spread=0.0):
    """Rows with columns of sizes 10^±spread, and classes of a linear function with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.argmax(X @ rng.standard_normal((d, k)) + noise * rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X * 10.0 ** np.linspace(-spread, spread, d), y


def reached(problem, tol, **options):
    result = solve(problem, MulticlassNewton(), stop=Stop(tol, max_iter=100), **options)
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= tol
    return result


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_it_agrees_with_the_ascent(k, scale):
    X, y = drawn(k, k=k)
    weight = np.random.default_rng(1).integers(0, 4, len(y)) / 2.0
    problem = Multiclass(X, y, 0.05, n_classes=k, weight=weight, bias_scale=scale)
    ours, other = reached(problem, 1e-7), solve(problem, MulticlassSDCA(), stop=Stop(1e-9, max_time=20))
    assert other.status is Status.CONVERGED
    assert ours.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-7)
    np.testing.assert_allclose(ours.solution.w, other.solution.w, atol=1e-3 * np.abs(other.solution.w).max())


def test_without_a_penalty_to_speak_of_it_is_the_linear_program():
    X, y = drawn(3, n=80, noise=2.0)
    n, d, k = *X.shape, 4
    # The variables are W, by columns, and a loss for each row: loss_i ≥ [k ≠ y_i] + ⟨w_k - w_y, x_i⟩.
    A, b = np.zeros((n * k, d * k + n)), np.zeros(n * k)
    for i in range(n):
        for c in range(k):
            A[i * k + c, c * d : (c + 1) * d] += X[i]
            A[i * k + c, y[i] * d : (y[i] + 1) * d] -= X[i]
            A[i * k + c, d * k + i] = -1.0
            b[i * k + c] = -float(c != y[i])
    least = linprog(np.r_[np.zeros(d * k), np.full(n, 1 / n)], A, b, bounds=(None, None)).fun
    found = reached(Multiclass(X, y, 1e-9), 1e-6).certificate
    assert found.bound <= least + 1e-6
    assert found.objective == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("lam", [1e-9, 1e-4, 1e2])
@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_neither_scales_of_columns_nor_lam_cost_many_steps(lam, noise):
    X, y = drawn(5, n=120, noise=noise, spread=3.0)
    assert reached(Multiclass(X, y, lam, bias_scale=1.0), 1e-4).n_iter <= 40


def test_each_gap_that_a_step_reports_is_true_and_none_is_worse_than_before():
    X, y = drawn(6, spread=1.0)
    problem, solver = Multiclass(X, y, 1e-3, bias_scale=1.0), MulticlassNewton()
    best, state, before = reached(problem, 1e-8).certificate, solver.init(problem), np.inf
    for _ in range(12):
        state = solver.advance(problem, state, 1)
        answer, told = solver.solution(problem, state), solver.estimate(problem, state)
        assert told == pytest.approx(problem.certificate(answer).gap, rel=1e-6, abs=1e-9)
        assert told >= problem.objective(answer) / best.objective - 1 - 1e-12
        assert told <= before
        before = told
        np.testing.assert_allclose(answer.alpha.sum(axis=1), 1.0, rtol=1e-12)
        assert answer.alpha.min() > 0.0


def test_a_start_is_gone_on_from_and_never_lost():
    X, y = drawn(7, n=200, spread=1.0)
    problem = Multiclass(X, y, 1e-3, bias_scale=1.0)
    near = reached(Multiclass(X, y, 1.1e-3, bias_scale=1.0), 1e-6).solution
    cold, warm = reached(problem, 1e-4), reached(problem, 1e-4, start=near)
    assert warm.n_iter < cold.n_iter
    state = MulticlassNewton().init(problem, start=near)
    assert MulticlassNewton().estimate(problem, state) == pytest.approx(problem.certificate(near).gap, rel=1e-6)
    unweighted = Solution(near.w, 0.0, None)
    assert reached(problem, 1e-4, start=unweighted).certificate.objective <= problem.objective(unweighted)


def test_an_ascent_that_is_slow_leaves_the_rest_to_it():
    X, y = drawn(8, n=300, d=8, spread=2.0)
    problem = Multiclass.from_C(X, y, 100.0, bias_scale=1.0)
    alone = solve(problem, MulticlassSDCA(), stop=Stop(1e-4, max_iter=1000 * problem.n))
    both = solve(problem, Switch(1e-4, ascent=MulticlassSDCA(), newton=MulticlassNewton()), stop=Stop(1e-4))
    assert alone.status is Status.MAX_ITER
    assert both.status is Status.CONVERGED
    assert both.n_iter < 100 * problem.n
    assert both.state.watch.by_newton


def test_sparse_and_single_precision_rows():
    X, y = drawn(9, n=100)
    X = np.where(np.abs(X) > 0.7, np.round(X * 8) / 8, 0.0)
    dense, *others = (
        reached(Multiclass(A, y, 0.01, bias_scale=1.0), 1e-6).solution.w
        for A in (X, sp.csr_array(X), X.astype(np.float32))
    )
    for other in others:
        np.testing.assert_allclose(other, dense, atol=1e-9)


def test_what_it_does_not_solve():
    X, y = drawn(0, k=2)
    with pytest.raises(ValueError, match="MulticlassNewton solves Multiclass problems, not Regularized; use Newton"):
        solve(Regularized(X, 2 * y - 1, 0.1), MulticlassNewton())
    wide = Multiclass(sp.csr_array((4, 5000)), np.arange(4), 0.1)
    with pytest.raises(ValueError, match="wants few features and classes, not d = 5000 and k = 4; use MulticlassSDCA"):
        solve(wide, MulticlassNewton())


def test_numbers_that_overflow_end_the_run():
    X, y = drawn(1)
    problem, solver = Multiclass(X * 1e200, y, 1e-3), MulticlassNewton()
    state = solver.advance(problem, solver.init(problem), 3)
    assert solver.pause(problem, state) == 0
    assert np.isfinite(solver.solution(problem, state).w).all()
