"""scikit-learn's callbacks, which it has from version 1.9 on; with an older one estimators do without."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
else:
    try:
        from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
    except ImportError:
        CallbackContext = Any

        class CallbackSupportMixin:
            """Nothing: there are no callbacks to support."""

        def with_callbacks(method: Callable) -> Callable:
            """The method, as deep in the stack as scikit-learn puts it: warnings point to its caller's line."""

            @wraps(method)
            def called(self: Any, *args: Any, **options: Any) -> Any:
                return method(self, *args, **options)

            return called


__all__ = ["CallbackContext", "CallbackSupportMixin", "with_callbacks"]
