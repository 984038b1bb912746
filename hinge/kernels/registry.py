"""All kernels that have a name, one in each line.

A new kernel is a file of its own and a line here: kernel estimators then accept its name and set its settings for which
they have parameters (`degree`, `gamma`, `coef0`), model files store it, and tests check the laws of kernels.
"""

from hinge.kernels.base import Kernel
from hinge.kernels.standard import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid

BY_NAME: dict[str, type[Kernel]] = {
    "linear": Linear,
    "rbf": Gaussian,
    "poly": Polynomial,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
    "precomputed": Precomputed,
}
"""All kernels, by scikit-learn's names."""


def names() -> tuple[str, ...]:
    """Names that ``kernel=`` of an estimator accepts, besides functions."""
    return tuple(BY_NAME)


def of_class(name: str) -> type[Kernel] | None:
    """The registered kernel class with this name; None if there is none."""
    return next((kernel for kernel in BY_NAME.values() if kernel.__name__ == name), None)
