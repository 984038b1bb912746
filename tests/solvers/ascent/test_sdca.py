from dataclasses import replace

import numpy as np
import pytest

from hinge import LinearSVC
from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.problems.base import Combination
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, CoCoA, StaleSDCA, solve

BIASES = ["none", "free", "penalized"]


def tight(problem, solver=None, tol=1e-9, **options):
    result = solve(problem, solver or SDCA(), stop=Stop(tol, max_time=20), **options)
    assert result.status is Status.CONVERGED
    return result


def dual(problem, alpha):
    z = problem.combination(alpha)
    return sum(problem.class_mass(alpha)) - z @ z / (2 * problem.lam)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_shrinking_changes_the_road_but_not_the_optimum(adult, bias, weighted):
    X, y = adult
    s = np.random.default_rng(0).integers(0, 3, len(y)) * 1.0 if weighted else None
    on, off = (Regularized(X, y, 1e-3, bias=bias, weight=s) for _ in range(2))
    a, b = tight(on, SDCA(), 1e-7), tight(off, SDCA(shrinking=False), 1e-7)
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-7)
    np.testing.assert_allclose(a.solution.w, b.solution.w, atol=2e-3)


def test_shrinking_spares_visits(adult):
    problem = Regularized(*adult, 1e-3)
    solver = SDCA()
    state = solver.init(problem)
    for _ in range(20):
        state = solver.advance(problem, state, solver.pause(problem, state))
    assert 0 < state.epoch.active < problem.n / 2
    state = solver.refresh(problem, state)
    state = solver.advance(problem, state, solver.pause(problem, state) + 1)
    before = state.t
    assert solver.advance(problem, state, problem.n).t == before + problem.n


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_rows_sorted_by_label(adult, bias):
    X, y = adult
    order = np.argsort(y, kind="stable")
    as_is = tight(Regularized(X, y, 1e-3, bias=bias), tol=1e-5)
    by_label = tight(Regularized(X[order], y[order], 1e-3, bias=bias), tol=1e-5)
    assert by_label.certificate.objective == pytest.approx(as_is.certificate.objective, rel=2e-5)
    assert by_label.n_iter <= 4 * as_is.n_iter


@pytest.mark.parametrize("first_pass", ["plain", "sgd"])
def test_the_dual_never_falls(tiny, first_pass):
    problem = Regularized(*tiny, 0.01)
    solver = SDCA(first_pass, shrinking=False)
    state = solver.advance(problem, solver.init(problem), 60)  # the first pass climbs towards changing ends
    before = dual(problem, state.alpha)
    assert before > 0
    for _ in range(400):
        state = solver.advance(problem, state, 1)
        now = dual(problem, state.alpha)
        assert now >= before - 1e-14
        before = now


@pytest.mark.slow
@pytest.mark.parametrize("first_pass", ["plain", "sgd", "auto"])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dual_is_feasible_and_its_combination_kept_at_all_times(tiny, first_pass, bias, weighted):
    X, y = tiny
    s = np.random.default_rng(0).integers(0, 3, 60) * 1.0 if weighted else np.ones(60)
    problem = Regularized(X, y, 0.02, bias=bias, weight=s if weighted else None)
    solver = SDCA(first_pass)
    state = solver.init(problem)
    for n in (1, 10, 30, 60, 500, 3000):
        state = solver.advance(problem, state, n)
        solution = solver.solution(problem, state)
        assert solution.alpha.min() >= 0
        assert solution.alpha.max() <= 1
        kept = solution.w * state.dual.Lam / problem.total
        np.testing.assert_allclose(kept, problem.combination(solution.alpha), atol=1e-12)
        np.testing.assert_allclose(solution.w * state.dual.Lam, (s * solution.alpha * y) @ X, atol=1e-10)
        assert state.dual.u == pytest.approx((s * solution.alpha) @ y, abs=1e-10)
        assert (solution.alpha[s == 0] == 0).all()


