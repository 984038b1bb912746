"""Write docs/papers/claims.md: every claim of the papers, its rule, and what was measured of it.

    python -m docs.claims

All of it comes from the claims of the stored report, `docs/reproduction.tar.xz`. The papers' pages include their parts
of this page, so that no number of theirs is typed by hand; a test compares the file with what this writes.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docs.unfold import unfold
from hinge.report.outcome import Verdict, overall
from hinge.report.page import VERDICTS, duration, many, number

TARGET = Path(__file__).with_name("papers") / "claims.md"
PAPERS = {"pegasos": "Pegasos", "talk": "The talk", "simba": "SIMBA", "sbp": "The SBP", "survey": "The survey"}
UNMEASURED = {
    "pegasos": "Lemma 1, Theorem 1 and Corollary 1 (`hinge.bounds.pegasos_gap`); structured data (section 4).",
    "talk": "The error decomposition, and the bound of the refined analysis of DCA.",
    "simba": "Several classes, structured and latent SVMs, and the 1-norm, which section 7 announces.",
    "sbp": "Figure 1, an illustration; Forest of Table 2, whose optimum takes hours on a CPU.",
    "survey": "Lemmas 2.1 to 2.6, apart from the theorems that follow from them; Garber and Hazan's second paper, of "
    "which the survey has three sentences.",
}
"""What no experiment measures."""
COUNTED = [verdict for verdict in Verdict if verdict is not Verdict.OURS]
Claim = list[dict[str, str]]
"""The rows of one sentence."""


def stored(name: str) -> list[dict[str, str]]:
    """A table of the stored report."""
    with (unfold() / "data" / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def claims_of(paper: str) -> list[Claim]:
    """Each sentence of a paper, with the rows of all experiments that measure it."""
    found: dict[tuple[str, str], Claim] = {}
    for row in stored("claims"):
        if row["experiment"].startswith(f"{paper}-"):
            found.setdefault((row["quotation"], row["what"]), []).append(row)
    return list(found.values())


def verdict_of(claim: Claim) -> Verdict:
    """Of all rows together."""
    return overall(Verdict(row["verdict"]) for row in claim) if claim[0]["quotation"] else Verdict.OURS


def text() -> str:
    """The whole page."""
    papers = {paper: claims_of(paper) for paper in PAPERS}
    legend = ", ".join(f"{sign} {verdict.value} ({meaning})" for verdict, (sign, _, meaning) in VERDICTS.items())
    changed = [claim[0] for claims in papers.values() for claim in claims if claim[0]["changed"]]
    parts = [
        "# The papers' claims",
        "Written by `python -m docs.claims` from the [stored report](../reproduce.md). One sentence of a paper is one "
        "claim, whatever the number of sets it is measured on. Where the paper has a number, the rule is made of it; "
        "where it has words, they are read by the rule beside them. What a paper does not say is ours, and not counted.",
        f"Signs: {legend}. Exponents of a bound on the work are not judged where the work is far below it.",
        _marked("counts", _counts(papers)),
        _marked("effort", _effort()),
    ]
    for paper, claims in papers.items():
        counted, ours = ([c for c in claims if bool(c[0]["quotation"]) == paper_s] for paper_s in (True, False))
        tables = [_table(counted, "the paper's sentence, what is measured, and the rule")]
        tables += ["Beside them, ours:", _table(ours, "what is measured")] if ours else []
        parts += [
            f"## {PAPERS[paper]}",
            _marked(paper, "\n\n".join(tables)),
            f"No experiment measures: {UNMEASURED[paper]}",
        ]
    parts += [
        "## Changed after the numbers were known",
        "\n".join(f"- {_said(row)} {row['changed']}" for row in changed),
    ]
    return "\n\n".join(parts) + "\n"


def _marked(name: str, content: str) -> str:
    """A part that other pages include."""
    return f"<!-- {name} -->\n\n{content}\n\n<!-- end of {name} -->"


def _counts(papers: dict[str, list[Claim]]) -> str:
    head = ["paper", "claims", *(verdict.value for verdict in COUNTED), "ours"]
    lines, total = [], Counter[Verdict]()
    for paper, claims in papers.items():
        counts = Counter(map(verdict_of, claims))
        total += counts
        lines.append(_count_line(PAPERS[paper], counts))
    return _rows(head, [*lines, _count_line("all", total)])


def _count_line(name: str, counts: Counter[Verdict]) -> list[str]:
    ours = counts[Verdict.OURS]
    return [name, str(counts.total() - ours), *(str(counts[verdict]) for verdict in COUNTED), str(ours)]


def _effort() -> str:
    """Cells, hours and machines."""
    cells = [row for path in sorted((unfold() / "data").glob("*-*.csv")) for row in stored(path.stem)]
    machines = Counter(row["machine"] for row in cells)
    where = "; ".join(f"{machine} ({many(count, 'cell')})" for machine, count in machines.most_common())
    seconds = sum(float(row["cell seconds"]) for row in cells)
    return f"{many(len(cells), 'cell')}, {duration(seconds)} of measuring. Machines: {where}."


def _said(row: dict[str, str]) -> str:
    return f"“{row['quotation']}”" if row["quotation"] else f"{row['what'][0].upper()}{row['what'][1:]}."


def _table(claims: Iterable[Claim], head: str) -> str:
    lines = []
    for claim in claims:
        first, verdict = claim[0], verdict_of(claim)
        found = "<br>".join(map(_found, claim))
        if verdict is Verdict.OURS:
            lines.append([f"`{first['experiment']}`", first["what"], found])
        else:
            said = f"{_said(first)} *{first['place']}*<br>{first['what']}: {first['rule']}"
            lines.append([f"{VERDICTS[verdict][0]} {verdict.value}", said, found])
    return _rows(["", head, "ours (the paper's)"], lines)


def _found(row: dict[str, str]) -> str:
    """One set: its sign, its name, ours and the paper's, and why it was not judged."""
    ours = f"**{number(_value(row['ours']))}**" if row["ours"] else ""
    theirs = f" ({number(_value(row[paper]))})" if row[paper := "paper's number"] else ""
    why = f" – {row['why']}" if row["why"] else ""
    return f"{VERDICTS[Verdict(row['verdict'])][0]} {row['on']}: {ours}{theirs}{why}"


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _rows(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(entry.replace('|', chr(92) + '|') for entry in row)} |" for row in rows)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
