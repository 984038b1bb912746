import html
import re

import pytest
from report.made_up import sections

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
