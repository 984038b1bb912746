import pickle
import signal
import threading
import time
from typing import ClassVar

import numpy as np
import pytest

from hinge import Solution
from hinge.compiled import _aside
from hinge.kernels import Gaussian
from hinge.monitoring import History, Status, Stop
from hinge.problems import KernelRegularized, NormConstrained, Regularized
from hinge.problems.svm.losses import SQUARED_HINGE
from hinge.solvers import SDCA, BlockDual, FiniteNewton, Newton, Norma, Pegasos, Solver, Switch, solve
from hinge.solvers.driver import Meter


@pytest.fixture
def narrow():
    rng = np.random.default_rng(0)
    return Regularized(rng.standard_normal((30, 7)), np.where(rng.random(30) < 0.5, 1, -1), 0.05)


def test_it_counts_only_inside(narrow):
    zero, meter, began = Solution(np.zeros(7)), Meter(narrow), time.perf_counter()
    for _ in range(2):
        narrow.certificate(zero)
        with meter:
            time.sleep(0.02)
            narrow.matrix.responses(zero.w, 0, 10)
            inside = meter.spent
        time.sleep(0.1)
    assert meter.spent[1:] == inside[1:] == (140, 0, 0.0)
    assert 0.04 <= meter.spent.seconds < time.perf_counter() - began - 0.2


def test_reads_off_the_clock_stay_on_the_bill(narrow):
    meter, began = Meter(narrow), time.perf_counter()
    with meter:
        with meter.off_clock():
            time.sleep(0.1)
            narrow.matrix.responses(np.zeros(7), 0, 10)
        assert meter.spent.reads == 70
    assert meter.spent.seconds <= time.perf_counter() - began - 0.1


def test_the_clock_goes_on_after_an_error_off_it(narrow):
    meter = Meter(narrow)
    with meter:
        with pytest.raises(RuntimeError), meter.off_clock():
            raise RuntimeError
        time.sleep(0.02)
        assert meter.spent.seconds >= 0.02


@pytest.fixture
def problem(tiny):
    return Regularized(*tiny, 0.05)


def test_by_default_the_gap_is_a_thousandth(problem):
    result = solve(problem, SDCA())
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-3
    assert Stop().tol == 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("solver", [SDCA(), Newton(), Pegasos()])
def test_the_certificate_is_of_the_very_solution(tiny, solver, bias):
    problem = Regularized(*tiny, 0.05, bias=bias)
    for stop in (Stop(0.05, max_iter=5000), Stop(0, max_iter=70)):
        result = solve(problem, solver, stop=stop)
        again = problem.certificate(result.solution)
        assert (result.certificate.objective, result.certificate.b) == (again.objective, again.b)
        assert result.certificate.bound == pytest.approx(again.bound, rel=1e-9)  # by the solver's own sum, or anew
        assert result.certificate.bound <= again.bound
        assert result.solution.b == result.certificate.b
        assert result.certificate.objective == pytest.approx(problem.objective(result.solution))
        assert result.history[-1].objective == result.certificate.objective
        assert result.history[-1].gap == result.certificate.gap
        assert result.history[-1].iteration == result.n_iter
        assert result.per_pass == solver.cost(problem).a_pass


def test_passes_limit_a_run_without_a_limit_of_iterations(narrow):
    a_pass = SDCA().cost(narrow).a_pass
    assert solve(narrow, SDCA(), stop=Stop(0), passes=3).n_iter == 3 * a_pass
    assert solve(narrow, SDCA(), stop=Stop(0, max_iter=7), passes=3).n_iter == 7
    with pytest.raises(ValueError, match="solves"):  # before its cost is asked for
        solve(narrow, BlockDual(), passes=3)


def test_a_tolerance_of_zero_never_stops():
    problem = Regularized(np.eye(2), [1, -1], 1.0)  # solved exactly at once
    result = solve(problem, SDCA(), stop=Stop(0, max_iter=1000))
    assert 0 < result.certificate.gap < 1e-13  # what rounding may hide
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 1000


