import numpy as np
import pytest
import scipy.sparse as sp
from reference.draws import sdca_epochs
from reference.multiclass import dual_ascent, row_step
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from hinge.monitoring import Status, Stop
from hinge.problems import Multiclass, Regularized, Solution
from hinge.problems.max_min.linear import onto_simplex
from hinge.solvers import SDCA, MulticlassSDCA, solve
from hinge.solvers.ascent.multiclass_sdca import MOST, face_step, rows_read, step_work


def drawn(seed, n=60, d=7, k=4, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, k)) + noise * rng.standard_normal((n, k)), axis=1)


def tight(problem, solver=None, tol=1e-9, **options):
    result = solve(problem, solver or MulticlassSDCA(), stop=Stop(tol, max_time=20), **options)
    assert result.status is Status.CONVERGED
    return result


def of_scikit_learn(X, y, C, weight, scale):
    """Their W at a tolerance below which they stop by chance; of two classes they give w₁ - w₀, and w₀ = -w₁."""
    options = {"fit_intercept": scale > 0, "intercept_scaling": scale or 1.0}
    model = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-9, max_iter=10**5, **options).fit(X, y, weight)
    W = np.column_stack([model.coef_, np.broadcast_to(model.intercept_, len(model.coef_)) / (scale or 1.0)]).T
    return W if W.shape[1] > 1 else np.hstack([-W, W]) / 2


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 9])
def test_it_is_crammer_and_singers_row_step(seed, weighted, k):
    X, y = drawn(seed, k=k)
    s = np.random.default_rng(5).integers(0, 4, 60) / 2.0 if weighted else np.ones(60)
    rows = np.flatnonzero(s).tolist()
    solver = MulticlassSDCA(shrinking=False, block_rows=1)
    problem = Multiclass(X, y, 0.05, n_classes=k, weight=s if weighted else None)
    W, alpha = dual_ascent(X, y, k, 0.05, sdca_epochs(rows, 4, seed), s)
    answer = solver.solution(problem, solver.advance(problem, solver.init(problem, seed), 4 * len(rows)))
    np.testing.assert_allclose(answer.w[:-1], W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.eye(k)[y] - answer.alpha, alpha, rtol=1e-9, atol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("scale", [0.0, 0.7])
def test_the_dual_never_falls_and_is_known(k, scale):
    X, y = drawn(1, k=k)
    problem = Multiclass(X, y, 0.02, n_classes=k, bias_scale=scale)
    solver = MulticlassSDCA(shrinking=False)
    state, before = solver.init(problem), 0.0
    for _ in range(300):
        state = solver.advance(problem, state, 1)
        assert state.dual.value >= before - 1e-12
        before = state.dual.value
        assert (state.p >= 0).all()
        np.testing.assert_allclose(state.p.sum(axis=1), 1.0, rtol=1e-12)
    Z, mass = problem.combination(state.p)
    np.testing.assert_allclose(state.V, Z * problem.total, atol=1e-12)
    assert before == pytest.approx(mass.sum() - (Z**2).sum() * problem.total / (2 * problem.lam), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_shrinking_changes_the_road_but_not_the_optimum(k):
    X, y = drawn(2, n=300, d=20, k=k)
    on, off = (Multiclass(X, y, 1e-3, bias_scale=1.0) for _ in range(2))
    a, b = tight(on, tol=1e-8), tight(off, MulticlassSDCA(shrinking=False), tol=1e-8)
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-8)
    np.testing.assert_allclose(a.solution.w, b.solution.w, atol=1e-2)
    assert on.reads < off.reads


def test_shrinking_spares_rows_and_classes_until_it_is_told():
    X, y = drawn(2, n=300, d=20, k=12)
    problem, solver = Multiclass(X, y, 1e-3), MulticlassSDCA(newton=False)
    state = solver.init(problem)
    while not (state.epoch.visited > 0 and state.epoch.active < 200):
        state = solver.advance(problem, state, 1)
    assert (state.size > 0).any()
    listed = state.size > 0
    assert ((state.p[listed] > 0).sum(axis=1) <= state.size[listed]).all()
    state = solver.refresh(problem, state)
    state = solver.advance(problem, state, int(state.epoch.active - state.epoch.visited) + 1)
    assert state.epoch.active == 300
    assert np.count_nonzero(state.size) <= 1


def test_rows_that_rest_are_in_the_estimate():
    X, y = drawn(6, n=400, d=30, k=5)
    problem, solver = Multiclass(X, y, 1e-3, bias_scale=1.0), MulticlassSDCA(newton=False)
    state = solver.init(problem)
    ratios = []
    for _ in range(60):
        state = solver.advance(problem, state, solver.pause(problem, state))
        true = problem.certificate(solver.solution(problem, state)).gap
        ratios.append(solver.estimate(problem, state) / true)
    assert 0.2 < np.median(ratios) < 10.0


@pytest.mark.slow
def test_newton_steps_end_what_row_steps_go_round_in():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, y[:600]
    fast, slow = (Multiclass.from_C(X, y, 1.0, bias_scale=1.0) for _ in range(2))
    a, b = tight(fast, tol=1e-7), tight(slow, MulticlassSDCA(newton=False), tol=1e-7)
    assert a.n_iter < b.n_iter / 2
    assert b.certificate.bound <= a.certificate.objective
    state, solver = MulticlassSDCA().init(fast), MulticlassSDCA()
    for _ in range(40):
        before = state.dual.value
        state = solver.advance(fast, state, 1000)
        assert state.dual.value >= before - 1e-9
    Z, mass = fast.combination(state.p)
    np.testing.assert_allclose(state.V, Z * fast.total, atol=1e-9)
    assert state.dual.value == pytest.approx(mass.sum() - (Z**2).sum() * fast.total / (2 * fast.lam), rel=1e-9)


@pytest.mark.slow
def test_random_problems_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    for case in range(200):
        n, d, k = int(rng.integers(4, 40)), int(rng.integers(1, 8)), int(rng.integers(2, 6))
        X, y = drawn(case, n, d, k, noise=float(rng.choice([0.0, 1.0])))
        y = np.unique(y, return_inverse=True)[1]
        if y.max() == 0:
            continue
        C, scale = float(10.0 ** rng.uniform(-3, 0)), float(rng.choice([0.0, 1.0, 0.3]))
        weight = rng.uniform(0.1, 2.0, n)
        problem = Multiclass.from_C(X, y, C, weight=weight, bias_scale=scale)
        theirs = problem.objective(Solution(of_scikit_learn(X, y, C, weight, scale)))
        ours = tight(problem, tol=1e-6).certificate
        assert ours.bound <= theirs
        assert ours.objective <= theirs * (1 + 1e-6)


def test_two_classes_are_the_hinge_with_half_the_penalty():
    X, y = drawn(3, k=2)
    both = tight(Multiclass(X, y, 0.05, bias_scale=0.5))
    one = solve(Regularized(X, 2 * y - 1, 0.025, bias="penalized", bias_scale=0.5), SDCA(), stop=Stop(1e-9))
    assert both.certificate.objective == pytest.approx(one.certificate.objective, rel=1e-8)
    np.testing.assert_allclose(both.solution.w[:-1, 1] - both.solution.w[:-1, 0], one.solution.w, atol=1e-3)


def test_a_start_is_gone_on_from():
    X, y = drawn(4, n=200)
    problem = Multiclass(X, y, 0.01, bias_scale=1.0)
    first = tight(problem, tol=1e-6)
    again = tight(Multiclass(X, y, 0.01, bias_scale=1.0), tol=1e-5, start=first.solution)
    assert again.n_iter <= problem.n
    near = tight(Multiclass(X, y, 0.0101, bias_scale=1.0), tol=1e-3, start=first.solution)
    cold = tight(Multiclass(X, y, 0.0101, bias_scale=1.0), tol=1e-3)
    assert near.n_iter < cold.n_iter
    state = MulticlassSDCA().init(problem, start=first.solution)
    assert state.dual.value / problem.total == pytest.approx(first.certificate.bound, rel=1e-9)


def test_rows_that_are_zero_lose_one_and_nothing_more():
    X, y = drawn(5)
    X[::3] = 0.0
    result = tight(Multiclass(X, y, 0.1))
    rest = np.arange(60) % 3 > 0
    part = tight(Multiclass(X[rest], y[rest], 0.15))
    assert result.certificate.objective == pytest.approx(1 / 3 + 2 / 3 * part.certificate.objective, rel=1e-8)


def test_settings():
    with pytest.raises(ValueError, match="block_rows must be a whole number of at least 1"):
        MulticlassSDCA(block_rows=0)
    X, y = drawn(0, k=2)
    with pytest.raises(ValueError, match="MulticlassSDCA solves Multiclass problems, not Regularized; use SDCA"):
        solve(Regularized(X, 2 * y - 1, 0.1), MulticlassSDCA())


def wide_rows(seed, n=80, d=30, k=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)


def value(problem, p):
    Z, mass = problem.combination(p)
    return mass @ np.broadcast_to(problem.weight, problem.n) - (Z**2).sum() * problem.total / (2 * problem.lam)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_from_near_the_optimum_it_leads_there(sparse, scale):
    X, y = wide_rows(0)
    s = np.random.default_rng(1).integers(0, 3, 80) / 2.0
    problem = Multiclass(sp.csr_array(X) if sparse else X, y, 0.02, weight=s, bias_scale=scale)
    best = solve(problem, MulticlassSDCA(), stop=Stop(1e-11, max_iter=10**6)).solution.alpha
    p = best.copy()
    free = np.count_nonzero(p > 1e-9, axis=1) > 1
    p[free] = np.where(
        p[free] > 1e-9, 0.99 * p[free] + 0.01 / np.count_nonzero(p[free] > 1e-9, axis=1, keepdims=True), 0
    )
    V = problem.combination(p)[0] * problem.total
    before, reads = value(problem, p), problem.reads
    rise = face_step(problem, p, V, np.flatnonzero(free))
    assert problem.reads - reads == (np.count_nonzero(X[free]) if sparse else X[free].size)
    assert rise == pytest.approx(value(problem, p) - before, rel=1e-6)
    assert value(problem, p) == pytest.approx(value(problem, best), rel=1e-10)
    np.testing.assert_allclose(V, problem.combination(p)[0] * problem.total, atol=1e-9)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(10))
