import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC as Liblinear

from hinge.monitoring import Status, Stop
from hinge.problems import L1Regularized, Regularized, Solution
from hinge.solvers import CDN, SDCA, choose, solve
from hinge.solvers.l1 import cdn

BIASES = ["none", "free", "penalized"]


def tight(problem, solver=None, tol=1e-8, **options):
    result = solve(problem, solver or CDN(), stop=Stop(tol, max_time=20), **options)
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= tol
    return result


def noisy(n, d, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) > density] = 0.0
    return X, np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(n) > 0.2, 1, -1)


def draw(rng):
    """A random small problem: sizes, scales, weights, storage, C and bias."""
    n, d = int(rng.integers(5, 80)), int(rng.integers(1, 60))
    X, y = noisy(n, d, int(rng.integers(1 << 30)), rng.choice([0.2, 1.0]))
    y[:2] = -1, 1
    X *= 10.0 ** rng.uniform(-1, 1)
    s = rng.integers(0, 4, n) / 2.0 if rng.random() < 0.5 else None
    if s is not None:
        s[:2] = 1.0
    X = X.astype(rng.choice([np.float32, np.float64]))
    scale = float(10.0 ** rng.uniform(-1, 1)) if rng.random() < 0.7 else None
    return (sp.csr_array(X) if rng.random() < 0.5 else X), y, s, 10.0 ** rng.uniform(-3, 1), scale


