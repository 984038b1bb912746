"""The decorator of all compiled functions."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from numba.core.caching import NullCache
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

import hinge.compiled
from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.compiled import (
    Compiled,
    Interpreter,
    _aside,
    assigned,
    compiled,
    compiling_all,
    copied,
    now,
    scalars,
    scalars_array,
)
from hinge.solvers.kernel.active_batch import _solve
from hinge.solvers.newton.central_path import _follow

MACHINES = (
    (LinearSVC, {"loss": "hinge"}),
    (LinearSVC, {"loss": "hinge", "C": 100.0}),
    (LinearSVR, {"epsilon": 0.1}),
    (SVC, {}),
    (SVC, {"C": 1e4}),
    (SVC, {"kernel": "linear", "C": 10.0}),
    (SVC, {"kernel": "poly", "C": 10.0}),
    (SVC, {"kernel": "sigmoid"}),
    (SVR, {"epsilon": 0.05, "C": 10.0}),
    (NuSVC, {"nu": 0.1}),
    (NuSVR, {"C": 5.0}),
    (OneClassSVM, {"nu": 0.2}),
)


def answers() -> list[tuple[bytes, ...]]:
    """What these machines learn of fifty flowers, to the last bit."""
    X, y = load_iris(return_X_y=True)
    X, y = scale(X)[30:130:2], y[30:130:2].astype(float)
    found = []
    for machine, settings in MACHINES:
        model = machine(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, *([] if machine is OneClassSVM else [y]))
        learnt = model.coef_ if isinstance(model, LinearSVC | LinearSVR) else model.dual_coef_
        found.append(tuple(np.asarray(a).tobytes() for a in (learnt, model.intercept_, model.gap_, model.n_iter_)))
    return found


CODE = """
import pickle, sys
import hinge.compiled
hinge.compiled.A_WHILE, hinge.compiled.A_MOMENT = 600.0, 0.0  # whatever this machine does besides
run, calls = hinge.compiled.Interpreter.run, []
hinge.compiled.Interpreter.run = lambda self, *args: calls.append(self.function.__name__) or run(self, *args)
from test_compiled import answers
pickle.dump((answers(), calls), open(sys.argv[1], "wb"))
"""


def test_the_interpreter_gives_the_bits_of_compiled_code(tmp_path):
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", CODE, str(tmp_path / "found")], env=env, check=True)
    found, calls = pickle.loads((tmp_path / "found").read_bytes())
    assert {"_follow", "_solve", "_double"} <= set(calls)
    with assigned(compiling_all, True):
        expected = answers()
    for (machine, settings), one, other in zip(MACHINES, found, expected, strict=True):
        assert one == other, (machine.__name__, settings)


def called_by(function, known):
    """The compiled functions that one refers to by name, and those that they refer to."""
    known.append(function)
    code = function.py_func.__code__
    for name in hinge.compiled._names(code) & function.py_func.__globals__.keys():
        inner = function.py_func.__globals__[name]
        if isinstance(inner, Compiled) and inner not in known:
            called_by(inner, known)
    return known


@pytest.mark.parametrize("function", [_solve, _follow], ids=["kernel", "linear"])
def test_no_function_that_may_be_interpreted_reorders_sums(function):
    found = called_by(function, [])
    assert len(found) > 5
    assert not [one.__name__ for one in found if one.targetoptions.get("fastmath")]


def tiered():
    """A function that calls another one, both compiled, and the arrays that it changes."""

    @compiled
    def add(a, k):
        a[k] += 1.0

    @compiled(tiered=True)
    def work(a, times):
        total = 0.0
        for k in range(len(a)):
            for _ in range(times):
                add(a, k)
            total += a[k]
        return total, len(a)

    work.dispatcher._cache = NullCache()  # else it would find what an earlier run of this test has compiled
    return work


def test_a_small_call_compiles_nothing_and_returns_plain_numbers():
    work, a = tiered(), np.zeros(3)
    total, n = work(a, 2)
    assert (total, n) == (6.0, 3) and type(total) is float and type(n) is int
    assert a.tolist() == [2.0, 2.0, 2.0]
    assert not work.signatures


def test_a_call_that_takes_too_long_begins_anew_compiled(monkeypatch):
    work, a = tiered(), np.zeros(4)
    monkeypatch.setattr(hinge.compiled, "A_WHILE", 1e-3)
    assert work(a, 20_000) == (80_000.0, 4)
    assert a.tolist() == [20_000.0] * 4  # not some more by a call that was not finished
    assert len(work.signatures) == 1
    assert work(a, 1) == (80_004.0, 4)


def test_calls_are_interpreted_for_a_while_in_all(monkeypatch):
    work = tiered()
    monkeypatch.setattr(hinge.compiled, "A_WHILE", 0.05)
    began = time.perf_counter()
    while not work.signatures:
        work(np.zeros(10), 100)
        assert time.perf_counter() - began < 300.0
    assert work(np.zeros(2), 3) == (6.0, 2)


@pytest.mark.parametrize("a", [np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros(hinge.compiled.CELLS + 1)])
def test_what_the_interpreter_has_other_rules_for_or_is_large_is_compiled(a):
    work = tiered()
    work(a, 1)
    assert len(work.signatures) == 1


def test_what_the_interpreter_refuses_is_compiled():
    @compiled(tiered=True)
    def ratio(a, x):
        a[0] += 1.0
        return 1.0 / x  # of Python's numbers the interpreter raises

    a = np.zeros(1)
    assert ratio(a, 0.0) == np.inf
    assert a[0] == 1.0


def test_ctrl_c_leaves_arrays_as_they_were():
    def work(a):
        a[0] = 1.0
        raise KeyboardInterrupt

    a = np.zeros(2)
    with pytest.raises(KeyboardInterrupt):
        Interpreter(work, lambda value: None).run("signature", (a,))
    assert a[0] == 0.0


def test_arrays_in_tuples_are_found_and_those_that_are_read_only_left():
    fixed = np.ones(2)
    fixed.flags.writeable = False

    def work(pair):
        pair[0][0] = pair[1].sum()
        raise ZeroDivisionError

    a = np.zeros(2)
    with pytest.raises(ZeroDivisionError):
        Interpreter(work, lambda value: None).run("signature", ((a, fixed),))
    assert a[0] == 0.0


def test_everything_is_compiled_where_that_is_asked_for():
    work = tiered()
    with assigned(compiling_all, True):
        work(np.zeros(3), 1)
    assert len(work.signatures) == 1


def test_the_clock_stands_still_meanwhile():
    @compiled(tiered=True)
    def waits(a):
        pause(0.3)
        return a[0]

    before, began = now(), time.perf_counter()
    assert waits(np.ones(1)) == 1.0
    assert time.perf_counter() - began - (now() - before) >= 0.3


def test_threads_interpret_side_by_side():
    work, results = tiered(), {}

    def one(k):
        results[k] = work(np.zeros(5), 50 * k)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: (250.0 * k, 5) for k in range(4)}


pause = time.sleep


@pytest.mark.parametrize("searched", [True, False])
def test_nobody_searches_for_garbage_while_a_function_is_compiled(searched, request):
    request.addfinalizer(gc.enable)
    (gc.enable if searched else gc.disable)()
    assert _aside(gc.isenabled)() is False
    assert gc.isenabled() is searched
    with pytest.raises(ZeroDivisionError):
        _aside(lambda: 1 / 0)()
    assert gc.isenabled() is searched  # after an error, too


@compiled
def _count(s, n):
    for _ in range(n):
        s.t += 1
        s.total += 0.5
        s.odd = not s.odd


@compiled
def _count_in_array(s, n):
    _count(s[()], n)


def test_a_record_is_written_in_place_by_name():
    s, a = scalars(t=0, total=1.0, odd=False), scalars_array(t=0, total=1.0, odd=False)
    _count(s, 3)
    _count_in_array(a, 3)
    for found in (s, a[()]):
        assert (found.t, found.total, found.odd) == (3, 2.5, True)
        assert [found.dtype[k] for k in range(3)] == [np.int64, np.float64, np.bool_]


def test_a_record_is_a_plain_value():
    s = scalars(t=2, total=np.inf)
    for twin in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert type(twin) is type(s) and twin.dtype == s.dtype
        twin.t += 1
        assert (s.t, twin.t, twin.total) == (2, 3, np.inf)


def test_fields_that_a_record_could_not_find_are_refused():
    with pytest.raises(ValueError, match="size, round"):
        scalars(size=1, t=0, round=2)


def test_a_copy_of_a_record_is_a_record_of_its_own():
    first = scalars(u=1.0, t=2, on=True)
    second = copied(first)
    second.u = 5.0
    assert (first.u, second.u, second.t, second.on) == (1.0, 5.0, 2, True)
    assert type(second) is type(first)


@pytest.mark.parametrize("thread", ["main", "another"])
def test_the_clock_stands_still_while_code_is_compiled(thread):
    began, before = now(), time.perf_counter()
    compile = _aside(lambda: time.sleep(0.3))
    if thread == "main":
        compile()
    else:
        other = threading.Thread(target=compile)
        other.start()
        other.join()
    assert now() - began <= time.perf_counter() - before - 0.3
    assert not hinge.compiled._Clock.waits


def test_who_is_called_off_does_not_wait_for_the_compiler(monkeypatch):
    monkeypatch.setattr(hinge.compiled, "PATIENCE", 0.0)
    event, go = threading.Event(), threading.Event()
    token = hinge.compiled.calling_off.set(event)
    try:
        event.set()
        with pytest.raises(KeyboardInterrupt):
            _aside(lambda: go.wait(60))()
    finally:
        hinge.compiled.calling_off.reset(token)
        go.set()
    assert not hinge.compiled._Clock.waits


def test_a_long_compilation_is_said_once(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(hinge.compiled, "PATIENCE", 0.0)
    monkeypatch.setattr(hinge.compiled, "_told", threading.Event())
    for _ in range(2):
        go = threading.Event()
        threading.Timer(0.3, go.set).start()
        assert _aside(lambda go=go: go.wait(60))()
    assert [record.message.split(":")[0] for record in caplog.records] == ["hinge is compiling for this machine"]


def test_what_extends_the_compiler_is_registered_once(monkeypatch):
    compiled(lambda x: x + 1.0)(1.0)  # Numba is ready
    calls = []
    hinge.compiled.extends_compiler(lambda: calls.append("here"))
    hinge.compiled._ready.cache_clear()  # as after an interrupt
    hinge.compiled._ready()
    assert calls == ["here"] and not hinge.compiled._extensions
