"""scikit-learn's callbacks, available from version 1.9 on; with older versions there are none."""

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
            """Empty: there are no callbacks."""

        def with_callbacks(method: Callable) -> Callable:
            """The method wrapped once, as by scikit-learn, so that stack levels of warnings are the same."""

            @wraps(method)
            def called(self: Any, *args: Any, **options: Any) -> Any:
                return method(self, *args, **options)

            return called


__all__ = ["CallbackContext", "CallbackSupportMixin", "with_callbacks"]
