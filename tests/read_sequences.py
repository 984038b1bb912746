"""Sequences of reads from a table, next to a plain array and a mask of what was read of it."""

import numpy as np
from hypothesis import strategies as st


def reads(n, d, passes=False):
    """A few reads of rows, columns and blocks, and for those that bill them whole passes."""
    some = {"min_size": 0, "max_size": 6, "unique": True}
    rows, columns = st.integers(0, n - 1), st.integers(0, d - 1)
    block = st.tuples(st.just("block"), st.lists(rows, **some), st.lists(columns, **some))
    kinds = [st.tuples(st.just("row"), rows), st.tuples(st.just("column"), columns), block, block]
    if passes:
        stretch = st.tuples(rows, rows).map(sorted)
        kinds += [st.tuples(st.just("responses"), stretch), st.tuples(st.just("combine"), stretch)]
    return st.lists(st.one_of(kinds), max_size=12)


class Mirror:
    """What a table should hand out and bill."""

    def __init__(self, table, X, prices=None):
        self.table, self.X = table, X
        self.prices = np.ones(X.shape[1]) if prices is None else prices
        self.read = np.zeros(X.shape, bool)
        self.cells = self.nonzeros = 0
        self.cost = 0.0
        self.holds = table.keep or table.in_memory

    def run(self, sequence):
        for name, *arguments in sequence:
            getattr(self, name)(*arguments)
            self.check()

    def row(self, i):
        assert (whole(self.table.row(i), self.X.shape[1]) == self.X[i]).all()
        self.bill(np.array([i]), np.arange(self.X.shape[1]))

    def column(self, j):
        assert (whole(self.table.column(j), self.X.shape[0]) == self.X[:, j]).all()
        self.bill(np.arange(self.X.shape[0]), np.array([j]))

    def block(self, rows, columns):
        rows, columns = np.array(rows, int), np.array(columns, int)
        cells = self.table.block(rows, columns)
        assert cells.shape == (len(rows), len(columns))
        cells = cells.toarray() if hasattr(cells, "toarray") else cells
        assert (cells == self.X[np.ix_(rows, columns)]).all()
        self.bill(rows, columns)

    def responses(self, stretch):
        lo, hi = stretch
        w = np.linspace(-1, 1, self.X.shape[1])
        assert np.allclose(self.table.responses(w, lo, hi), self.X[lo:hi] @ w)
        self.bill(np.arange(lo, hi), np.arange(self.X.shape[1]))

    def combine(self, stretch):
        lo, hi = stretch
        coef = np.where(np.arange(lo, hi) % 3 == 1, 0.0, 1.0 + np.arange(lo, hi))
        out = np.ones(self.X.shape[1])
        self.table.combine(coef, lo, hi, out)
        assert np.allclose(out, 1 + self.X[lo:hi].T @ coef)
        self.bill(lo + np.flatnonzero(coef), np.arange(self.X.shape[1]))

    def bill(self, rows, columns):
        asked = np.zeros(self.X.shape, bool)
        asked[np.ix_(rows, columns)] = True
        counts = asked & ~self.read if self.table.keep else asked
        self.cells += counts.sum()
        self.nonzeros += (counts & (self.X != 0)).sum()
        self.cost += counts.sum(axis=0) @ self.prices
        self.read |= asked

    def check(self):
        bill = self.table.bill
        assert (bill.cells, bill.nonzeros) == (self.cells, self.nonzeros)
        assert np.isclose(bill.cost, self.cost)
        assert bill.distinct == self.read.sum()
        assert self.table.reads == (self.nonzeros if self.table.is_sparse else self.cells)
        known = self.read if self.holds else np.zeros_like(self.read)
        held = self.table.held(np.arange(len(self.X))[::-1])
        assert (held.toarray()[::-1] == np.where(known, self.X, 0)).all()
        assert np.count_nonzero(self.table.held(np.arange(self.table.n)).data) == (known & (self.X != 0)).sum()


def whole(line, length):
    """A line as a plain array."""
    out = np.zeros(length)
    out[line.at if len(line.at) else slice(len(line.values))] = line.values
    return out
