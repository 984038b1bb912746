"""Gram against the full matrix: whatever is asked in whatever order, under whatever budget."""

import copy
import os
import pickle
import threading
import time
import tracemalloc
from collections import OrderedDict
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from access.gram.made_up import BITS, KINDS, PIXELS, X, agree, block, counted, gaussian, value
from ctrl_c import interrupted
from hypothesis import given, settings
from hypothesis import strategies as st

import hinge.access.gram.row_cache as row_cache
from hinge.access import Gram, as_points
from hinge.access.gram.as_points import DifferencePoints, WholePoints
from hinge.access.gram.gram import TILE_ROWS
from hinge.kernels import Function, Gaussian, Linear
from hinge.threads import cores


@contextmanager
def few_rows(least):
    """Let the cache keep as few rows as its budget says."""
    with mock.patch.object(row_cache, "LEAST_ROWS", least):
        yield


def n_values(seen):
    return sum(len(rows) * len(columns) for rows, columns in seen)


@st.composite
def steps(draw):
    """A sequence of what solvers do, for 37 points."""
    points = st.lists(st.integers(0, 36), min_size=1, max_size=9, unique=True)
    kinds = st.sampled_from(["rows", "rows", "rows", "combine", "pass", "focus", "grow", "all", "diag"])
    return draw(st.lists(st.tuples(kinds, points, points), min_size=1, max_size=25))


@pytest.mark.slow
@settings(max_examples=25)
@given(steps(), st.sampled_from([0, 3000, 12_000, 100_000]), st.sampled_from([3, 9]))
@pytest.mark.parametrize("kind", KINDS)
def test_everything_equals_the_full_matrix(kind, sequence, budget, least):
    data, kernel, K = KINDS[kind]
    with few_rows(least):
        points = as_points(data, kernel)
        seen = counted(points)
        gram = Gram(points, budget)
        for what, i, more in sequence:
            i, more = np.array(i), np.array(more)
            coef = np.linspace(-1, 2, len(i))
            if what == "rows":
                part = i[: gram.capacity]
                agree(gram, K, part, coef[: len(part)])
            elif what == "combine":
                np.testing.assert_allclose(gram.combine(i, coef), coef @ K[i][:, gram.columns], atol=3e-5)
            elif what == "pass":
                np.testing.assert_allclose(gram.pass_over(i, coef, more), coef @ K[np.ix_(i, more)], atol=3e-5)
            elif what == "focus":
                gram.focus(more)
                assert (gram.columns == more).all() and (gram.columns[gram.position[more]] == more).all()
            elif what == "grow":
                gram.focus(np.concatenate([gram.columns, np.setdiff1d(more, gram.columns)]))
            elif what == "all":
                gram.focus(None)
            elif kind != "given":
                np.testing.assert_allclose(gram.diag, np.diag(K), rtol=1e-5)
            if gram._cache.keeps_pairs:
                continue
            rows = gram._cache.row_of
            assert len(rows) == gram.capacity == len(np.unique(rows[rows >= 0])) + (rows < 0).sum()
            assert gram._cache.slab.nbytes <= max(budget, least * K.itemsize * 37)
        assert gram.evals == n_values(seen)
        assert gram.asked >= gram.evals - (37 if gram.by_value else 0)  # with the diagonal


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.integers(0, 36), min_size=1, max_size=60), st.integers(1, 8))
def test_the_least_recently_used_row_goes_first(asked, capacity):
    with few_rows(1):
        gram = Gram(as_points(X, Linear(), exact=True), 0)
        gram._cache = row_cache.RowCache(37, np.float64, capacity * 37 * 8)
        assert gram.capacity == capacity
        model, computed = OrderedDict(), 0
        for i in asked:
            gram.rows(np.array([i]))
            if i not in model:
                computed += 1
                if len(model) == capacity:
                    model.popitem(last=False)
            model[i] = True
            model.move_to_end(i)
            assert set(gram._cache.row_of[gram._cache.row_of >= 0]) == set(model)
        assert gram.evals == computed * 37