@pytest.mark.slow
def test_it_finds_what_liblinear_finds():
    rng = np.random.default_rng(0)
    for case in range(200):
        X, y, s, C, scale = draw(rng)
        bias = "none" if scale is None else "penalized"
        problem = L1Regularized.from_C(X, y, C, weight=s, bias=bias, bias_scale=scale or 1.0)
        ours = solve(problem, CDN(), stop=Stop(1e-6, max_iter=2000)).certificate
        assert ours.gap <= 1e-6, case
        theirs = Liblinear(
            "l1",
            dual=False,
            C=C,
            tol=1e-9,
            max_iter=20_000,
            fit_intercept=bias != "none",
            intercept_scaling=scale or 1.0,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs.fit(X, y, s)
        b = float(np.ravel(theirs.intercept_)[0]) if scale else 0.0
        reached = problem.objective(Solution(theirs.coef_[0].astype(np.float64), b))
        assert ours.objective <= reached * (1 + 1e-6), case
        assert ours.bound <= reached * (1 + 1e-12), case


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_an_optimum_hold(bias, weighted):
    X, y = noisy(300, 80)
    s = np.random.default_rng(1).integers(0, 3, 300) * 1.0 if weighted else np.ones(300)
    problem = L1Regularized(X, y, 0.02, weight=s if weighted else None, bias=bias, bias_scale=0.5)
    w, b, _ = tight(problem, tol=1e-11).solution
    pull = 2 * s / s.sum() * y * np.maximum(0, 1 - y * (X @ w + b))
    z = pull @ X
    assert 3 <= np.count_nonzero(w) < 60
    np.testing.assert_allclose(z[w != 0], 0.02 * np.sign(w[w != 0]), rtol=1e-4)
    assert np.abs(z[w == 0]).max() < 0.02
    if bias == "free":
        assert abs(pull.sum()) < 1e-6
    if bias == "penalized":
        assert 0.5 * abs(pull.sum()) <= 0.02 * (1 + 1e-6)


@pytest.mark.parametrize("bias", BIASES)
def test_it_leaves_zero_where_something_is_gained_and_only_there(bias):
    X, y = noisy(100, 20)
    y = y * 0 + np.resize([1, -1], 100)
    steepest = np.abs(2 * y @ X / 100).max()
    for factor in (1.0, 1.001):
        result = tight(L1Regularized(X, y, steepest * factor, bias=bias), tol=1e-4)
        assert result.n_iter == 1
        assert not result.solution.w.any()
        assert result.certificate.gap < 1e-12
    assert np.count_nonzero(tight(L1Regularized(X, y, steepest / 1.01, bias=bias), tol=1e-4).solution.w) == 1


def test_working_sets_grow_by_what_violates_most(monkeypatch):
    X, y = noisy(200, 500)
    problem, solver = L1Regularized(X, y, 0.005), CDN(first=10)
    sizes = []
    monkeypatch.setattr(
        cdn, "_visit", lambda A, taken, *rest, visit=cdn._visit: sizes.append(taken.copy()) or visit(A, taken, *rest)
    )
    tight(problem, solver, tol=1e-6)
    assert len(sizes[0]) == 10
    steepest = np.argsort(np.abs(y @ X))[-10:]
    np.testing.assert_array_equal(sizes[0], np.sort(steepest))
    assert max(map(len, sizes)) < 400


def test_an_iteration_reads_all_columns_once_and_those_taken_once_an_epoch(monkeypatch):
    monkeypatch.setattr(cdn, "face_step", lambda *given: (given[-1], 0.0, 1))
    S = sp.csr_array(noisy(100, 40, density=0.3)[0])
    y = noisy(100, 40)[1]
    problem, solver = L1Regularized(S, y, 0.01), CDN(first=5, epochs=4)
    state = solver.advance(problem, solver.init(problem), 1)
    assert 3 * S.nnz < problem.reads <= 4 * S.nnz  # the copy, two looks, and an epoch over five columns
    for _ in range(6):
        before, cells = problem.reads, state.cells
        assert cells == np.diff(S.tocsc().indptr)[state.columns[: state.size]].sum()
        state = solver.advance(problem, state, 1)
        epochs = (problem.reads - before - S.nnz) / cells
        assert epochs == int(epochs)
        assert 1 <= epochs <= 4


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_columns_that_hang_together_need_newton_steps(bias, monkeypatch):
    X, y = noisy(60, 40)
    X[:, 1:] += 3 * X[:, :1]  # where coordinate descent is slow
    problem = L1Regularized(X, y, 1e-3, bias=bias)
    with_steps = tight(problem, tol=1e-6).n_iter
    monkeypatch.setattr(cdn, "face_step", lambda *given: (given[-1], 0.0, 1))
    assert with_steps < 0.5 * solve(problem, CDN(), stop=Stop(1e-6, max_iter=1000)).n_iter


@pytest.mark.parametrize("bias", BIASES)
def test_a_start_is_gone_on_from(bias):
    X, y = noisy(200, 60)
    problem = L1Regularized(X, y, 0.01, bias=bias, bias_scale=0.5)
    first = tight(problem)
    again = tight(problem, start=first.solution)
    assert again.n_iter <= 2 < first.n_iter
    np.testing.assert_allclose(again.solution.w, first.solution.w, atol=1e-5)
    assert again.solution.b == pytest.approx(first.solution.b, abs=1e-5)


def test_what_the_changes_have_lost_comes_back():
    X, y = noisy(100, 30)
    problem, solver = L1Regularized(X, y, 0.01, bias="penalized", bias_scale=2.0), CDN()
    state = solver.advance(problem, solver.init(problem), 3)
    state.e[:] += 1e-3  # as if rounding had been at work
    state = solver.refresh(problem, state)
    assert state.stale
    cdn._compute_anew(problem, state)
    np.testing.assert_allclose(state.e, y - X @ state.w[:-1] - 2.0 * state.w[-1], atol=1e-13)
    assert not solver.advance(problem, state, 1).stale


def test_where_nothing_is_left_to_gain_it_ends():
    X, y = noisy(50, 10)
    result = solve(L1Regularized(X, y, 0.05), CDN(), stop=Stop(tol=0.0, max_iter=500))
    assert result.status is Status.STALLED
    assert result.n_iter < 100
    assert result.certificate.gap < 1e-12


def test_rows_apart_and_a_large_C():
    X, y = noisy(40, 100)
    result = solve(L1Regularized.from_C(X, y, 100.0), CDN(), stop=Stop(1e-3, max_iter=1000))
    assert result.status is Status.CONVERGED
    assert (y * (X @ result.solution.w)).min() > 0.9


def test_a_column_without_rows_short_of_their_margin():
    # All rows are beyond their margins, so that both weights only cost: they must go to where that ends.
    X, y = np.eye(2), np.array([1, -1])
    problem, solver = L1Regularized(X, y, 0.1), CDN()
    result = tight(problem, start=Solution(np.array([5.0, -5.0])))
    np.testing.assert_allclose(result.solution.w, [0.9, -0.9], rtol=1e-6)
    state = solver.init(problem, start=Solution(np.array([5.0, 0.0])))
    before = problem.objective(Solution(state.w[:2].copy()))
    state = solver.advance(problem, state, 1)
    assert problem.objective(solver.solution(problem, state)) < before


def test_settings_and_problems_it_takes():
    with pytest.raises(ValueError, match="first must be a whole number of at least 1"):
        CDN(first=0)
    with pytest.raises(ValueError, match="share must be a number greater than 0 and less than 1"):
        CDN(share=1.0)
    X, y = noisy(20, 3)
    with pytest.raises(ValueError, match="CDN solves L1Regularized problems, not Regularized; use SDCA or"):
        solve(Regularized(X, y, 0.1), CDN())
    with pytest.raises(ValueError, match=r"SDCA does not solve problems with the 1-norm \(penalty='l1'\); use CDN"):
        solve(L1Regularized(X, y, 0.1), SDCA())
    choice = choose(L1Regularized(X, y, 0.1), few_reads=True)
    assert choice.solver == CDN()
    assert "columns" in choice.reason
