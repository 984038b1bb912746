"""Rows of a stream as counted data, of which the next are read in the background."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import Matrix
from hinge.access.streams import base
from hinge.access.streams.base import RowStream, Streamed, StretchLayout

X = np.round(8 * np.random.default_rng(0).standard_normal((50, 4))) / 8


class Plain(RowStream):
    """Rows that lie in memory, and who read them."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.is_sparse, self.readers = X, X.shape, X.dtype, sp.issparse(X), []

    @property
    def n_cells(self):
        return self.X.nnz if self.is_sparse else self.X.size

    def read(self, lo, hi, out=None):
        self.readers.append((lo, hi, threading.current_thread().name))
        if out is None:
            return self.X[lo:hi].copy()
        out[:] = self.X[lo:hi]
        return out

    def labels(self):
        return None

    def fingerprint(self):
        return "plain"


@pytest.fixture(params=["dense", "sparse"])
def data(request, monkeypatch):
    monkeypatch.setattr(base, "SHORT", 1)
    rows = X if request.param == "dense" else sp.csr_array(X)
    return Streamed(Plain(rows), 0, StretchLayout(5, 20, 4))


def test_blocks_are_the_rows_and_are_counted(data):
    parts = data.stretches[1], data.stretches[7]
    rows = data.take(parts)
    assert isinstance(rows, Matrix) and rows.shape == (10, 4)
    w = np.arange(4.0)
    np.testing.assert_allclose(rows.responses(w, 0, 10), np.concatenate([X[lo:hi] for lo, hi in parts]) @ w)
    assert data.reads == rows.n_cells and data.take(parts) is rows
    data.take((data.stretches[0],))
    assert data.reads == rows.n_cells  # what was read before still counts


def test_what_is_announced_is_read_meanwhile_and_once(data):
    first, second = data.stretches[:2]
    data.take((first,), (second,))
    while len(data.stream.readers) < 2:  # nobody has come for them
        time.sleep(0.001)
    rows = data.take((second,))
    np.testing.assert_allclose(rows.responses(np.ones(4), 0, 5), X[5:10] @ np.ones(4))
    names = [(lo, name) for lo, _, name in data.stream.readers]
    assert [lo for lo, _ in names] == [0, 5] and names[1][1] == "hinge reader"
    data.take((first,), (data.stretches[3],))
    np.testing.assert_allclose(
        data.take((second,)).responses(np.ones(4), 0, 5), X[5:10] @ np.ones(4)
    )  # not what it said


def test_a_stream_offers_what_all_data_does(data):
    w, coef = np.arange(4.0), np.random.default_rng(1).standard_normal(50)
    out = np.zeros(4)
    r = np.concatenate(data.each_block(lambda block, lo, hi: block.responses(w, lo, hi)))
    data.each_block(lambda block, lo, hi: block.combine(coef[lo:hi], lo, hi, out))
    np.testing.assert_allclose(r, X @ w)
    np.testing.assert_allclose(out, X.T @ coef)
    assert data.largest_norm() == pytest.approx(np.linalg.norm(X, axis=1).max())
    some = np.array([3, 40, 41])
    np.testing.assert_allclose(data.responses_at(some, w), X[some] @ w)
    np.testing.assert_allclose(data.gather(some).responses(w, 0, 3), X[some] @ w)
    assert data.fork() is data and data.bytes_read > 0


def test_bad_values_are_named_when_they_are_first_read():
    bad = X.copy()
    bad[33, 2] = np.inf
    data = Streamed(Plain(bad), 0, StretchLayout(5, 20, 4))
    data.take(((0, 5),), ((30, 35),))
    with pytest.raises(ValueError, match="Column 2 is inf in row 33"):
        data.take(((30, 35),))


def test_a_layout_fits_into_memory():
    stream = Plain(np.zeros((10_000, 4)))
    layout = StretchLayout.fitting(stream, 3 * 32 * 1000)
    assert layout.most == 1000 and layout.rows * layout.stretches <= 1000
    with pytest.raises(ValueError, match="31 bytes are left for rows, of which each takes 32"):
        StretchLayout.fitting(stream, 31)