def test_rows_are_completed_where_columns_are_added():
    gram = Gram(as_points(X, Gaussian(0.1)))
    gram.focus(np.arange(0, 30, 3))
    gram.rows(np.arange(5))
    gram.focus(np.concatenate([np.arange(0, 30, 3), [31, 1, 5]]))
    before = gram.evals
    agree(gram, gaussian(X), np.arange(7), np.ones(7))
    assert gram.evals - before == 5 * 3 + 2 * 13
    gram.focus(np.array([4, 5]))
    before = gram.evals
    agree(gram, gaussian(X), np.arange(7), np.ones(7))
    assert gram.evals - before == 14


def test_beyond_the_budget_rows_are_looked_up_by_symmetry():
    calls = []

    def f(x, z):
        calls.append(1)
        return value(x, z)

    gram = Gram(as_points(X, Function(f)), 0)
    assert not gram._cache.keeps_pairs
    gram.rows(np.arange(20))
    assert len(calls) == gram.evals == 20 * 37 - 190 + 8
    calls.clear()
    gram.rows(np.arange(20))
    gram.pass_over(np.arange(37), np.ones(37), np.arange(20))
    gram.focus(np.arange(37))
    assert not calls


def test_wide_tiles_and_many_rows():
    A = np.random.default_rng(2).standard_normal((2 * TILE_ROWS + 70, 3)).astype(np.float32)
    K = gaussian(A.astype(float))
    gram = Gram(as_points(A, Gaussian(0.1)))
    for i in (np.arange(len(A)), np.array([5]), np.arange(0, len(A), 2)):
        np.testing.assert_allclose(gram.combine(i, np.ones(len(i))), K[i].sum(0), rtol=1e-5)
        part = gram.pass_over(i, np.ones(len(i)), i[::-1])
        np.testing.assert_allclose(part, K[np.ix_(i, i)].sum(0)[::-1], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["floats", "doubles", "bits", "bytes"])
def test_threads_change_no_bit(data):
    rng = np.random.default_rng(3)
    A = {
        "floats": rng.standard_normal((5000, 12)).astype(np.float32),
        "doubles": 1000 + rng.standard_normal((5000, 12)),
        "bits": rng.random((5000, 40)) < 0.3,
        "bytes": rng.integers(0, 9, (5000, 12)),
    }[data]
    i, coef = rng.permutation(5000)[:300], rng.standard_normal(300)
    one, two = (Gram(as_points(A, Gaussian(0.05)), 10_000_000, threads=k) for k in (1, 2))
    for gram in (one, two):
        gram.focus(np.arange(4900))
    for part in (i, i[:1], i[:7]):
        np.testing.assert_array_equal(
            one.rows(part).combine(coef[: len(part)]), two.rows(part).combine(coef[: len(part)])
        )
        columns = np.arange(100, 5000)
        sums = [gram.pass_over(part, coef[: len(part)], columns) for gram in (one, two)]
        np.testing.assert_array_equal(*sums)
    np.testing.assert_array_equal(one._cache.slab[:50], two._cache.slab[:50])
    assert one.evals == two.evals


@pytest.mark.parametrize("data", [BITS, PIXELS, X, np.hstack([X] * 4)], ids=["bits", "pixels", "few", "many"])
def test_a_row_is_the_same_alone_and_among_others(data):
    """To the bit where products are whole numbers, or of few features; else BLAS may round each shape differently."""
    together, alone = (Gram(as_points(data, Gaussian(0.05))) for _ in range(2))
    i, coef = np.arange(37), np.random.default_rng(4).standard_normal(37)
    sums = np.zeros(37)
    for k in i:
        alone.rows(i[k : k + 1]).add_to(sums, coef[k : k + 1])
    found = together.rows(i).combine(coef)
    if isinstance(together.points, WholePoints | DifferencePoints):
        np.testing.assert_array_equal(found, sums)
    else:
        assert (np.abs(found - sums) <= 2 * together.error(np.abs(coef), 38)).all()


@pytest.mark.slow
def test_all_grams_share_the_threads_of_the_process():
    counts = []
    for _ in range(6):
        gram = Gram(as_points(np.ones((4096, 1)) * np.arange(4096)[:, None], Linear()), threads=3)
        gram.rows(np.arange(300)).combine(np.ones(300))
        counts.append(threading.active_count())
    assert max(counts) <= counts[0] + cores()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_threads_of_its_own():
    A = np.arange(4096)[:, None] / 64
    gram = Gram(as_points(A, Linear()), 50_000_000, threads=2)
    gram.rows(np.arange(256)).combine(np.ones(256))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sums = gram.rows(np.arange(256, 512)).combine(np.ones(256))
            code = int(not np.allclose(sums, (A @ A[256:512].T).sum(1), rtol=1e-5))
        finally:
            os._exit(code)
    for _ in range(500):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child waits for threads that it does not have")
    assert status == 0