def test_the_first_pass_is_that_of_the_rows_seen(tiny):
    # After t rows of the first pass Λ is λt: the answer so far is one for the problem of these rows.
    problem = Regularized(*tiny, 0.02)
    solver = SDCA("sgd")
    state = solver.init(problem)
    for t in (1, 5, 59):
        state = solver.advance(problem, state, t - state.t)
        assert state.dual.Lam == pytest.approx(0.02 * t)
        assert np.count_nonzero(state.alpha) <= t
        assert solver.estimate(problem, state) == np.inf
    state = solver.advance(problem, state, 1)
    assert state.dual.Lam == 0.02 * 60


def test_the_first_pass_helps_where_the_regularisation_is_strong(adult):
    gaps = {}
    for first_pass in ("plain", "sgd"):
        problem, solver = Regularized(*adult, 1.0), SDCA(first_pass)
        state = solver.advance(problem, solver.init(problem), problem.n)
        gaps[first_pass] = problem.certificate(solver.solution(problem, state)).gap
    assert gaps["sgd"] < gaps["plain"] / 2


@pytest.mark.parametrize(("lam", "same"), [(2.9 / 60, "plain"), (3.1 / 60, "sgd")])
def test_the_gradient_pass_is_taken_where_it_pays(tiny, lam, same):
    problem, w = Regularized(*tiny, lam), {}
    for first_pass in ("auto", "plain", "sgd"):
        solver = SDCA(first_pass)
        state = solver.advance(problem, solver.init(problem), 60)
        w[first_pass] = solver.solution(problem, state).w.tolist()
    assert w["auto"] == w[same]
    assert w["plain"] != w["sgd"]


def test_rows_without_weight_are_never_visited(tiny):
    X, y = tiny
    X, s = X.copy(), np.ones(60)
    s[::4] = 0.0
    X[::4] = np.nan  # one look at these would show
    problem = Regularized(X, y, 0.05, weight=s)
    solver = SDCA()
    state = solver.advance(problem, solver.init(problem), 45)
    assert problem.matrix.reads == 45 * 7
    assert (state.alpha[s > 0] > 0).any()
    state = solver.advance(problem, state, 500)
    solution = solver.solution(problem, state)
    assert np.isfinite(solution.w).all()
    assert (solution.alpha[::4] == 0).all()
    without = Regularized(X[s > 0], y[s > 0], 0.05)
    assert without.certificate(solution._replace(alpha=solution.alpha[s > 0])).gap < 1e-3


@pytest.mark.parametrize("bias", BIASES)
def test_rows_of_zeros(tiny, bias):
    X, y = tiny
    X = X.copy()
    X[10:25] = 0.0
    result = tight(Regularized(X, y, 0.05, bias=bias), tol=1e-7)
    assert np.isfinite(result.solution.w).all()
    if bias == "none":
        assert (result.solution.alpha[10:25] == 1).all()


def test_only_zeros():
    problem = Regularized(np.zeros((6, 3)), [1, -1, 1, 1, -1, 1], 0.1)
    result = tight(problem)
    assert result.solution.w.tolist() == [0, 0, 0]
    assert result.certificate.objective == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e3, 1e6])
@pytest.mark.parametrize(("bias", "wrong"), [("none", False), ("none", True), ("free", False), ("penalized", False)])
def test_one_huge_row(tiny, size, bias, wrong):
    X, y = tiny
    X = X.copy()
    X[7] = (-size if wrong else size) * y[7] * np.array([1, 1, 0, 0, 0, 0, 0])
    result = solve(Regularized(X, y, 0.05, bias=bias), SDCA(), stop=Stop(1e-4, max_iter=60_000))
    assert result.status is Status.CONVERGED
    assert y[7] * (result.solution.w @ X[7] + result.solution.b) >= 0.9


def test_conflicting_copies_of_a_row():
    X = np.ones((10, 2))
    y = np.array([1, -1] * 5)
    result = tight(Regularized(X, y, 0.1), tol=1e-9)
    np.testing.assert_allclose(result.solution.w, 0, atol=1e-6)
    assert result.certificate.objective == pytest.approx(1.0)


