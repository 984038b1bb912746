"""The report: a page as HTML that needs nothing else, beside it the figures as files and the numbers as tables.

All text is escaped here, and nothing is loaded from elsewhere.
"""

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from hinge.display import static
from hinge.display.figure import Beside, Figure, ReportTable, Value
from hinge.report import interactive
from hinge.report.outcome import Claim, Finding, Section, Verdict, csv_text, finite, merge, write_text
from hinge.version import __version__

VERDICTS = {
    Verdict.REPRODUCED: ("✓", "yes", "every set that is judged agrees"),
    Verdict.PARTLY: ("◐", "partly", "some do not, or by less than the rule asks for"),
    Verdict.NOT: ("✗", "no", "most of them do not"),
    Verdict.UNKNOWN: ("–", "unknown", "with the reason"),
    Verdict.SILENT: ("≡", "silent", "no number would speak against the paper: with the reason"),
    Verdict.OURS: ("+", "ours", "the paper does not claim it"),
}
"""The sign, the CSS class and the meaning of each verdict."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTHING = "–"


class Picture(NamedTuple):
    """A figure as files: relative links, and one of them as a data URI."""

    png: str
    svg: str
    inlined: str


def number(value: Value | np.generic, digits: int = 3) -> str:
    """A value for readers: `digits` significant digits, thousands apart, powers of ten where they help."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if not isinstance(value, float):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -4 <= power < 7:
        text = f"{float(f'{value:.{digits}g}'):,.{max(0, digits - 1 - power)}f}"
    else:
        text = f"{mantissa}×10{str(power).translate(SUPERSCRIPTS)}"
    return text.replace("-", "−")


def plain_name(name: str) -> str:
    """A name that any file system takes, and any link."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "unnamed"


def many(count: int, one: str) -> str:
    """So many of something."""
    return f"{number(count)} {one}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 120:
        return f"{number(float(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def badge(verdict: Verdict) -> str:
    """A verdict with its sign."""
    sign, kind, _ = VERDICTS[verdict]
    return f'<span class="badge {kind}"><span aria-hidden="true">{sign}</span> {verdict.value}</span>'


def row_html(row: Finding, unit: str) -> str:
    """What one set says: its name and conditions, the paper's number, ours, the ratio, the verdict."""
    unit = f' <span class="unit">{escape(unit)}</span>' if unit else ""
    words = isinstance(row.paper, str)
    theirs = f"{escape(number(row.paper))}{'' if words or row.paper is None else unit}"
    ours = f"{number(row.ours)}{unit if row.ours is not None else ''}"
    said = escape("; ".join(part for part in (row.why, row.conditions) if part))
    return (
        f'<tr><th scope="row">{escape(row.on)}<span class="where" title="{said}">{said}</span></th>'
        f'<td class="{"words" if words else "n"}" data-label="Paper"><span>{theirs}</span></td>'
        f'<td class="n" data-label="Ours"><span>{ours}</span></td>'
        f'<td class="n{" nil" if row.ratio is None else ""}" data-label="Ratio">{number(row.ratio)}</td>'
        f'<td class="verdict" data-label="Verdict">{badge(row.verdict)}</td></tr>'
    )


def said_of(claim: Claim) -> str:
    """The paper's words, or what is measured where they are none."""
    return f"“{claim.sentence.quote}”" if claim.sentence.quote else claim.sentence.what


def anchor_of(section: Section) -> str:
    """The id of a section, for links."""
    return f"x-{plain_name(section.name)}"