@pytest.mark.parametrize("kind", ["bits", "pairs"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda gram: pickle.loads(pickle.dumps(gram))])
def test_copies(kind, copied):
    data, kernel, K = KINDS[kind]
    gram = Gram(as_points(data, kernel), threads=2)
    gram.focus(np.arange(30))
    gram.rows(np.arange(12))
    gram._spread(lambda lo, hi: None, 2, 1)
    other = copied(gram)
    assert (other.evals, other.asked) == (gram.evals, gram.asked)
    assert (other.columns == gram.columns).all() and other.capacity == gram.capacity
    agree(other, K, np.arange(12), np.ones(12))
    assert other.evals == gram.evals + (0 if kind == "pairs" else 12 * 30)
    other.focus(None)
    agree(other, K, np.arange(20), np.ones(20))
    agree(gram, K, np.arange(12), np.ones(12))


# --- interruptions ----------------------------------------------------------------------------

FILES = "gram.py", "row_cache.py", "gram/values.py"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "budget"), [("bits", 1500), ("bytes", 10_000), ("pairs", 0), ("blocks", 50_000)])
def test_an_interrupt_anywhere_leaves_the_truth(kind, budget):
    data, kernel, K = KINDS[kind]
    rng = np.random.default_rng(5)
    with few_rows(8):
        gram = Gram(as_points(data, kernel), budget)

        def action():
            gram.focus(np.arange(25))
            gram.rows(rng.permutation(37)[:8])
            gram.rows(rng.permutation(37)[:5])
            gram.focus(np.arange(30))
            gram.rows(rng.permutation(37)[:7])

        line, more = 1, True
        while more:
            more = interrupted(action, line, *FILES)
            line += 1 + line // 40
            for columns in (gram.columns, np.arange(30)):
                gram.focus(columns)
                agree(gram, K, rng.permutation(37)[:8], np.ones(8))
    assert line > 60


def test_an_exception_in_a_thread_waits_for_the_others():
    A = np.arange(6000)[:, None] / 64
    gram = Gram(as_points(A, Linear()), 100_000_000, threads=2)
    fill, slow = gram.points.fill_rows, threading.Event()

    def failing(rows, columns, tile, slab, slots, first):
        if first == 0:
            raise RuntimeError("boom")
        slow.wait(0.2)
        fill(rows, columns, tile, slab, slots, first)

    gram.points.fill_rows = failing
    with pytest.raises(RuntimeError, match="boom"):
        gram.rows(np.arange(256))
    gram.points.fill_rows = fill
    assert gram.evals == 0
    np.testing.assert_allclose(gram.rows(np.arange(9)).combine(np.ones(9)), (A @ A[:9].T).sum(1), rtol=1e-5)


# --- refusals ---------------------------------------------------------------------------------


def test_too_many_rows_at_once_and_points_outside():
    with few_rows(4):
        with pytest.raises(ValueError, match=r"5 rows were asked for at once; the cache holds 4"):
            Gram(as_points(X, Function(block, on="blocks")), 0).rows(np.arange(5))
        gram = Gram(as_points(X, Gaussian(0.1)), 0)
        gram.focus(np.arange(1, 9))
        with pytest.raises(ValueError, match="row 0 is not among the columns"):
            gram.rows(np.arange(3)).block()
        gram.focus(np.empty(0, np.int64))
        assert gram.rows(np.arange(3)).combine(np.ones(3)).shape == (0,)
        assert gram.pass_over(np.empty(0, np.int64), np.empty(0), np.arange(3)).tolist() == [0, 0, 0]


