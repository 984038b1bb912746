"""What is written to disk in the tests, and how they look at the files."""

import json

import numpy as np
import scipy.sparse as sp

from hinge.access.two_way.reader import HEADER

MEMORIES = [1, 500, 5000, 1 << 20]

_rng = np.random.default_rng(8)

X = np.round(8 * _rng.standard_normal((37, 23))) / 8
X[_rng.random(X.shape) < 0.6] = 0
X[5], X[:, 20] = 0, 0


def stored(folder, X=X):
    """Check that both ways hold X, by the files themselves."""
    header = json.loads((folder / HEADER).read_text())
    n, d = header["shape"]
    kind = np.dtype(header["dtype"]).newbyteorder("<")
    if header["kind"] == "dense":
        by_rows = np.fromfile(folder / "rows", kind).reshape(n, d)
        by_columns = np.fromfile(folder / "columns", kind).reshape(d, n).T
    else:
        parts = {
            way: [
                np.fromfile(folder / f"{way}.{part}", t)
                for part, t in (("values", kind), ("indices", "<i4"), ("indptr", "<i8"))
            ]
            for way in ("rows", "columns")
        }
        csr, csc = sp.csr_array(tuple(parts["rows"]), (n, d)), sp.csc_array(tuple(parts["columns"]), (n, d))
        for S in (csr, csc):
            S.check_format(full_check=True)
            assert S.has_canonical_format and (S.data != 0).all()
        by_rows, by_columns = csr.toarray(), csc.toarray()
    assert (by_rows == X).all() and (by_columns == X).all()
    assert by_rows.shape == by_columns.shape == np.shape(X)
    return header


class Sliced:
    """What an array of h5py offers."""

    def __init__(self, X, chunks=None):
        self.X, self.shape, self.dtype, self.chunks = X, X.shape, X.dtype, chunks
        self.slices = []

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.slices.append((rows.start, rows.stop))
        return self.X[rows]
