import numpy as np
import pytest
from access.tables.made_up import written_out
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access.tables.fetched import Fetched, KeptCells, Recent
from hinge.access.tables.table import EVERYWHERE, Line

N, D = 6, 9
RNG = np.random.default_rng(3)
A = np.round(8 * RNG.standard_normal((N, D))) / 8
A[RNG.random(A.shape) < 0.4] = 0.0
A[2] = 0.0
A[:, 4] = 0.0


class Shelf(Fetched):
    """Cells of an array, lines as nonzeros or whole; what was fetched is noted."""

    def __init__(self, *, sparse=False, keep=True):
        super().__init__((N, D), np.arange(1.0, D + 1), keep=keep)
        self.sparse, self.log = sparse, []

    def _line(self, x):
        at = np.flatnonzero(x)
        return Line(at, x[at]) if self.sparse else Line(EVERYWHERE, x.copy())

    def _fetch_row(self, i):
        self.log.append(("row", i))
        return self._line(A[i])

    def _fetch_column(self, j):
        self.log.append(("column", j))
        return self._line(A[:, j])

    def _fetch_cells(self, i, columns):
        self.log.append(("cells", i, tuple(columns.tolist())))
        return A[i, columns]


# --- KeptCells --------------------------------------------------------------------------------

PUTS = st.lists(
    st.one_of(
        st.tuples(st.just("cells"), st.integers(0, N - 1), st.lists(st.integers(0, D - 1), unique=True)),
        st.tuples(st.just("row"), st.integers(0, N - 1), st.booleans()),
        st.tuples(st.just("column"), st.integers(0, D - 1), st.booleans()),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=150)
@given(PUTS)
def test_kept_cells_against_a_dictionary(puts):
    kept, known = KeptCells((N, D)), {}
    for kind, k, how in puts:
        x = A[:, k] if kind == "column" else A[k]
        if kind == "cells":
            kept.put(k, Line(np.array(how, np.int64), A[k, how]))
            known |= {(k, j): A[k, j] for j in how}
            continue
        at = np.flatnonzero(x)
        line = Line(at, x[at]) if how else Line(EVERYWHERE, x)
        if kind == "row":
            kept.put(k, line)
            known |= {(k, j): A[k, j] for j in range(D)}
        else:
            kept.put_column(k, line)
            known |= {(i, k): A[i, k] for i in range(N)}
            assert (kept.column(k).values == A[:, k]).all()
    for i in range(N):
        columns = np.array([j for j in range(D)[::-1] if (i, j) in known], np.int64)
        assert kept.cells(i, columns).tolist() == [known[i, j] for j in columns.tolist()]
        line = kept.row(i)
        if len(line.values) == D:
            assert len(line.at) == 0  # all are there, in order
            line = Line(np.arange(D), line.values)
        assert (np.diff(line.at) > 0).all() and len(line.at) == len(line.values)
        assert all(known[i, j] == v for j, v in zip(line.at.tolist(), line.values, strict=True))
        nonzeros = {j for j in columns.tolist() if known[i, j]}
        assert nonzeros <= set(line.at.tolist())
    for j in range(D):
        rows = np.array([i for i in range(N)[::-1] if (i, j) in known], np.int64)
        assert kept.below(j, rows).tolist() == [known[i, j] for i in rows.tolist()]


def test_new_cells_take_the_place_of_old_ones():
    kept = KeptCells((2, 3))
    kept.put(0, Line(np.array([2, 0]), np.array([5.0, 6.0])))
    kept.put(0, Line(np.array([1, 2]), np.array([7.0, 8.0])))
    assert kept.cells(0, np.arange(3)).tolist() == [6.0, 7.0, 8.0]


# --- Fetched ----------------------------------------------------------------------------------

VERBS = st.lists(
    st.one_of(
        st.tuples(st.just("row"), st.integers(0, N - 1)),
        st.tuples(st.just("column"), st.integers(0, D - 1)),
        st.tuples(
            st.just("block"),
            st.lists(st.integers(0, N - 1), min_size=1, unique=True),
            st.lists(st.integers(0, D - 1), min_size=1, unique=True),
        ),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=150)
@given(VERBS, st.booleans(), st.booleans())
def test_any_sequence_of_verbs(verbs, sparse, keep):
    shelf = Shelf(sparse=sparse, keep=keep)
    seen, cells, cost, nonzeros = np.zeros((N, D), bool), 0, 0.0, 0
    for verb, *what in verbs:
        if verb == "block":
            rows, columns = (np.array(k) for k in what)
            assert (shelf.block(rows, columns) == A[np.ix_(rows, columns)]).all()
        else:
            (k,) = what
            rows, columns = ([k], range(D)) if verb == "row" else (range(N), [k])
            line = shelf.row(k) if verb == "row" else shelf.column(k)
            assert (written_out(line, D if verb == "row" else N) == A[np.ix_(rows, columns)].ravel()).all()
        asked = np.zeros((N, D), bool)
        asked[np.ix_(rows, columns)] = True
        fresh = asked & ~seen if keep else asked
        cells, nonzeros = cells + fresh.sum(), nonzeros + np.count_nonzero(A[fresh])
        cost += (fresh @ np.arange(1.0, D + 1)).sum()
        seen |= asked
    bill = shelf.bill
    assert (bill.cells, bill.nonzeros, bill.cost, bill.distinct) == (cells, nonzeros, cost, seen.sum())
    if keep:
        assert (shelf.held(np.arange(N)).toarray() == np.where(seen, A, 0)).all()
        assert np.count_nonzero(shelf.held(np.arange(shelf.n)).data) == np.count_nonzero(A[seen])


def test_only_what_is_missing_is_fetched():
    shelf = Shelf()
    shelf.column(3)
    shelf.block(np.array([1]), np.array([5, 3, 2]))
    shelf.row(1)
    shelf.row(1)
    shelf.column(3)
    assert shelf.log == [("column", 3), ("cells", 1, (5, 2)), ("cells", 1, (0, 1, 4, 6, 7, 8))]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_known_by_rows_is_not_fetched(sparse):
    shelf = Shelf(sparse=sparse)
    for i in range(N):
        shelf.row(i)
    calls, cells = len(shelf.log), shelf.bill.cells
    for j in range(D):
        assert (shelf.column(j).values == A[:, j]).all()
    assert len(shelf.log) == calls and shelf.bill.cells == cells == N * D


def test_nothing_is_kept_where_nobody_keeps():
    shelf = Shelf(keep=False)
    for _ in range(2):
        shelf.row(1)
        shelf.block(np.array([1]), np.array([2]))
    assert len(shelf.log) == 4 and shelf.bill.cells == 2 * (D + 1) and shelf.bill.distinct == D
    assert shelf.held(np.arange(N)).nnz == 0


def test_a_block_of_nothing():
    shelf = Shelf()
    none = np.zeros(0, np.int64)
    assert shelf.block(none, np.arange(D)).shape == (0, D) and shelf.block(np.arange(N), none).shape == (N, 0)
    assert shelf.bill.cells == shelf.bill.distinct == 0 and not shelf.log


def test_a_row_that_is_not_there():
    with pytest.raises(IndexError, match="There is no row 6: the matrix has 6"):
        Shelf().row(N)
    with pytest.raises(IndexError, match="There is no column -1"):
        Shelf().column(-1)


def array(k, nbytes=10):
    return np.full(nbytes, k, np.uint8)


def test_what_was_not_used_for_longest_goes_first():
    recent = Recent(30)
    for k in range(3):
        recent.put(k, array(k))
    assert (recent.get(0) == 0).all()
    recent.put(3, array(3))
    assert [k in recent for k in range(4)] == [True, False, True, True]
    assert recent.get(1) is None
    assert (len(recent), recent.nbytes) == (3, 30)
    recent.put(4, array(4, 25))
    assert [k for k in range(5) if k in recent] == [4]
    assert recent.nbytes == 25


def test_an_array_may_be_replaced_or_too_large():
    recent = Recent(30)
    recent.put("a", array(1, 20))
    recent.put("a", array(2, 5))
    assert (recent.nbytes, int(recent.get("a")[0])) == (5, 2)
    recent.put("b", array(3, 31))
    assert "b" not in recent and "a" in recent
    recent.put("a", array(4, 31))
    assert (len(recent), recent.nbytes) == (0, 0)
    with pytest.raises(ValueError, match="number of bytes"):
        Recent(-1)
