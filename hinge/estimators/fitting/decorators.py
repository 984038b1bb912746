"""Decorators of fits: all or nothing, and scikit-learn's callbacks (from its version 1.9 on; none before)."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn.base import BaseEstimator

from hinge.monitoring.interrupts import keep_results_on_interrupt

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
else:
    try:
        from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
    except ImportError:
        CallbackContext = Any

        class CallbackSupportMixin:
            """Empty: there are no callbacks."""

        def with_callbacks(method: Callable) -> Callable:
            """The method as it is: there are no callbacks."""
            return method


__all__ = ["CallbackContext", "CallbackSupportMixin", "atomic", "atomic_fit", "with_callbacks"]

F = TypeVar("F", bound=Callable[..., Any])


def atomic(method: F) -> F:
    """A method that changes the model only if it ends: after an exception, all attributes are restored."""
    return _atomic(method, keeps=False)


def atomic_fit(method: F) -> F:
    """The same for a `fit` that with ``on_interrupt="keep"`` ends with a model whenever Ctrl-C is pressed."""
    return _atomic(method, keeps=True)


def _atomic(method: F, *, keeps: bool) -> F:
    @wraps(method)
    def changed(self: BaseEstimator, *args: object, **options: object) -> object:
        before = vars(self).copy()
        kept = keeps and isinstance(self.on_interrupt, str) and self.on_interrupt == "keep"  # not checked yet
        try:
            with keep_results_on_interrupt() if kept else nullcontext():
                return method(self, *args, **options)
        except BaseException:
            self.__dict__ = before
            raise

    return cast(F, changed)
