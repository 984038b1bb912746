"""The pages: their Python runs, their links lead somewhere, and the README is short."""

import re

import pytest
from docs_snippets import ROOT, blocks, run

from docs.outputs import QUOTING

PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "gallery" not in page.parts)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)")
"""The target of a link or of a picture."""


def test_the_readme_fits_two_minutes():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) <= 900


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The fit ended because .* with no certificate")
def test_the_python_of_the_readme_runs():
    assert len(blocks(ROOT / "README.md")) >= 3
    names = run(ROOT / "README.md")
    assert names["model"].gap_ <= 1e-2


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page) and not page.match(f"{QUOTING}.md")], ids=lambda page: page.stem
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # pages show limits, which warn
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some pages write files
    pytest.importorskip("matplotlib").use("agg")
    assert run(page)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    missing = []
    for link, picture in LINK.findall(page.read_text(encoding="utf-8")):
        target = link or picture
        if "://" in target or target.startswith("mailto:"):
            continue
        if target.split("/")[0] == "gallery" or "/gallery/" in target:  # made by the build from an example
            target = re.sub(r".*gallery/(.*)\.rst", r"\1", target)
            found = target.endswith("index") or (ROOT / "examples" / f"{target}.py").exists()
        else:
            found = (page.parent / target).exists()
        if not found:
            missing.append(target)
    assert not missing
