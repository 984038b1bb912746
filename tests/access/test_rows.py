import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from hinge.access import (
    add_outer,
    add_row,
    are_far,
    as_matrix,
    cell,
    dot,
    dots,
    fetch,
    held_row,
    read_row,
    span,
    sq_norm,
)
from hinge.access.rows import CSRRows, DenseRows, prefetch


def verbs(A, i, w, out, H):
    row = read_row(A, i)
    add_row(A, row, -1.5, out)
    add_outer(A, row, 0.5, H)
    again = held_row(A, i)
    return dot(A, row, w), sq_norm(A, row), dot(A, again, w)


compiled = njit(verbs)

LAYOUTS = ["dense float64", "dense float32", "csr float32 int32", "csr float64 int64"]


def plain_and_compiled(function, compiled):
    """Both forms; the second is compiled anew for each layout, which takes a second."""
    marked = pytest.param(compiled, id="compiled", marks=pytest.mark.slow)
    return pytest.mark.parametrize("function", [pytest.param(function, id="plain"), marked])


def rows(width):
    """Rows of 0 to `width` nonzeros: every remainder of the unrolled loops, and an empty row."""
    rng = np.random.default_rng(1)
    X = np.zeros((width + 1, width))
    for k in range(width + 1):
        X[k, rng.permutation(width)[:k]] = np.round(rng.standard_normal(k) * 64) / 64
    return X


def stored(X, layout):
    kind, dtype, *index = layout.split()
    if kind == "dense":
        return X.astype(dtype)
    S = sp.csr_array(X.astype(dtype))
    return sp.csr_array((S.data, S.indices.astype(index[0]), S.indptr.astype(index[0])), shape=S.shape)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@plain_and_compiled(verbs, compiled)
def test_verbs_are_numpys(layout, function):
    X = rows(11)
    matrix = as_matrix(stored(X, layout))
    assert isinstance(matrix.rows, DenseRows if "dense" in layout else CSRRows)
    w = np.linspace(-1, 2, 11)
    for i, x in enumerate(X):
        out, H = np.ones(11), np.zeros((11, 11))
        response, sq, held = function(matrix.rows, i, w, out, H)
        assert response == pytest.approx(x @ w, abs=1e-12)
        assert held == response
        assert sq == pytest.approx(x @ x)
        np.testing.assert_allclose(out, 1 - 1.5 * x)
        np.testing.assert_allclose(H, np.tril(0.5 * np.outer(x, x)))


def on_columns(A, i, W, out, k):
    row = held_row(A, i)
    dots(A, row, W, out)
    response = dot(A, row, W[:, k])
    add_row(A, row, 0.25, W[:, k])
    return response


@pytest.mark.parametrize("layout", LAYOUTS)
@plain_and_compiled(on_columns, njit(on_columns))
def test_verbs_of_columns_are_numpys(layout, function):
    X = rows(11)
    A = as_matrix(stored(X, layout)).rows
    for width in (1, 2, 5, 8):
        for i, x in enumerate(X):
            W, out = np.random.default_rng(i).standard_normal((12, width)), np.full(width, np.nan)
            before, k = W.copy(), i % width
            response = function(A, i, W, out, k)
            np.testing.assert_allclose(out, x @ before[:11], atol=1e-12)
            assert response == pytest.approx(out[k], abs=1e-12)
            before[:11, k] += 0.25 * x
            np.testing.assert_allclose(W, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@plain_and_compiled(verbs, compiled)
def test_only_reading_is_counted(layout, function):
    X = rows(6)
    matrix = as_matrix(stored(X, layout))
    w, cells = np.zeros(6), 0
    for i in (0, 3, 3, 6):
        function(matrix.rows, i, w, np.zeros(6), np.zeros((6, 6)))
        cells += 6 if "dense" in layout else np.count_nonzero(X[i])
        assert matrix.reads == cells
    function(matrix.unbilled, 5, w, np.zeros(6), np.zeros((6, 6)))
    assert matrix.reads == cells


@pytest.mark.parametrize("layout", ["dense float32", "csr float32 int32"])
@plain_and_compiled(verbs, compiled)
def test_sums_are_kept_in_double_precision(layout, function):
    X = np.array([[2.0**12, 2.0**-12, 1.0]])
    matrix = as_matrix(stored(X, layout))
    w = np.array([1.0, 2.0**-30, 2.0**-45])
    response, sq, _ = function(matrix.rows, 0, w, np.zeros(3), np.zeros((3, 3)))
    assert response == X[0] @ w
    assert sq == X[0] @ X[0]
    assert float(np.float32(sq)) != sq


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["dense float64", "csr float64 int64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_values_are_not_optimised_out_of_sight(layout, bad):
    X = np.ones((1, 9))
    X[0, 4] = bad
    matrix = as_matrix(stored(X, layout))
    response, sq, _ = compiled(matrix.rows, 0, np.ones(9), np.zeros(9), np.zeros((9, 9)))
    for value in (response, sq):
        assert not np.isfinite(value)


def spelled_out(A, i, out):
    row = read_row(A, i)
    start, stop = span(A, row)
    for p in range(start, stop):
        j, x = cell(A, row, p)
        out[j] += x
    return stop - start


@pytest.mark.parametrize("layout", LAYOUTS)
@plain_and_compiled(spelled_out, njit(spelled_out))
def test_cells_one_by_one(layout, function):
    X = rows(5)
    matrix = as_matrix(stored(X, layout))
    for i, x in enumerate(X):
        out = np.zeros(5)
        assert function(matrix.rows, i, out) == (5 if "dense" in layout else np.count_nonzero(x))
        np.testing.assert_array_equal(out, x)


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
