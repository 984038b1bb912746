"""What Numba makes of a function, and the cache of compiled code."""

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hinge.compiled import compiled

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


@pytest.mark.parametrize("index", [b"chinge.solvers.kernel.conjugate_steps\nGone\n.", b"", b"not a pickle"])
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
