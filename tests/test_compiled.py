"""The decorator of all compiled functions."""

import os
import subprocess
import sys

from hinge.compiled import compiled

CODE = """
from hinge import LinearSVC
from hinge.datasets import make_separable
data = make_separable(40, 3, 0.1)
print(LinearSVC().fit(data.X_train, data.y_train).gap_ <= 1e-3)
"""


def test_a_fit_needs_no_writable_cache(tmp_path):
    # A path below a file can be written to by nobody, not even by root.
    (tmp_path / "file").write_text("")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    run = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True", run.stderr


def test_options_reach_the_compiler():
    @compiled(fastmath=True)
    def half(x):
        return x / 2

    assert half(3.0) == 1.5
    assert half.targetoptions["fastmath"] is True
    assert half.targetoptions["nogil"] is True
