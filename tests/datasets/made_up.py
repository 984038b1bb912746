"""Files and matrices for the tests of readers and generators."""

import bz2
import gzip
import io
import lzma

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

few = settings(max_examples=60, deadline=None)

singles = st.floats(-1e6, 1e6, width=32).filter(lambda v: v == 0 or abs(v) > 1e-30)


def written(folder, name, content):
    """A new file with this text or these bytes."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npz_bytes(**arrays):
    """What `np.savez` writes."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def norms(X):
    """Norms of the rows."""
    return np.sqrt(np.asarray((X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1))).ravel()


def same(A, B):
    """Whether two matrices are equal, cell by cell."""
    return (A != B).nnz == 0 if sp.issparse(A) else np.array_equal(A, B)