@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_a_single_row(bias):
    # min λ/2 w² + max(0, 1 - 2w): w = ½ while 2/λ ≥ ½.
    result = tight(Regularized([[2.0]], [1], 0.1, bias=bias, bias_scale=1e-3))
    assert result.solution.w == pytest.approx([0.5], rel=1e-6)
    assert result.certificate.objective == pytest.approx(0.0125, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("block_rows", [1, 7, 60, 1000])
def test_blocks_of_any_size(tiny, block_rows):
    X, y = tiny
    problem = Regularized(X, y, 0.05)
    result = tight(problem, SDCA(block_rows=block_rows), 1e-8)
    assert result.certificate.objective == pytest.approx(tight(problem).certificate.objective, rel=2e-8)
    solver = SDCA(block_rows=block_rows)
    state = solver.advance(problem, solver.init(problem), 60)
    assert sorted(state.active.tolist()) == list(range(60))


def test_every_pass_visits_every_row_once(tiny_csr):
    S, y = tiny_csr
    for block_rows in (1, 4, 9):
        problem = Regularized(S, y, 0.05)
        solver = SDCA(shrinking=False, block_rows=block_rows)
        state = solver.init(problem)
        for epochs in (1, 2, 3):
            state = solver.advance(problem, state, 60)
            assert problem.matrix.reads == epochs * S.nnz
            assert not np.isnan(state.sq).any()
        np.testing.assert_allclose(state.sq, (S.toarray() ** 2).sum(axis=1), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_warm_start(adult, bias):
    X, y = adult
    problem = Regularized(X, y, 1e-3, bias=bias)
    cold = tight(problem, tol=1e-5)
    again = tight(problem, tol=1e-4, start=cold.solution)
    assert again.n_iter <= cold.n_iter / 3
    nearby = Regularized(X, y, 1.05e-3, bias=bias)
    warm, fresh = tight(nearby, tol=1e-4, start=cold.solution), tight(nearby, tol=1e-4)
    assert warm.certificate.objective == pytest.approx(fresh.certificate.objective, rel=2e-4)
    without_dual = tight(problem, tol=1e-4, start=cold.solution._replace(alpha=None))
    assert without_dual.n_iter > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_a_free_bias_meets_its_constraint(tiny, weighted):
    X, y = tiny
    s = np.random.default_rng(3).random(60) if weighted else None
    problem = Regularized(X, y, 0.05, bias="free", weight=s)
    result = tight(problem)
    positive, negative = problem.class_mass(result.solution.alpha)
    assert positive == pytest.approx(negative, rel=1e-6)
    assert result.solution.b == pytest.approx(problem.best_bias(X @ result.solution.w), abs=1e-4)


@pytest.mark.slow
def test_a_free_bias_far_from_the_origin(tiny):
    X, y = tiny
    near = tight(Regularized(X, y, 0.05, bias="free"), tol=1e-6)
    far = tight(Regularized(X + 5.0, y, 0.05, bias="free"), tol=1e-6)
    assert far.certificate.objective == pytest.approx(near.certificate.objective, rel=2e-6)
    np.testing.assert_allclose(far.solution.w, near.solution.w, atol=1e-2)


def test_the_estimate_is_of_the_size_of_the_gap():
    known = make_known_optimum(200, 10, 0.005, seed=1)
    problem, solver = Regularized(known.X_train, known.y_train, 0.005), SDCA(shrinking=False)
    state = solver.init(problem)
    for _ in range(5):
        state = solver.advance(problem, state, 200)
    gap = problem.certificate(solver.solution(problem, state)).gap
    assert gap / 3 <= solver.estimate(problem, state) <= 100 * gap


def test_the_theorem_of_the_talk(adult):
    problem = Regularized(*adult, 1e-2)
    best = tight(problem, tol=1e-7).certificate.bound
    m, delta = problem.n, 0.1
    solver = SDCA("plain", shrinking=False, block_rows=1)
    for seed in range(5):
        state = solver.init(problem, seed)
        for T in (m, 2 * m, 4 * m):
            state = solver.advance(problem, state, T - state.t)
            assert best - dual(problem, state.alpha) <= 8 * np.log(1 / delta) / T * (1 / 1e-2 + m)


def test_what_is_read_beside_the_steps_counts_against_the_budget_too(tiny):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 2))  # so many that the gap is guessed from a sample of rows
    y = np.where(X[:, 0] + rng.standard_normal(40_000) > 0, 1, -1)
    problem = Regularized(X, y, 1e-4)
    result = solve(problem, SDCA(), stop=Stop(1e-9, max_reads=2 * 80_000 + 500))
    assert problem.matrix.reads <= 2 * 80_000 + 500
    assert result.status is Status.MAX_READS

    warm = Regularized(*tiny, 0.05)
    start = solve(Regularized(*tiny, 0.05), SDCA()).solution
    solve(warm, SDCA(), start=start, stop=Stop(max_reads=10))
    assert warm.matrix.reads <= 10


