import html
import re
from dataclasses import replace

import pytest
from report.made_up import sections

from hinge.experiments.base import Claims, Sentence
from hinge.report.outcome import Outcome, Section, at_least
from hinge.report.page import Heading, by_paper, page, section_html, write_report


@pytest.mark.slow
def test_titles_are_text_and_links_lead_somewhere(tmp_path):
    write_report(tmp_path, sections(), Heading("T <b>", "small", "m", "c"))
    text = (tmp_path / "report.html").read_text()
    assert "<title>T &lt;b&gt;" in text and "<b>" not in text.split("<title>")[1][:40]
    anchors = set(re.findall(r'id="([^"]+)"', text))
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links and links <= anchors
    for section in sections():
        assert html.escape(section.title) in text


def test_a_sentence_stands_once_with_its_sets_beneath_and_what_is_ours_is_not_counted():
    one = Sentence("it is <fast>", "Table 1", "speed", at_least(5, 2), changed="another <axis>")
    parts = []
    for name in ("one", "two"):
        claims = Claims()
        claims.add(one, f"set of {name}", 6.0, 10.0, "made up")
        claims.add(one, f"other set of {name}", 6.0, 10.0, "made up", sure="it stops there")
        claims.add(Sentence("", "", "own speed"), f"set of {name}", 3.0)
        parts.append(Section(name, name.title(), "Nobody 2000", "Table 1", "What?", Outcome(claims)))
    text = page(Heading("T", "full", "m", "c"), parts, {})
    summary, sections = text.split('id="claims"')[1].split("</table>", 1)
    assert summary.count("“it is &lt;fast&gt;”") == 1 and sections.count("“it is &lt;fast&gt;”") == 2
    assert "<b>1</b> reproduced</button>" in text and "<b>1</b> claims</button>" in text
    assert "<b>1</b> ours, not counted</button>" in text
    assert "set of one" in summary and "set of two" in summary
    assert sections.count("it stops there") >= 2 and "another &lt;axis&gt;" in sections


def test_a_papers_table_stands_first_in_its_own_shape():
    text = section_html(replace(sections()[0], outcome=replace(sections()[0].outcome, figures=())), {})
    table = text.split('<table class="data printed">')[1].split("</table>")[0]
    assert text.index("Their table") < text.index('<table class="claims')
    assert '<th scope="colgroup" colspan="3">with bias</th>' in table and '<th scope="col">ν</th>' in table
    assert re.search(r'class="theirs">77<.*?<b>14\.0</b><span class="where">on fewer rows &lt;script&gt;', table)
    assert re.search(r'class="theirs">0\.000634<.*?<b>–</b>', table)
    assert "<script" not in table


def test_a_survey_is_one_paper_and_what_a_paper_says_comes_before_what_is_ours():
    claims = Claims()
    claims.add(Sentence("", "", "own speed"), "a set", 3.0)
    claims.add(Sentence("it is fast", "Table 1", "speed", at_least(5, 2)), "a set", 6.0)
    parts = [
        Section(name, "T", f"Two 2015, of {name}", "Table 1", "What?", Outcome(claims))
        for name in ("One 2011", "All 2012")
    ]
    ((paper, both),) = by_paper(parts)
    assert (paper, both) == ("Two 2015", parts)
    text = section_html(parts[0], {})
    assert text.index("it is fast") < text.index("own speed")
