"""Points of several kinds, and plain ways to their kernel values."""

import numpy as np
import pytest

from hinge.access.gram.byte_dots import available

_rng = np.random.default_rng(0)

REAL = _rng.standard_normal((50, 6))
PIXELS = _rng.integers(0, 256, (50, 24))
ONEHOT = np.eye(9)[_rng.integers(0, 9, (50, 4))].reshape(50, 36)

needs_instruction = pytest.mark.skipif(not available(), reason="this processor has no dot product of bytes")


def block(points, rows, columns):
    """The kernel values of these rows and columns."""
    out = np.empty((len(rows), len(columns)), points.dtype)
    points.fill(np.asarray(rows), np.asarray(columns), out)
    return out


def gaussian(A, gamma):
    """All values of the Gaussian kernel, in float64."""
    A = A.astype(np.float64)
    return np.exp(-gamma * ((A[:, None] - A) ** 2).sum(2))
