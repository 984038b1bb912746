"""The one measuring loop: what is on its clock and on its bill, and that looking changes nothing."""

import time
from itertools import count, islice, pairwise

import numpy as np
import pytest

import hinge
from hinge.kernels import Gaussian
from hinge.problems import KernelRegularized, KernelSlackConstrained, Regularized, SlackConstrained
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers import SBP, SDCA, BlockDual, Frugal, Pegasos, PrimalDual, Simba, solve, trace

CASES = {
    "linear": (lambda X, y: Regularized(X, y, 0.05), SDCA()),
    "kernel": (lambda X, y: KernelSlackConstrained(X, y, 0.1, Gaussian(0.5)), SBP()),
    "cells": (lambda X, y: SlackConstrained(X, y, 0.1), Simba("exact", certify=False)),
    "max-min": (lambda X, y: MaxMargin(X * y[:, None] + 0.1), PrimalDual()),
}


@pytest.fixture(params=CASES)
def case(request, tiny):
    make, solver = CASES[request.param]
    return lambda: make(*tiny), solver


def parts(answer):
    """The arrays of a solution of any kind."""
    return [np.asarray(part) for part in answer if part is not None]


def spend(problem, snapshot):
    """Read data and compute kernel values as a certificate would."""
    problem.certificate(snapshot.solution)
    if isinstance(problem, KernelSlackConstrained | KernelRegularized):
        problem.gram.evals += 100  # all rows of so small a problem may be in the cache


def test_it_is_offered_by_the_package():
    assert hinge.trace is trace
    assert hinge.Snapshot._fields[:4] == ("iteration", "seconds", "feature_reads", "kernel_evals")


def test_snapshots_are_those_of_a_straight_run(case):
    make, solver = case
    found = list(trace(make(), solver, [0, 3, 4, 17], seed=5))
    assert [now.iteration for now in found] == [0, 3, 4, 17]
    for now in found:
        problem = make()
        state = solver.advance(problem, solver.init(problem, 5), now.iteration)
        for ours, straight in zip(parts(now.solution), parts(solver.solution(problem, state)), strict=True):
            np.testing.assert_array_equal(ours, straight)


def test_other_marks_and_looks_change_nothing(case):
    make, solver = case
    (whole,) = trace(make(), solver, [40], seed=2)
    for looked_at in (False, True):
        problem = make()
        for now in trace(problem, solver, [1, 2, 11, 30, 40], seed=2):
            if looked_at:
                spend(problem, now)
        for ours, uncut in zip(parts(now.solution), parts(whole.solution), strict=True):
            np.testing.assert_array_equal(ours, uncut)
        assert now.feature_reads == whole.feature_reads
        assert now.kernel_evals == whole.kernel_evals


def test_what_a_look_reads_is_not_billed(case):
    make, solver = case
    problem, alone = make(), make()
    found = []
    for now in trace(problem, solver, [5, 25]):
        found.append(now)
        before = problem.reads + problem.kernel_evals
        spend(problem, now)
        assert problem.reads + problem.kernel_evals > before
    unseen = list(trace(alone, solver, [5, 25]))
    assert [now.feature_reads for now in found] == [now.feature_reads for now in unseen]
    assert [now.kernel_evals for now in found] == [now.kernel_evals for now in unseen]
    assert unseen[-1].feature_reads + unseen[-1].kernel_evals > 0


def test_the_bill_is_the_solvers_own(tiny):
    problem = Regularized(*tiny, 0.05)
    problem.objective(hinge.Solution(np.zeros(7)))  # on the problem's bill before the run
    reads = [now.feature_reads for now in trace(problem, Pegasos(batch_size=2), [1, 5, 20])]
    assert reads == [14, 70, 280]  # two rows of seven cells an iteration


@pytest.mark.slow
def test_what_a_look_takes_is_not_on_the_clock(case):
    make, solver = case
    began = time.perf_counter()
    for now in trace(make(), solver, [1, 2, 3, 4]):
        last = now
        time.sleep(0.1)
    assert 0 < last.seconds < time.perf_counter() - began - 0.4


@pytest.mark.slow
def test_compiling_is_not_on_the_clock(tiny):
    class Slow(SDCA):
        calls = 0

        def advance(self, problem, state, n_iter):
            type(self).calls += 1
            time.sleep(0.2 if type(self).calls == 1 else 0.0)  # as the first call does that compiles
            return super().advance(problem, state, n_iter)

    problem = Regularized(*tiny, 0.05)
    (warm,) = trace(problem, Slow(), [1])
    Slow.calls = 0
    (cold,) = trace(problem, Slow(), [1], warm_up=False)
    assert cold.seconds >= 0.2 > warm.seconds