@pytest.mark.parametrize("solver", [SDCA(), Newton(), Pegasos()])
def test_the_history_is_in_order(problem, solver):
    result = solve(problem, solver, stop=Stop(1e-4, max_iter=3000))
    assert isinstance(result.history, History)
    for name in ("iteration", "seconds", "feature_reads"):
        column = result.history.column(name)
        assert column == sorted(column)
    assert result.history.column("iteration")[0] > 0
    assert result.history[-1].feature_reads == problem.matrix.reads
    assert set(result.history.column("kernel_evals")) == {0}
    certified = [r for r in result.history if np.isfinite(r.gap)]
    assert certified
    assert all(np.isfinite(r.objective) for r in certified)


def test_reads_are_those_of_this_run(problem):
    problem.matrix.responses(np.zeros(7), 0, 60)
    before = problem.matrix.reads
    result = solve(problem, SDCA(), stop=Stop(0, max_reads=1000))
    assert problem.matrix.reads - before <= 1000
    assert result.history[-1].feature_reads == problem.matrix.reads - before


def test_callbacks_see_every_record_and_can_stop(problem):
    seen, other = [], []

    def third(record, solution):
        seen.append((record, solution))
        return len(seen) == 3

    result = solve(
        problem, SDCA(), stop=Stop(0, max_iter=10_000), callbacks=[third, lambda record, s: other.append(record)]
    )
    assert result.status is Status.CALLBACK
    assert [record for record, _ in seen] == list(result.history) == other
    assert len(seen) == 3
    for record, solution in seen:
        assert solution.w.shape == (7,)
        assert record.iteration > 0
    np.testing.assert_array_equal(result.solution.w, seen[-1][1].w)


def test_callbacks_do_not_change_the_run(problem):
    plain = solve(problem, SDCA(), stop=Stop(1e-6))
    watched = solve(problem, SDCA(), stop=Stop(1e-6), callbacks=[lambda record, solution: None])
    np.testing.assert_array_equal(plain.solution.w, watched.solution.w)
    assert plain.n_iter == watched.n_iter


def test_scores_are_recorded_and_stopped_on(problem):
    scores = iter([0.5, 0.4, 0.3, 0.2, 0.1])
    result = solve(problem, SDCA(), stop=Stop(0, target=0.3, max_iter=10_000), score=lambda s: next(scores))
    assert result.status is Status.TARGET
    assert result.history.column("score") == [0.5, 0.4, 0.3]
    without = solve(problem, SDCA(), stop=Stop(0, target=0.3, max_iter=300))
    assert without.status is Status.MAX_ITER  # nothing to compare with the target
    assert np.isnan(without.history.column("score")).all()


@pytest.mark.slow
def test_scores_and_callbacks_are_off_the_clock(problem):
    solve(problem, SDCA(), stop=Stop(0, max_iter=200))
    looks = 0

    def slow(record, solution):
        nonlocal looks
        looks += 1
        time.sleep(0.05)

    began = time.perf_counter()
    result = solve(problem, SDCA(), stop=Stop(0, max_iter=2000, max_time=0.2), callbacks=[slow])
    assert time.perf_counter() - began >= looks * 0.05
    assert looks >= 5
    assert result.status is Status.MAX_ITER
    assert result.history[-1].seconds < 0.1


def test_a_limit_met_together_with_the_goal_is_success(problem):
    needed = solve(problem, SDCA(), stop=Stop(1e-4)).n_iter
    result = solve(problem, SDCA(), stop=Stop(1e-4, max_iter=needed))
    assert result.status is Status.CONVERGED


def test_it_starts_from_an_earlier_answer(problem):
    first = solve(problem, SDCA(), stop=Stop(1e-7))
    again = solve(problem, SDCA(), stop=Stop(1e-6), start=first.solution)
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.solution.w, first.solution.w, atol=1e-3)


