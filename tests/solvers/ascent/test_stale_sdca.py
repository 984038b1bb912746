import numpy as np
import pytest

from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.sampling import draw_index, draw_unit, key_of
from hinge.solvers import SDCA, solve
from hinge.solvers.ascent.stale_sdca import StaleSDCA, chance

BIASES = ["none", "free", "penalized"]
every_bias = pytest.mark.parametrize("bias", BIASES)
every_weight = pytest.mark.parametrize("weighted", [False, True])


def some_weights(n):
    return np.random.default_rng(5).integers(0, 4, n) / 2.0


def tight(problem, solver=None, tol=1e-8, **options):
    result = solve(problem, solver or StaleSDCA(), stop=Stop(tol, max_time=20), **options)
    assert result.status is Status.CONVERGED
    return result


# --- it is what it says -------------------------------------------------------------------


def literal(X, y, lam, n_epochs, seed, *, s, kappa=0.0, free=False, least=0.1, width=0.5):
    """(w, b, alpha, m, visits, gap) after some epochs, with the draws of the stream in the order of use."""
    key, draws = key_of(seed), iter(range(10**9))
    Lam = lam * s.sum()
    alpha, v, u, beta = np.zeros(len(y)), np.zeros(X.shape[1]), 0.0, 0.0
    m, pi, visits = np.full(len(y), np.nan), np.ones(len(y)), []
    listed = np.flatnonzero(s).tolist()
    for _ in range(n_epochs):
        for k in range(len(listed) - 1, 0, -1):
            j = int(draw_index(key, next(draws), k + 1))
            listed[k], listed[j] = listed[j], listed[k]
        gap = 0.0
        for i in listed:
            m[i] = y[i] * (v / Lam @ X[i] + beta + kappa * u / Lam)
            gap += s[i] * ((1 - alpha[i]) * max(0, 1 - m[i]) + alpha[i] * max(0, m[i] - 1)) / pi[i]
            step = Lam * (1 - m[i]) / (s[i] * (X[i] @ X[i] + kappa))
            tau = max(-alpha[i], min(1 - alpha[i], step))
            alpha[i] = min(1.0, max(0.0, alpha[i] + step))
            v = v + s[i] * tau * y[i] * X[i]
            u = u + s[i] * tau * y[i]
        visits += listed
        beta += kappa * u / Lam if free else 0.0
        listed = []
        for i in np.flatnonzero(s):
            stays = (alpha[i] == 0 and m[i] > 1) or (alpha[i] == 1 and m[i] < 1)
            pi[i] = max(least, np.exp(-abs(m[i] - 1) / width)) if stays else 1.0
            if pi[i] == 1 or draw_unit(key, next(draws)) < pi[i]:
                listed.append(i)
    return v / Lam, beta + kappa * u / Lam, alpha, m, visits, gap


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@every_bias
@every_weight
@pytest.mark.parametrize(("least", "width"), [(0.1, 0.5), (0.4, 0.05)])
def test_it_visits_the_rows_of_the_reference(tiny, seed, bias, weighted, least, width):
    X, y = tiny
    s = some_weights(60) if weighted else np.ones(60)
    problem = Regularized(X, y, 0.05, bias=bias, weight=s if weighted else None, bias_scale=0.5)
    kappa = {"none": 0.0, "penalized": 0.25}.get(bias, max(0.03 * np.median((X[::3] ** 2).sum(1)), 0.5))
    w, b, alpha, m, visits, gap = literal(
        X, y, 0.05, 6, seed, s=s, kappa=kappa, free=bias == "free", least=least, width=width
    )
    assert 2 * np.count_nonzero(s) < len(visits) < 6 * np.count_nonzero(s)  # some were passed over
    solver = StaleSDCA(least, width, block_rows=1)
    state = solver.advance(problem, solver.init(problem, seed), len(visits))
    answer = solver.solution(problem, state)
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-9, atol=1e-12)
    assert answer.b == pytest.approx(b, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(state.margin, m, rtol=1e-9, atol=1e-12)
    assert state.ascent.dual.gap == pytest.approx(gap, rel=1e-9)
    before = problem.reads
    solver.advance(problem, state, 0)
    assert problem.reads == before


def test_the_reads_are_those_of_the_visits(tiny_csr):
    S, y = tiny_csr
    visits = literal(S.toarray().astype(float), y, 0.05, 5, 2, s=np.ones(60))[4]
    problem, solver = Regularized(S, y, 0.05), StaleSDCA(block_rows=1)
    solver.advance(problem, solver.init(problem, 2), len(visits))
    assert problem.reads == np.diff(S.indptr)[visits].sum()


@pytest.mark.parametrize(
    ("alpha", "m", "expected"),
    [
        (0.0, 1.5, np.exp(-1)),
        (0.0, 9.0, 0.1),
        (0.0, 1.0, 1.0),
        (0.0, 0.5, 1.0),  # on the wrong side
        (1.0, 0.75, np.exp(-0.5)),
        (1.0, -9.0, 0.1),
        (1.0, 1.5, 1.0),
        (0.3, 9.0, 1.0),  # within the box
        (0.0, np.nan, 1.0),  # never visited
        (1.0, np.nan, 1.0),
    ],
)
def test_the_chance_of_a_visit(alpha, m, expected):
    assert chance(alpha, m, 0.1, 0.5) == pytest.approx(expected)


def test_the_first_pass_is_plain_ascent(adult):
    problem, other = Regularized(*adult, 1e-3), Regularized(*adult, 1e-3)
    stale, plain = StaleSDCA(), SDCA("plain", shrinking=False)
    a = stale.advance(problem, stale.init(problem, 4), problem.n)
    b = plain.advance(other, plain.init(other, 4), problem.n)
    np.testing.assert_array_equal(stale.solution(problem, a).w, plain.solution(other, b).w)
    assert stale.estimate(problem, a) == plain.estimate(other, b)


# --- it gets there ------------------------------------------------------------------------


@pytest.mark.slow
@every_bias
@every_weight
@pytest.mark.parametrize("lam", [1e-2, 1e-3])
def test_it_reaches_the_optimum_of_sdca(adult, bias, weighted, lam):
    X, y = adult
    s = some_weights(len(y)) if weighted else None
    stale, plain = (Regularized(X, y, lam, bias=bias, weight=s) for _ in range(2))
    a, b = tight(stale, tol=1e-6), tight(plain, SDCA(), tol=1e-6)
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-6)
    np.testing.assert_allclose(a.solution.w, b.solution.w, atol=1e-2)


