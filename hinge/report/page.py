"""The page of the report as HTML. All text is escaped here, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from importlib import resources
from itertools import groupby
from typing import NamedTuple

from hinge.report.outcome import Claim, Verdict
from hinge.report.parts import VERDICTS, Picture, anchor_of, duration, many, numbers_of, section_html
from hinge.report.section import Section
from hinge.version import __version__

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
TINY = (
    "<strong>Smoke-test numbers.</strong> This run had scale “tiny”: small parts of the data, few seeds, few "
    "iterations. It shows that everything runs. The verdicts below are not verdicts on the papers; those "
    "need <code>--scale full</code>."
)


HEAD = (
    '<thead><tr><th scope="col">Claim</th><th scope="col" class="n">Paper</th><th scope="col" class="n">Ours</th>'
    '<th scope="col" class="n">Ratio</th><th scope="col">Verdict</th></tr></thead>'
)
"""The columns of a table of claims."""


class Heading(NamedTuple):
    """What stands over the report."""

    title: str
    scale: str
    machine: str
    command: str


def page(heading: Heading, sections: Sequence[Section], pictures: Mapping[tuple[str, int], Picture]) -> str:
    """The whole page."""
    parts = resources.files("hinge.report")
    style, script = (parts.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    plotly = _plotly()
    body = "\n".join(section_html(section, pictures) for section in sections)
    drawing = f"<script>{plotly}</script>\n" if plotly else ""
    banner = f'<div class="banner" role="note">{TINY}</div>' if heading.scale == "tiny" else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(heading.title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body data-live="{"yes" if plotly else "no"}">
<a class="skip" href="#summary">Skip to the summary</a>
{_contents(sections)}
<main>
{_header(heading, sections)}
{banner}
{_summary(sections)}
{body}
<footer>Written by hinge {escape(__version__)}. Everything on this page is in this one file.</footer>
</main>
{drawing}<script>{script}</script>
</body>
</html>
"""


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return ""
    return str(get_plotlyjs()).replace("</script", r"<\/script")


# --- the top -------------------------------------------------------------------------------------


def _contents(sections: Sequence[Section]) -> str:
    groups = []
    for paper, group in groupby(sections, key=lambda section: section.paper):
        entries = "".join(
            f'<li><a href="#{anchor_of(s)}"><span class="place">{escape(s.place)}</span> {escape(s.title)}'
            f"{_signs(s)}</a></li>"
            for s in group
        )
        groups.append(f"<li><p>{escape(paper)}</p><ul>{entries}</ul></li>")
    claimed = any(section.outcome.claims for section in sections)
    summary = '<li><ul><li><a href="#summary">Summary of all claims</a></li></ul></li>' if claimed else ""
    return (
        '<nav aria-label="Contents"><details id="contents" open><summary>Contents</summary><ul>'
        f"{summary}{''.join(groups)}</ul>"
        "</details></nav>"
    )


def _signs(section: Section) -> str:
    counts = Counter(claim.verdict.value for claim in section.outcome.claims)
    said = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    signs = "".join(f'<span class="v {kind}">{sign}</span>' for name, (sign, kind) in VERDICTS.items() if counts[name])
    return f' <span class="signs" role="img" aria-label="{said}" title="{said}">{signs}</span>' if said else ""


def _header(heading: Heading, sections: Sequence[Section]) -> str:
    machines = Counter(result.machine for section in sections for result in section.results)
    where = (
        [heading.machine]
        if set(machines) <= {heading.machine}
        else [f"{machine} ({many(count, 'cell')})" for machine, count in machines.most_common()]
    )
    seconds = sum(result.seconds for section in sections for result in section.results)
    now = datetime.now().astimezone()
    facts = (
        ("Scale", escape(heading.scale)),
        ("Measured", f"{many(sum(machines.values()), 'cell')} in {duration(seconds)}"),
        ("Machine" if len(where) == 1 else "Machines", "<br>".join(escape(machine) for machine in where)),
        ("Written", f'<time datetime="{now.isoformat(timespec="seconds")}">{now.day} {now:%B %Y, %H:%M}</time>'),
        ("Version", f"hinge {escape(__version__)}"),
        ("Command", f"<code>{escape(heading.command)}</code>"),
    )
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<header><h1>{escape(heading.title)}</h1><dl class="facts">{rows}</dl></header>'


def _summary(sections: Sequence[Section]) -> str:
    every = [claim for section in sections for claim in section.outcome.claims]
    if not every:
        return '<div id="summary"></div>'  # a race has standings, not claims
    claims = [claim for claim in every if claim.verdict is not Verdict.SURE]
    counts = Counter(claim.verdict.value for claim in claims)
    chips = [
        f'<button type="button" class="chip" data-show="all" aria-pressed="true"><b>{len(claims)}</b>'
        " all claims</button>"
    ]
    chips += [
        f'<button type="button" class="chip {kind}" data-show="{kind}" aria-pressed="false"'
        f"{'' if counts[name] else ' disabled'}>"
        f'<span class="v {kind}" aria-hidden="true">{sign}</span> <b>{counts[name]}</b> {name}</button>'
        for name, (sign, kind) in VERDICTS.items()
        if name != Verdict.SURE.value
    ]
    bodies = "".join(_summary_group(s, sure=False) for s in sections)
    apart = "".join(_summary_group(s, sure=True) for s in sections)
    return f"""<section id="summary" aria-labelledby="summary-title">
<h2 id="summary-title">What was found again</h2>
<div class="chips" role="group" aria-label="Show claims by verdict">{"".join(chips)}</div>
<p class="count" role="status" aria-live="polite"></p>
<details id="folded-claims" class="folded"><summary>All {len(claims)} claims, the papers' numbers beside ours</summary>
<table class="claims stack" id="claims">
<caption class="hidden">Every claim, the paper's number beside ours</caption>
{HEAD}
{bodies}</table>
</details>
{_apart(apart, len(every) - len(claims))}
<p class="links">All claims with rules and conditions: <a href="data/claims.csv">claims.csv</a></p>
</section>"""


def _summary_group(section: Section, sure: bool) -> str:
    """The claims of one experiment: those that can fail, or those that can hardly."""
    claims = [claim for claim in section.outcome.claims if (claim.verdict is Verdict.SURE) == sure]
    if not claims:
        return ""
    return (
        f'<tbody><tr class="group"><th colspan="5" scope="rowgroup"><a href="#{anchor_of(section)}">'
        f"{escape(section.place)}: {escape(section.title)}</a>"
        f' <span class="unit">{escape(section.paper)}</span></th></tr>'
        f"{''.join(_summary_row(claim) for claim in claims)}</tbody>"
    )


def _apart(bodies: str, count: int) -> str:
    """Claims that could hardly fail, in a table of their own."""
    if not bodies:
        return ""
    return (
        f'<details class="folded"><summary>{many(count, "claim")} apart, which could hardly fail: they check '
        "our own work, and count for no paper</summary>"
        f'<table class="claims stack"><caption class="hidden">Claims that could hardly fail</caption>{HEAD}'
        f"{bodies}</table></details>"
    )


def _summary_row(claim: Claim) -> str:
    conditions = escape(claim.conditions)
    return (
        f'<tr data-verdict="{VERDICTS[claim.verdict.value][1]}"><th scope="row">{escape(claim.what)}'
        f'<span class="where" title="{conditions}">{conditions}</span></th>{numbers_of(claim)}</tr>'
    )
