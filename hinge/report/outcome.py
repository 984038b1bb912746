"""What an experiment found, as claims beside the paper's, tables and figures; a report's section on it; plain text."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from hinge.display.figure import Figure, ReportTable
from hinge.files.replacing import replacing


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table under its heads."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def finite(value: object) -> Any:
    """The same value with None in place of nan and infinity, which JSON does not allow."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def write_text(path: Path, text: str) -> None:
    """The whole file, or what was there before."""
    with replacing(path) as stream:
        stream.write(text.encode())


class Verdict(Enum):
    """Whether a claim of a paper was found again."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT = "not reproduced"
    UNKNOWN = "not measured"
    SILENT = "says nothing here"
    OURS = "ours, not counted"


JUDGED = (Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT)


class Rule(NamedTuple):
    """Which numbers count as reproduced, and which as partly, given ours and the paper's; the same in words."""

    words: str
    meets: Callable[[float, float], bool]
    meets_partly: Callable[[float, float], bool]


def at_least(full: float, part: float) -> Rule:
    """Reproduced from one number on, partly from another."""
    words = f"reproduced from {full:g} on, partly from {part:g} on"
    return Rule(words, lambda ours, _: ours >= full, lambda ours, _: ours >= part)


def at_most(full: float, part: float) -> Rule:
    """Reproduced up to one number, partly up to another."""
    words = f"reproduced up to {full:g}, partly up to {part:g}"
    return Rule(words, lambda ours, _: ours <= full, lambda ours, _: ours <= part)


def within(full: float, part: float) -> Rule:
    """Reproduced within a relative distance of the paper's number, partly within another."""
    words = f"reproduced within {100 * full:g}% of the paper's number, partly within {100 * part:g}%"
    return Rule(
        words, lambda ours, paper: abs(ours / paper - 1) <= full, lambda ours, paper: abs(ours / paper - 1) <= part
    )


def above(full: float, part: float) -> Rule:
    """Reproduced up to a distance above the paper's number, partly up to another."""
    words = f"reproduced up to {full:g} above the paper's number, partly up to {part:g}"
    return Rule(words, lambda ours, paper: ours <= paper + full + 1e-9, lambda ours, paper: ours <= paper + part)


def factor(full: float, part: float) -> Rule:
    """Reproduced within a factor of 1, partly within another."""
    words = f"reproduced within a factor of {full:g}, partly of {part:g}"
    return Rule(words, lambda ours, _: 1 / full <= ours <= full, lambda ours, _: 1 / part <= ours <= part)


def gain(full: float, part: float) -> Rule:
    """Reproduced from a share of the paper's ratio on, partly from a ratio on."""
    words = f"reproduced from {full:g} of the paper's ratio on, partly from a ratio of {part:g} on"
    return Rule(words, lambda ours, paper: ours >= full * paper, lambda ours, _: ours >= part)


RULES = {rule.__name__: rule for rule in (at_least, at_most, within, above, factor, gain)}
NO_RULE = Rule("none: the paper does not claim it", lambda *_: True, lambda *_: True)
"""Of a measurement that is ours."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a paper, and how it is judged.

    Attributes
    ----------
    quote : str
        Its words, enough of them to find it in the paper; none for a measurement of ours.
    place : str
        Section, theorem, table, figure or slide.
    what : str
        What is measured, in a line.
    rule : Rule
        `NO_RULE` for a measurement of ours, which is reported and not counted.
    unit : str
    changed : str
        What stood here before, and why it was changed, where that was after the numbers were known.
    """

    quote: str
    place: str
    what: str
    rule: Rule = NO_RULE
    unit: str = ""
    changed: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is the paper's."""
        return self.rule is not NO_RULE


@dataclass(frozen=True)
class Finding:
    """What one data set or problem says of a sentence.

    Attributes
    ----------
    on : str
        The set or the problem (stand-ins and synthetic sets by that name).
    paper : float or str or None
        The paper's number there, or its words where it gives none.
    ours : float or None
        None where it could not be measured.
    verdict : Verdict
    conditions : str
        Sizes, seeds, what was tuned on which rows.
    why : str
        Why it was not measured, or says nothing.
    """

    on: str
    paper: float | str | None
    ours: float | None
    verdict: Verdict
    conditions: str
    why: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's, where both are numbers."""
        if isinstance(self.paper, str) or not self.paper or self.ours is None:
            return None
        return self.ours / self.paper


@dataclass(frozen=True)
class Claim:
    """A sentence with what was measured of it."""

    sentence: Sentence
    rows: Sequence[Finding]

    @property
    def verdict(self) -> Verdict:
        """Of all rows together."""
        return overall(row.verdict for row in self.rows) if self.sentence.counts else Verdict.OURS


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Reproduced where every set that was judged agrees, not where most of them do not, else partly."""
    found = list(verdicts)
    judged = [verdict for verdict in found if verdict in JUDGED]
    if not judged:
        return Verdict.SILENT if set(found) == {Verdict.SILENT} else Verdict.UNKNOWN
    if 2 * judged.count(Verdict.NOT) > len(judged):
        return Verdict.NOT
    return Verdict.REPRODUCED if set(judged) == {Verdict.REPRODUCED} else Verdict.PARTLY


def merge(claims: Iterable[Claim]) -> list[Claim]:
    """Each sentence once, with the rows of all experiments that measure it."""
    rows: dict[Sentence, list[Finding]] = {}
    for claim in claims:
        rows.setdefault(claim.sentence, []).extend(claim.rows)
    return [Claim(sentence, found) for sentence, found in rows.items()]


@dataclass(frozen=True)
class Outcome:
    """What an experiment found, ready to be shown; `printed` is the paper's own table with ours in its cells."""

    claims: Sequence[Claim]
    figures: Sequence[Figure] = ()
    tables: Sequence[ReportTable] = ()
    notes: Sequence[str] = ()
    printed: ReportTable | None = None


@dataclass(frozen=True)
class CellResult:
    """What a cell gave.

    Attributes
    ----------
    cell : dict
        Its parameters.
    values : dict
        What `Experiment.run` returned.
    seconds : float
        How long the cell took, evaluation included.
    machine : str
        Where it ran, and with which versions.
    """

    cell: dict[str, Any]
    values: dict[str, Any]
    seconds: float
    machine: str


@dataclass(frozen=True)
class Section:
    """One experiment of the report.

    Attributes
    ----------
    name, title, paper, place, question : str
        Of the experiment.
    outcome : Outcome
    results : sequence of results
        Of its cells.
    failures : sequence of str
        The errors of cells that could not be measured.
    """

    name: str
    title: str
    paper: str
    place: str
    question: str
    outcome: Outcome
    results: Sequence[CellResult] = ()
    failures: Sequence[str] = field(default=())

    @classmethod
    def from_run(
        cls, experiment: Any, outcome: Outcome, results: Sequence[CellResult], failures: Sequence[str] = ()
    ) -> Section:
        """The section of an `Experiment` that was run."""
        about = experiment.about
        return cls(experiment.name, about.title, about.paper, about.place, about.question, outcome, results, failures)
