import numpy as np
import pytest
import scipy.sparse as sp

from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, OneClass, Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers import SDCA, Newton, solve
from hinge.solvers.newton.newton import _shuffled_rows
from hinge.solvers.newton.systems import DIRECT, form_of

BIASES = ["none", "free", "penalized"]


def tight(problem, solver=None, tol=1e-7, **options):
    result = solve(problem, solver or Newton(), stop=Stop(tol, max_time=20), **options)
    assert result.status is Status.CONVERGED
    return result


def noisy(n, d, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * scale
    y = np.where(X[:, 0] / np.ravel(scale)[0] + 0.5 * rng.standard_normal(n) > 0.2, 1, -1)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_agrees_with_sdca(adult, bias, weighted):
    X, y = adult
    s = np.random.default_rng(1).integers(0, 3, len(y)) * 1.0 if weighted else None
    problem = Regularized(X, y, 1e-2, bias=bias, weight=s, bias_scale=0.5)
    a, b = tight(problem), tight(problem, SDCA())
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-7)
    np.testing.assert_allclose(a.solution.w, b.solution.w, atol=1e-3)
    norms = [np.sqrt(1e-2 / 2) * np.linalg.norm(r.solution.w) for r in (a, b)]
    assert norms[0] == pytest.approx(norms[1], abs=1e-3)


@pytest.mark.parametrize("bias", BIASES)
def test_growing_samples(bias):
    X, y = noisy(9000, 5)
    problem, solver = Regularized(X, y, 1e-3, bias=bias), Newton()
    state, levels = solver.init(problem), []
    while not levels or levels[-1] < 9000:
        state = solver.advance(problem, state, 1)
        levels.append(state.level)
        alpha = solver.solution(problem, state).alpha
        assert (alpha[state.rows[levels[-1] :]] == 0).all()
        assert len(levels) < 100
    assert 500 <= levels[0] <= 2000
    assert levels == sorted(levels)
    assert tight(problem, tol=1e-6).certificate.gap <= 1e-6


def test_it_needs_few_passes_however_the_features_are_scaled():
    X, y = noisy(3000, 8, scale=np.logspace(-2, 2, 8))
    result = tight(Regularized(X, y, 1e-4, bias="free"), tol=1e-5)
    assert result.n_iter <= 60


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_more_features_than_a_hessian_is_formed_for(bias):
    d = DIRECT + 20
    X, y = noisy(700, d)
    S = sp.random_array((700, d), density=0.05, rng=np.random.default_rng(3), dtype=np.float32).tocsr()
    for A in (X, S):
        problem = Regularized(A, y, 0.02, bias=bias)
        a, b = tight(problem, tol=1e-5), tight(problem, SDCA(), 1e-5)
        assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-5)


@pytest.mark.sampled
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hessian_follows_the_rows_on_the_parabola(bias, weighted):
    X, y = noisy(3000, 60)
    weight = np.random.default_rng(1).integers(0, 3, 3000) / 2.0 if weighted else None
    for A, loss in ((X, HINGE), (sp.csr_array(np.where(np.abs(X) > 1, X, 0)), SQUARED_HINGE)):
        problem, solver = Regularized(A, y, 1e-3, bias=bias, weight=weight, loss=loss), Newton()
        state = solver.init(problem)
        for _ in range(12):
            state = solver.advance(problem, state, 1)
            rows = state.rows[state.curved]
            B = np.column_stack([(A.toarray() if sp.issparse(A) else A)[rows], np.ones(len(rows))])
            s = weight[rows] if weighted else np.ones(len(rows))
            np.testing.assert_allclose(np.tril(state.H), np.tril((B.T * s) @ B), rtol=1e-9, atol=1e-9 * len(rows))
        assert state.moved > 0


@pytest.mark.slow
def test_features_in_their_own_units_are_no_harder():
    X, y = noisy(1500, 300, scale=np.logspace(-2, 2, 300))
    for loss in (HINGE, SQUARED_HINGE):
        result = tight(Regularized(X + 3.0, y, 1e-4, bias="penalized", loss=loss), tol=1e-4)
        assert result.n_iter <= 100


@pytest.mark.sampled
@pytest.mark.parametrize("cells_a_row", [1, 300])
def test_a_hessian_is_formed_where_it_costs_less_than_products(cells_a_row):
    X = sp.random_array((4000, 1000), density=cells_a_row / 1000, rng=np.random.default_rng(0)).tocsr()
    problem = Regularized(X, np.resize([1, -1], 4000), 0.1)
    assert form_of(problem) == ("features" if cells_a_row == 300 else "products")
    assert len(Newton().init(problem).H) == (1001 if cells_a_row == 300 else 0)


