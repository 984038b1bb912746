"""The report: all of it there, all of it escaped, every link leading somewhere, never half a page."""

import csv
import json
import os
import sys
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")
from report.made_up import EVIL, sections

from hinge.report.outcome import Section
from hinge.report.page import Heading, write_report

SAYS = {"title": f"Title {EVIL}", "scale": "tiny", "machine": "machine 0", "command": f"hinge reproduce {EVIL}"}


class Page(HTMLParser):
    """What a browser would find: tags with their attributes, texts outside scripts, data inside."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.data, self._inside = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside = "data" if dict(attributes).get("type") == "application/json" else "code"

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data):
        if self._inside == "data":
            self.data.append(data)
        elif not self._inside:
            self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new"
    assert write_report(folder, sections(), Heading(**SAYS)) == folder / "report.html"
    return folder


@pytest.fixture(scope="module")
def page(out):
    return Page((out / "report.html").read_text("utf-8"))


@pytest.mark.slow
def test_every_claim_is_there_with_its_numbers(page):
    said = " ".join(page.texts)
    for text in (
        "Error on made-up data",
        "0.0534",
        "0.0541",
        "1.01",
        "share of rows",
        "2,400,000",
        "1.70×10⁷",
        "words",
        "reproduced within 5% of the paper's number",
        "Why?",
        "A wide table",
        "1,230",
        "4 cells",
        "4 seeds",
        "Notes on the data",
        "Failures (1)",
        "No claim was measured.",
        "machine 1",
        "hinge reproduce",
    ):
        assert text in said, text
    rows = [row["data-verdict"] for row in page.all("tr") if "data-verdict" in row]
    assert rows == ["yes", "partly", "no", "unknown"]
    assert "✓ reproduced" in said.replace("  ", " ")
    assert "Smoke-test numbers." in said


def test_text_is_text(page):
    said = "".join(page.texts)
    assert said.count("<script>window.broken = true</script>") >= 8
    kinds = [script.get("type") for script in page.all("script")]
    assert kinds.count("application/json") == 2 and len(kinds) <= 4  # and plotly, and our own
    figures = [json.loads(data) for data in page.data]
    assert figures[0]["panels"][1]["layout"]["meta"]["title"] == EVIL


def test_links_lead_somewhere_and_nothing_is_loaded(page, out):
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [a["href"] for a in page.all("a")]
    assert sum(not link.startswith("#") for link in links) == 9
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (out / link).is_file(), link
    sources = [a[name] for _, a in page.tags for name in ("src", "srcset", "data") if name in a]
    assert sources and all(source.startswith("data:") for source in sources)
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'")


def test_the_page_is_accessible_and_small(page, out):
    assert page.all("html") == [{"lang": "en"}]
    assert all(image["alt"] for image in page.all("img"))
    assert all(head.get("scope") for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert [tag for tag, _ in page.tags if tag[0] == "h" and tag[1:].isdigit()][:2] == ["h1", "h2"]
    assert any(meta.get("name") == "viewport" for meta in page.all("meta"))
    assert (out / "report.html").stat().st_size < 9_000_000


def test_cells_are_kept_as_tables_and_in_full(out):
    with (out / "data" / "made-up.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["set", "seed", "at", "error", "result seed", "bad", "cell seconds", "machine"]
    assert [row["seed"] for row in rows] == ["0", "1", "2", "3"] and rows[0]["result seed"] == "7"
    whole = json.loads((out / "data" / "made-up.json").read_text())
    assert whole[2]["values"] == {"error": 0.5, "seed": 7, "curve": [1, 2], "bad": None}
    with (out / "data" / "claims.csv").open(newline="") as lines:
        claims = list(csv.DictReader(lines))
    assert [claim["verdict"] for claim in claims] == ["reproduced", "partly", "not reproduced", "not measured"]
    assert float(claims[0]["ratio"]) == pytest.approx(0.0541 / 0.0534)
    assert EVIL in claims[1]["quotation"] and EVIL in claims[1]["on"] and claims[1]["scale"] == "tiny"
    assert [claim["claim's verdict"] for claim in claims] == [claim["verdict"] for claim in claims]


@pytest.mark.slow
def test_a_full_run_has_no_banner_and_equal_names_do_not_collide(tmp_path):
    one, _ = sections()
    again = Section(**{**vars(one), "name": "MADE-UP/odd", "failures": ()})
    path = write_report(tmp_path, [one, again], Heading(**{**SAYS, "scale": "full"}))
    assert "Smoke-test" not in path.read_text("utf-8")
    assert {file.name for file in (tmp_path / "figures").glob("*.png")} == {
        "made-up-many.png",
        "made-up-odd.png",
        "MADE-UP-odd-many.png",
        "MADE-UP-odd-odd.png",
    }


def test_an_interrupted_write_leaves_the_page_that_was_there(tmp_path, monkeypatch):
    _, nothing = sections()
    path = write_report(tmp_path, [nothing], Heading(**SAYS))
    before = path.read_bytes()
    replace = os.replace

    def interrupted(source, target):
        if target.name == "report.html":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(tmp_path, [nothing], Heading(**{**SAYS, "title": "Another"}))
    assert path.read_bytes() == before
    assert not list(tmp_path.rglob(".hinge-*"))


@pytest.mark.slow
def test_without_plotly_the_page_shows_pictures(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    page = Page(write_report(tmp_path, sections(), Heading(**SAYS)).read_text("utf-8"))
    assert page.all("body") == [{"data-live": "no"}]
    assert len([image for image in page.all("img") if image["src"].startswith("data:image/")]) == 2


@pytest.mark.slow
def test_several_processes_draw_the_same_files(tmp_path, out):
    write_report(tmp_path, sections(), Heading(**SAYS), jobs=2)
    for path in (out / "figures").iterdir():
        assert (tmp_path / "figures" / path.name).read_bytes() == path.read_bytes()
