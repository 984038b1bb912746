"""Every page of the gallery runs."""

import runpy
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_runs(page, capsys):
    if page.stem.startswith("plot_"):
        pytest.importorskip("matplotlib", reason="the gallery's plots need matplotlib")
    names = runpy.run_path(str(page))
    assert names["model"].coef_.any()
    assert capsys.readouterr().out
