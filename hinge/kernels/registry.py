"""All kernels that have a name, one in each line.

A new kernel is a file of its own and a line here: kernel estimators then accept its name and set its settings for which
they have parameters (`degree`, `gamma`, `coef0`), model files store it, and tests check the laws of kernels.
No kernel is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hinge.kernels.base import Kernel


class RegisteredKernel(NamedTuple):
    """One line of the registry: where the kernel is defined."""

    module: str
    class_name: str

    def load(self) -> type[Kernel]:
        """The class."""
        found: type[Kernel] = getattr(import_module(self.module), self.class_name)
        return found


BY_NAME: dict[str, RegisteredKernel] = {
    "linear": RegisteredKernel("hinge.kernels.standard", "Linear"),
    "rbf": RegisteredKernel("hinge.kernels.standard", "Gaussian"),
    "poly": RegisteredKernel("hinge.kernels.standard", "Polynomial"),
    "sigmoid": RegisteredKernel("hinge.kernels.standard", "Sigmoid"),
    "laplacian": RegisteredKernel("hinge.kernels.standard", "Laplacian"),
    "precomputed": RegisteredKernel("hinge.kernels.standard", "Precomputed"),
}
"""All kernels, by scikit-learn's names."""


def names() -> tuple[str, ...]:
    """Names that ``kernel=`` of an estimator accepts, besides functions."""
    return tuple(BY_NAME)


def of_class(name: str) -> RegisteredKernel | None:
    """The entry of the kernel class with this name; None if there is none."""
    return next((entry for entry in BY_NAME.values() if entry.class_name == name), None)
