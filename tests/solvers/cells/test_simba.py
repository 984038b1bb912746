"""Run as a script, this file writes the answers of all cases: those without the JIT."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference.simba import simba

from hinge.access import Table
from hinge.access.tables.table import EVERYWHERE, Line
from hinge.datasets import make_separable
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized, SlackConstrained, Solution
from hinge.sampling import draw_unit, key_of
from hinge.solvers import Simba, solve, solve_slack

FORMS = ("exact", "lazy", "capped")
every_form = pytest.mark.parametrize("form", FORMS)
every_bias = pytest.mark.parametrize("bias", ["none", "free"])


@pytest.fixture(scope="module")
def ball():
    return rows_of_a_ball()


def rows_of_a_ball():
    """150 sparse rows of 40 features in the unit ball, two noisy classes of unequal size."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 40)) * (rng.random((150, 40)) < 0.2)
    X[:, 0] = rng.standard_normal(150)
    X /= np.maximum(1e-9, np.linalg.norm(X, axis=1))[:, None]
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(150) > 0.15, 1, -1)
    return X, y


def run(solver, problem, n_iter, seed=0):
    return solver.advance(problem, solver.init(problem, seed), n_iter)


def answer(solver, problem, n_iter, seed=0):
    return solver.solution(problem, run(solver, problem, n_iter, seed))


def mean_p(solver, problem, n_iter, seed=0):
    from hinge.solvers.cells import simba_exact, simba_lazy

    s = run(solver, problem, n_iter, seed).parts
    return (simba_exact if isinstance(s, simba_exact.Exact) else simba_lazy).sums(s)[1] / n_iter


def units(seed):
    return lambda k: float(draw_unit(key_of(seed), k))


def same(a, b, tol=1e-9):
    np.testing.assert_allclose(a.w, b.w, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.alpha, b.alpha, rtol=tol, atol=tol)
    assert a.b == pytest.approx(b.b, rel=tol, abs=tol)


# --- it is the paper's --------------------------------------------------------------------


@pytest.mark.slow
@every_bias
@pytest.mark.parametrize(("nu", "seed"), [(0.004, 0), (0.05, 1), (0.3, 2)])
def test_exact_is_algorithm_1(ball, bias, nu, seed):
    X, y = ball
    w, b, p, last, xi = simba(X, y, nu, 500, units(seed), bias=bias == "free")
    assert xi.sum() == pytest.approx(nu * len(y))
    problem = SlackConstrained(X, y, nu, bias=bias)
    solver = Simba("exact", scale=None)
    found = answer(solver, problem, 500, seed)
    np.testing.assert_allclose(found.w, w, rtol=1e-12, atol=1e-12)
    assert found.b == pytest.approx(b, abs=1e-12)
    np.testing.assert_allclose(mean_p(solver, problem, 500, seed), p, rtol=1e-12, atol=1e-12)
    other = answer(Simba("exact", scale=None, output="last"), problem, 500, seed)
    np.testing.assert_allclose(other.w, last, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_fixed_rates_and_their_number(ball):
    X, y = ball
    solver = Simba("exact", "fixed", epsilon=0.5, constant=4.0, scale=None)
    T = int(np.ceil(64 * np.log(150)))
    problem = SlackConstrained(X, y, 0.05)
    result = solve(problem, solver, stop=Stop(tol=0), seed=2)
    assert result.status is Status.FINISHED
    assert result.n_iter == T
    w = simba(X, y, 0.05, T, units(2), T=T)[0]
    np.testing.assert_allclose(result.solution.w, w, rtol=1e-12, atol=1e-12)
    assert Simba(steps="fixed", epsilon=0.1).horizon(problem) == int(np.ceil(1e6 * np.log(150)))


@pytest.mark.slow
@every_bias
@pytest.mark.parametrize("nu", [0.004, 0.05, 0.3])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(2))
def test_lazy_with_a_refresh_every_time_is_exact(ball, bias, nu, layout, seed):
    X, y = ball
    problem = SlackConstrained(layout(X), y, nu, bias=bias)
    exact, lazy = Simba("exact"), Simba("lazy", refresh_every=1)
    same(answer(lazy, problem, 400, seed), answer(exact, problem, 400, seed))
    np.testing.assert_allclose(
        mean_p(lazy, problem, 400, seed), mean_p(exact, problem, 400, seed), rtol=1e-8, atol=1e-13
    )


