"""Write docs/papers/claims.md: every claim of the papers, its rule, and what was measured of it; and changed.md.

    python -m docs.claims

All of it comes from the claims of the stored report, `docs/reproduction.tar.xz`. The papers' pages include their parts
of this page, so that no number of theirs is typed by hand; a test compares the file with what this writes.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from docs.unfold import unfold
from hinge.report.outcome import JUDGED, Verdict, overall
from hinge.report.page import VERDICTS, duration, many, number

TARGET = Path(__file__).with_name("papers") / "claims.md"
CHANGED = TARGET.with_name("changed.md")
PAPERS = {"pegasos": "Pegasos", "talk": "The talk", "simba": "SIMBA", "sbp": "The SBP", "survey": "The survey"}
UNMEASURED = {
    "pegasos": "Lemma 1, of which Theorem 1 is a case; Theorem 1 with A_t other than S; structured data (section 4), "
    "which `StructuredPegasos` learns.",
    "talk": "The error decomposition, a definition.",
    "simba": "Structured and latent SVMs, and the 1-norm, which section 7 announces; several classes, which it "
    "announces too, are measured in [few reads](../few_reads.md).",
    "sbp": "Forest of Table 2, whose optimum takes hours on a CPU, and on a GPU was not found.",
    "survey": "Garber and Hazan's second paper, of which the survey has three sentences.",
}
"""What no experiment measures."""
MOST_ROWS = 3
"""Of one verdict, each with its number; of more the least and the largest number stand here, and all in the report."""
COUNTED = [verdict for verdict in Verdict if verdict is not Verdict.OURS]
SHORT = (
    (r", [\d,]+ rows", ""),
    (r"synthetic subtle text of (\S+)'s shape", r"\1's stand-in"),
    (r"20 newsgroups, .*?\(stands in for (\S+)\)", r"20 newsgroups for \1"),
    (r"Reuters money-fx", "money-fx"),
    (r"IMDB reviews", "IMDB"),
    (r" \(real text\)| \(a9a\)|, class 1|, 8 against the rest| \(synthetic[^)]*\)", ""),
)
"""The names of sets without what the report says of them."""
BRIEFLY = (
    (r"reproduced from (\S+) on, partly from (\S+) on", r"≥ \1, ◐ \2"),
    (r"reproduced up to ([\d.]+), partly up to ([\d.]+)$", r"≤ \1, ◐ \2"),
    (r"reproduced within (\S+) of the paper's number, partly within (\S+)", r"± \1, ◐ \2"),
    (r"reproduced up to (\S+) above the paper's number, partly up to (\S+)", r"≤ the paper's + \1, ◐ + \2"),
    (r" \+ 0,", ","),
    (r"reproduced within a factor of (\S+), partly of (\S+)", r"within a factor of \1, ◐ \2"),
    (r"reproduced from (\S+) of the paper's ratio on, partly from a ratio of (\S+) on", r"≥ \1 of the paper's, ◐ \2"),
)
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
    counted = {paper: [claim for claim in claims if claim[0]["quotation"]] for paper, claims in papers.items()}
    ours = {paper: [claim for claim in claims if not claim[0]["quotation"]] for paper, claims in papers.items()}
    parts = [
        "# The papers' claims",
        "Written by `python -m docs.claims` from the [stored report](../reproduce.md). One sentence of a paper is one "
        "claim, whatever the number of sets it is measured on. The rule is made of the paper's number, or is how its "
        "words are read; [some were changed](changed.md) after the numbers were known.",
        f"Signs: {legend}. A rule has the number for ✓ and that for ◐. Of several sets the least and the largest "
        "number stand first; [all of them](#in-detail) and the reasons follow under the claim's number.",
        _marked("counts", _counts(papers)),
    ]
    for paper, claims in counted.items():
        parts += [f"## {PAPERS[paper]}", _marked(paper, _table(claims))]
        parts += [f"No experiment measures: {UNMEASURED[paper]}"]
    parts += ["## In detail", "What each set says, under the number of its claim.", _marked("effort", _effort())]
    for paper, claims in counted.items():
        parts += [f"### {PAPERS[paper]}", _marked(f"details, {paper}", _details(claims))]
    parts += ["## Ours", "Measured beside the papers' claims, and not counted: what a paper does not say."]
    parts += [_marked(f"ours, {paper}", _table_of_ours(claims)) for paper, claims in ours.items()]
    return "\n\n".join(parts) + "\n"


def changed_text() -> str:
    """The page of rules that were changed after the numbers were known: what stood there before, and why."""
    parts = [
        "# Rules that were changed after the numbers were known",
        "Written by `python -m docs.claims`, as [the page of claims](claims.md): what stood there before.",
    ]
    for paper, name in PAPERS.items():
        rows = [claim[0] for claim in claims_of(paper) if claim[0]["changed"]]
        parts += [f"## {name}", "\n".join(f"- {_said(row)} {row['changed']}" for row in rows)]
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


def _table(claims: Sequence[Claim]) -> str:
    lines = []
    for number_of, claim in enumerate(claims, start=1):
        first = claim[0]
        sentence = f"{_said(first)} *{first['place']}*"
        lines.append(
            [
                f"{number_of} {VERDICTS[verdict_of(claim)][0]}",
                sentence,
                first["what"],
                _briefly(first["rule"]),
                _range(claim),
            ]
        )
    return _rows(["", "the paper's sentence", "measured", "rule", "ours (the paper's)"], lines)


def _details(claims: Sequence[Claim]) -> str:
    return _rows(["", "ours (the paper's)"], [[str(k), _found(claim)] for k, claim in enumerate(claims, start=1)])


def _range(claim: Claim) -> str:
    """The least and the largest number of the sets that are judged, or of all if none is; how many of them agree."""
    judged = [row for row in claim if Verdict(row["verdict"]) in JUDGED] or claim
    ours, theirs = ([float(row[key]) for row in judged if _is_number(row[key])] for key in ("ours", "paper's number"))
    beside = f" ({_from_to(theirs)})" if theirs else ""
    agree = sum(Verdict(row["verdict"]) is Verdict.REPRODUCED for row in judged)
    some = verdict_of(claim) in (Verdict.PARTLY, Verdict.NOT) and len(judged) > 1
    return f"**{_from_to(ours)}**{beside}{f', ✓ {agree} of {len(judged)}' if some else ''}"


def _from_to(values: Sequence[float]) -> str:
    least, most = number(min(values)), number(max(values))
    return least if least == most else f"{least} to {most}"


def _table_of_ours(claims: Iterable[Claim]) -> str:
    lines = [[f"`{claim[0]['experiment']}`", claim[0]["what"], _found(claim)] for claim in claims]
    return _rows(["experiment", "measured", "ours (the paper's)"], lines)


def _found(claim: Claim) -> str:
    """The sets of each verdict, with ours and the paper's numbers, and the reason where they were not judged."""
    apart: dict[tuple[str, str], Claim] = {}
    for row in claim:
        apart.setdefault((row["verdict"], row["why"]), []).append(row)
    return "<br>".join(
        f"{VERDICTS[Verdict(verdict)][0]} {_numbers(rows)}{f' ({why})' if why else ''}"
        for (verdict, why), rows in apart.items()
    )


def _numbers(rows: Claim) -> str:
    """Each row, or how many they are and the range of their numbers."""
    found = sorted(float(row["ours"]) for row in rows if row["ours"])
    if len(rows) <= MOST_ROWS or len(found) < len(rows):
        return "; ".join(map(_number, rows))
    return f"{len(rows)} rows **{number(found[0])}** to **{number(found[-1])}**"


def _number(row: dict[str, str]) -> str:
    theirs = row["paper's number"]
    beside = f" ({number(float(theirs))})" if _is_number(theirs) else ""
    ours = f" **{number(float(row['ours']))}**{beside}" if row["ours"] else ""
    on = row["on"]
    for long, short in SHORT:
        on = re.sub(long, short, on)
    return f"{on}{ours}"


def _briefly(rule: str) -> str:
    for long, short in BRIEFLY:
        rule = re.sub(long, short, rule)
    return rule


def _is_number(text: str) -> bool:
    """Whether it is none of the paper's words, and not empty."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _rows(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(entry.replace('|', chr(92) + '|') for entry in row)} |" for row in rows)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    CHANGED.write_text(changed_text(), encoding="utf-8")
