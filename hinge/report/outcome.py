"""What an experiment found, as claims beside the paper's, tables and figures; a report's section on it; plain text."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

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
    BEYOND = "beyond the paper"
    SURE = "could hardly fail"


@dataclass(frozen=True)
class Earlier:
    """What was said of the same measurements before a rule or an axis was changed, after the fact.

    Attributes
    ----------
    ours : float or None
    verdict : Verdict
    rule : str
    why : str
        What was wrong with it, in a line.
    """

    ours: float | None
    verdict: Verdict
    rule: str
    why: str


@dataclass(frozen=True)
class Claim:
    """One number of a paper beside ours.

    Attributes
    ----------
    what : str
        The claim, in a line.
    paper : float or str or None
        The paper's number, or its words where it gives none.
    ours : float or None
        None where it could not be measured.
    verdict : Verdict
    rule : str
        Which numbers count as reproduced and as partly.
    conditions : str
        Data (stand-ins and synthetic sets by that name), sizes, seeds, what was tuned on which rows.
    unit : str
    earlier : Earlier, optional
        What stood here before, where the rule was changed after the numbers were known.
    """

    what: str
    paper: float | str | None
    ours: float | None
    verdict: Verdict
    rule: str
    conditions: str
    unit: str = ""
    earlier: Earlier | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's, where both are numbers."""
        if isinstance(self.paper, str) or not self.paper or self.ours is None:
            return None
        return self.ours / self.paper


@dataclass(frozen=True)
class Outcome:
    """What an experiment found, ready to be shown."""

    claims: Sequence[Claim]
    figures: Sequence[Figure] = ()
    tables: Sequence[ReportTable] = ()
    notes: Sequence[str] = ()


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
        about = (experiment.name, experiment.title, experiment.paper, experiment.place, experiment.question)
        return cls(*about, outcome, results, failures)