def test_solutions_are_copies(case):
    make, solver = case
    run = trace(make(), solver, [5, 50])
    first = next(run).solution
    kept = [part.copy() for part in parts(first)]
    second = next(run).solution
    for before, after in zip(kept, parts(first), strict=True):
        np.testing.assert_array_equal(before, after)
    assert any((a != b).any() for a, b in zip(parts(first), parts(second), strict=True))


def test_a_run_ends_where_the_solver_has_finished(tiny):
    problem, solver = Regularized(*tiny, 0.05), Frugal(flips=0.0)
    *before, last = trace(problem, solver, count(7, 7))
    assert [now.iteration for now in before] == [7 * k for k in range(1, len(before) + 1)]
    assert last.iteration < 7 * (len(before) + 1)
    assert solver.pause(problem, last.state) == 0


def test_without_marks_it_stops_where_the_solver_pauses(tiny):
    problem, solver = Regularized(*tiny, 0.05), Frugal(flips=0.0)
    found = []
    for now in trace(problem, solver, seed=1):
        found.append(now.iteration)
        ended = solver.pause(problem, now.state) == 0
    assert ended
    assert all(a < b for a, b in pairwise(found))
    assert found[-1] == solve(Regularized(*tiny, 0.05), solver, seed=1, stop=hinge.Stop(0)).n_iter


def test_marks_without_an_end(tiny):
    run = trace(Regularized(*tiny, 0.05), SDCA(), count(10, 10))
    assert [now.iteration for now in islice(run, 3)] == [10, 20, 30]


def test_marks_in_passes(tiny):
    run = trace(Regularized(*tiny, 0.05), SDCA(), [0.5, 1, 3], unit="passes")
    assert [now.iteration for now in run] == [30, 60, 180]


def test_a_schedule_is_told_where_the_run_stands(tiny):
    told = []

    def next_mark(at):
        told.append(at)
        return 2 * at + 1

    run = trace(Regularized(*tiny, 0.05), SDCA(), next_mark)
    assert [now.iteration for now in islice(run, 4)] == [1, 3, 7, 15]
    assert told == [0, 1, 3, 7]


@pytest.mark.slow
def test_marks_in_seconds(case):
    make, solver = case
    found = list(trace(make(), solver, [0.02, 0.06], unit="seconds"))
    assert [now.seconds >= mark for now, mark in zip(found, (0.02, 0.06), strict=False)] == [True, True]
    assert 0 < found[0].iteration <= found[1].iteration  # both marks may be passed by one slow piece
    (again,) = trace(make(), solver, [found[1].iteration])
    for by_time, by_count in zip(parts(found[1].solution), parts(again.solution), strict=True):
        np.testing.assert_array_equal(by_time, by_count)


def test_a_run_goes_on_from_a_state(case):
    make, solver = case
    problem = make()
    (first,) = trace(problem, solver, [10], seed=4)
    (onward,) = trace(problem, solver, [30], seed=4, state=first.state)
    (whole,) = trace(make(), solver, [30], seed=4)
    assert onward.iteration == 30
    for cut, uncut in zip(parts(onward.solution), parts(whole.solution), strict=True):
        np.testing.assert_array_equal(cut, uncut)
    if whole.feature_reads:
        assert 0 < onward.feature_reads < whole.feature_reads


def test_solvers_of_a_part_of_the_rows_are_told_when_it_is_not_enough(adult):
    """Without a tolerance nobody asks whether the rows that block dual has left out matter."""
    X, y = adult

    class Told(BlockDual):
        times = 0

        def refresh(self, problem, state):
            type(self).times += 1
            return super().refresh(problem, state)

    problem = KernelRegularized(X[:600], y[:600], 1e-3, Gaussian(0.05))
    for now in trace(problem, Told(), tol=1e-4):
        if now.iteration > 2000 or problem.certificate(now.solution).gap <= 1e-4:
            break
    assert problem.certificate(now.solution).gap <= 1e-4
    asked = Told.times
    list(islice(trace(problem, Told()), 5))
    assert Told.times == asked


def test_wrong_arguments_are_refused_at_once(tiny):
    with pytest.raises(ValueError, match="unit is 'iterations', 'passes' or 'seconds', not 'hours'"):
        trace(Regularized(*tiny, 0.05), SDCA(), [1], unit="hours")
    with pytest.raises(ValueError, match="Regularized"):
        trace(SlackConstrained(*tiny, 0.1), SDCA(), [1])
