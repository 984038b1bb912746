"""Figures for plotly, as the dictionaries its JavaScript draws: one a panel, to be stacked on a phone."""

import html
import math
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from hinge.display.figure import MOST_MARKERS, Figure, Panel, Series, Style, styles
from hinge.display.static import points_of, smallest_positive

Row = tuple[float, float | None, float | None, float | None]


def panels(figure: Figure) -> list[dict[str, Any]]:
    """Each panel as a plotly figure, ``{"data": [...], "layout": {...}}``, in JSON's terms.

    The traces of a label, its band among them, have one `legendgroup` in all panels. The `meta` of a trace
    holds its colours on a light and on a dark page, the ``meta`` of the layout the panel's title and the axes that
    may be switched between linear and logarithmic.
    """
    look = styles(figure.panels)
    return [_panel(panel, look) for panel in figure.panels]


def legend(figure: Figure) -> list[dict[str, Any]]:
    """What a legend shows: label, colours, dash or no line, and the marker as an SVG path (None for theory)."""
    joined = {one.label for panel in figure.panels for one in panel.series if one.kind in ("line", "theory")}
    return [
        {
            "label": label,
            "light": style.light,
            "dark": style.dark,
            "dash": style.dash if label in joined else None,
            "marker": style.marker.path if style.marker else None,
        }
        for label, style in styles(figure.panels).items()
    ]


def _panel(panel: Panel, look: dict[str, Style]) -> dict[str, Any]:
    rows = [_rows(series, panel) for series in panel.series]
    data = [
        trace
        for series, points in zip(panel.series, rows, strict=True)
        for trace in _traces(series, points, look[series.label])
    ]
    xs = [row[0] for points in rows for row in points]
    ys = [value for points in rows for row in points for value in row[1:] if value is not None]
    layout = {
        "xaxis": _axis(textwrap.wrap(panel.x, 44), panel.log_x, xs),
        "yaxis": {**_axis(textwrap.wrap(panel.y, 30), panel.log_y, ys), "range": panel.y_range(ys)},
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 58, "r": 12, "t": 28, "b": 48},
        "meta": {
            "title": panel.title,
            "empty": not ys,
            "linear": {"xaxis": _plain_ticks(xs), "yaxis": _plain_ticks(ys)},
            "logarithmic": {"xaxis": _powers(xs), "yaxis": _powers(ys)},
            "switches": [axis for axis, values in (("x", xs), ("y", ys)) if values and min(values) > 0],
        },
    }
    return {"data": data, "layout": layout}


def _axis(title: list[str], logarithmic: bool, values: Sequence[float]) -> dict[str, Any]:
    return {
        "title": {"text": "<br>".join(html.escape(line) for line in title), "standoff": 8, "font": {"size": 11.5}},
        "type": "log" if logarithmic else "linear",
        "automargin": True,
        "exponentformat": "power",
        "tickangle": 0,
        "tickformat": "" if logarithmic else _plain_ticks(values),
        "tickfont": {"size": 11},
        "nticks": 5,
        "zeroline": False,
    }


def _powers(values: Sequence[float], most: int = 5) -> dict[str, Any]:
    """Where a logarithmic axis has its ticks: at up to `most` powers of ten, or at 1, 2 and 5 of one or two.

    Left to itself, plotly writes a small 2 and 5 between powers of ten, and in a narrow panel 10² and 2 read as one.
    """
    positive = [value for value in values if value > 0]
    decades = math.log10(max(positive) / min(positive)) if positive else 0.0
    if decades < 0.8:
        return {}
    if decades >= 2.0:
        return {"dtick": math.ceil(decades / most)}
    lowest, highest = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    at = [digit * 10.0**power for power in range(lowest - 1, highest + 1) for digit in (1, 2, 5)]
    return {"tickvals": at, "ticktext": [f"{value:,.6g}" for value in at]}


def _plain_ticks(values: Sequence[float]) -> str:
    """The format of numbers along a linear axis, in d3's words; large ones are short, as in 20k."""
    return "~s" if max(map(abs, values), default=0.0) >= 1e4 else ",.6~g"


def _rows(series: Series, panel: Panel) -> list[Row]:
    """x, y and both edges of the band; None where they cannot be drawn, which leaves a gap.

    On a logarithmic axis a lower edge that is not positive is moved to the smallest positive value.
    """
    x, y, low, high = values = points_of(series, panel)
    if panel.log_y:
        low = np.maximum(low, smallest_positive([values]))
    return [row for row in zip(*map(_plain, (x, y, low, high)), strict=True) if row[0] is not None]


def _traces(series: Series, rows: Sequence[Row], style: Style) -> list[dict[str, Any]]:
    xs, ys, lows, highs = ([row[i] for row in rows] for i in range(4))
    drawn = sum(y is not None for y in ys)
    banded = series.low is not None or series.high is not None
    bars = banded and (series.kind == "points" or drawn == 1)
    shared = {
        "type": "scatter",
        "name": series.label,
        "legendgroup": series.label,
        "x": xs,
        "meta": {"light": style.light, "dark": style.dark},
    }
    ranged = "<br>from %{customdata[0]:.4~g} to %{customdata[1]:.4~g}" if banded else ""
    line: dict[str, Any] = {
        **shared,
        "y": ys,
        "mode": _mode(series, drawn),
        "line": {"color": style.light, "width": 2, "dash": style.dash},
        "hovertemplate": f"<b>%{{fullData.name}}</b><br>%{{y:.4~g}} at %{{x:,.6~g}}{ranged}<extra></extra>",
    }
    if banded:
        line["customdata"] = [[low, high] for low, high in zip(lows, highs, strict=True)]
    if style.marker is not None:
        line["marker"] = {
            "symbol": style.marker.interactive,
            "color": style.light,
            "size": 13 if series.kind == "stated" else 7,
            "maxdisplayed": MOST_MARKERS if series.kind == "line" else 0,
        }
    if bars:
        line["error_y"] = {
            "type": "data",
            "symmetric": False,
            "color": style.light,
            "thickness": 1.2,
            "width": 3,
            "array": [_reach(high, y) for high, y in zip(highs, ys, strict=True)],
            "arrayminus": [_reach(y, low) for low, y in zip(lows, ys, strict=True)],
        }
    if not banded or bars:
        return [line]
    return [{**shared, **_band(rows), "fillcolor": _faint(style.light)}, line]


def _mode(series: Series, points: int) -> str:
    if series.kind == "theory" and points != 1:
        return "lines"
    return "markers" if series.kind in ("points", "stated") else "lines+markers"


def _band(rows: Sequence[Row]) -> dict[str, Any]:
    """The band as closed polygons, one for each stretch without gaps."""
    x: list[float | None] = []
    y: list[float | None] = []
    for complete, stretch in groupby(rows, key=lambda row: None not in row):
        part = list(stretch)
        if complete:
            x += [*(row[0] for row in part), *(row[0] for row in reversed(part)), None]
            y += [*(row[3] for row in part), *(row[2] for row in reversed(part)), None]
    return {
        "x": x[:-1],
        "y": y[:-1],
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"


def _reach(above: float | None, below: float | None) -> float:
    return 0.0 if above is None or below is None else max(0.0, above - below)


def _plain(values: Iterable[float]) -> list[float | None]:
    """Numbers for JSON: rounded to six digits (the data files hold all), and None in place of nan and infinity."""
    return [float(f"{v:.6g}") if v is not None and math.isfinite(v) else None for v in values]
