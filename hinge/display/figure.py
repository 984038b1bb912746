"""Figures and tables as plain values: what is shown, not with what. `static` draws figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = str | float | int | None
"""What stands in one cell of a table; None where nothing is known."""


@dataclass(frozen=True)
class Series:
    """One line of a panel, with a band where there are several seeds.

    Attributes
    ----------
    label : str
        Name in the legend; a label has the same colour and marker in all panels of a figure.
    x, y : sequences of float
    low, high : sequences of float, optional
        The band about y.
    kind : {"line", "points", "theory"}
        "theory" is drawn dashed and grey: a bound or a law beside the measurements.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Literal["line", "points", "theory"] = "line"

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.x, self.y, self.low, self.high) if part is not None}
        if len(lengths) > 1:
            raise ValueError(f"The coordinates of the series {self.label!r} differ in length: {lengths}.")


@dataclass(frozen=True)
class Panel:
    """One plot of a figure, with its own two axes.

    Attributes
    ----------
    title : str
        Names the data set, and says so if it is synthetic or a stand-in.
    x, y : str
        Labels of the axes, with units.
    series : sequence of Series
    log_x, log_y : bool
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one caption.

    Attributes
    ----------
    name : str
        Of the files it is drawn to.
    caption : str
        What is shown, on what data, over how many seeds, and what the bands are.
    panels : sequence of Panel
    """

    name: str
    caption: str
    panels: Sequence[Panel]


def loglog(title: str, x: str, y: str, series: Sequence[Series]) -> Panel:
    """A panel with logarithmic scales on both axes, on which a power law is a straight line."""
    return Panel(title, x, y, series, log_x=True, log_y=True)


@dataclass(frozen=True)
class ReportTable:
    """Numbers in rows; floats are shown with `digits` significant digits."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    digits: int = 3