def section_html(section: Section, pictures: Mapping[tuple[str, int], Picture]) -> str:
    """One experiment: its question, claims, figures, tables, and what went wrong."""
    anchor, outcome, name = anchor_of(section), section.outcome, plain_name(section.name)
    seeds = len({result.cell["seed"] for result in section.results if "seed" in result.cell})
    counted = [
        many(len(section.results), "cell"),
        *([many(seeds, "seed")] if seeds else []),
        f"{duration(sum(result.seconds for result in section.results))} of measuring",
        f'<a href="data/{name}.csv">{name}.csv</a>',
        f'<a href="data/{name}.json">{name}.json</a>',
    ]
    figures = (_figure(figure, pictures[section.name, i]) for i, figure in enumerate(outcome.figures))
    return "\n".join(
        (
            f'<section id="{anchor}" class="experiment" aria-labelledby="{anchor}-title">',
            f'<p class="eyebrow">{escape(section.paper)} · {escape(section.place)}</p>',
            f'<h2 id="{anchor}-title">{escape(section.title)}</h2>',
            f'<p class="question">{escape(section.question)}</p>',
            _table(outcome.printed, "data printed") if outcome.printed else "",
            *figures,
            _claims(outcome.claims, bool(outcome.tables or outcome.figures)),
            *(_table(table) for table in outcome.tables),
            _list("Notes on the data", outcome.notes, "notes"),
            _list(f"Failures ({len(section.failures)})", section.failures, "failures"),
            f'<p class="links counted">{" · ".join(counted)}</p>',
            "</section>",
        )
    )


def _claims(claims: Sequence[Claim], shown: bool) -> str:
    if not claims:
        return "" if shown else '<p class="none">No claim was measured.</p>'
    bodies = "".join(
        f'<tbody><tr class="group"><th colspan="4" scope="rowgroup">{escape(said_of(claim))} '
        f'<span class="unit">{escape(claim.sentence.place)}</span>{_terms(claim)}</th>'
        f'<td class="verdict">{badge(claim.verdict)}</td></tr>'
        f"{''.join(row_html(row, claim.sentence.unit) for row in claim.rows)}</tbody>"
        for claim in sorted(claims, key=lambda claim: not claim.sentence.counts)  # the paper's first
    )
    return f'<table class="claims stack"><caption class="hidden">Claims of the paper</caption>{HEAD}{bodies}</table>'


def _terms(claim: Claim) -> str:
    """What is measured, by which rule, and what stood here before."""
    one = claim.sentence
    terms = [("Measured", one.what if one.quote else ""), ("Rule", one.rule.words), ("Changed", one.changed)]
    said = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in terms if text)
    return f'<dl class="terms">{said}</dl>'


def _figure(figure: Figure, picture: Picture) -> str:
    said = {"panels": interactive.panels(figure), "legend": interactive.legend(figure)}
    # With every "<" written as an escape no text can end the script element.
    data = json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    titles = "; ".join(f"{panel.title}: {panel.y} against {panel.x}" for panel in figure.panels)
    return (
        f'<figure><div class="live" data-panels="{len(figure.panels)}"></div>'
        f'<script type="application/json">{data}</script>'
        f'<img class="still" alt="{escape(f"{figure.caption} Panels: {titles}")}" src="{picture.inlined}">'
        f"<figcaption>{escape(figure.caption)} "
        f'<span class="links">Picture: <a href="{picture.png}">PNG</a>, '
        f'<a href="{picture.svg}">SVG</a></span>'
        "</figcaption></figure>"
    )


def _table(table: ReportTable, kind: str = "data") -> str:
    numeric = [
        any(isinstance(row[i], int | float | np.number) for row in table.rows) for i in range(len(table.columns))
    ]
    rows = ""
    for row in table.rows:
        entries = [f"{_n(right)}>{_entry(value, table.digits)}" for value, right in zip(row, numeric, strict=True)]
        first = f'<th scope="row"{entries[0]}</th>' if entries else ""
        rows += f"<tr>{first}{''.join(f'<td{entry}</td>' for entry in entries[1:])}</tr>"
    caption, heads = escape(table.caption), _heads(table.columns, numeric)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f'<table class="{kind}"><caption>{caption}</caption><thead>{heads}</thead><tbody>{rows}</tbody></table></div>'
    )


def _entry(value: Value | Beside, digits: int) -> str:
    """A cell; of a paper's table what is printed there, then ours."""
    if not isinstance(value, Beside):
        return escape(number(value, digits))
    theirs, ours = (escape(number(one, digits)) for one in value[:2])
    note = f'<span class="where">{escape(value.note)}</span>' if value.note else ""
    return f'<span class="theirs">{theirs}</span><span class="slash"> / </span><b>{ours}</b>{note}'


