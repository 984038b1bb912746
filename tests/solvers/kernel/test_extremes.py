"""The lesser and the larger of two numbers."""

import numba
import numpy as np
import pytest

from hinge.compiled import compiled
from hinge.solvers.kernel.conjugate_steps import larger, lesser


@compiled
def both(values):
    least, largest = values[0], values[0]
    for k in range(len(values)):
        least, largest = lesser(least, values[k]), larger(largest, values[k])
    return least, largest


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_are_those_of_numpy_with_and_without_compiling(dtype):
    values = np.random.default_rng(0).standard_normal(1001).astype(dtype)
    values[[3, 700]] = np.inf, -np.inf
    for some in (values, values[10:600], values[:1], np.abs(values)):
        assert both(some) == (some.min(), some.max())
    assert (lesser(2.0, 1.0), larger(2.0, 1.0)) == (1.0, 2.0)


def test_many_are_compared_at_once():
    fresh = numba.njit(both.py_func)  # code that was cached cannot be inspected
    fresh(np.ones(3, np.float32))
    (code,) = fresh.inspect_llvm().values()
    assert "x float>" in code
