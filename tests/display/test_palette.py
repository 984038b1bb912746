"""Colours and markers of series."""

import re
from itertools import pairwise

from hinge.display.figure import COLOURS, GREY, MARKERS, Panel, Series, styles


def panel(*labels, kind="line"):
    return Panel("t", "x", "y", [Series(label, [1], [1], kind=kind) for label in labels])


def test_a_label_looks_the_same_everywhere():
    found = styles([panel("a", "b"), panel("b", "c", "a")])
    assert list(found) == ["a", "b", "c"]
    assert found == styles([panel("a", "b", "c")])
    assert len({(style.light, style.marker, style.dash) for style in found.values()}) == 3


def test_many_labels_are_told_apart_without_colour():
    found = list(styles([panel(*map(str, range(4 * len(COLOURS))))]).values())
    assert len({(style.marker, style.dash) for style in found}) == len(found)
    assert len({(style.light, style.marker, style.dash) for style in found}) == len(found)
    for one, two in pairwise(found):
        assert one.marker != two.marker


def test_theory_is_grey_and_dashed():
    found = styles([panel("bound", "law", kind="theory"), panel("a")])
    assert (found["bound"].light, found["bound"].dark) == GREY
    assert found["bound"].marker is None and found["bound"].dash != found["law"].dash != "solid"
    assert found["a"].light == COLOURS[0][0]  # theory uses up no colour


def contrast(colour, page):
    def light(c):
        parts = [int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    one, two = sorted([light(colour), light(page)])
    return (two + 0.05) / (one + 0.05)


def test_colours_are_seen_on_their_page():
    for light, dark in COLOURS:
        assert re.fullmatch("#[0-9A-F]{6}", light) and re.fullmatch("#[0-9A-F]{6}", dark)
        assert contrast(light, "#FFFFFF") > 1.9
        assert contrast(dark, "#16181D") > 5
    assert len({marker.static for marker in MARKERS}) == len({marker.path for marker in MARKERS}) == len(MARKERS)


def test_a_solver_keeps_its_colour_in_every_figure():
    one, two = styles([panel("newton", "Pegasos", "other")]), styles([panel("mine", "pegasos", "sdca", "newton")])
    assert one["newton"] == two["newton"] and one["Pegasos"] == two["pegasos"]
    assert len({style.light for style in two.values()}) == 4
    both = styles([panel("liblinear", "libsvm")])
    assert both["liblinear"] != both["libsvm"]
