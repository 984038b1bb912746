"""Every kernel that has a name, one a line.

A new kernel is a file of its own and a line here: kernel machines then know its name and fill in
those of its settings that they have parameters for (`degree`, `gamma`, `coef0`), model files hold it, and
tests hold it to the laws of kernels. No kernel is imported before it is asked for.
"""

from importlib import import_module
from typing import NamedTuple

from hinge.kernels.base import Kernel


class Registered(NamedTuple):
    """One line of the registry: where the kernel lies."""

    module: str
    class_name: str

    def load(self) -> type[Kernel]:
        """The class."""
        found: type[Kernel] = getattr(import_module(self.module), self.class_name)
        return found


BY_NAME: dict[str, Registered] = {
    "linear": Registered("hinge.kernels.linear", "Linear"),
    "rbf": Registered("hinge.kernels.gaussian", "Gaussian"),
    "poly": Registered("hinge.kernels.polynomial", "Polynomial"),
    "sigmoid": Registered("hinge.kernels.sigmoid", "Sigmoid"),
    "laplacian": Registered("hinge.kernels.laplacian", "Laplacian"),
    "precomputed": Registered("hinge.kernels.given", "Precomputed"),
}
"""All of them, by the names that scikit-learn has for them too."""


def names() -> tuple[str, ...]:
    """What ``kernel=`` of an estimator takes, besides functions."""
    return tuple(BY_NAME)


def of_class(name: str) -> Registered | None:
    """The kernel whose class has this name; None if there is none."""
    return next((entry for entry in BY_NAME.values() if entry.class_name == name), None)
