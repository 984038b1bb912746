"""A small matrix, and tables of its cells."""

import numpy as np
import scipy.sparse as sp

from hinge.access import DenseTable, SparseTable

_rng = np.random.default_rng(5)

X = np.round(4 * _rng.standard_normal((9, 70))) / 4
X[_rng.random(X.shape) < 0.5] = 0
X[4] = 0

PRICES = np.arange(70.0)


class Seller:
    """Sells the cells of an array, as whole lines or as nonzeros, and counts how often each is sold."""

    def __init__(self, X, sparse=False):
        self.X, self.shape, self.sparse = X, X.shape, sparse
        self.sold = np.zeros(X.shape, int)

    def _line(self, x):
        at = np.flatnonzero(x)
        return (at, x[at]) if self.sparse else x

    def row(self, i):
        self.sold[i] += 1
        return self._line(self.X[i])

    def column(self, j):
        self.sold[:, j] += 1
        return self._line(self.X[:, j])

    def cells(self, i, columns):
        self.sold[i, columns] += 1
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