@pytest.mark.slow
@pytest.mark.parametrize("d", [5, DIRECT + 20])
@pytest.mark.parametrize("bias", BIASES)
def test_reads_stay_within_the_bound_on_all_levels(d, bias):
    X, y = noisy(2500, d)
    problem, solver = Regularized(X, y, 1e-3, bias=bias), Newton()
    bound, state = problem.cells_of(solver.cost(problem)), solver.init(problem)
    for _ in range(12):
        before = problem.matrix.reads
        state = solver.advance(problem, state, 1)
        assert 0 < problem.matrix.reads - before <= bound


def test_the_estimate_is_the_gap(tiny):
    for bias in ("none", "penalized"):  # a free bias also asks for balance
        problem, solver = Regularized(*tiny, 0.05, bias=bias), Newton()
        state = solver.init(problem)
        for _ in range(10):
            state = solver.advance(problem, state, 1)
            certificate = problem.certificate(solver.solution(problem, state))
            split = state.evaluation.gap + state.evaluation.distance
            assert certificate.objective - certificate.bound <= split * (1 + 1e-9) + 1e-12
            assert solver.estimate(problem, state) >= certificate.gap * (1 - 1e-9) - 1e-12


def test_every_iteration_goes_downhill(tiny):
    # On one level and one width the smoothed objective falls; so the gap's second part goes to zero.
    problem, solver = Regularized(*tiny, 0.05), Newton(width=3.0)
    state = solver.init(problem)
    distances = []
    for _ in range(8):
        state = state._replace(leaving=False)  # stay on this stage
        state = solver.advance(problem, state, 1)
        distances.append(state.evaluation.distance)
    assert distances[-1] < 1e-20


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_warm_start(adult, bias):
    X, y = adult
    problem = Regularized(X, y, 1e-3, bias=bias)
    cold = tight(problem, tol=1e-6)
    again = tight(problem, tol=1e-4, start=cold.solution)
    assert again.n_iter < cold.n_iter
    assert again.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_weights_that_leave_a_sample_empty(bias):
    X, y = noisy(4000, 3)
    s = np.zeros(4000)
    s[:50] = 1.0  # one block of neighbours; the first level is a quarter of the rows
    problem = Regularized(X, y, 0.01, bias=bias, weight=s)
    few = Regularized(X[:50], y[:50], 0.01, bias=bias)
    for seed in range(4):
        result = tight(problem, tol=1e-6, seed=seed)
        assert result.certificate.objective == pytest.approx(tight(few).certificate.objective, rel=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_degenerate_data(tiny, bias):
    X, y = tiny
    cases = {
        "constant feature": np.column_stack([X, np.ones(60)]),
        "copies of a feature": np.column_stack([X, X, X]),
        "rows of zeros": np.where(np.arange(60)[:, None] % 3 == 0, 0.0, X),
        "one feature": X[:, :1],
        "a huge feature": X * np.array([1, 1, 1, 1, 1, 1, 1e6]),
    }
    for A in cases.values():
        a = tight(Regularized(A, y, 0.05, bias=bias), tol=1e-5)
        assert np.isfinite(a.solution.w).all()
    same = tight(Regularized(np.zeros((60, 2)), y, 0.05, bias=bias), tol=1e-5)
    share = min(np.mean(y > 0), np.mean(y < 0))
    if bias != "penalized":
        assert same.certificate.objective == pytest.approx(1.0 if bias == "none" else 2 * share, rel=1e-5)


def test_separable_with_little_regularisation():
    X, y = noisy(300, 4)
    X[:, 0] += 3.0 * y
    problem = Regularized(X, y, 1e-6, bias="free")
    assert tight(problem, tol=1e-4).certificate.gap <= 1e-4


def test_a_sample_is_blocks_of_neighbours_in_random_order():
    for n in (1, 63, 64, 65, 1000):
        rows = _shuffled_rows(n, 3)
        assert sorted(rows.tolist()) == list(range(n))
    rows = _shuffled_rows(1000, 0)
    assert (np.diff(rows.astype(int)) == 1).mean() > 0.95
    assert rows.tolist() != _shuffled_rows(1000, 1).tolist()


@pytest.mark.parametrize("settings", [{"width": 0.0}, {"width": -1.0}, {"shrink": 0.0}, {"shrink": 1.0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=f"{min(settings)} must be a number greater than 0"):
        Newton(**settings)


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="Newton solves Regularized problems, not NormConstrained"):
        solve(NormConstrained(*tiny, 1.0), Newton())
    with pytest.raises(ValueError, match="not d = 20001; use SDCA"):
        solve(Regularized(sp.eye_array(2, 20_001).tocsr(), [1, -1], 0.1), Newton())


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("rare", [1, 5, 50])
def test_a_rare_class_is_in_the_first_sample(rare, together):
    rng = np.random.default_rng(rare)
    X, y = rng.standard_normal((10_000, 5)), -np.ones(10_000)
    rows = np.arange(rare) if together else rng.permutation(10_000)[:rare]
    X[rows], y[rows] = X[rows] + 4.0, 1
    problem = Regularized.from_C(X, y, 1.0, bias="free")
    for seed in range(3):
        result = solve(problem, Newton(), seed=seed, stop=Stop(max_iter=100))
        assert result.certificate.gap <= 1e-3


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_it_ends_where_rounding_leaves_nothing_to_gain(tiny, loss):
    result = solve(Regularized(*tiny, 0.05, loss=loss), Newton(), stop=Stop(0, max_iter=10_000))
    assert result.status is Status.STALLED
    assert result.n_iter < 500 and result.certificate.gap < 1e-9


def test_it_ends_where_the_objective_is_negative():
    X = 2.0 + np.random.default_rng(0).standard_normal((200, 3))
    result = solve(OneClass(X, 0.1), Newton(), stop=Stop(0, max_iter=10_000))
    assert result.certificate.objective < 0 and result.status is Status.STALLED
    assert result.n_iter < 500 and result.certificate.gap < 1e-5


def test_the_gap_may_long_stay_as_it_is_while_the_objective_falls():
    """Rows that a plane separates come to the parabola one by one, and no gap is seen before the last."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = np.where(X @ rng.normal(size=60) + 0.1 * np.sqrt(60) * rng.normal(size=400) > 0, 1, -1)
    result = solve(Regularized(X, y, 1e-6), Newton(), stop=Stop(tol=1e-3, max_iter=1000))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-3


def test_a_start_with_a_large_gap_begins_with_a_wide_parabola():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    problem = Regularized(X, np.where(X[:, 0] + rng.normal(size=400) > 0, 1, -1), 1e-3)
    near = solve(problem, Newton(), stop=Stop(tol=1e-3, max_iter=100)).solution
    far = near._replace(w=0.1 * near.w, alpha=0.1 * near.alpha)
    solver = Newton()
    cold = solver.init(problem).mu
    assert solver.init(problem, start=near).mu == solver.width < solver.init(problem, start=far).mu <= cold
    assert solver.init(problem, start=far._replace(alpha=None)).mu == solver.width


def test_a_start_is_the_centre_where_the_squares_of_all_rows_are_dear(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    problem = Regularized(X, np.where(X[:, 0] + rng.normal(size=400) > 0, 1, -1), 1e-3)
    near = solve(problem, SDCA(), stop=Stop(tol=0.5, max_iter=2000)).solution
    wide, answers = Newton().init(problem, start=near), []
    monkeypatch.setattr("hinge.solvers.newton.newton.DEAR", 0.0)
    narrow = Newton().init(problem, start=near)
    assert narrow.mu == Newton().width and np.array_equal(narrow.center, near.alpha[narrow.rows].astype(np.float32))
    assert (wide.center == 0.5).all()
    for dear in (0.0, np.inf):
        monkeypatch.setattr("hinge.solvers.newton.newton.DEAR", dear)
        answers.append(solve(problem, Newton(), stop=Stop(tol=1e-6, max_iter=200), start=near))
    assert answers[0].certificate.gap <= 1e-6 and answers[1].certificate.gap <= 1e-6
    np.testing.assert_allclose(answers[0].solution.w, answers[1].solution.w, atol=1e-2)


@pytest.mark.parametrize("seed", [137, 261])
def test_columns_of_all_scales_take_part_where_a_factor_fails(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((60, 20))
    y = np.where(Z @ rng.standard_normal(20) + rng.standard_normal(60) > 0, 1, -1)
    problem = Regularized.from_C(Z * 10.0 ** np.linspace(-3, 6, 20), y, 1000.0, bias="penalized")
    assert solve(problem, Newton(), stop=Stop(1e-4, max_iter=1000)).status is Status.CONVERGED
