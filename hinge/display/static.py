"""Figures drawn by matplotlib, for paper: PNG, and SVG whose text stays text; and the base class of displays."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hinge.display.figure import MOST_MARKERS, Dash, Figure, Panel, Series, Style, styles
from hinge.files.replacing import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

DASHES: dict[Dash, Any] = {
    "solid": "-",
    "dash": (0, (5, 2.5)),
    "dot": (0, (1.2, 2)),
    "dashdot": (0, (6, 2, 1.2, 2)),
    "longdash": (0, (10, 3)),
}
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "font.size": 9.0,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "hinge",
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.unicode_minus": True,
    "text.color": "black",
}
WIDTHS = {1: 5.2, 2: 4.3, 3: 3.7}  # of one panel, in inches, by the panels in a row
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Display:
    """What a display has after `plot`: the axes and the figure that it was drawn on."""

    ax_: Axes
    figure_: Drawn

    def _drawn_on(self, ax: Axes, drawn: Panel | None = None) -> Self:
        """Draw a panel, if one is given, and keep the axes."""
        if drawn is not None:
            panel(drawn, ax)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def axes_or_new(ax: Axes | None) -> Axes:
    """`ax`, or the axes of a new pyplot figure; raises where matplotlib is not installed."""
    if ax is not None:
        return ax
    check_installed()
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def draw(figure: Figure, axes: Sequence[Axes] | None = None) -> Drawn:
    """The figure as one of matplotlib's, not registered with pyplot.

    Parameters
    ----------
    figure : Figure
    axes : sequence of matplotlib Axes, optional
        Where to draw the panels, one each; then every panel has a legend of its own. By default panels stand
        in a grid of at most three a row above one legend.

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_installed()
    if axes is not None:
        if len(axes) < max(1, len(figure.panels)):
            raise ValueError(f"{figure.name} has {len(figure.panels)} panels, but {len(axes)} axes were given.")
        style_of = styles(figure.panels)
        for one, ax in zip(figure.panels, axes, strict=False):
            panel(one, ax, style_of)
        owner: Any = axes[0].figure
        return owner.figure
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        return _on_a_grid(figure)


