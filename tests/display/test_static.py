"""matplotlib's drawings: odd data, one look for a label, nothing that overlaps, text that stays text."""

import io
import sys

import pytest

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")

from matplotlib.figure import Figure as Drawn
from report.made_up import EVIL, MANY, ODD, X, many

from hinge.display.figure import COLOURS, MARKERS, Figure, Panel, Series, styles
from hinge.display.static import draw, panel, save


def lines_of(ax):
    return [line for line in ax.get_lines() if line.get_xdata().size]


@pytest.mark.slow
@pytest.mark.parametrize("figure", [ODD, MANY, Figure("none", "", [])], ids=lambda figure: figure.name)
def test_odd_figures_are_drawn_and_pyplot_knows_nothing_of_them(figure, tmp_path):
    png, svg = save(figure, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<text" in svg.read_text() or not figure.panels
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_what_cannot_be_drawn_is_left_out():
    axes = draw(ODD).axes
    drawn = lines_of(axes[0])[0]
    kept = [(x, y) for x, y in zip(drawn.get_xdata(), drawn.get_ydata(), strict=True) if x == x and y == y]
    assert kept == [(1, 1), (3, 1e-2)]
    for ax in (axes[1], axes[3], axes[4]):
        assert [text.get_text() for text in ax.texts] == ["no data"]
    assert axes[2].get_xscale() == axes[2].get_yscale() == "log"


def test_a_band_ends_at_the_smallest_positive_value():
    series = Series("a", X, [1, 1, 1, 1], [0.5, -1, 0, 0.5], [2, 2, 2, 2])
    ax = draw(Figure("f", "", [Panel("", "x", "y", [series], False, True)])).axes[0]
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.5, 2)


def test_a_label_looks_the_same_in_all_panels_and_no_two_are_alike():
    first, second = (lines_of(ax) for ax in draw(MANY).axes)
    assert (first[0].get_color(), first[0].get_marker()) == (second[0].get_color(), second[0].get_marker())
    looks = {(line.get_color(), line.get_marker(), str(line.get_linestyle())) for line in first[:12]}
    assert len(looks) == 12
    assert len({(style.light, style.marker) for style in styles(MANY.panels).values() if style.marker}) == 14
    assert all(line.get_color() == "#8A8A8A" and line.get_linestyle() == "--" for line in first[12:])


def test_colours_and_markers_repeat_out_of_step():
    assert len(COLOURS) == 7 and len(MARKERS) == 9


@pytest.mark.slow
def test_nothing_overlaps_the_legend_or_leaves_the_page():
    drawn = draw(MANY)
    drawn.canvas.draw()
    page = drawn.bbox
    (legend,) = drawn.legends
    boxes = [ax.get_tightbbox() for ax in drawn.axes]
    for i, box in enumerate(boxes):
        assert not box.overlaps(legend.get_window_extent())
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert not any(box.overlaps(other) for other in boxes[:i])
    wide = legend.get_window_extent()
    assert page.x0 <= wide.x0 and wide.x1 <= page.x1
    assert {text.get_text().replace("\n", " ") for text in legend.get_texts()} >= {"solver 11", "law 1"}
    assert "\n" in drawn.axes[0].get_title()


@pytest.mark.slow
@pytest.mark.parametrize(("panels", "rows"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_at_most_three_panels_a_row(panels, rows):
    one = Panel("t", "x", "y", [Series("a", X, X)])
    drawn = draw(Figure("f", "", [one] * panels))
    assert drawn.axes[0].get_gridspec().nrows == rows
    assert drawn.axes[0].get_gridspec().ncols <= 3
    assert not drawn.legends  # one label needs no legend


@pytest.mark.slow
def test_text_in_an_svg_is_text_and_no_formula(tmp_path):
    (path,) = save(MANY, tmp_path, ("svg",))
    said = path.read_text()
    assert "781,265" in said and "$x_1$" in said and "<script>" not in said
    assert save(MANY, tmp_path / "again", ("svg",))[0].read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_panels_go_onto_given_axes():
    drawn = Drawn()
    axes = drawn.subplots(1, 2)
    assert draw(MANY, axes) is drawn
    assert all(ax.get_legend() is not None for ax in axes)
    with pytest.raises(ValueError, match="has 2 panels, but 1 axes were given"):
        draw(MANY, axes[:1])
    ax = Drawn().subplots()
    panel(Panel("t", "x", "y", many(1), True, True), ax, legend=False)
    assert ax.get_legend() is None and len(lines_of(ax)) == 3
    ax.figure.savefig(io.BytesIO())


@pytest.mark.slow
def test_a_wide_linear_axis_has_thousands_apart():
    drawn = draw(Figure("f", "", [Panel("t", "x", "y", [Series(EVIL, [0, 90_000], [0, 1])])]))
    drawn.canvas.draw()
    assert "20,000" in {text.get_text() for text in drawn.axes[0].get_xticklabels()}


def test_an_axis_with_a_top_ends_there_and_another_takes_what_comes(ax):
    lines = [Series("a", [1, 2], [5.0, 6.0]), Series("b", [1, 2], [80.0, 6.0])]
    panel(Panel("t", "x", "y", lines), ax)
    assert ax.get_ylim()[1] > 80 and ax.get_autoscaley_on()
    panel(Panel("t", "x", "y", lines, top=10.0), ax)
    assert ax.get_ylim() == pytest.approx((4.8, 10.0))
