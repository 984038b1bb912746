"""Kernels; `registry` lists those that have a name."""

from typing import Any

from hinge.kernels.base import Kernel, namespace
from hinge.kernels.registry import of_class
from hinge.kernels.standard import Function, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid

__all__ = ["Function", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed", "Sigmoid", "namespace"]


def __getattr__(name: str) -> Any:
    """A registered kernel that is not listed here."""
    kernel = of_class(name)
    if kernel is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kernel