def save(figure: Figure, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw the figure into files of its name, each of which appears whole or not at all.

    Returns
    -------
    list of Path
        In the order of the formats.
    """
    check_installed()
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(figure)
    paths = []
    for kind in formats:
        content = io.BytesIO()
        with matplotlib.rc_context(SETTINGS):
            undated = {"Date": None} if kind == "svg" else None  # same figure, same bytes
            drawn.savefig(content, format=kind, dpi=160, facecolor="white", metadata=undated)
        drawn.set_layout_engine("none")  # the layout is done; doing it again for each file takes as long as drawing
        paths.append(folder / f"{figure.name}.{kind}")
        with replacing(paths[-1]) as stream:
            stream.write(content.getvalue())
    return paths


def panel(panel: Panel, ax: Axes, style_of: Mapping[str, Style] | None = None, *, legend: bool = True) -> None:
    """Draw one panel on given axes.

    Values that are not finite, and on a logarithmic axis those that are not positive, are left out; a band
    whose lower edge is not positive there ends at the smallest positive value of the panel.

    Parameters
    ----------
    panel : Panel
    ax : matplotlib Axes
    style_of : dict of Style by label, optional
        From `styles` over all panels of a figure; by default over this one.
    legend : bool
        Whether to draw a legend, where there is more than one label.
    """
    style_of = styles([panel]) if style_of is None else style_of
    points = [points_of(series, panel) for series in panel.series]
    floor = smallest_positive(points) if panel.log_y else -math.inf
    for series, values in zip(panel.series, points, strict=True):
        _series(ax, series, values, style_of[series.label], floor)
    box = ax.get_window_extent()  # in pixels; a letter is a little narrower than a twelfth of an inch
    across, up = (int(size * 13 / ax.figure.dpi) for size in (box.width, box.height))
    for text in (
        ax.set_title(_wrapped(panel.title, max(20, across))),
        ax.set_xlabel(_wrapped(panel.x, max(20, across))),
        ax.set_ylabel(_wrapped(panel.y, max(20, up))),
    ):
        text.set_parse_math(False)
    if not any(np.isfinite(y).any() for _, y, _, _ in points):
        ax.text(0.5, 0.5, "no data", transform=ax.transAxes, ha="center", va="center", color="0.45")
        ax.set(xticks=[], yticks=[])
        return
    (_logarithmic if panel.log_x else _linear)(ax, "x")
    (_logarithmic if panel.log_y else _linear)(ax, "y")
    if shown := panel.y_range(np.concatenate([low for _, _, low, _ in points])):
        ax.set_ylim(*shown)
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and len({series.label for series in panel.series}) > 1:
        _explain(ax, style_of, {series.label for series in panel.series})


def check_installed() -> None:
    """Raise, with what to install, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Figures are drawn by matplotlib: pip install 'hinge[plot]'.") from error


def _on_a_grid(figure: Figure) -> Drawn:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    count = max(1, len(figure.panels))
    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = math.ceil(count / columns)
    panel_height, line_height = 3.0, 0.19  # in inches, of axes and of a line of their title
    width = columns * WIDTHS[columns]
    drawn = Drawn(figsize=(width, rows * panel_height), layout=ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.07))
    FigureCanvasAgg(drawn)
    style_of = styles(figure.panels)
    cells = drawn.add_gridspec(rows, columns)
    for i, one in enumerate(figure.panels):
        ax = drawn.add_subplot(cells[i // columns, i % columns])
        ax.title.set_fontsize(9.5)
        panel(one, ax, style_of, legend=False)
    if not figure.panels:
        drawn.text(0.5, 0.5, "no data", ha="center", va="center", color="0.45")
    lines = max((1 + ax.get_title().count("\n") for ax in drawn.axes), default=1)
    height = rows * (panel_height + line_height * lines)
    if len(style_of) > 1:
        height += _legend_below(drawn, style_of, width)
    drawn.set_size_inches(width, height)
    return drawn


def _legend_below(drawn: Drawn, style_of: Mapping[str, Style], width: float) -> float:
    """One legend under all panels, in columns that fill its width; returns its height in inches."""
    for most in range(min(len(style_of), 6), 0, -1):
        columns = math.ceil(len(style_of) / math.ceil(len(style_of) / most))  # rows of about equal length
        legend = _explain(drawn, style_of, set(style_of), loc="outside lower center", ncols=columns)
        box = legend.get_window_extent(drawn.canvas.get_renderer())  # type: ignore[attr-defined]
        if box.width / drawn.dpi <= width - 0.2 or columns == 1:
            break
        legend.remove()
    return float(box.height / drawn.dpi)


def _explain(on: Axes | Drawn, style_of: Mapping[str, Style], labels: set[str], **where: Any) -> Any:
    from matplotlib.lines import Line2D

    shown = {label: style for label, style in style_of.items() if label in labels}
    handles = [Line2D([], [], markersize=5, **_line_of(style)) for style in shown.values()]
    names = [_wrapped(label, 40) or " " for label in shown]
    # A label that begins with an underscore is one that matplotlib would leave out.
    names = [f"\u200b{name}" if name.startswith("_") else name for name in names]
    legend = on.legend(handles, names, frameon=False, fontsize=8.5, handlelength=2.6, **where)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def _line_of(style: Style) -> dict[str, Any]:
    """How a line is drawn, in matplotlib's words."""
    marker = style.marker.static if style.marker else "None"
    return {"color": style.light, "linestyle": DASHES[style.dash], "linewidth": 1.5, "marker": marker}


def _wrapped(text: str, width: int) -> str:
    """As few lines as fit, of about the same length; a number stays with its unit or its name."""
    text = re.sub(r"(\d) (?=[^\W\d])|(?<=\w) (?==)|(?<==) ", lambda gap: f"{gap[1] or ''}\u00a0", text)
    lines = len(textwrap.wrap(text, width))
    narrowest = next((w for w in range(max(1, width // 2), width) if len(textwrap.wrap(text, w)) == lines), width)
    return textwrap.fill(text, narrowest)


def points_of(series: Series, panel: Panel) -> tuple[np.ndarray, ...]:
    """x, y and both edges of the band, with NaN for whatever cannot be drawn."""
    x, y = _numbers(series.x, panel.log_x), _numbers(series.y, panel.log_y)
    low = _numbers(series.y if series.low is None else series.low, False)
    high = _numbers(series.y if series.high is None else series.high, panel.log_y)
    gone = np.isnan(x) | np.isnan(y)
    return x, *(np.where(gone, np.nan, part) for part in (y, low, high))


def _numbers(values: Sequence[float], positive: bool) -> np.ndarray:
    numbers = np.array([math.nan if value is None else value for value in values], dtype=float)
    kept = np.isfinite(numbers) & ((numbers > 0) if positive else True)
    return np.where(kept, numbers, np.nan)


def smallest_positive(points: Sequence[tuple[np.ndarray, ...]]) -> float:
    """Of all y and edges of bands; infinite if there is none."""
    values = np.concatenate([part for _, *parts in points for part in parts] or [np.empty(0)])
    return float(np.min(values[values > 0], initial=math.inf))


def _series(ax: Axes, series: Series, values: tuple[np.ndarray, ...], style: Style, floor: float) -> None:
    x, y, low, high = values
    drawn = int(np.isfinite(y).sum())
    if not drawn:
        return
    low = np.fmax(low, floor)
    banded = series.low is not None or series.high is not None
    marker, size = style.marker.static if style.marker else None, 10 if series.kind == "stated" else 5
    if series.kind == "theory":
        ax.plot(x, y, color=style.light, linestyle=DASHES[style.dash], linewidth=1.3, zorder=2)
        if drawn == 1:
            marker = "_"
    if series.kind in ("points", "stated") or drawn == 1:
        if banded:
            reach = np.array([np.nan_to_num(y - low), np.nan_to_num(high - y)])
            ax.errorbar(x, y, np.maximum(reach, 0.0), fmt="none", ecolor=style.light, elinewidth=1.0, capsize=2.0)
        ax.plot(x, y, color=style.light, linestyle="none", marker=marker, markersize=size, zorder=3)
        return
    if banded:
        ax.fill_between(x, low, high, color=style.light, alpha=0.16, linewidth=0, zorder=1)
    if series.kind == "line":
        every = max(1, math.ceil(len(x) / MOST_MARKERS))
        ax.plot(x, y, markersize=4.5, markevery=every, zorder=3, **_line_of(style))


def _linear(ax: Axes, axis: Literal["x", "y"]) -> None:
    from matplotlib.ticker import FuncFormatter

    if 1e4 <= max(abs(limit) for limit in getattr(ax, f"get_{axis}lim")()) < 1e7:
        getattr(ax, f"{axis}axis").set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        ax.locator_params(axis=axis, nbins=5)


def _logarithmic(ax: Axes, axis: Literal["x", "y"]) -> None:
    """A logarithmic axis whose labels do not run into each other where it spans little more than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(ax, f"set_{axis}scale")("log")
    low, high = getattr(ax, f"get_{axis}lim")()
    this = getattr(ax, f"{axis}axis")
    this.minorticks_off()
    if high / low < 80:
        between = (1, 2, 5) if high / low > 8 else (1, 2, 3, 5) if high / low > 3 else (1, 1.5, 2, 3, 4, 5, 6, 8)
        this.set_major_locator(LogLocator(subs=between, numticks=9))
        this.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        return
    this.set_major_locator(LogLocator(numticks=7))
    # Not matplotlib's formulas, which take long to set and are torn apart in an SVG.
    this.set_major_formatter(FuncFormatter(lambda value, _: _power(math.log10(value))))
    if high / low < 2e4:
        this.set_minor_locator(LogLocator(subs=(2, 5), numticks=20))
        this.set_minor_formatter(NullFormatter())


def _power(exponent: float) -> str:
    return f"10{str(round(exponent)).translate(SUPERSCRIPTS)}"


def _short(value: float) -> str:
    if value == 0 or 1e-4 < abs(value) < 1e7:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    return f"{value / 10**exponent:.4g}×{_power(exponent)}"
