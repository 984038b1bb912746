import html
import re

import pytest
from report.made_up import sections

from hinge.experiments.base import claim, expect, revise
from hinge.report.outcome import Outcome, Section
from hinge.report.page import Heading, page
from hinge.report.report import write_report


@pytest.mark.slow
def test_titles_are_text_and_links_lead_somewhere(tmp_path):
    write_report(tmp_path, sections(), title="T <b>", scale="small", machine="m", command="c")
    text = (tmp_path / "report.html").read_text()
    assert "<title>T &lt;b&gt;" in text and "<b>" not in text.split("<title>")[1][:40]
    anchors = set(re.findall(r'id="([^"]+)"', text))
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links and links <= anchors
    for section in sections():
        assert html.escape(section.title) in text


def test_what_could_hardly_fail_stands_apart_and_what_was_changed_beside_what_was_said():
    old = claim("Speed", 3.0, expect(10.0, at_least=(5, 2)), "made up")
    claims = [
        revise(claim("Speed", 6.0, expect(10.0, at_least=(5, 2)), "made up"), old, "another <axis>"),
        claim("Own stopping rule", 0.9, expect(1.0, at_most=(1, 2)), "made up", sure="it stops there"),
    ]
    made = Section("one", "One", "Nobody 2000", "Table 1", "What?", Outcome(claims))
    text = page(Heading("T", "full", "m", "c"), [made], {})
    summary, apart = text.split('id="claims"')[1].split("which could hardly fail")
    assert "Speed" in summary and "Own stopping rule" not in summary
    assert "Own stopping rule" in apart.split("</table>")[0]
    assert "<b>1</b> reproduced</button>" in text and "<b>1</b> all claims" in text
    assert "was: partly" in summary
    assert "Changed after the fact: another &lt;axis&gt;" in text