def _heads(columns: Sequence[str], numeric: Sequence[bool]) -> str:
    """The heads, and above them what neighbours share."""
    parts = [name.rpartition("|") for name in columns]
    head = "".join(
        f'<th scope="col"{_n(right)}>{escape(name)}</th>' for (*_, name), right in zip(parts, numeric, strict=True)
    )
    shared = [(over, len(list(group))) for over, group in groupby(over for over, *_ in parts)]
    above = "".join(
        f'<th scope="colgroup" colspan="{width}">{escape(over)}</th>' if over else f'<td colspan="{width}"></td>'
        for over, width in shared
    )
    return f"<tr>{above}</tr><tr>{head}</tr>" if any(over for over, _ in shared) else f"<tr>{head}</tr>"


def _n(right: bool) -> str:
    return ' class="n"' if right else ""


def _list(title: str, lines: Sequence[str], kind: str) -> str:
    if not lines:
        return ""
    entries = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<div class="{kind}"><h3>{title}</h3><ul>{entries}</ul></div>'


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
    """What stands over the report.

    Attributes
    ----------
    title : str
    scale : str
        On "tiny" the page says that the runs are too small to judge the papers by.
    machine : str
        The one that writes; the cells say themselves where they ran.
    command : str
        What to type to get this report again.
    """

    title: str
    scale: str
    machine: str
    command: str


def page(heading: Heading, sections: Sequence[Section], pictures: Mapping[tuple[str, int], Picture]) -> str:
    """The whole page."""
    parts = resources.files("hinge.report")
    style, script, frame = (parts.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))
    plotly = _plotly()
    return Template(frame).substitute(
        title=escape(heading.title),
        style=style,
        live="yes" if plotly else "no",
        contents=_contents(sections),
        banner=f'<div class="banner" role="note">{TINY}</div>' if heading.scale == "tiny" else "",
        summary=_summary(sections),
        facts=_facts(heading, sections),
        body="\n".join(_paper(name, group, pictures) for name, group in by_paper(sections)),
        version=escape(__version__),
        drawing=f"<script>{plotly}</script>\n" if plotly else "",
        script=script,
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return ""
    return str(get_plotlyjs()).replace("</script", r"<\/script")


# --- the top -------------------------------------------------------------------------------------


def by_paper(sections: Sequence[Section]) -> list[tuple[str, list[Section]]]:
    """The sections of each paper; the sections of a survey, which name the papers that it is of, together."""
    grouped = groupby(sections, key=lambda section: section.paper.partition(", of ")[0])
    return [(paper, list(group)) for paper, group in grouped]


def _paper(name: str, sections: Sequence[Section], pictures: Mapping[tuple[str, int], Picture]) -> str:
    """The page of one paper."""
    body = "\n".join(section_html(section, pictures) for section in sections)
    counts = _count(sections)
    counted = " ".join(
        f'<span class="badge {kind}">{sign} {counts[verdict]} {verdict.value}</span>'
        for verdict, (sign, kind, _) in VERDICTS.items()
        if counts[verdict]
    )
    return (
        f'<article class="paper" id="p-{plain_name(name)}"><h1>{escape(name)}</h1>'
        f'<p class="counts">{counted}</p>\n{body}</article>'
    )


def _claims_of(sections: Iterable[Section]) -> list[Claim]:
    """Each sentence once, with what all these sections measured of it."""
    return merge(claim for section in sections for claim in section.outcome.claims)


def _count(sections: Iterable[Section]) -> Counter[Verdict]:
    """How many claims have each verdict."""
    return Counter(claim.verdict for claim in _claims_of(sections))


def _contents(sections: Sequence[Section]) -> str:
    groups = ""
    for paper, group in by_paper(sections):
        entries = "".join(
            f'<li><a href="#{anchor_of(s)}"><span class="place">{escape(s.place)}</span> {escape(s.title)}'
            f"{_signs(s)}</a></li>"
            for s in group
        )
        groups += f'<li><a class="paper" href="#p-{plain_name(paper)}">{escape(paper)}</a><ul>{entries}</ul></li>'
    return (
        '<nav aria-label="Contents"><details id="contents" open><summary>Contents</summary><ul>'
        f'<li><a class="paper" href="#overview">All papers</a></li>{groups}</ul>'
        "</details></nav>"
    )


def _signs(section: Section) -> str:
    counts = _count([section])
    shown = {verdict: about for verdict, about in VERDICTS.items() if counts[verdict]}
    said = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in shown)
    signs = "".join(f'<span class="v {kind}">{sign}</span>' for sign, kind, _ in shown.values())
    return f' <span class="signs" role="img" aria-label="{said}" title="{said}">{signs}</span>' if said else ""


