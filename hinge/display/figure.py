"""A figure as data: panels of series; and their colours and markers, which also differ without colour."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Literal, NamedTuple, TypeAlias

Value: TypeAlias = str | float | int | None
"""What stands in one cell of a table; None where nothing is known."""


class Beside(NamedTuple):
    """One cell of a paper's table: what is printed there, what we measured, and on what else than the paper."""

    theirs: Value
    ours: Value
    note: str = ""


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
    kind : {"line", "points", "theory", "stated"}
        "theory" is drawn dashed and grey: a bound or a law beside the measurements. "stated" are marks at numbers that
        a paper prints.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Literal["line", "points", "theory", "stated"] = "line"

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
    top : float
        Up to which y a linear axis shows; a report can be zoomed out.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    top: float = math.inf

    def y_range(self, values: Iterable[float]) -> list[float] | None:
        """From a little below the least of these values to the top, where there is one."""
        least = min((value for value in values if math.isfinite(value)), default=self.top)
        return [least - 0.04 * (self.top - least), self.top] if least < self.top < math.inf else None


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


def level_line(label: str, at: float, beside: Sequence[Series]) -> Series:
    """A number as a line across the panel of these series."""
    xs = [x for series in beside for x in series.x]
    ends = [min(xs), max(xs)] if xs else []
    return Series(label, ends, [at] * len(ends), kind="theory")


@dataclass(frozen=True)
class ReportTable:
    """Numbers in rows; floats are shown with `digits` significant digits.

    A head "above|below" has a part that neighbours share, which stands once over them.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value | Beside]]
    digits: int = 3


Dash = Literal["solid", "dash", "dot", "dashdot", "longdash"]


class Marker(NamedTuple):
    """One shape under its name in matplotlib, its name in plotly, and as an SVG path about the origin."""

    static: str
    interactive: str
    path: str


class Style(NamedTuple):
    """How the series of one label are drawn.

    Attributes
    ----------
    light, dark : str
        The colour on white, and on a dark page.
    marker : Marker or None
        None for theory.
    dash : str
        In plotly's words.
    """

    light: str
    dark: str
    marker: Marker | None
    dash: Dash


# Okabe and Ito's colours, but for the yellow that white swallows; a dark page gets lighter ones of each hue.
COLOURS = (
    ("#0072B2", "#4BA6E0"),
    ("#D55E00", "#F0803A"),
    ("#009E73", "#2CC296"),
    ("#CC79A7", "#E09BC2"),
    ("#E69F00", "#F2B632"),
    ("#56B4E9", "#8ACBF2"),
    ("#2B2B2B", "#E4E2DC"),
)
GREY = ("#8A8A8A", "#8F949C")
INK = COLOURS[-1]
MARKERS = (
    Marker("o", "circle", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"),
    Marker("s", "square", "M-3.6 -3.6h7.2v7.2h-7.2z"),
    Marker("^", "triangle-up", "M0 -4.6L4.4 3.4H-4.4z"),
    Marker("D", "diamond", "M0 -4.8L4.8 0L0 4.8L-4.8 0z"),
    Marker("v", "triangle-down", "M0 4.6L4.4 -3.4H-4.4z"),
    Marker("P", "cross", "M-1.5 -4.4h3v2.9h2.9v3h-2.9v2.9h-3v-2.9h-2.9v-3h2.9z"),
    Marker(
        "X",
        "x",
        "M0 -1.9l2.5 -2.5l1.9 1.9l-2.5 2.5l2.5 2.5l-1.9 1.9l-2.5 -2.5l-2.5 2.5l-1.9 -1.9l2.5 -2.5l-2.5 -2.5l1.9 -1.9z",
    ),
    Marker("p", "pentagon", "M0 -4.7L4.5 -1.4L2.8 3.8H-2.8L-4.5 -1.4z"),
    Marker("<", "triangle-left", "M-4.6 0L3.4 -4.4V4.4z"),
)
STATED = (
    Marker("*", "star", "M0 -5.6L1.4 -1.7L5.4 -1.7L2.2 .7L3.4 4.6L0 2.3L-3.4 4.6L-2.2 .7L-5.4 -1.7L-1.4 -1.7z"),
    Marker("8", "octagon", "M-1.8 -4.4H1.8L4.4 -1.8V1.8L1.8 4.4H-1.8L-4.4 1.8V-1.8z"),
)
"""Marks at the numbers that a paper states."""
ROUNDS: tuple[Dash, ...] = ("solid", "dashdot", "dot", "longdash")  # of line, each time the colours are used up
MOST_MARKERS = 14  # on one line; more would hide it
THEORY: tuple[Dash, ...] = ("dash", "dot", "dashdot", "longdash")


OWN = {
    **dict.fromkeys(("sdca", "blockdual", "kernelsdca"), 0),
    **dict.fromkeys(("newton", "sbp"), 1),
    **dict.fromkeys(("pegasos", "kernelpegasos"), 2),
    **dict.fromkeys(("liblinear", "libsvm"), 3),
    **dict.fromkeys(("sklearnsgd", "smo"), 4),
    **dict.fromkeys(("simba", "activeset"), 5),
    **dict.fromkeys(("cuttingplane", "svmperf", "perceptron", "kernelperceptron"), 6),
    **dict.fromkeys(("sgd", "norma"), 7),
    **dict.fromkeys(("frugal", "switch", "cocoa"), 8),
}
"""Solvers that have a look of their own, the same in every figure. Those of linear and of kernel machines share them,
and where two of one look meet, the second one has the next that is free."""


def styles(panels: Iterable[Panel]) -> dict[str, Style]:
    """The style of each label, the same in all panels: a solver's own, for others in order of first appearance."""
    every = [series for panel in panels for series in panel.series]
    theory, stated, places = cycle(THEORY), cycle(STATED), dict[str, int]()
    measured = dict.fromkeys(series.label for series in every if series.kind in ("line", "points"))
    for known in (True, False):
        for label in measured:
            own = OWN.get(re.sub("[^a-z]", "", label.lower()))
            if (own is not None) == known:
                free = (k for k in count() if k not in places.values())
                places[label] = own if own is not None and own not in places.values() else next(free)
    chosen: dict[str, Style] = {}
    for series in every:
        if series.label in chosen:
            continue
        if series.label not in places:
            law = series.kind == "theory"
            chosen[series.label] = Style(*GREY, None, next(theory)) if law else Style(*INK, next(stated), "solid")
            continue
        at = places[series.label]
        turn, colour = divmod(at, len(COLOURS))
        chosen[series.label] = Style(*COLOURS[colour], MARKERS[at % len(MARKERS)], ROUNDS[turn % len(ROUNDS)])
    return chosen
