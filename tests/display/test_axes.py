"""Where a Display draws."""

import sys

import pytest

from hinge.display.static import axes_or_new

matplotlib = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
matplotlib.use("Agg")


def test_given_axes_are_used_and_new_ones_made(ax):
    import matplotlib.pyplot as plt

    assert axes_or_new(ax) is ax
    before = len(plt.get_fignums())
    new = axes_or_new(None)
    assert new is not ax and len(plt.get_fignums()) == before + 1


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'hinge\[plot\]'"):
        axes_or_new(None)
