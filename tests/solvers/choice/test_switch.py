import math

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.compiled import Scalars
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.problems.svm.losses import SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, Newton, Switch, solve
from hinge.solvers.choice.cost_model import newton_cost
from hinge.solvers.choice.switch import is_slow, passes_left
from hinge.solvers.newton.systems import pass_cost


def problem(lam, n=3000, d=12, noise=0.5, **options):
    """Columns of very different sizes, which the ascent dislikes where λ is small."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.logspace(0, 2, d) + 1.0
    y = np.where(X @ (rng.standard_normal(d) / np.logspace(0, 2, d)) + noise * rng.standard_normal(n) > 0, 1, -1)
    return Regularized(X.astype(np.float32), y, lam, **options)


def run(made, solver, tol=1e-3):
    return solve(made, solver, stop=Stop(tol=tol, max_time=20))


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
def test_newtons_method_takes_over_where_the_ascent_is_slow(bias):
    made = problem(1e-7, bias=bias)
    result = run(made, Switch())
    assert result.status is Status.CONVERGED
    assert result.state.watch.by_newton and result.state.watch.switches == 1
    passes = result.state.ascent.t / made.n
    assert 2 <= passes < newton_cost(made) / pass_cost(made)  # no more was spent than what it was compared with


def test_the_ascent_is_left_alone_where_it_is_fast():
    made = problem(1e3)
    result = run(made, Switch())
    alone = run(made, SDCA())
    assert result.status is Status.CONVERGED and not result.state.watch.switches
    np.testing.assert_array_equal(result.solution.w, alone.solution.w)
    assert result.n_iter == alone.n_iter


def test_newtons_method_begins_where_asked_to_and_is_left_alone():
    made = problem(1e-6)
    result, alone = run(made, Switch(begin="newton")), run(made, Newton())
    np.testing.assert_array_equal(result.solution.w, alone.solution.w)
    assert result.n_iter == alone.n_iter * made.n  # a step stands for a pass


@pytest.mark.parametrize(("price", "turns"), [(3.6, [False, False, False]), (3.4, [False, True])])
def test_what_is_left_is_foretold_from_the_decline_of_the_gap(price, turns, monkeypatch):
    made, gaps = problem(1e3, n=100), iter([1.0, 0.1, 0.01])  # after the second pass 2 are left, or 2.5
    monkeypatch.setattr(SDCA, "estimate", lambda *_: next(gaps))
    monkeypatch.setattr(SDCA, "pause", lambda *_: 100)
    solver = Switch(tol=1e-3, newton_passes=price)
    state = solver.init(made)
    for turn in turns:
        state = solver.advance(made, state, 100)
        assert state.watch.switch_due == turn


@pytest.mark.slow
def test_a_newton_that_stalls_leaves_its_dual_to_the_ascent(monkeypatch):
    made = problem(1e-2, n=500)
    monkeypatch.setattr(Newton, "pause", lambda self, problem, state: int(state.t < 6))
    result = run(made, Switch(1e-9, begin="newton"), tol=1e-9)
    assert result.state.watch.switches >= 1 and result.state.ascent.t > 0
    assert result.status in (Status.CONVERGED, Status.STALLED)


def test_an_answer_to_all_rows_is_given_while_newtons_method_is_busy_with_some():
    made = problem(1e-7, n=20_000)
    solver = Switch(newton_passes=0.0)
    state = solver.init(made)
    while not (state.watch.by_newton and state.newton.t):
        before = solver.solution(made, state).w.copy()
        state = solver.advance(made, state, solver.pause(made, state))
    assert state.newton.level < made.n
    np.testing.assert_array_equal(solver.solution(made, state).w, before)
    assert solver.estimate(made, state) == math.inf


def test_a_run_cut_anywhere_is_the_same_across_the_turns():
    made = problem(1e-7, n=700)
    solver = Switch(newton_passes=1.0)
    whole = solver.advance(made, solver.init(made), 14_000)
    assert whole.watch.switches == 1
    state = solver.init(made)
    for n in (1, 699, 700, 350, 1050, 1, 2799, 1, 1, 4000, 4398):
        state = solver.advance(made, state, n)
    assert state.watch == whole.watch
    np.testing.assert_array_equal(state.newton.x, whole.newton.x)
    np.testing.assert_array_equal(state.ascent.v, whole.ascent.v)


def test_newtons_method_is_left_where_it_costs_far_more_than_was_estimated():
    """Separable rows and uneven columns: its products need hundreds of passes, which no size foretells."""
    rng = np.random.default_rng(0)
    n, d, cells = 3000, 1000, 12
    columns = np.minimum(d - 1, (d * rng.random((n, cells)) ** 2.4).astype(np.int64))
    X = sp.csr_array((rng.exponential(size=n * cells), columns.ravel(), np.arange(n + 1) * cells), shape=(n, d))
    X.sum_duplicates()
    score = X @ (rng.standard_normal(d) * (rng.random(d) < 0.1))
    y, reads, states = np.where(score > np.median(score), 1, -1), [], []
    for solver in (Switch(1e-3, ascent=SDCA(acceleration="subspace")), SDCA(acceleration="subspace"), Newton()):
        made = Regularized(X, y, 1e-7, loss=SQUARED_HINGE)
        result = run(made, solver)
        assert result.status is Status.CONVERGED
        reads.append(made.reads)
        states.append(result.state)
    assert reads[2] > 20 * reads[1] and reads[0] < 4 * reads[1]
    watch = states[0].watch
    assert watch.switches == 1 and not watch.by_newton and watch.newton_work > 2.0 * newton_cost(made) / pass_cost(made)


@pytest.mark.parametrize(("lam", "returns"), [(1e3, 0), (1e-6, 1)])
def test_a_newton_that_began_is_left_by_both_prices_and_returned_to_where_the_ascent_is_slower(lam, returns):
    """It is left once: whatever it costs then, the ascent has been found to be dearer."""
    result = run(problem(lam), Switch(1e-3, begin="newton", newton_passes=0.5, ascent_passes=0.5))
    watch = result.state.watch
    assert result.status is Status.CONVERGED and result.state.ascent.t > 0
    assert watch.switches == returns and watch.by_newton == bool(returns)


def test_a_newton_that_was_left_is_resumed_unless_the_ascent_has_come_further():
    made, solver = problem(1e-6), Switch(begin="newton")
    state = solver.advance(made, solver.init(made), 2 * made.n)
    answer = solver.solution(made, state)
    for gap, resumed in ((3.0, True), (1.0, False)):
        state.watch.gap, state.watch.newton_gap = gap, 2.0
        assert (solver._begin_newton(made, state, answer).newton is state.newton) == resumed
        assert state.watch.newton_gap == min(gap, 2.0)


def test_an_ascent_that_has_no_bound_after_newtons_method_is_given_up():
    made, solver = problem(1e-6), Switch(newton_passes=2.0)
    state = solver.init(made)
    state.watch.newton_work = 1.0
    state.ascent.alpha[:] = 1e6  # dual weights that are far too long
    state.ascent.v[:] = made.n
    gaps = []
    while not state.watch.switch_due and len(gaps) < 20:
        state = solver.advance(made, state, solver.pause(made, state))
        gaps.append(state.watch.gap)
    assert state.watch.switch_due and len(gaps) <= 8


def test_settings():
    assert Switch().parts == 1 and Switch(newton=Newton(parts=3)).parts == 3
    assert isinstance(Switch().init(problem(1.0, n=50)).watch, Scalars)
    with pytest.raises(ValueError, match="begin must be one of 'ascent', 'newton'"):
        Switch(begin="sdca")


def test_gaps_that_a_certificate_denies_are_forgotten():
    # Of these rows the ascent once thinks that it is done, is not, and would not have been left for Newton's method.
    rng = np.random.default_rng(2)
    X, weight = rng.standard_normal((100, 3)), np.ones(100)
    y, weight[28] = 5.0 + X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(100), 0.0
    problem = Regularized.from_C(X, y, 10.0, bias="penalized", loss=epsilon_insensitive(0.0), weight=weight)
    solver = Switch(1e-5, ascent=SDCA(acceleration="subspace"), newton_passes=780.0)
    result = solve(problem, solver, stop=Stop(tol=1e-5, max_iter=1000 * problem.n))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-5


def test_where_newton_makes_no_progress_the_ascent_goes_on_to_the_end(monkeypatch):
    monkeypatch.setattr("hinge.solvers.newton.newton.STALLED", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = np.where(X @ rng.normal(size=60) + 0.1 * np.sqrt(60) * rng.normal(size=400) > 0, 1, -1)
    problem = Regularized(X, y, 1e-6)
    alone = solve(problem, Newton(), stop=Stop(tol=1e-3, max_iter=500))
    result = solve(problem, Switch(1e-3, "newton", SDCA(acceleration="subspace")), stop=Stop(tol=1e-3, max_iter=10**7))
    assert alone.status is Status.STALLED and alone.certificate.gap > 1.0
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-3


def test_what_rounding_leaves_is_not_left_to_the_ascent():
    made = problem(1e-3, bias="penalized")
    result = solve(made, Switch(1e-20, "newton"), stop=Stop(tol=1e-20, max_iter=10**8))
    assert result.status is Status.STALLED and result.certificate.gap < 1e-8  # of data in float32
    assert result.state.watch.switches == 0


def test_an_ascent_that_comes_less_far_than_newton_leaves_the_answer_to_it(monkeypatch):
    monkeypatch.setattr(Regularized, "_summed_finely", lambda self, answer, found: found)  # else Newton's is certified
    rng = np.random.default_rng(0)
    X = (1e10 * rng.normal(size=(80, 10)) * (rng.random((80, 10)) < 0.5)).astype(np.float32)
    made = Regularized.from_C(X, np.where(rng.random(80) < 0.5, 1, -1), 1.0, bias="penalized")
    result = solve(made, Switch(1e-4, "newton"), stop=Stop(tol=1e-4, max_iter=200 * made.n))
    assert result.state.watch.switches > 0 and result.certificate.gap < 1e-2


def test_passes_that_are_left_grow_where_the_rate_falls():
    assert passes_left(10.0, 0.5, 5.0, steady=True) == 10.0
    assert passes_left(10.0, 0.5, 5.0) == 12.5


@pytest.mark.parametrize(
    ("work", "left", "slow"), [(10, 1000, False), (20, 91, True), (20, 89, False), (150, 26, True), (201, 1, True)]
)
def test_the_ascent_is_left_for_a_cheaper_method_and_never_kept_beyond_twice_its_price(work, left, slow):
    assert is_slow(work, left, 100.0) is slow


def test_an_ascent_of_cheap_passes_is_left_where_it_needs_more_of_them_than_limits_allow():
    assert is_slow(150, 700, 1600) and not is_slow(150, 600, 1600) and not is_slow(110, 700, 1600)
    assert not is_slow(150, 700, 1800)  # that costs too much
