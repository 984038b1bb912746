"""Stores of kernel values and caches of oracles with damage, their checksums made to fit or not."""

import struct
import zlib
from functools import lru_cache

import numpy as np

import hinge
from hinge.access import Gram, as_points
from hinge.access.gram.row_store import _HEADER, _RECORD, open_store
from hinge.kernels import Gaussian

from ..damage import damaged, files_in, folder_of
from ..judging import check_finite, check_fitted

X = np.random.default_rng(0).normal(size=(9, 4)).round(2)
Y = np.resize([-1, 1], 9)
KERNEL = Gaussian(0.5)


def case(rng):
    """A damaged store, read and added to."""
    of_oracle = bool(rng.random() < 0.5)
    files = {
        name: _resummed(content, rng) if rng.random() < 0.6 else damaged(content, rng)
        for name, content in stored(of_oracle).items()
    }
    with folder_of(files) as folder:
        (_oracle if of_oracle else _kernel)(folder, rng)


def _kernel(folder, rng):
    store = open_store(folder, X, KERNEL)
    for row in range(len(X)):
        known, values = store.look_up(row, np.arange(len(X)))
        check_finite("values", values[known])
    store.keep(3, np.arange(9), np.ones(9))
    store.close()
    again = open_store(folder, X, KERNEL)
    assert again.look_up(3, np.arange(9))[0].all(), "What was kept is lost."
    again.close()


def _oracle(folder, rng):
    table = hinge.Oracle(Seller(), cache=folder)
    try:
        for i in range(3):
            check_finite("row", table.row(i).values)
        check_finite("column", table.column(2).values)
        check_finite("block", table.block(np.arange(9), np.arange(4)))
        check_fitted(hinge.LinearSVC(max_time=1.0).fit(table, Y))
    finally:
        table.close()


class Seller:
    """Who sells X."""

    shape = X.shape

    def row(self, i):
        return X[i]

    def column(self, j):
        return X[:, j]

    def cells(self, i, columns):
        return X[i, columns]


@lru_cache
def stored(of_oracle):
    """The files of a store of each kind."""
    with folder_of({}) as folder:
        if of_oracle:
            table = hinge.Oracle(Seller(), cache=folder)
            table.row(0), table.column(1), table.block(np.array([3, 4]), np.array([0, 2]))
            table.close()
        else:
            store, gram = open_store(folder, X, KERNEL), Gram(as_points(X, KERNEL, exact=True))
            K = np.array([gram.row(i) for i in range(9)]) if hasattr(gram, "row") else KERNEL(X, X)
            for row in range(4):
                store.keep(row, np.arange(row, 9), K[row, row:])
            store.close()
        return files_in(folder)


def _resummed(content, rng):
    """Numbers of one record changed, and its checksums made to fit."""
    at, places = _HEADER.size, []
    while at + _RECORD.size <= len(content):
        row, count, _, _ = _RECORD.unpack_from(content, at)
        places.append((at, row, count))
        at += _RECORD.size + 16 * count
    at, row, count = places[int(rng.integers(len(places)))]
    end = at + _RECORD.size + 16 * count
    body, after = content[at + _RECORD.size : end], content[end:]
    if rng.random() < 0.3:
        row = int(rng.choice([-1, 0, 8, 9, 13, 1 << 40]))
    elif rng.random() < 0.2:
        count = int(rng.choice([-1, 0, 1, count + 1, 1 << 58, 1 << 62]))
    else:
        value = [-1, 0, 4, 9, 1 << 40, -(1 << 63)][int(rng.integers(6))]
        number = (
            struct.pack("<q", value)
            if rng.random() < 0.5
            else struct.pack("<d", rng.choice([np.nan, np.inf, 1e300, -5.0]))
        )
        k = 8 * int(rng.integers(len(body) // 8))
        body = body[:k] + number + body[k + 8 :]
    numbers = struct.pack("<qq", row, count)
    return content[:at] + numbers + struct.pack("<II", zlib.crc32(numbers), zlib.crc32(body)) + body + after