def test_it_goes_on_from_a_state(problem):
    whole = solve(problem, Pegasos(), stop=Stop(0, max_iter=500))
    half = solve(problem, Pegasos(), stop=Stop(0, max_iter=123))
    on = solve(problem, Pegasos(), stop=Stop(0, max_iter=500), state=pickle.loads(pickle.dumps(half.state)))
    np.testing.assert_array_equal(on.solution.w, whole.solution.w)
    assert on.n_iter == 500


def test_a_limit_behind_the_state_stops_at_once(problem):
    half = solve(problem, Pegasos(), stop=Stop(0, max_iter=123))
    again = solve(problem, Pegasos(), stop=Stop(0, max_iter=100), state=half.state)
    assert again.status is Status.MAX_ITER
    assert again.n_iter == 123


class CompiledFirst(SDCA):
    """An ascent whose first piece waits for its code."""

    compiled: ClassVar[list] = []

    def advance(self, problem, state, n_iter):
        if not self.compiled:
            self.compiled.append(True)
            _aside(lambda: time.sleep(0.6))()
        return super().advance(problem, state, n_iter)


def test_compilation_takes_none_of_the_time_that_is_allowed(problem):
    began = time.perf_counter()
    result = solve(problem, CompiledFirst(), stop=Stop(0, max_time=0.3))
    assert result.status is Status.MAX_TIME
    assert result.history[-1].seconds > 0.2
    assert time.perf_counter() - began - result.history[-1].seconds > 0.5


@pytest.mark.parametrize("stop", [Stop(max_iter=0), Stop(max_time=0), Stop(max_reads=0)])
@pytest.mark.parametrize("solver", [SDCA(), Newton(), Pegasos()])
def test_no_allowance_is_an_answer_too(problem, solver, stop):
    result = solve(problem, solver, stop=stop)
    assert result.n_iter == 0
    assert not result.status.is_success
    assert result.solution.w.tolist() == [0] * 7


def test_without_reads_for_a_certificate_none_is_claimed(problem):
    result = solve(problem, SDCA(), stop=Stop(1e-3, max_reads=500))
    assert result.status is Status.MAX_READS
    assert result.certificate.gap == np.inf
    assert np.isnan(result.certificate.objective)
    assert np.isfinite(result.solution.w).all()


def test_in_a_thread_of_its_own(problem):
    results = []
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: results.append(solve(problem, SDCA())))
    thread.start()
    thread.join(20)
    assert results[0].status is Status.CONVERGED
    assert signal.getsignal(signal.SIGINT) is before


def test_the_handler_comes_back_after_an_error(problem):
    before = signal.getsignal(signal.SIGINT)

    def broken(record, solution):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solve(problem, SDCA(), callbacks=[broken])
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_within_a_callback(problem):
    def press(record, solution):
        signal.raise_signal(signal.SIGINT)

    kept = solve(problem, SDCA(), stop=Stop(0), callbacks=[press], on_interrupt="keep")
    assert kept.status is Status.INTERRUPTED
    assert kept.n_iter > 0
    assert kept.certificate.objective == pytest.approx(problem.objective(kept.solution))
    with pytest.raises(KeyboardInterrupt):
        solve(problem, SDCA(), stop=Stop(0), callbacks=[press])


def test_no_certificate_is_compiled_after_an_interrupt(problem, monkeypatch):
    monkeypatch.setattr("hinge.compiled.PATIENCE", 0.05)
    compiled = threading.Event()

    def press(record, solution):
        monkeypatch.setattr(Regularized, "certificate", _aside(lambda self, solution: compiled.wait(20)))
        signal.raise_signal(signal.SIGINT)

    try:
        kept = solve(problem, Pegasos(), stop=Stop(0), callbacks=[press], on_interrupt="keep")
        assert kept.status is Status.INTERRUPTED and kept.n_iter > 0
        assert kept.certificate.gap == np.inf
    finally:
        compiled.set()