@pytest.mark.parametrize("settings", [{"first_pass": "newton"}, {"block_rows": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        SDCA(**settings)


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="SDCA solves Regularized problems, not NormConstrained"):
        solve(NormConstrained(*tiny, 1.0), SDCA())


def test_data_that_memory_may_not_hold_is_taken_by_pages(tiny, monkeypatch):
    problem = Regularized(*tiny, 0.1)  # 60 rows of 7 float64
    assert SDCA().rows_a_block(problem) == 2
    monkeypatch.setattr("hinge.solvers.ascent.active_rows.IN_MEMORY", 1000)
    monkeypatch.setattr("hinge.solvers.ascent.active_rows.PAGES", 600)
    assert SDCA().rows_a_block(problem) == 600 // 56


@pytest.mark.parametrize("solver", [SDCA(tol=1e-2), SDCA(tol=1e-2, acceleration="subspace")])
@pytest.mark.parametrize("bias", BIASES)
def test_an_ascent_that_knows_its_tolerance_ends_there_in_whatever_pieces(adult, solver, bias):
    problem = Regularized(*adult, 1e-3, bias=bias)

    def ends(piece):
        state, ended = solver.init(problem), []
        while len(ended) < 2:
            before = state.t
            state = solver.advance(problem, state, piece)
            if state.t < before + piece:
                ended.append(state.t)
        return ended

    at_once, in_pieces, by_epochs = ends(10**7), ends(997), ends(problem.n)
    assert at_once == in_pieces == by_epochs
    untold = replace(solver, tol=0.0)
    state = untold.advance(problem, untold.init(problem), at_once[0])
    assert state.t == at_once[0] and solver.estimate(problem, state) <= 1e-2


@pytest.mark.slow
def test_an_ascent_that_knows_its_tolerance_is_looked_at_less():
    made = make_known_optimum(400, 2000, 1e-5, seed=1)
    problem = Regularized(made.X_train, made.y_train, made.lam)
    told, untold = (solve(problem, solver, stop=Stop(1e-3)) for solver in (SDCA(tol=1e-3), SDCA()))
    assert told.status is untold.status is Status.CONVERGED
    assert len(told.history) < len(untold.history) and told.n_iter <= untold.n_iter + problem.n


def test_a_negative_tolerance_is_refused():
    with pytest.raises(ValueError, match="tol must be a number of at least 0, got -1"):
        SDCA(tol=-1.0)


@pytest.mark.parametrize("solver", [SDCA(acceleration="subspace"), StaleSDCA(), CoCoA(parts=2)])
def test_only_its_own_updates_are_counted_in_its_sum(tiny, solver):
    problem = Regularized(*tiny, 1e-3)
    for one, counted in ((SDCA(), True), (solver, False)):
        state = one.advance(problem, one.init(problem), 20 * problem.n)
        assert (getattr(one.solution(problem, state), "mass", np.inf) < np.inf) is counted


SUBSPACE = SDCA(acceleration="subspace")


def nearly_dependent(loss, bias, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) @ np.diag(np.geomspace(1.0, 0.05, 40))
    y = np.where(X @ rng.normal(size=40) + 0.1 * rng.normal(size=300) > 0, 1, -1)
    return Regularized(X, y, lam, bias=bias, loss=loss)


@pytest.mark.sampled
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
def test_it_finds_the_same_optimum_in_fewer_passes(loss, bias):
    problem = nearly_dependent(loss, bias, 1e-5)
    ours, plain = (solve(problem, s, stop=Stop(1e-5, max_iter=10**7)) for s in (SUBSPACE, SDCA()))
    assert ours.certificate.gap <= 1e-5 and plain.certificate.gap <= 1e-5
    assert ours.certificate.objective == pytest.approx(plain.certificate.objective, rel=3e-5)
    assert ours.n_iter < 0.6 * plain.n_iter


def test_the_acceleration_is_one_of_those_there_are():
    with pytest.raises(ValueError, match="acceleration must be"):
        SDCA(acceleration="momentum")


def test_a_run_goes_on_from_an_answer():
    problem = nearly_dependent(HINGE, "penalized", 1e-5)
    first = solve(problem, SUBSPACE, stop=Stop(1e-3, max_iter=10**7))
    again = solve(problem, SUBSPACE, stop=Stop(1e-3, max_iter=10**7), start=first.solution)
    assert again.certificate.gap <= 1e-3 and again.n_iter <= 0.5 * first.n_iter


def test_the_gap_of_many_rows_is_sampled_before_it_is_measured():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5))
    problem = Regularized(X, np.where(X[:, 0] > 0, 1, -1), 1.0)
    result = solve(problem, SDCA(tol=1e-2), stop=Stop(tol=1e-2))
    assert result.certificate.gap <= 1e-2 and result.n_iter == problem.n  # one pass of gradient steps will do


