"""Whether kernel values are as near to the truth as the points say."""

import numpy as np

from hinge.access import as_points


def within_errors(kernel, X, truth):
    """Values of points in float32 differ from the truth by no more than their stated errors."""
    n = len(X)
    points = as_points(X.astype(np.float32), kernel)
    found = np.empty((n, n), points.dtype)
    points.fill(np.arange(n), np.arange(n), found)
    A, B = points.errors()
    allowed = A.T @ B
    assert (np.abs(found - truth) <= allowed * (1 + 1e-9)).all()
    assert allowed.max() < 1e-2 * np.abs(truth).max()  # which says something
