import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access.tables.fetched import KeptCells
from hinge.access.tables.table import EVERYWHERE, Line

N, D = 6, 9
RNG = np.random.default_rng(3)
A = np.round(8 * RNG.standard_normal((N, D))) / 8
A[RNG.random(A.shape) < 0.4] = 0.0
A[2] = 0.0
A[:, 4] = 0.0


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
