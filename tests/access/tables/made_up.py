"""A small matrix, and tables of its cells."""

import numpy as np
import scipy.sparse as sp

from hinge.access import DenseTable, SparseTable
from hinge.access.tables.fetched import Fetched
from hinge.access.tables.table import EVERYWHERE, Line

_rng = np.random.default_rng(5)

X = np.round(4 * _rng.standard_normal((9, 70))) / 4
X[_rng.random(X.shape) < 0.5] = 0
X[4] = 0

PRICES = np.arange(70.0)


class Given(Fetched):
    """Cells of an array, which count how often they are fetched."""

    def __init__(self, X, prices=None, *, keep=True):
        super().__init__(X.shape, prices, keep=keep)
        self.X, self.fetches = X, np.zeros(X.shape, int)

    def _fetch_row(self, i):
        self.fetches[i] += 1
        return Line(EVERYWHERE, self.X[i])

    def _fetch_column(self, j):
        self.fetches[:, j] += 1
        return Line(EVERYWHERE, self.X[:, j])

    def _fetch_cells(self, i, columns):
        self.fetches[i, columns] += 1
        return self.X[i, columns]


def dense(X, prices=None, *, keep):
    return DenseTable(X, prices=prices, keep=keep)


def sparse(X, prices=None, *, keep):
    return SparseTable(sp.csr_array(X), prices=prices, keep=keep)


def written_out(line, length):
    """A line with its zeros."""
    x = np.zeros(length)
    if len(line.at):
        x[line.at] = line.values
    else:
        x[: len(line.values)] = line.values
    return x
