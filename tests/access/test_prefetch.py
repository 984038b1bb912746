"""Hints to memory: they change nothing, count nothing and cannot fail."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from hinge.access import are_far, as_matrix, fetch
from hinge.access.prefetch import prefetch


@pytest.mark.sampled
@pytest.mark.parametrize("at", [0, 4, 1 << 40])
def test_any_place_may_be_asked_for(at):
    x = np.arange(5.0)
    code = njit(lambda x, at: prefetch(x, at))
    assert code(x, np.uint64(at)) is None
    assert prefetch(x, at) is None
    np.testing.assert_array_equal(x, np.arange(5.0))


def test_the_hint_is_in_the_code():
    code = njit(lambda x, at: prefetch(x, at))
    code(np.arange(5.0), np.uint64(1))
    assert "llvm.prefetch" in next(iter(code.inspect_llvm().values()))


@pytest.mark.slow
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_rows_are_fetched_without_being_read(layout):
    X = np.random.default_rng(0).random((6, 300)) * (np.arange(6) > 0)[:, None]
    matrix = as_matrix(layout(X))
    code = njit(lambda A, i: fetch(A, i))
    for i in range(6):
        code(matrix.rows, i)
        fetch(matrix.rows, i)
    assert matrix.reads == 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rows, far", [(100, False), (100_000, True)])
def test_rows_that_stay_near_need_no_fetching(rows, far):
    X = np.ones((rows, 8), np.float32)
    code = njit(lambda A: are_far(A))
    for A in (as_matrix(X).rows, as_matrix(sp.csr_array(X)).rows):
        assert code(A) == are_far(A) == far
