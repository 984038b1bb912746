"""Fits that end with a whole model, or leave the one that was there."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator

from hinge.monitoring.interrupts import kept

F = TypeVar("F", bound=Callable[..., Any])


def atomic(method: F) -> F:
    """A method that changes the model only if it ends: after an exception, all attributes are those of before."""
    return _atomic(method, keeps=False)


def atomic_fit(method: F) -> F:
    """The same for a `fit` that with ``on_interrupt="keep"`` ends with a model whenever Ctrl-C is pressed."""
    return _atomic(method, keeps=True)


def _atomic(method: F, *, keeps: bool) -> F:
    @wraps(method)
    def changed(self: BaseEstimator, *args: object, **options: object) -> object:
        before = vars(self).copy()
        try:
            with kept() if keeps and self.on_interrupt == "keep" else nullcontext():
                return method(self, *args, **options)
        except BaseException:
            self.__dict__ = before
            raise

    return cast(F, changed)
