"""Random kernels, and their values in extended precision."""

from typing import Any

import numpy as np

from hinge.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from tests.certificates.exact import LONG


def kernel(rng: np.random.Generator, X: np.ndarray) -> Kernel:
    """One that suits the scale of the points, more or less."""
    sq = float((X * X).sum(axis=1).mean()) or 1.0
    size = 10.0 ** rng.uniform(-2, 2)
    kind = rng.integers(6)
    if kind <= 1:
        return Linear()
    if kind == 2:
        spread = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()) or sq
        return Gaussian(size / spread)
    if kind == 3:
        return Gaussian(size / sq)
    if kind == 4:
        return Laplacian(size / (float(np.abs(X).sum(axis=1).mean()) or 1.0))
    return Polynomial(int(rng.integers(1, 6)), size / sq, float(rng.choice([0.0, 1.0, 10.0])))


def values(kernel: Kernel, X: np.ndarray) -> Any:
    """K(x, z) of all pairs of rows of long doubles."""
    if isinstance(kernel, Laplacian):
        return np.exp(-LONG(kernel.gamma) * np.abs(X[:, None] - X[None]).sum(axis=2))
    if isinstance(kernel, Gaussian):
        return np.exp(-LONG(kernel.gamma) * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    dots = X @ X.T
    if isinstance(kernel, Polynomial):
        return (LONG(kernel.gamma) * dots + LONG(kernel.coef0)) ** kernel.degree
    return dots


def best_bias(r, y, c):
    """The b that is best for the mean hinge loss, among all kinks."""
    kinks = y - r
    losses = (c * np.maximum(0, 1 - y * (r + kinks[:, None]))).sum(axis=1)
    return kinks[losses.argmin()]


def objective(K, y, c, lam, beta, b):
    """λ/2 βᵀKβ + mean hinge loss at w = Σ βφ."""
    r = K @ beta
    return LONG(lam) / 2 * (beta @ r) + c @ np.maximum(0, 1 - y * (r + b))
