"""The race: order, medians, targets, failures and Ctrl-C; and what is written of it."""

import json
import time
from dataclasses import dataclass

import pytest
from ctrl_c import interrupt_after

from hinge.racing import Measurement, Ours, Target, find, race, run_race
from hinge.solvers import SDCA


@dataclass(frozen=True)
class Throttled(SDCA):
    """Dual coordinate ascent that rests after every row."""

    def advance(self, problem, state, n_iter):
        time.sleep(3e-5 * n_iter)
        return super().advance(problem, state, n_iter)


@dataclass
class Scripted:
    """A contestant whose looks are known beforehand, one list for each seed."""

    name: str
    script: list
    label: str = "scripted"
    bias: str = "none"
    restarts: bool = False

    def missing(self):
        return None

    def rejects(self, course):
        return None

    def looks(self, course, seed, max_time, reached, tol):
        for step in self.script[seed % len(self.script)]:
            if isinstance(step, BaseException):
                if len(course.y) >= 1000:  # not while it is compiled for
                    raise step
                return
            yield step
            if reached(step):
                return


def look(seconds, objective, error=0.2, reads=10):
    return Measurement(seconds, reads, 0, objective, error)


def lines_of(done):
    return {line.solver: line for line in done.standings()}


@pytest.mark.slow
def test_a_throttled_solver_comes_last(course):
    contestants = [Ours(Throttled(), "throttled"), *find(["newton", "sdca"])]
    done = run_race(course, contestants, max_time=20.0, repeats=2)
    standings = done.standings()
    assert standings[-1].solver == "throttled"
    assert all(line.reached == line.runs == 2 for line in standings)
    assert all(line.suboptimality <= 1e-3 and line.test_error < 0.3 for line in standings)
    assert standings[-1].seconds > 0.03  # a pass takes as much


def test_the_median_counts(course):
    script = [[look(seconds, 10.0), look(2 * seconds, 1e-9)] for seconds in (3.0, 1.0, 2.0)]
    done = run_race(course, [Scripted("one", script)], repeats=3)
    line = lines_of(done)["one"]
    assert (line.seconds, line.runs, line.reached) == (4.0, 3, 3)
    assert line.status == "reached in all 3 runs"
    assert done.typical(done.entries[0])[-1].seconds == 4.0


def test_runs_are_interleaved(course):
    told = []
    pair = [Scripted("a", [[look(1.0, 1e-9)]]), Scripted("b", [[look(1.0, 1e-9)]])]
    run_race(course, pair, repeats=2, tell=lambda what, run, total: told.append((what, run, total)))
    runs = [line for line in told if "run" in line[0]]
    assert runs == [("a, run 1 of 2", 0, 4), ("b, run 1 of 2", 1, 4), ("a, run 2 of 2", 2, 4), ("b, run 2 of 2", 3, 4)]


@pytest.mark.slow
def test_one_that_misses_the_target_is_not_run_again_and_ranks_by_what_it_reached(course):
    slow = Scripted("slow", [[look(1.0, 0.9), look(6.0, 0.6)]])
    slower = Scripted("slower", [[look(1.0, 0.9), look(2.0, 0.8)]])
    done = run_race(course, [slower, slow, *find(["newton"])], repeats=3, max_time=5.0)
    assert [line.solver for line in done.standings()] == ["newton", "slow", "slower"]
    lines = lines_of(done)
    assert lines["slow"].runs == 1 and lines["slow"].status == "not reached in 5 s"
    assert lines["slower"].status == "finished without reaching it"
    assert lines["slow"].seconds is None and lines["slow"].objective == 0.6


def test_a_race_to_an_error(course):
    right = Scripted("right", [[look(1.0, 9.0, 0.3), look(2.0, 9.0, 0.1), look(3.0, 9.0, 0.05)]])
    done = run_race(course, [right], target=Target("error", 0.1), repeats=1)
    assert lines_of(done)["right"].seconds == 2.0
    assert len(done.entries[0].runs[0]) == 2
    assert "test error of 10 %" in race.conditions(done)


def test_a_bound_that_a_contestant_proves_counts(course):
    proves = Scripted("proves", [[Measurement(1.0, 1, 0, 0.5, 0.2, bound=0.4999), look(9.0, 0.5)]])
    done = run_race(course, [proves], repeats=1)
    assert done.bound() == 0.4999
    assert lines_of(done)["proves"].seconds == 1.0


@pytest.mark.slow
def test_one_that_fails_does_not_end_the_race(course):
    bad = Scripted("bad", [[look(1.0, 0.9), RuntimeError("no more\nmemory")]])
    lines = lines_of(run_race(course, [bad, *find(["newton"])], repeats=2, max_time=20.0))
    assert lines["bad"].status == "failed: RuntimeError: no more memory"
    assert lines["newton"].reached == 2


def test_ctrl_c_keeps_what_is_there(course):
    first = Scripted("first", [[look(1.0, 1e-9)]])
    cut = Scripted("cut", [[look(1.0, 0.9), KeyboardInterrupt()]])
    last = Scripted("last", [[look(1.0, 1e-9)]])
    done = run_race(course, [first, cut, last], repeats=3)
    lines = lines_of(done)
    assert done.interrupted
    assert lines["first"].status == "reached"
    assert lines["cut"].objective == 0.9 and lines["cut"].status == "interrupted before it reached it"
    assert lines["last"].status == "not run: the race was interrupted"
    json.dumps(race.as_json(done), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.05, 2.0])  # while the minimum is bounded, and while somebody runs
def test_ctrl_c_itself(delay, course, interruptible, monkeypatch):
    if delay > 1.0:
        monkeypatch.setattr("hinge.racing.race.REFERENCE_TIMES", 0.01)
    sent = interrupt_after(delay)
    done = run_race(course, find(["pegasos"]), target=Target("gap", 1e-12), max_time=60.0)
    assert done.interrupted
    assert time.perf_counter() - sent[0] < 5.0
    assert len(done.standings()) == 1
