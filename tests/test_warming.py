"""What `hinge.warm` compiles is what first fits need."""

import os
import subprocess
import sys

import pytest

import hinge
from hinge.warming import KERNEL, LINEAR

FIRST = """
import numpy as np, scipy.sparse as sp
from numba.core import event
from sklearn.datasets import load_breast_cancer, load_iris
import hinge
compiled = event.RecordingListener()
X, y = load_iris(return_X_y=True)
B, labels = load_breast_cancer(return_X_y=True)
with event.install_listener("numba:compile", compiled):
    for C in (1.0, 10.0):
        hinge.LinearSVC(C=C).fit(X, y)
    hinge.LinearSVC().fit(B.astype(np.float32), labels).predict(B)
    hinge.LinearSVC().fit(sp.csr_array(B), labels)
print(len(compiled.buffer))
"""


# Which compiled functions a process has called, for which types: compiled there, or loaded from the cache.
CALLED = """
import gc
from numba.core.dispatcher import Dispatcher
for one in gc.get_objects():
    if isinstance(one, Dispatcher) and one.py_func.__module__.startswith("hinge."):
        for types in one.overloads:
            print(one.py_func.__module__, one.py_func.__qualname__, types)
"""


@pytest.mark.slow
def test_after_it_first_fits_compile_nothing():
    """In the cache of all tests, as an empty one takes a minute: fits call nothing that was not called before."""

    def lines(code):
        ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=600)
        return ran.stdout.splitlines()

    warmed = lines("import hinge; hinge.warm(['LinearSVC'])" + CALLED)
    count, *called = lines(FIRST + CALLED)
    assert count == "0"
    assert called and set(called) <= set(warmed)


@pytest.mark.slow
def test_a_small_dense_fit_of_a_squared_loss_compiles_nothing(tmp_path):
    env, code = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, FIRST.split("    hinge.LinearSVC().fit(B")[0]
    ran = subprocess.run(
        [sys.executable, "-c", code + "print(len(compiled.buffer))"],
        env=env,
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.stdout.split() == ["0"]


def test_it_knows_all_estimators_and_refuses_others(capsys):
    names = {name for name, _ in (*LINEAR, *KERNEL)}
    assert names == {name for name in hinge.__all__ if name.endswith(("SVC", "SVR", "SVM"))}
    with pytest.raises(ValueError, match="'SVD' is not one of"):
        hinge.warm(["SVD"])
