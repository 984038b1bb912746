"""Points in every kind of storage, with all their kernel values; and what looks at a `Gram`."""

import numpy as np
import scipy.sparse as sp

from hinge.kernels import Function, Gaussian, Laplacian, Polynomial, Precomputed

_rng = np.random.default_rng(0)

X = _rng.standard_normal((37, 5))
BITS = (_rng.random((37, 19)) < 0.4) * 1.0
PIXELS = _rng.integers(0, 256, (37, 21)) / 255


def gaussian(A, gamma=0.1):
    return np.exp(-gamma * ((A[:, None] - A) ** 2).sum(2))


def value(x, z):
    return float(np.exp(-0.1 * ((x - z) ** 2).sum()))


def block(x, z):
    return np.exp(-0.1 * ((x[:, None] - z) ** 2).sum(2))


KINDS = {
    "dense": (X, Gaussian(0.1), gaussian(X)),
    "bits": (BITS, Gaussian(0.1), gaussian(BITS)),
    "bytes": (PIXELS, Gaussian(0.1), gaussian(PIXELS)),
    "sparse": (sp.csr_array(X), Polynomial(2, 0.5, 1.0), (0.5 * X @ X.T + 1) ** 2),
    "laplacian": (X, Laplacian(0.3), np.exp(-0.3 * np.abs(X[:, None] - X).sum(2))),
    "given": (gaussian(X), Precomputed(), gaussian(X)),
    "pairs": (X, Function(value), gaussian(X)),
    "blocks": (X, Function(block, on="blocks"), gaussian(X)),
    "indices": (range(37), Function(lambda i, j: value(X[i], X[j]), on="indices"), gaussian(X)),
}


def counted(points):
    """Count the values that are computed, whoever counts them too."""
    seen = []
    fill = points.fill

    def counting(rows, columns, out):
        seen.append((rows.copy(), columns.copy()))
        fill(rows, columns, out)

    points.fill = counting
    if hasattr(points, "dots") and isinstance(points.kernel, Gaussian):
        dots = points.dots

        def counting_dots(rows, columns, out):
            seen.append((rows.copy(), columns.copy()))
            dots(rows, columns, out)

        points.dots, points.fill = counting_dots, fill
    return seen


def agree(gram, K, i, coef):
    rows = gram.rows(i)
    np.testing.assert_allclose(rows.combine(coef), coef @ K[i][:, gram.columns], atol=3e-5)
    if (gram.position[i] >= 0).all():
        np.testing.assert_allclose(rows.block(), K[np.ix_(i, i)], atol=3e-6)
