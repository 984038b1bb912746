"""The page of claims is that of the stored report; and no figure of the papers' pages is typed by hand."""

import re
import tomllib

import pytest
from docs_snippets import ROOT

from docs import claims
from docs.outputs import QUOTING
from hinge.experiments.base import read_sentence

WRITTEN = {claims.TARGET, claims.CHANGED, ROOT / "docs" / f"{QUOTING}.md"}  # the last one where the site was built
PAGES = [*sorted({*(ROOT / "docs" / "papers").glob("*.md")} - WRITTEN), ROOT / "docs" / "reproduce.md"]
NOT_PROSE = re.compile(
    r"^(`{3,}|:{3,}).*?^\1|`[^`]*`|\$[^$]*\$|\]\([^)]*\)",  # code, included parts, formulas, links
    re.DOTALL | re.MULTILINE,
)
PLACE = re.compile(
    r"\b(?:Tables?|Figures?|figure|sections?|Theorems?|Lemmas?|Eq\.|Corollary|Algorithms?|lines?) \(?[\d.]+\)?"
    r"(?: (?:and|to) \(?[\d.]+\)?)?|\b(?:19|20)\d\d\b|\(\d\)",
    re.IGNORECASE,
)
"""A place in a paper, a year, or the number of an algorithm in a list."""


def typed(text):
    """The numbers in prose that are neither places nor years, and the fractions in formulas."""
    prose = re.findall(r"(?<![A-Za-z0-9])\.?\d[\d.,]*", PLACE.sub("", NOT_PROSE.sub("", text)))  # `news20` is a name
    code = re.sub(r"^(`{3,}|:{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return prose + [number for formula in re.findall(r"\$[^$]*\$", code) for number in re.findall(r"\d*\.\d+", formula)]


def test_the_page_is_what_the_stored_report_says():
    assert claims.TARGET.read_text(encoding="utf-8") == claims.text(), "run python -m docs.claims"
    assert claims.CHANGED.read_text(encoding="utf-8") == claims.changed_text(), "run python -m docs.claims"


def test_the_page_is_read_in_ten_minutes():
    """The papers' claims, at 240 words a minute; what each set says follows."""
    table, details, _ = claims.text().partition("## In detail")
    assert details and len(re.findall(r"\w{2,}", table)) <= 10 * 240


def test_stored_claims_have_the_present_sentences_and_rules():
    table = tomllib.loads((ROOT / "hinge" / "experiments" / "claims.toml").read_text(encoding="utf-8"))
    named = [(of, name) for of, own in table.items() for name, one in own.items() if isinstance(one, dict)]
    sentences = [read_sentence(*names) for names in named]
    present = {(one.quote, one.what, one.rule.words, one.changed) for one in sentences}
    stored = {tuple(row[key] for key in ("quotation", "what", "rule", "changed")) for row in claims.stored("claims")}
    assert stored == present, "run python -m docs.judge"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_figure_of_a_papers_page_is_typed_by_hand(page):
    assert not typed(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 42 times faster (Table 1, 2007).", ["42"]),
        ("as λ^-.82, where 1/λ is claimed", [".82,", "1"]),
        ("$T^{-1/2}$ and `k=8` of [that](page2.md), Lemma 3.2 and Eq. (10)", []),
        ("falls as $\\lambda^{-.82}$, by $3.1$", [".82", "3.1"]),
        ("```text\nk = 8\n```\nseven", []),
        ("| on news20 | 5.1 |\n", ["5.1"]),
    ],
)
def test_a_typed_figure_is_found(text, numbers):
    assert typed(text) == numbers


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_included_parts_are_there(page):
    text, source = page.read_text(encoding="utf-8"), claims.TARGET.read_text(encoding="utf-8")
    parts = re.findall(r":(?:start-after|end-before): (<!-- .* -->)", text)
    assert parts
    assert all(source.count(part) == 1 for part in parts)


def test_the_readme_has_the_counts_of_the_page():
    line = next(line for line in claims.text().splitlines() if line.startswith("| all |"))
    count, yes, partly, no, *_ = re.findall(r"\d+", line)
    said = f"of {count} claims {yes} reproduced, {partly} partly, {no} did not"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")