# --- memory -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Gaussian(0.1), Function(block, on="blocks")])
def test_memory_stays_within_the_budget(kernel):
    A = np.random.default_rng(6).standard_normal((3000 if kernel.shifts else 500, 4)).astype(np.float32)
    n, budget = len(A), 3_000_000
    Gram(as_points(A, kernel), budget).rows(np.arange(8)).combine(np.ones(8))  # compiled before
    tracemalloc.start()
    try:
        gram = Gram(as_points(A, kernel), budget)
        rng = np.random.default_rng(7)
        for _ in range(6):
            gram.rows(rng.permutation(n)[: min(200, gram.capacity)])
            gram.focus(rng.permutation(n)[: n // 2])
            gram.pass_over(rng.permutation(n)[:300], np.ones(300), np.arange(n))
            gram.focus(None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A tile, its points, and what `block` of a function itself takes come on top.
    assert peak < budget + (2_500_000 if kernel.shifts else 10_000_000)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
@pytest.mark.parametrize("kernel", [Gaussian(0.1), Function(block, on="blocks")])
def test_memory_is_not_touched_before_it_is_used(kernel):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    A = np.random.default_rng(6).standard_normal((6000, 4)).astype(np.float32)
    Gram(as_points(A[:50], kernel)).rows(np.arange(8))
    before = resident()
    gram = Gram(as_points(A, kernel), 400_000_000)
    gram.rows(np.arange(16))
    gram.focus(np.arange(3000))
    gram.rows(np.arange(16, 32))
    gram.focus(None)
    assert gram.capacity > 5000
    assert resident() - before < 60_000_000


def test_the_whole_matrix_is_not_copied_where_its_rows_lie_in_order():
    gram = Gram(as_points(X, Gaussian(0.5), exact=True))
    whole = gram.whole()
    assert np.shares_memory(whole, gram.whole())
    np.testing.assert_array_equal(whole, gram.rows(np.arange(gram.n)).block())
    other = Gram(as_points(X, Gaussian(0.5), exact=True))
    other.rows(np.arange(gram.n)[::-1])
    other.rows(np.array([3, 1]))
    np.testing.assert_allclose(other.whole(), whole, atol=1e-14)


def test_sums_that_are_made_again_take_the_rows_that_are_kept():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 3)).astype(np.float32)
    K = np.exp(-0.5 * ((X[:, None].astype(np.float64) - X) ** 2).sum(2))
    gram, coef = Gram(as_points(X, Gaussian(0.5))), rng.standard_normal(30)
    gram.focus(np.arange(50))
    gram.rows(np.arange(30))
    before = gram.evals
    for columns in (np.arange(50), np.array([3, 40])):
        sums, error = gram.again(np.arange(30), coef, columns)
        assert gram.evals == before and (np.abs(sums - coef @ K[:30, columns]) <= error).all()
    rows, columns = np.arange(10, 40), np.arange(20, 80)  # some of which are not there
    sums, error = gram.again(rows, coef, columns)
    assert gram.evals == before + 10 * 60 + 20 * 30
    assert (np.abs(sums - coef @ K[np.ix_(rows, columns)]) <= error).all()


def test_the_largest_block_leaves_room_for_its_rows():
    X = np.zeros((3000, 2))
    for megabytes in (4, 40, 400):
        gram = Gram(as_points(X, Gaussian(1.0)), megabytes * 1_000_000)
        block, item = gram.largest_block, gram.dtype.itemsize
        assert item * block**2 + item * 3000 * gram.capacity <= 1e6 * megabytes
        assert megabytes < 400 or block == gram.capacity == 3000


def test_threads_take_short_pieces(monkeypatch):
    """After Ctrl-C those that have begun are waited for: a half of all columns took seconds."""
    monkeypatch.setattr("hinge.threads.cores", lambda: 2)
    pieces = []
    Gram(as_points(X, Gaussian(1.0)), 0, threads=2)._spread(lambda lo, hi: pieces.append((lo, hi)), 40_000, 512)
    assert sorted(pieces) == [(lo, min(lo + 512, 40_000)) for lo in range(0, 40_000, 512)]


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Function(lambda a, b: np.exp(-((a - b) @ (a - b))), on="pairs")])
def test_values_of_some_points_against_others_are_counted_and_not_kept(kernel):
    points = np.random.default_rng(0).standard_normal((70, 3))
    gram, whole = Gram(as_points(points, kernel)), Gram(as_points(points, kernel)).whole()
    rows, columns = np.arange(60, 2, -1), np.array([3, 1, 69])
    np.testing.assert_allclose(gram.values(rows, columns), whole[np.ix_(rows, columns)], rtol=1e-6)
    assert gram.asked == 3 * 58 and 0 < gram.evals <= 3 * 58
