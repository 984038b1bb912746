"""Plotly's dictionaries: valid ones, of JSON's numbers, in the same colours as the drawings on paper."""

import json
import math

import pytest
from report.made_up import EVIL, MANY, ODD, X

from hinge.display.figure import Figure, Panel, Series, styles
from hinge.report.interactive import legend, panels


def lines_of(panel):
    return [trace for trace in panel["data"] if "fill" not in trace]


@pytest.mark.slow
@pytest.mark.parametrize("figure", [ODD, MANY, Figure("none", "", [])], ids=lambda figure: figure.name)
def test_plotly_takes_all_of_it(figure):
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly checks its own dictionaries")
    said = json.loads(json.dumps(panels(figure), allow_nan=False))
    for one in said:
        graph_objects.Figure(one)  # raises for a name or a value that plotly does not know
    assert len(said) == len(figure.panels)


def test_what_cannot_be_drawn_is_left_out_and_leaves_a_gap():
    zeros, empty, one_point, *nothing, points = panels(ODD)
    band, line = zeros["data"]
    assert (line["x"], line["y"]) == ([1, 2, 3, 4, 5], [1, None, 1e-2, None, None])
    assert (band["x"], band["y"]) == ([1, 1, None, 3, 3], [2, 1e-3, None, 0.5, 1e-3])
    assert all(panel["layout"]["meta"]["empty"] for panel in (empty, *nothing))
    assert [trace["error_y"]["array"] for trace in lines_of(one_point)[:1]] == [[2.0]]
    assert lines_of(points)[0]["mode"] == "markers"


def test_a_label_is_one_group_with_its_band():
    first, second = panels(MANY)
    groups = [trace["legendgroup"] for trace in first["data"]]
    assert groups.count("solver 3") == 2 and groups.count("law 1") == 1
    assert first["data"][0]["meta"] == second["data"][0]["meta"]
    entries = legend(MANY)
    assert [entry["label"] for entry in entries] == list(styles(MANY.panels))
    assert {entry["label"] for entry in entries if entry["marker"] is None} == {"law 0.5", "law 1"}
    lines = {one.label for panel in MANY.panels for one in panel.series if one.kind in ("line", "theory")}
    assert {entry["label"] for entry in entries if entry["dash"] is not None} == lines < {e["label"] for e in entries}


def test_colours_and_markers_are_those_on_paper():
    look = styles(MANY.panels)
    assert len(lines_of(panels(MANY)[0])) == len(MANY.panels[0].series) > 1
    for trace in lines_of(panels(MANY)[0]):
        style = look[trace["name"]]
        assert trace["line"]["color"] == style.light and trace["line"]["dash"] == style.dash
        assert style.marker is None or trace["marker"]["symbol"] == style.marker.interactive


def test_text_is_escaped_where_plotly_reads_markup():
    title = panels(MANY)[1]["layout"]["xaxis"]["title"]["text"]
    assert "<script>" not in title and "&lt;script&gt;" in title
    assert panels(MANY)[1]["data"][-2]["name"] == EVIL


@pytest.mark.parametrize(
    ("x", "y", "log", "switches"),
    [
        (X, X, True, ["x", "y"]),
        (X, X, False, ["x", "y"]),
        ([0, 1, 2, 3], X, False, ["y"]),
        ([0, 1, 2, 3], X, True, ["x", "y"]),  # zero is left out
        (X, [0, 1, 2, 3], False, ["x"]),
        (X, [math.nan] * 4, False, ["x"]),
    ],
)
def test_an_axis_switches_if_all_its_values_are_positive(x, y, log, switches):
    (panel,) = panels(Figure("f", "", [Panel("t", "x", "y", [Series("a", x, y)], log, log)]))
    assert panel["layout"]["meta"]["switches"] == switches
    assert panel["layout"]["xaxis"]["type"] == ("log" if log else "linear")


def test_an_axis_with_a_top_ends_there():
    lines = [Series("a", [1, 2], [5.0, 6.0]), Series("b", [1, 2], [80.0, 6.0])]
    for top, shown in ((10.0, [4.8, 10.0]), (math.inf, None)):
        (panel,) = panels(Figure("f", "", [Panel("t", "x", "y", lines, top=top)]))
        assert panel["layout"]["yaxis"]["range"] == shown


def test_large_numbers_are_short_along_an_axis():
    (panel,) = panels(Figure("f", "", [Panel("t", "x", "y", [Series("a", [0, 90_000], [0, 1])])]))
    assert panel["layout"]["xaxis"]["tickformat"] == "~s"
    assert panel["layout"]["yaxis"]["tickformat"] == ",.6~g"


@pytest.mark.parametrize(("x", "ticks"), [([1, 3], set()), ([1, 1e6], {"dtick"}), ([2, 40], {"tickvals", "ticktext"})])
def test_ticks_of_a_logarithmic_axis_are_whole_numbers_and_do_not_collide(x, ticks):
    panel = Panel("t", "x", "y", [Series("a", x, [1.0, 2.0])], log_x=True)
    found = panels(Figure("f", "c", [panel]))[0]["layout"]["meta"]["logarithmic"]["xaxis"]
    assert set(found) == ticks
    assert found.get("dtick", 2) == 2
    assert not ticks & {"ticktext"} or {"2", "5", "10", "20"} <= set(found["ticktext"])