class Slow(SDCA):
    """Notes whether it was torn in the middle of a step."""

    def advance(self, problem, state, n_iter):
        state.epoch.rows = -1
        signal.raise_signal(signal.SIGINT)
        state = super().advance(problem, state, n_iter)
        state.epoch.rows = 0
        return state


def test_a_step_is_never_torn(problem):
    result = solve(problem, Slow(), stop=Stop(0), on_interrupt="keep")
    assert result.status is Status.INTERRUPTED
    assert result.state.epoch.rows == 0
    assert result.n_iter > 0


class Nested(SDCA):
    """Solves a problem of its own, without a limit, in every step."""

    def advance(self, problem, state, n_iter):
        solve(problem, SDCA(), stop=Stop(0))
        return super().advance(problem, state, n_iter)


@pytest.mark.slow
def test_what_is_solved_within_a_step_ends_with_the_run(problem):
    began = time.perf_counter()
    result = solve(problem, Nested(), stop=Stop(0, max_time=0.3))
    assert time.perf_counter() - began < 1
    assert result.status is Status.MAX_TIME


class Dear(BlockDual):
    """Says that its last answer takes a million times as many kernel values as it has computed; notes its steps."""

    steps: ClassVar[list[float]] = []

    def cost(self, problem, state=None):
        return super().cost(problem, state)._replace(answer=10**6 * max(1, problem.gram.evals))

    def advance(self, problem, state, n_iter):
        self.steps.append(time.perf_counter())
        return super().advance(problem, state, n_iter)


@pytest.mark.slow
def test_a_fifth_of_the_time_is_kept_for_a_last_answer_that_takes_long(adult):
    X, y = adult
    problem = KernelRegularized(X, y, 1e-7, Gaussian(0.05), bias="free")
    solve(problem, BlockDual(block=16), stop=Stop(0, max_iter=3))  # compiles
    Dear.steps.clear()
    began = time.perf_counter()
    result = solve(problem, Dear(block=16), stop=Stop(0, max_time=1.0))
    assert result.status is Status.MAX_TIME and len(Dear.steps) > 3
    assert Dear.steps[-1] - began < 0.85


class Long(SDCA):
    """Presses Ctrl-C in a step that would take long, after steps that took no time."""

    piece: ClassVar[int] = 1

    def pause(self, problem, state):
        return self.piece

    def advance(self, problem, state, n_iter):
        state.epoch.rows = -1
        if n_iter and state.t:
            signal.raise_signal(signal.SIGINT)
            time.sleep(20)
        state = super().advance(problem, state, n_iter)
        state.epoch.rows = 0
        return state


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 10])
@pytest.mark.parametrize("keep", [True, False])
def test_a_long_step_is_broken_off_and_undone(problem, keep, piece, interruptible, monkeypatch):
    monkeypatch.setattr(Long, "piece", piece)
    began = time.perf_counter()
    if keep:
        result = solve(problem, Long(), stop=Stop(0, max_iter=1000), on_interrupt="keep")
        assert result.status is Status.INTERRUPTED
        assert result.state.epoch.rows == 0
        assert result.certificate.objective == pytest.approx(problem.objective(result.solution))
    else:
        with pytest.raises(KeyboardInterrupt):
            solve(problem, Long(), stop=Stop(0, max_iter=1000))
    assert time.perf_counter() - began < 15
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_does_not_fit_is_said(tiny, problem):
    with pytest.raises(ValueError, match="SDCA solves Regularized problems"):
        solve(NormConstrained(*tiny, 1.0), SDCA())
    with pytest.raises(ValueError, match="on_interrupt is 'raise' or 'keep', not 'ask'"):
        solve(problem, SDCA(), on_interrupt="ask")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tol", "max_iter", "max_time", "max_reads", "target"])
@pytest.mark.parametrize("value", [-1, np.nan, "much", [1]])
def test_limits_are_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number that is not negative"):
        Stop(**{name: value})