def test_from_anywhere_the_dual_does_not_fall(seed):
    X, y = wide_rows(seed, d=3)  # of so few features, the system is singular
    problem = Multiclass(X, y, 0.02)
    p = problem.feasible(np.random.default_rng(seed).dirichlet(np.full(5, 0.3), 80))
    V = problem.combination(p)[0] * problem.total
    before = value(problem, p)
    rise = face_step(problem, p, V, np.flatnonzero(np.count_nonzero(p > 0, axis=1) > 1))
    assert rise >= 0
    assert value(problem, p) == pytest.approx(before + rise, rel=1e-9)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_what_a_step_takes():
    problem = Multiclass(*wide_rows(0), 0.1)
    assert rows_read(problem) == 80
    assert step_work(problem, 20, 30) < step_work(problem, 40, 60) < np.inf
    assert step_work(problem, 80, MOST + 1) == np.inf
    assert rows_read(Multiclass(np.ones((3 * MOST, 1)), np.arange(3 * MOST) % 3, 0.1)) == MOST


def test_the_projection_is_an_exact_row_step():
    rng = np.random.default_rng(0)
    for _ in range(300):
        m = int(rng.integers(1, 12))
        G, old, h = rng.standard_normal(m).round(1), rng.dirichlet(np.full(m, 0.5)), 10.0 ** rng.uniform(-3, 3)
        new = onto_simplex(old + G / h)
        if m > 1:
            right = np.eye(m)[0]
            np.testing.assert_allclose(right - new, row_step(G - h * (right - old), h, right), atol=1e-9)
