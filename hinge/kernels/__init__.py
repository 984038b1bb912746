"""Kernels; `registry` lists those that have a name. They are imported when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hinge.kernels.registry import BY_NAME, of_class

_WHERE = {"Function": "hinge.kernels.standard", "Kernel": "hinge.kernels.base", "namespace": "hinge.kernels.base"}

__all__ = [*_WHERE, *(entry.class_name for entry in BY_NAME.values())]

if TYPE_CHECKING:
    # For type checkers. A registered kernel that is not listed here works all the same, as `Any`.
    from hinge.kernels.base import Kernel as Kernel
    from hinge.kernels.base import namespace as namespace
    from hinge.kernels.standard import Function as Function
    from hinge.kernels.standard import Gaussian as Gaussian
    from hinge.kernels.standard import Laplacian as Laplacian
    from hinge.kernels.standard import Linear as Linear
    from hinge.kernels.standard import Polynomial as Polynomial
    from hinge.kernels.standard import Precomputed as Precomputed
    from hinge.kernels.standard import Sigmoid as Sigmoid


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    entry = of_class(name)
    if entry is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return entry.load()


def __dir__() -> list[str]:
    return sorted(__all__)
