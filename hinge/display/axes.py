"""Where a Display draws: on given axes, or on those of a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new pyplot figure; raises where matplotlib is not installed."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays are drawn by matplotlib: pip install 'hinge[plot]'.") from error
    return plt.subplots()[1]