def test_statuses_are_sentences():
    assert {s for s in Status if s.is_success} == {
        Status.CONVERGED,
        Status.STATIONARY,
        Status.TARGET,
        Status.FINISHED,
        Status.CALLBACK,
    }
    assert all(len(s.value.split()) > 2 for s in Status)


def test_settings_by_name():
    solver = Pegasos(batch_size=4)
    assert solver.get_params()["batch_size"] == 4
    assert type(solver)(**solver.get_params()) == solver
    assert Pegasos().set_params(batch_size=7).batch_size == 7
    with pytest.raises(ValueError, match="Pegasos has no setting 'size'; it has "):
        Pegasos().set_params(size=7)
    with pytest.raises(ValueError, match="batch_size"):
        Pegasos().set_params(batch_size=0)
    with pytest.raises(AttributeError):
        solver.batch_size = 9
    assert issubclass(Pegasos, Solver)


@pytest.mark.parametrize("solver", [SDCA(), Pegasos(), Newton()], ids=lambda s: type(s).__name__)
def test_a_state_of_other_data_is_refused(tiny, solver):
    X, y = tiny
    state = solve(Regularized(X, y, 0.1), solver, stop=Stop(0, max_iter=2)).state
    for other in (Regularized(X[:, :5], y, 0.1), Regularized(X[:50], y[:50], 0.1)):
        with pytest.raises(ValueError, match="on data of the same shape"):
            solve(other, solver, state=state, stop=Stop(0, max_iter=4))
    with pytest.raises(ValueError, match="The state is not one of Norma"):
        solve(Regularized(X, y, 0.1), Norma(), state=state, stop=Stop(0, max_iter=4))


def test_the_class_of_a_solver_is_no_solver(tiny):
    with pytest.raises(TypeError, match="solver must be a Solver"):
        solve(Regularized(*tiny, 0.1), SDCA)


def test_a_read_limit_leaves_enough_for_the_certificate(tiny):
    problem = Regularized(*tiny, 1e-4)
    limit = 20 * problem.matrix.n_cells
    result = solve(problem, SDCA(), stop=Stop(1e-12, max_reads=limit))
    assert result.status is Status.MAX_READS
    assert np.isfinite(result.certificate.gap)
    assert problem.matrix.reads <= limit


class _Blind(BlockDual):
    """Sees no gap where there is one, as with kernel values that are off."""

    def estimate(self, problem, state):
        return 0.0


def test_a_gap_that_the_estimate_does_not_see_ends_the_run():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    problem = KernelRegularized(X, y, 1e-4, Gaussian(1.0), bias="free")
    stop = Stop(tol=1e-3, max_iter=500)
    blind, seeing = (
        solve(problem, _Blind(block=8, first=1), stop=stop),
        solve(problem, BlockDual(block=8, first=1), stop=stop),
    )
    assert (blind.status, blind.n_iter) == (Status.STALLED, 1)
    assert blind.certificate.gap > 1e-3 >= seeing.certificate.gap and seeing.n_iter > 1


def test_a_budget_may_be_written_as_a_float(problem):
    seen = []

    class Watched(SDCA):
        def advance(self, problem, state, n_iter):
            seen.append(n_iter)
            return super().advance(problem, state, n_iter)

    solve(problem, Watched(), stop=Stop(0, max_reads=1e3))
    assert seen and {type(n) for n in seen} == {int}


@pytest.mark.parametrize("solver", [FiniteNewton(tol=0.5), SDCA(tol=0.5), Switch(tol=0.5)], ids=str)
def test_a_solver_that_ends_before_the_tolerance_of_the_run_ends_the_run(tiny, solver):
    problem = Regularized(*tiny, 0.05, loss=SQUARED_HINGE)
    result = solve(problem, solver, stop=Stop(tol=1e-9, max_iter=10**5, max_time=20.0))
    assert result.status is not Status.MAX_TIME
    assert result.status is Status.CONVERGED or result.certificate.gap > 1e-9
