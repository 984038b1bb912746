"""scikit-learn's callbacks, which it has from version 1.9 on; with an older one estimators do without."""

from collections.abc import Callable
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
            """The method as it is."""
            return method


__all__ = ["CallbackContext", "CallbackSupportMixin", "with_callbacks"]
