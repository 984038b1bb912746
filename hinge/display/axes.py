"""Where a Display draws: on given axes, or on those of a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes, or those of a new figure of pyplot's; an error that says how to get matplotlib."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays are drawn by matplotlib: pip install 'hinge[plot]'.") from error
    return plt.subplots()[1]
