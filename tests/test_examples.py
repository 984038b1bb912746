"""Every page of the gallery runs."""

import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
PLOTS = [page for page in PAGES if page.stem.startswith("plot_")]


def run(page, *arguments):
    """The names of a page that was run as a script with these arguments."""
    if page in PLOTS:
        pytest.importorskip("matplotlib", reason="the gallery's plots need matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(page), *arguments])  # not those of pytest
        return runpy.run_path(str(page), run_name="__main__")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_runs(page, tmp_path, capsys):
    picture = tmp_path / "picture.png"
    names = run(page, *[str(picture)] * (page in PLOTS))
    assert names["model"].coef_.any()
    assert capsys.readouterr().out
    assert page not in PLOTS or picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("page", PLOTS, ids=lambda page: page.stem)
def test_an_option_in_place_of_a_file_becomes_no_file(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run(page, "-q")
    assert "unrecognized arguments: -q" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