def test_acceleration_is_a_setting_of_an_estimator():
    problem = nearly_dependent(HINGE, "none", 1e-5)
    X, y = np.asarray(problem.matrix.rows.X), problem.y
    model = LinearSVC(loss="hinge", lam=1e-5, solver=SUBSPACE, tol=1e-4, fit_intercept=False).fit(X, y)
    assert model.solver_ is SUBSPACE and model.gap_ <= 1e-4


def test_steps_begin_after_so_many_passes_at_the_end_of_an_epoch():
    problem = nearly_dependent(HINGE, "penalized", 1e-5)
    late, plain, soon = SDCA(acceleration="subspace", after=2.5), SDCA(), SUBSPACE
    state, other = late.init(problem), plain.init(problem)
    for solver, own in ((late, state), (plain, other)):
        for n in (0, 100, 601):  # within the third pass
            solver.advance(problem, own, n)
    assert np.array_equal(state.alpha, other.alpha) and not state.subspace.walk.begun
    assert type(late.solution(problem, state)) is type(plain.solution(problem, other)) is Combination
    late.advance(problem, state, 10 * problem.n)
    assert state.subspace.walk.begun and late.solution(problem, state).mass == np.inf
    whole = late.advance(problem, late.init(problem), 701 + 10 * problem.n)  # in one piece
    assert np.array_equal(whole.alpha, state.alpha) and np.array_equal(whole.subspace.p, state.subspace.p)
    runs = [solve(problem, s, stop=Stop(1e-4, max_iter=10**7)).n_iter for s in (soon, late, plain)]
    assert runs[1] < 0.6 * runs[2]
    with pytest.raises(ValueError, match="after must be a number of at least 0"):
        SDCA(after=-1.0)
    assert late.refresh(problem, late.init(problem)).t == 0


def test_a_short_run_takes_no_steps():
    problem = nearly_dependent(HINGE, "none", 0.1)
    ours, plain = (
        solve(problem, s, stop=Stop(1e-3)) for s in (SDCA(tol=1e-3, acceleration="subspace", after=16), SDCA(tol=1e-3))
    )
    assert ours.n_iter == plain.n_iter and ours.certificate == plain.certificate


def test_a_free_bias_that_runs_away_from_the_list_calls_all_rows_back():
    """Integers of 1 to 3 and targets of hundreds: soon all rows are at their bounds, and only the bias moves."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 5)))
    y = 300.0 * (X @ rng.standard_normal(5) / np.sqrt(5) + 0.3 * rng.standard_normal(400))
    weight = rng.integers(0, 3, 400).astype(float)
    problem = Regularized.from_C(X, y, 1.0, weight=weight, bias="free", loss=epsilon_insensitive(0.0))
    assert solve(problem, SDCA(), stop=Stop(1e-4, max_iter=400 * 300)).certificate.gap <= 1e-4
