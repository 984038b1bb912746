"""The decorator of all compiled functions."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import hinge.compiled
from hinge.compiled import _aside, compiled, copied, now, scalars, scalars_array

CODE = """
from hinge import LinearSVC
from hinge.datasets import make_separable
data = make_separable(40, 3, 0.1)
print(LinearSVC().fit(data.X_train, data.y_train).gap_ <= 1e-3)
"""


@pytest.mark.slow
def test_a_fit_needs_no_writable_cache(tmp_path):
    # A path below a file can be written to by nobody, not even by root.
    (tmp_path / "file").write_text("")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True", run.stderr


def test_numbers_that_are_written_out_need_no_function_of_their_own():
    @compiled
    def plus(x, k):
        return x + k

    @compiled
    def sums(x, k):
        return plus(x, 1) + plus(x, 2) + plus(x, k) + plus(x, k=3)

    assert sums(0.5, 4) == 12.0
    assert len(plus.signatures) == 1


def test_options_reach_the_compiler():
    @compiled(fastmath=True)
    def half(x):
        return x / 2

    assert half(3.0) == 1.5
    assert half.targetoptions["fastmath"] is True
    assert half.targetoptions["nogil"] is True


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


def test_code_that_refers_to_a_renamed_module_is_compiled_anew(tmp_path, monkeypatch):
    (tmp_path / "once.py").write_text(
        "from hinge.compiled import compiled\n\n\n@compiled\ndef f(x):\n    return x + 1.0\n"
    )
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), "."]),
    }
    run = "from once import f; print(f(1.0))"
    assert subprocess.run([sys.executable, "-c", run], env=env, capture_output=True, text=True).stdout == "2.0\n"
    broken = "import numba.core.environment as e\ndef gone(*args): raise ImportError\ne._rebuild_env = gone\n"
    again = subprocess.run([sys.executable, "-c", broken + run], env=env, capture_output=True, text=True)
    assert again.stdout == "2.0\n", again.stderr


def test_code_of_another_release_is_compiled_anew(tmp_path):
    """Its own file may be the same where a function of another file that it contains has changed."""
    (tmp_path / "inner.py").write_text(
        "from hinge.compiled import compiled\n\n\n@compiled\ndef g(x):\n    return x + 1.0\n"
    )
    (tmp_path / "outer.py").write_text(
        "from hinge.compiled import compiled\nfrom inner import g\n\n\n@compiled\ndef f(x):\n    return g(x)\n"
    )
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), "."]),
    }

    def answer(version):
        run = f"import hinge.version as v; v.__version__ = {version!r}; from outer import f; print(f(1.0))"
        return subprocess.run([sys.executable, "-c", run], env=env, capture_output=True, text=True, check=True).stdout

    assert answer("1.0") == "2.0\n"
    text = (tmp_path / "inner.py").read_text().replace("1.0", "2.00")  # of another length: Python compares seconds
    (tmp_path / "inner.py").write_text(text)
    assert answer("1.1") == "3.0\n"


def test_numba_has_an_upper_bound():
    """The cache of compiled code relies on classes of Numba that are not public: untried versions are refused."""
    from importlib.metadata import version

    from packaging.requirements import Requirement

    text = (Path(__file__).parents[1] / "pyproject.toml").read_bytes().decode()
    numba = next(one for one in map(Requirement, tomllib.loads(text)["project"]["dependencies"]) if one.name == "numba")
    assert any(clause.operator in ("<", "<=") for clause in numba.specifier)
    assert numba.specifier.contains(version("numba"), prereleases=True)


@pytest.mark.parametrize("index", [b"chinge.solvers.kernel.conjugate_line\nGone\n.", b"", b"not a pickle"])
def test_an_index_of_another_version_is_empty(index, tmp_path, monkeypatch):
    """After an upgrade the folders of compiled code are those of before, and name classes that may be gone."""
    import numba

    source = tmp_path / "old.py"
    source.write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    names = {}
    exec(compile(source.read_text(), str(source), "exec"), names)
    function = compiled(names["twice"])
    assert function(3) == 6
    (path,) = (tmp_path / "cache").rglob("*.nbi")
    path.write_bytes(pickle.dumps(numba.__version__) + index)
    again = compiled(names["twice"])
    assert again(4) == 8