def _facts(heading: Heading, sections: Sequence[Section]) -> str:
    """How the report was made."""
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
    return f'<dl class="facts">{rows}</dl>'


def _summary(sections: Sequence[Section]) -> str:
    counts = _count(sections)
    if not counts:
        return '<div id="summary"></div>'  # a race has standings, not claims
    counted = counts.total() - counts[Verdict.OURS]
    chips = [f'<button type="button" class="chip" data-show="all" aria-pressed="true"><b>{counted}</b> claims</button>']
    chips += [
        f'<button type="button" class="chip {kind}" data-show="{kind}" aria-pressed="false"'
        f' title="{meaning}"{"" if counts[verdict] else " disabled"}>'
        f'<span aria-hidden="true">{sign}</span> <b>{counts[verdict]}</b> {verdict.value}</button>'
        for verdict, (sign, kind, meaning) in VERDICTS.items()
    ]
    legend = "".join(
        f'<div><dt><span class="v {kind}">{sign}</span> {verdict.value}</dt><dd>{meaning}</dd></div>'
        for verdict, (sign, kind, meaning) in VERDICTS.items()
    )
    papers = ""
    for paper, group in by_paper(sections):
        found = _count(group)
        cells = "".join(f'<td class="n">{found[verdict] or ""}</td>' for verdict in VERDICTS)
        papers += f'<tr><th scope="row"><a href="#p-{plain_name(paper)}">{escape(paper)}</a></th>{cells}</tr>'
    signs = "".join(
        f'<th scope="col" class="n v {kind}" title="{verdict.value}" aria-label="{verdict.value}">{sign}</th>'
        for verdict, (sign, kind, _) in VERDICTS.items()
    )
    left = {claim.sentence: claim for claim in _claims_of(sections)}  # each stands where it is measured first
    bodies = ""
    for section in sections:
        own = [left.pop(claim.sentence) for claim in section.outcome.claims if claim.sentence in left]
        bodies += _summary_group(section, own)
    return f"""<section id="summary" aria-labelledby="summary-title">
<h2 id="summary-title">What was found again</h2>
<p>One sentence of a paper is one claim, whatever the number of sets that it is measured on. In the papers’ tables a
cell has their number / <b>ours</b>; ★ in a figure is a number that the paper states.</p>
<dl class="terms legend-of-signs">{legend}</dl>
<table class="data papers"><caption class="hidden">A page for each paper</caption>
<thead><tr><th scope="col">a page for each paper</th>{signs}</tr></thead><tbody>{papers}</tbody></table>
<div class="chips" role="group" aria-label="Show claims by verdict">{"".join(chips)}</div>
<p class="count" role="status" aria-live="polite"></p>
<table class="claims stack" id="claims">
<caption class="hidden">Every claim with its verdict</caption><colgroup><col><col class="of-verdict"></colgroup>
{bodies}</table>
<p class="links">All claims with rules and conditions: <a href="data/claims.csv">claims.csv</a></p>
</section>"""


