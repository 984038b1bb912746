import math
from dataclasses import FrozenInstanceError

import pytest

from hinge.display.figure import STATED, Figure, Panel, ReportTable, Series, level_line, loglog, styles


def test_coordinates_are_of_one_length():
    Series("a", [1, 2], [3, 4], [2, 3], [4, 5])
    for parts in ({"y": [3]}, {"low": [1]}, {"high": [1, 2, 3]}):
        with pytest.raises(ValueError, match="series 'a' differ in length"):
            Series("a", **{"x": [1, 2], "y": [3, 4], **parts})


def test_they_are_values():
    one, two = (Figure("f", "c", (Panel("t", "x", "y", (Series("a", (1,), (2,)),)),)) for _ in range(2))
    assert one == two
    with pytest.raises(FrozenInstanceError):
        one.name = "g"
    assert ReportTable("t", "c", ("a",), ((1,),)).digits == 3
    assert not one.panels[0].log_x and one.panels[0].series[0].kind == "line"


def test_both_axes_of_a_power_law_are_logarithmic():
    line = Series("a", (1,), (2,))
    assert loglog("t", "x", "y", [line]) == Panel("t", "x", "y", [line], log_x=True, log_y=True)


def test_a_top_cuts_off_what_is_far_above_the_rest():
    assert Panel("t", "x", "y", [], top=10.0).y_range([5.0, math.nan, 80.0]) == [4.8, 10.0]
    for all_is_shown in (Panel("t", "x", "y", []), Panel("t", "x", "y", [], top=4.0)):
        assert all_is_shown.y_range([5.0, 80.0]) is None
    assert Panel("t", "x", "y", [], top=4.0).y_range([]) is None


def test_a_level_goes_across_the_panel():
    lines = [Series("a", (1, 3), (2, 2)), Series("b", (2, 9), (2, 2))]
    assert level_line("best", 0.5, lines) == Series("best", [1, 9], [0.5, 0.5], kind="theory")
    assert level_line("best", 0.5, []) == Series("best", [], [], kind="theory")


def test_marks_of_a_paper_take_no_colour_from_what_is_measured():
    line, mark = Series("a", (1,), (2,)), Series("the paper's a", (1,), (2,), kind="stated")
    alone, both = (styles([Panel("t", "x", "y", part)]) for part in ([line], [mark, line]))
    assert both["a"] == alone["a"]
    assert both["the paper's a"].marker == STATED[0]