@every_bias
def test_it_reaches_the_optimum_of_dense_rows(tiny, bias):
    a = tight(Regularized(*tiny, 0.05, bias=bias))
    b = tight(Regularized(*tiny, 0.05, bias=bias), SDCA())
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=3e-8)


def reads_to(gap, solver, problem, seed):
    """Nonzeros read by the steps until the certificate is good, which is asked every third of a pass."""
    ask = Regularized(problem.matrix.fork(), problem.y, problem.lam)
    state = solver.init(problem, seed)
    while ask.certificate(solver.solution(problem, state)).gap > gap:
        state = solver.advance(problem, state, problem.n // 3)
    return problem.reads


@pytest.mark.slow
def test_fewer_reads_than_sdca_on_real_rows(data_home):
    from hinge.datasets import DatasetNotFoundError, load

    try:
        data = load("a9a", home=data_home)
    except DatasetNotFoundError:
        pytest.skip("a9a is not in the data folder")
    total = {}
    for name, solver in {"stale": StaleSDCA(), "sdca": SDCA(), "unshrunk": SDCA(shrinking=False)}.items():
        problems = [Regularized.from_C(data.X_train, data.y_train, 0.3) for _ in range(3)]
        total[name] = sum(reads_to(1e-2, solver, p, seed) for seed, p in enumerate(problems))
    assert total["stale"] < 0.9 * total["sdca"]
    assert total["stale"] < 0.6 * total["unshrunk"]


def test_epochs_get_shorter_and_a_refresh_brings_all_rows_back(adult):
    problem, solver = Regularized(*adult, 1e-3), StaleSDCA()
    state = solver.init(problem)
    for _ in range(6):
        state = solver.advance(problem, state, solver.pause(problem, state))
    assert 0 < state.ascent.epoch.active < 0.7 * problem.n
    state = solver.refresh(problem, state)
    state = solver.advance(problem, state, solver.pause(problem, state) + 1)  # to the end of the epoch at hand
    state = solver.refresh(problem, state)
    while state.ascent.epoch.active < problem.n:
        state = solver.advance(problem, state, 1)
    state = solver.advance(problem, state, problem.n - 1)
    assert not np.isnan(state.margin).any()


def test_rows_passed_over_are_made_up_for_in_the_estimate(adult):
    problem, solver = Regularized(*adult, 1e-3), StaleSDCA()
    plain, other = SDCA("plain", shrinking=False), Regularized(*adult, 1e-3)
    ratios = []
    for seed in range(8):
        state = solver.init(problem, seed)
        for _ in range(4):
            state = solver.advance(problem, state, problem.n if state.t == 0 else to_the_end(state))
        # A pass over all rows from the same point meets a gap of the same size.
        full = plain.init(other, seed, solver.solution(problem, state))
        full = plain.advance(other, full, problem.n)
        ratios.append(state.ascent.dual.gap / full.dual.gap)
    assert 0.6 < np.mean(ratios) < 2.5


def to_the_end(state):
    return int(state.ascent.epoch.active - state.ascent.epoch.visited)


@every_bias
@every_weight
def test_the_dual_is_feasible_and_its_combination_kept_at_all_times(tiny, bias, weighted):
    X, y = tiny
    s = some_weights(60) if weighted else np.ones(60)
    problem = Regularized(X, y, 0.02, bias=bias, weight=s if weighted else None)
    solver = StaleSDCA()
    state = solver.init(problem)
    for n in (1, 10, 30, 60, 500, 3000):
        state = solver.advance(problem, state, n)
        solution = solver.solution(problem, state)
        assert solution.alpha.min() >= 0
        assert solution.alpha.max() <= 1
        kept = solution.w * state.ascent.dual.Lam / problem.total
        np.testing.assert_allclose(kept, problem.combination(solution.alpha), atol=1e-12)
        assert state.ascent.dual.u == pytest.approx((s * solution.alpha) @ y, abs=1e-10)
        assert (solution.alpha[s == 0] == 0).all()


def test_a_list_that_came_out_empty_is_all_rows():
    # One row, far outside its margin for good: nine epochs of ten draw nobody.
    X, y = np.array([[4.0]]), np.array([1])
    problem, solver = Regularized(X, y, 1.0, weight=[1.0]), StaleSDCA()
    state = solver.advance(problem, solver.init(problem), 50)
    assert state.t == 50
    assert problem.reads == 50
    assert tight(problem).solution.w == pytest.approx([0.25], rel=1e-6)


@pytest.mark.slow
@every_bias
def test_warm_start(adult, bias):
    problem = Regularized(*adult, 1e-3, bias=bias)
    cold = tight(problem, tol=1e-4)
    again = tight(problem, tol=1e-3, start=cold.solution)
    assert again.n_iter <= cold.n_iter / 3


@pytest.mark.parametrize("settings", [{"least": 0.0}, {"least": 1.1}, {"width": 0.0}, {"block_rows": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        StaleSDCA(**settings)


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="StaleSDCA solves Regularized problems, not NormConstrained"):
        solve(NormConstrained(*tiny, 1.0), StaleSDCA())