def _summary_group(section: Section, claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    rows = "".join(map(_summary_row, claims))
    return (
        f'<tbody><tr class="group"><th colspan="2" scope="rowgroup"><a href="#{anchor_of(section)}">'
        f"{escape(section.place)}: {escape(section.title)}</a>"
        f' <span class="unit">{escape(section.paper)}</span></th></tr>{rows}</tbody>'
    )


def _summary_row(claim: Claim) -> str:
    found = "; ".join(f"{row.on}: {number(row.ours)}" for row in claim.rows)
    return (
        f'<tr data-verdict="{VERDICTS[claim.verdict][1]}"><th scope="row">{escape(said_of(claim))}'
        f'<span class="where" title="{escape(found)}">{escape(found)}</span></th>'
        f'<td class="verdict" data-label="Verdict">{badge(claim.verdict)}</td></tr>'
    )


def write_report(out: Path, sections: Sequence[Section], heading: Heading, jobs: int = 1) -> Path:
    """Write report.html, the figures and the data into a folder.

    Each file appears whole or not at all, the page last: an interrupted run leaves the page that was there.
    The page loads nothing from anywhere. Without plotly it shows the figures as pictures.

    Parameters
    ----------
    out : Path
        The folder; made if it is not there.
    sections : sequence of Section
    heading : Heading
    jobs : int
        Processes that draw the figures, which takes half a minute of all of them.

    Returns
    -------
    Path
        Of the page.
    """
    static.check_installed()  # before folders are made that would stay empty
    figures, data = out / "figures", out / "data"
    for folder in (figures, data):
        folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    named: dict[tuple[str, int], Figure] = {}
    for section in sections:
        _write_cells(section, data)
        for i, figure in enumerate(section.outcome.figures):
            named[section.name, i] = replace(figure, name=_file_name(section.name, figure, taken))
    drawing = (delayed(static.save)(figure, figures) for figure in named.values())
    saved = Parallel(n_jobs=max(1, min(jobs, len(named))))(drawing)
    pictures = {
        key: Picture(f"figures/{png.name}", f"figures/{svg.name}", _inlined(png, svg))
        for key, (png, svg) in zip(named, saved, strict=True)
    }
    claims = _claim_rows(sections, heading.scale)
    write_text(data / "claims.csv", csv_text([*claims[0]] if claims else [], (row.values() for row in claims)))
    path = out / "report.html"
    write_text(path, page(heading, sections, pictures))
    return path


def _file_name(experiment: str, figure: Figure, taken: set[str]) -> str:
    """A name for files, of the experiment and the figure, that no other figure of the report has."""
    name = figure.name if figure.name.startswith(experiment) else f"{experiment}-{figure.name}"
    name = base = plain_name(name)
    count = 1
    while name.lower() in taken:  # some file systems do not tell case apart
        count += 1
        name = f"{base}-{count}"
    taken.add(name.lower())
    return name


def _inlined(*paths: Path) -> str:
    """The smallest of several pictures as a data URI."""
    path = min(paths, key=lambda path: path.stat().st_size)
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _write_cells(section: Section, folder: Path) -> None:
    """Everything of each cell as JSON; its parameters and single values also as CSV."""
    content = [vars(result) for result in section.results]
    name = plain_name(section.name)
    write_text(folder / f"{name}.json", json.dumps(finite(content), indent=1, ensure_ascii=False, allow_nan=False))
    nested = list | dict | tuple
    cells = [{k: json.dumps(v) if isinstance(v, nested) else v for k, v in r.cell.items()} for r in section.results]
    found = [{k: v for k, v in r.values.items() if not isinstance(v, nested)} for r in section.results]
    parameters, values = (list(dict.fromkeys(k for one in part for k in one)) for part in (cells, found))
    columns = [*parameters, *(f"result {v}" if v in parameters else v for v in values), "cell seconds", "machine"]
    rows = (
        [*map(cell.get, parameters), *map(value.get, values), result.seconds, result.machine]
        for cell, value, result in zip(cells, found, section.results, strict=True)
    )
    write_text(folder / f"{name}.csv", csv_text(columns, rows))


def _claim_rows(sections: Sequence[Section], scale: str) -> list[dict[str, Any]]:
    """A row for each finding, by the names of the columns."""
    return [
        {
            "experiment": section.name,
            "paper": section.paper,
            "place": claim.sentence.place or section.place,
            "quotation": claim.sentence.quote,
            "what": claim.sentence.what,
            "rule": claim.sentence.rule.words,
            "changed": claim.sentence.changed,
            "claim's verdict": claim.verdict.value,
            "on": row.on,
            "paper's number": row.paper,
            "ours": row.ours,
            "ratio": row.ratio,
            "unit": claim.sentence.unit,
            "verdict": row.verdict.value,
            "why": row.why,
            "conditions": row.conditions,
            "scale": scale,
        }
        for section in sections
        for claim in section.outcome.claims
        for row in claim.rows
    ]
