"""The examples of the gallery: each is a page. One of them runs here, and all where the site is built."""

import ast
import runpy
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_twelve_with_pictures():
    assert len(PAGES) >= 12
    assert all(page.stem.startswith("plot_") for page in PAGES)  # the others are not executed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_is_a_page(page):
    text = page.read_text(encoding="utf-8")
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert set(line) == {"="} and len(line) >= len(title)
    assert "plt.show()" in text and "# %%" in text
    assert not [word for word in ("fetch_", "urlretrieve", "shared/") if word in text]  # no network, no folder of ours


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_it_runs(capsys):
    matplotlib = pytest.importorskip("matplotlib", reason="the gallery's plots need matplotlib")
    matplotlib.use("agg")
    (page,) = [page for page in PAGES if page.stem == "plot_features_that_cost_money"]
    names = runpy.run_path(str(page), run_name="__main__")
    assert names["model"].coef_.any()
    assert names["fig"].axes and capsys.readouterr().out
    matplotlib.pyplot.close("all")
