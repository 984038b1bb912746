import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from ctrl_c import interrupt_after, interrupted
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from hinge import SVC, LinearSVC, LinearSVCCV, threads
from hinge.solvers import driver
from hinge.threads import Begun, OfThread, allowed, allowing, cores, each, one_blas_thread, stretches, threads_of


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)


def test_results_come_in_the_order_of_the_tasks(four_cores):
    def work(k):
        time.sleep(0.002 * (k % 3))
        return k * k

    assert each(work, 20, 4) == [k * k for k in range(20)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_there_are_never_more_threads_than_asked_for(most, four_cores):
    at_once, most_at_once, lock = 0, 0, threading.Lock()

    def work(k):
        nonlocal at_once, most_at_once
        with lock:
            at_once += 1
            most_at_once = max(most_at_once, at_once)
        time.sleep(0.005)
        with lock:
            at_once -= 1

    each(work, 12, most)
    assert most_at_once == most


def test_nor_more_than_cores():
    threads_seen = set()

    def work(k):
        threads_seen.add(threading.get_ident())
        time.sleep(0.002)

    each(work, 30, 64)
    assert len(threads_seen) <= cores()


def test_by_default_this_thread_works_alone():
    assert allowed() == 1
    assert set(each(lambda k: threading.get_ident(), 5)) == {threading.get_ident()}


def test_as_many_as_are_allowed(four_cores):
    met = threading.Barrier(3, timeout=10)
    with allowing(3):
        assert allowed() == 3
        each(lambda k: met.wait(), 3)  # which ends only if three are there at once
    assert allowed() == 1


def test_an_error_of_any_task_is_raised_and_no_other_begun(four_cores):
    begun = []

    def work(k):
        begun.append(k)
        if k == 2:
            raise ZeroDivisionError("two")
        time.sleep(0.02)

    with pytest.raises(ZeroDivisionError, match="two"):
        each(work, 100, 3)
    assert len(begun) < 10


def test_where_the_pool_is_busy_this_thread_does_all(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 2)
    hold, results = threading.Event(), []
    other = threading.Thread(target=lambda: results.append(each(lambda k: hold.wait(10), 2, 2)))
    other.start()
    time.sleep(0.05)  # its second task sits in the only thread of the pool
    try:
        assert each(lambda k: threading.get_ident(), 4, 2) == [threading.get_ident()] * 4
    finally:
        hold.set()
        other.join()
    assert results == [[True, True]]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_for_tasks_under_way_and_begins_no_more(four_cores):
    under_way, begun = set(), []

    def work(k):
        under_way.add(k)
        begun.append(k)
        time.sleep(0.05)
        under_way.discard(k)

    sent = interrupt_after(0.12)
    with pytest.raises(KeyboardInterrupt):
        each(work, 1000, 2)
    assert time.perf_counter() - sent[0] < 0.5
    under_way.discard(begun[-1])  # that of this thread may have been broken off
    time.sleep(0.1)
    assert len(begun) < 20
    assert len(under_way) <= 1


def test_ctrl_c_at_any_line_leaves_nobody_at_work(four_cores):
    at_work, line = set(), 1

    def work(k):
        at_work.add(k)
        time.sleep(0.002)
        at_work.discard(k)

    while interrupted(lambda: each(work, 6, 3), line, "hinge/threads.py"):
        assert not at_work
        line += 1
    assert line > 30


def test_ctrl_c_calls_off_others_and_does_not_wait_for_them(four_cores):
    off, met, go = threading.Event(), threading.Barrier(2, timeout=60), threading.Event()

    def work(k):
        met.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        assert off.wait(60) and go.wait(60)

    with pytest.raises(KeyboardInterrupt):
        each(work, 2, 2, off.set)
    assert off.is_set()
    go.set()


def test_settings_of_a_thread_hold_for_those_that_help(four_cores):
    with np.errstate(over="ignore"):
        assert {kind["over"] for kind in each(lambda k: (time.sleep(0.01), np.geterr())[1], 6, 3)} == {"ignore"}


@pytest.mark.parametrize(("count", "parts"), [(0, 1), (0, 3), (10, 3), (7, 7), (5, 8)])
def test_stretches_cover_everything_once(count, parts):
    ends = stretches(count, parts)
    assert len(ends) == parts
    assert [i for lo, hi in ends for i in range(lo, hi)] == list(range(count))
    sizes = [hi - lo for lo, hi in ends]
    assert max(sizes) - min(sizes) <= 1


def test_what_n_jobs_means():
    assert threads_of(None) == 1
    assert threads_of(3) == 3
    assert threads_of(-1) == cores()
    with parallel_config(n_jobs=2):
        assert threads_of(None) == min(2, cores())


@pytest.mark.slow
def test_a_worker_of_joblib_has_the_threads_that_joblib_leaves_it():
    code = "from hinge.threads import cores, threads_of; print(cores(), threads_of(-1), threads_of(2))"
    two = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert two.stdout.split()[0] == str(cores())
    with parallel_config("loky", inner_max_num_threads=1):
        assert Parallel(2)(delayed(_limits)() for _ in range(2)) == [(1, 1, 2)] * 2


def _limits():
    return cores(), threads_of(-1), threads_of(2)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_there_is_a_new_pool():
    code = (
        "import os, hinge.threads as t\n"
        "t.cores = lambda: 2\n"
        "assert t.each(lambda k: k, 4, 2) == [0, 1, 2, 3]\n"
        "child = os.fork()\n"
        "assert t.each(lambda k: k, 4, 2) == [0, 1, 2, 3]\n"
        "os._exit(0) if child == 0 else None\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def blas_threads():
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def test_blas_has_one_thread_within():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            assert blas_threads() == 1
        assert blas_threads() == before


def test_contexts_of_several_threads_leave_the_threads_of_blas_as_they_were():
    with threadpool_limits(2, user_api="blas"):
        before, first, second = blas_threads(), one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # as where a fit ends while another one in another thread still runs
        assert blas_threads() == 1
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_small_fits_use_one_thread_of_blas(monkeypatch):
    met, loop = [], driver._Run.loop
    monkeypatch.setattr(driver._Run, "loop", lambda run: met.append(blas_threads()) or loop(run))
    X = np.random.default_rng(0).normal(size=(300, 30))
    with threadpool_limits(2, user_api="blas"):
        for model in (LinearSVC(), LinearSVC(loss="hinge"), SVC(), LinearSVCCV(Cs=[1.0], cv=2)):
            model.fit(X, X[:, 0] > 0)
    assert len(met) >= 5 and set(met) == {1}


def test_the_handler_of_ctrl_c_is_left_alone(four_cores):
    before = signal.getsignal(signal.SIGINT)
    each(lambda k: k, 4, 2)
    assert signal.getsignal(signal.SIGINT) is before


def test_what_has_begun_goes_on_by_itself_and_is_done_with_who_asks():
    seen, going = [], threading.Event()

    def work(k):
        seen.append(threading.current_thread().name)
        going.set()
        time.sleep(0.02)
        return k * k

    begun = Begun(work, 8, "other")
    assert going.wait(5.0)  # nobody has asked
    assert begun.results() == [k * k for k in range(8)] == begun.results()
    assert set(seen) == {"other", threading.current_thread().name} and len(seen) == 8


@pytest.mark.parametrize("fails", ["other", "MainThread"])
def test_an_error_ends_what_has_begun_whoever_meets_it(fails):
    done, asked = [], threading.Event()

    def work(k):
        assert asked.wait(5.0)
        if threading.current_thread().name == fails:
            raise OSError("gone")
        time.sleep(0.02)
        done.append(k)

    begun = Begun(work, 100, "other")
    asked.set()
    with pytest.raises(OSError, match="gone"):
        begun.results()
    assert len(done) < 10


def test_what_a_thread_keeps_is_its_own():
    own = OfThread()
    own.kept["here"] = 1
    seen = []
    other = threading.Thread(target=lambda: seen.append(dict(own.kept)))
    other.start()
    other.join()
    assert seen == [{}] and own.kept == {"here": 1}
