"""How every compiled function of hinge is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """`numba.njit` with the settings used throughout, as a decorator.

    Code is cached on disk, so that only the first process ever compiles; division follows NumPy (no
    exceptions inside a loop); the interpreter lock is released. Where no folder can be written, neither
    beside the source nor in the user's cache, every process compiles for itself.
    """
    if function is None:
        return lambda f: compiled(f, **options)
    try:
        return njit(function, cache=True, error_model="numpy", nogil=True, **options)
    except RuntimeError:  # Numba found no place for its cache
        return njit(function, error_model="numpy", nogil=True, **options)