@pytest.mark.slow
@every_bias
@pytest.mark.parametrize(("cap", "eta_scale"), [(0.003, 1.0), (0.03, 3.0), (0.3, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_capped_with_a_refresh_every_time_projects_every_time(ball, bias, cap, eta_scale, layout):
    X, y = ball
    w, b, p, _, _ = simba(X, y, 1, 400, units(1), bias=bias == "free", cap=cap, eta_scale=eta_scale)
    problem = SlackConstrained(layout(X), y, 0.05, bias=bias)
    solver = Simba("capped", refresh_every=1, cap=cap, eta_scale=eta_scale, scale=None)
    found = answer(solver, problem, 400, 1)
    np.testing.assert_allclose(found.w, w, rtol=1e-12, atol=1e-12)
    assert found.b == pytest.approx(b, abs=1e-12)
    np.testing.assert_allclose(mean_p(solver, problem, 400, 1), p, rtol=1e-12, atol=1e-12)
    assert p.max() <= max(1 / (cap * 150), 1 / 150) * (1 + 1e-9) or cap * 150 < 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lazy", "capped"])
@pytest.mark.parametrize("K", [2, 7, 50])
@every_bias
def test_groups_and_sums_are_bookkeeping_only(ball, form, K, bias):
    # Columns of a compressed table change what they touch, dense ones all weights: the same but for rounding.
    X, y = ball
    solver = Simba(form, refresh_every=K)
    answers = [answer(solver, SlackConstrained(A, y, 0.05, bias=bias), 400) for A in (X, sp.csr_array(X))]
    same(*answers)
    p = mean_p(solver, SlackConstrained(X, y, 0.05, bias=bias), 400)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert p.min() > -1e-12


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lazy", "capped"])
def test_a_refresh_once_in_a_while_costs_little(form, adult):
    # The level of the answer at t = 2000, as a share of the highest known: mean of 5 seeds.
    X, y = adult
    problem = SlackConstrained(X, y, 0.2)
    top = solve_slack(problem, stop=Stop(tol=1e-2)).certificate.objective

    def level(K):
        solver = Simba(form, refresh_every=K, cap=0.4)  # about as many points are wet at the optimum
        return np.mean([problem.objective(answer(solver, problem, 2000, seed)) for seed in range(5)]) / top

    assert level(1) > 0.92
    assert level(20) > level(1) - 0.04


# --- the unit ball ------------------------------------------------------------------------


@pytest.mark.slow
@every_form
@every_bias
def test_the_units_of_the_data_are_those_of_the_answer(ball, form, bias):
    # Rows and slack four times as large: the same w, and four times the bias.
    X, y = ball
    small, large = SlackConstrained(X, y, 0.05, bias=bias), SlackConstrained(4 * X, y, 0.2, bias=bias)
    a, b = answer(Simba(form), small, 200), answer(Simba(form), large, 200)
    same(a._replace(b=4 * a.b), b)
    assert large.objective(b) == pytest.approx(4 * small.objective(a))
    same(answer(Simba(form, radius=4.0), large, 200), b, 1e-6)


def test_rows_outside_of_the_ball(ball):
    X, y = ball
    long = X.copy()
    long[17] *= 3
    problem = SlackConstrained(long, y, 0.05)
    assert Simba().init(problem).radius == pytest.approx(3.0)
    with pytest.raises(ValueError, match="rows of norm up to 3, outside of the unit ball"):
        solve(problem, Simba(scale=None))
    for form in FORMS:
        with pytest.raises(ValueError, match=r"Row 17 has norm 3, and the rows .* radius 1: give radius="):
            run(Simba(form, radius=1.0), problem, 3000)
    assert problem.reads > 0


# --- certificates -------------------------------------------------------------------------


@pytest.mark.slow
@every_form
@every_bias
def test_certificates_hold_the_optimum(ball, form, bias):
    problem = SlackConstrained(*ball, 0.05, bias=bias)
    best = solve_slack(problem, stop=Stop(tol=1e-6)).certificate
    for seed in range(3):
        state = Simba(form).init(problem, seed)
        for n in (1, 10, 100, 1000):
            state = Simba(form).advance(problem, state, n)
            found = problem.certificate(Simba(form).solution(problem, state))
            assert found.objective <= best.bound * (1 + 1e-9)
            assert found.bound >= best.objective * (1 - 1e-9)
            assert found.gap >= (best.objective - found.objective) / found.objective * (1 - 1e-9)


@pytest.mark.slow
@every_form
def test_the_interval_closes_about_a_known_margin(form):
    known = make_separable(400, 30, 0.3, seed=0)
    problem = SlackConstrained(known.X_train, known.y_train, 1e-4)
    cap = 1 / 400 if form == "capped" else None
    result = solve(problem, Simba(form, cap=cap), stop=Stop(tol=0.15, max_iter=1 << 15))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective <= known.margin + 0.05
    assert result.certificate.bound >= known.margin
    assert [r.iteration for r in result.history] == [1 << k for k in range(6, 6 + len(result.history))]


@pytest.mark.slow
def test_the_bias_of_a_result_belongs_to_its_w(ball):
    X, y = ball
    problem = SlackConstrained(X, y, 0.02, bias="free")
    result = solve(problem, Simba(), stop=Stop(tol=0, max_iter=4000))
    w, b = result.solution.w, result.solution.b
    gamma, unit_bias, _ = problem.level(result.solution)
    assert b == pytest.approx(unit_bias * np.linalg.norm(w))
    assert result.certificate.objective == pytest.approx(gamma)
    assert (np.sign(X @ w + b) == y).mean() > 0.85


@pytest.mark.slow
def test_a_slack_over_a_whole_class_is_said(ball):
    X, _ = ball
    y = np.where(np.arange(150) < 10, 1, -1)
    problem = SlackConstrained(X, y, 0.3, bias="free")
    with pytest.warns(UserWarning, match=r"A slack of 0.3 is too large: .* all 10 rows.* usable slack is about 0"):
        result = solve(problem, Simba(), stop=Stop(tol=0, max_iter=500))
    usable = problem.usable(result.solution)
    assert 0 < usable < 0.3
    below = SlackConstrained(X, y, 0.5 * usable, bias="free")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(below, Simba(), stop=Stop(tol=0, max_iter=500))
    quiet = Simba(certify=False)
    with pytest.warns(UserWarning, match="all rows get the label of the other class.$"):
        solve(problem, quiet, stop=Stop(tol=0, max_iter=500))


def test_usable_slack_by_the_level(ball):
    # Up to it the bias is that of the level; above, the level grows by the smaller class's share alone.
    X, y = ball
    problem = SlackConstrained(X, y, 0.1, bias="free")
    solution = Solution(np.random.default_rng(0).standard_normal(40))
    usable = problem.usable(solution)
    from hinge.problems.svm.slack_constrained import Basins

    r = X @ solution.w / np.linalg.norm(solution.w)
    basins = Basins(r, y, np.full(150, 1 / 150), free=True)
    share = min((y > 0).mean(), (y < 0).mean())
    slopes = [(basins.level(usable * f + 1e-6)[0] - basins.level(usable * f)[0]) / 1e-6 for f in (0.99, 1.0)]
    assert slopes[1] == pytest.approx(0.5 / share)
    assert slopes[0] > slopes[1] * (1 + 1e-9)
    assert SlackConstrained(X, y, 0.1).usable(solution) == np.inf


# --- data that is not in memory -----------------------------------------------------------


class Far(Table):
    """A table that says it is not in memory."""

    def __init__(self, X):
        super().__init__(X.shape)
        self.X = X

    def _row(self, i):
        return Line(EVERYWHERE, self.X[i])

    def _column(self, j):
        return Line(EVERYWHERE, self.X[:, j])

    def _block(self, rows, columns):
        return self.X[np.ix_(rows, columns)]

    def held(self, rows):
        return sp.csr_array(self.X[rows])


@pytest.mark.slow
@every_form
def test_data_out_of_memory_is_read_by_rows_and_columns_only(ball, form):
    X, y = ball
    problem = SlackConstrained(Far(X), y, 0.05, bias="free")
    result = solve(problem, Simba(form), stop=Stop(max_iter=100))
    assert problem.reads == 100 * (150 + 40)
    assert result.certificate.gap == np.inf
    near = answer(Simba(form, radius=1.0), SlackConstrained(X, y, 0.05, bias="free"), 100)
    same(result.solution, near)
    asked = solve(problem, Simba(form, certify=True), stop=Stop(max_iter=100))
    assert np.isfinite(asked.certificate.gap)
    with pytest.raises(ValueError, match="give radius="):
        solve(SlackConstrained(Far(2 * X), y, 0.05), Simba(form), stop=Stop(max_iter=100))


# --- what it refuses ----------------------------------------------------------------------


def test_settings_are_checked(ball):
    for settings, sentence in (
        ({"form": "fast"}, "form must be one of"),
        ({"steps": "fixed"}, "Fixed steps need epsilon"),
        ({"refresh_every": 0}, "refresh_every must be a whole number of at least 1"),
        ({"cap": 2.0}, "cap must be a number greater than 0 and at most 1, or None"),
        ({"radius": -1.0}, "radius must be a number greater than 0"),
        ({"scale": "mean"}, "scale must be .max., or None"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Simba(**settings)
    X, y = ball
    with pytest.raises(ValueError, match="solves SlackConstrained problems, not Regularized"):
        solve(Regularized(X, y, 0.1), Simba())
    with pytest.raises(ValueError, match="takes no weights"):
        solve(SlackConstrained(X, y, 0.1, weight=np.ones(150)), Simba())


def test_the_form_suits_the_data(ball, adult):
    assert Simba().form_for(SlackConstrained(*ball, 0.1)) == "exact"
    assert Simba().form_for(SlackConstrained(sp.csr_array(ball[0]), ball[1], 0.1)) == "exact"
    assert Simba().form_for(SlackConstrained(*adult, 0.1)) == "lazy"


@pytest.mark.slow
@every_form
def test_rows_of_zeros_and_a_single_point(form):
    # w stays 0 until a row that is not zero is drawn; and log 1 = 0.
    X, y = np.zeros((5, 3)), np.array([1, -1, 1, -1, 1])
    assert not answer(Simba(form), SlackConstrained(X, y, 0.1, bias="free"), 50).w.any()
    X[2, 1] = 0.5
    assert answer(Simba(form), SlackConstrained(sp.csr_array(X), y, 0.1), 200).w[1] > 0
    alone = answer(Simba(form), SlackConstrained([[0.6, 0.8]], [-1], 0.1), 20)
    np.testing.assert_allclose(alone.w / np.linalg.norm(alone.w), [-0.6, -0.8])
