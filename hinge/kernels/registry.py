"""All kernels that have a name, one in each line.

A new kernel is a file of its own and a line here: kernel estimators then accept its name and set those of its settings
that they have parameters for (`degree`, `gamma`, `coef0`), model files store it, and tests check the laws of kernels.
No kernel is imported before it is used.
"""

from importlib import import_module
from typing import NamedTuple

from hinge.kernels.base import Kernel


class Registered(NamedTuple):
    """One line of the registry: where the kernel is defined."""

    module: str
    class_name: str

    def load(self) -> type[Kernel]:
        """The class."""
        found: type[Kernel] = getattr(import_module(self.module), self.class_name)
        return found


BY_NAME: dict[str, Registered] = {
    "linear": Registered("hinge.kernels.standard", "Linear"),
    "rbf": Registered("hinge.kernels.standard", "Gaussian"),
    "poly": Registered("hinge.kernels.standard", "Polynomial"),
    "sigmoid": Registered("hinge.kernels.standard", "Sigmoid"),
    "laplacian": Registered("hinge.kernels.standard", "Laplacian"),
    "precomputed": Registered("hinge.kernels.standard", "Precomputed"),
}
"""All kernels, by scikit-learn's names."""


def names() -> tuple[str, ...]:
    """Names that ``kernel=`` of an estimator accepts, besides functions."""
    return tuple(BY_NAME)


def of_class(name: str) -> Registered | None:
    """The entry of the kernel class with this name; None if there is none."""
    return next((entry for entry in BY_NAME.values() if entry.class_name == name), None)
