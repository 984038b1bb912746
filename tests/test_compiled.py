"""The decorator of all compiled functions."""

import copy
import gc
import pickle
import threading
import time

import numpy as np
import pytest

import hinge.compiled
from hinge.compiled import _aside, compiled, copied, now, scalars, scalars_array


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
