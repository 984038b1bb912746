"""What an experiment is: independent cells, and what their results say beside the paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal

from hinge.display.figure import Figure, Panel, ReportTable, Value
from hinge.experiments import registry
from hinge.report.outcome import (
    NO_RULE,
    RULES,
    CellResult,
    Claim,
    Finding,
    Outcome,
    Rule,
    Sentence,
    Verdict,
    finite,
    merge,
)

Scale = Literal["tiny", "full"]

Cell = dict[str, Any]
"""Parameters of one independent measurement, in JSON's terms; its seed is one of them."""


@cache
def read_sentence(experiment: str, name: str) -> Sentence:
    """A sentence of ``claims.toml``, or a measurement of ours there, which has no quotation and no rule."""
    said = dict(registry.TABLE[experiment][name])
    rule = next((RULES[kind](*said.pop(kind)) for kind in RULES if kind in said), NO_RULE)
    return Sentence(**{"quote": "", "place": "", **said}, rule=rule)


class Claims(list[Claim]):
    """What an experiment found, each sentence once, in the order in which they are reported."""

    def __init__(self, experiment: str = "") -> None:
        super().__init__()
        self.experiment = experiment

    def add(
        self,
        sentence: Sentence | str,
        on: str,
        ours: float | None,
        paper: float | str | None = None,
        conditions: str = "",
        *,
        unmeasured: str = "",
        silent: str = "",
        sure: str = "",
    ) -> None:
        """Judge a number by the rule of its sentence.

        Parameters
        ----------
        sentence : Sentence or str
            Or its name in ``claims.toml``: "faster", or "pegasos-table1.faster" where it is another experiment's.
        on : str
            The data set or the problem.
        ours : float or None
            None where it could not be measured.
        paper : float or str, optional
            The paper's number, or its words where it gives none.
        unmeasured : str
            Why a number is no measurement of what the paper means: it is shown, and not judged.
        silent : str
            Why it says nothing of the paper, whatever it is.
        sure : str
            Why the claim can hardly fail: where it is met, that says nothing; where it is not, it counts.
        """
        if isinstance(sentence, str):
            experiment, _, name = sentence.rpartition(".")
            sentence = read_sentence(experiment or self.experiment, name)
        why = unmeasured or silent
        if ours is None or math.isnan(ours):
            verdict, ours, why = Verdict.UNKNOWN, None, why or "this run has no number for it"
        elif why:
            verdict = Verdict.UNKNOWN if unmeasured else Verdict.SILENT
        else:
            verdict = judge(sentence.rule, ours, paper)
            if sure and verdict is Verdict.REPRODUCED:
                verdict, why = Verdict.SILENT, sure
        row = Finding(on, paper, ours, verdict if sentence.counts or ours is None else Verdict.OURS, conditions, why)
        self += [Claim(sentence, [row])]

    def __iadd__(self, more: Iterable[Claim]) -> Claims:  # type: ignore[override,misc]
        self[:] = merge([*self, *more])
        return self


def judge(rule: Rule, ours: float, paper: float | str | None) -> Verdict:
    """The verdict of a rule on one number."""
    number = math.nan if isinstance(paper, str) or paper is None else paper
    if rule.meets(ours, number):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if rule.meets_partly(ours, number) else Verdict.NOT


class CellResults(list[CellResult]):
    """Results of cells, chosen by their parameters."""

    @property
    def first(self) -> dict[str, Any]:
        """What the first cell gave."""
        return self[0].values

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.values_of("seed"))

    def where(self, **parameters: Any) -> CellResults:
        """Those whose cells have all these parameters."""
        return CellResults(r for r in self if all(r.cell.get(k) == v for k, v in parameters.items()))

    def column(self, name: str) -> list[Any]:
        """One value of all of them."""
        return [r.values[name] for r in self]

    def median(self, name: str) -> float:
        """The median of one value; nan where there are no cells."""
        return median(self.column(name))

    def end(self, name: str) -> float:
        """The median of a value at the last evaluations of runs; nan where there are no cells."""
        return median(looks[-1][name] for looks in self.column("looks"))

    def values_of(self, parameter: str) -> list[Any]:
        """The distinct values of a parameter, in order of first appearance."""
        return list(dict.fromkeys(r.cell[parameter] for r in self if parameter in r.cell))

    def by(self, parameter: str) -> Iterator[tuple[Any, CellResults]]:
        """Each value of a parameter, with the results of its cells."""
        return ((value, self.where(**{parameter: value})) for value in self.values_of(parameter))

    def notes(self) -> list[str]:
        """What the cells had to say of their data, each once."""
        return sorted({note for r in self if (note := r.values.get("note"))})


class Draft:
    """An outcome that an experiment fills in `report`.

    Attributes
    ----------
    claims : Claims
    notes : list of str
        At first the notes of the cells.
    printed : ReportTable, optional
        The paper's own table, with ours in its cells.
    """

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.claims, self.notes = name, Claims(name), notes
        self.printed: ReportTable | None = None
        self._figures: list[Figure] = []
        self._tables: list[ReportTable] = []

    def figure(self, caption: str, panels: Iterable[Panel], part: str = "") -> None:
        """Add a figure of the panels, without series that have no points and without panels that have no series.

        Parameters
        ----------
        caption : str
        panels : iterable of Panel
        part : str
            Follows the name of the experiment in the name of a further figure or table.
        """
        full = [replace(panel, series=[line for line in panel.series if len(line.x)]) for panel in panels]
        if drawn := [panel for panel in full if panel.series]:
            self._figures.append(Figure(self._named(part), caption, drawn))

    def table(
        self, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Value]], part: str = "", digits: int = 3
    ) -> None:
        """Add a table, if there are rows; a number that is unknown or was never reached becomes None."""
        if lines := finite(list(rows)):
            self._tables.append(ReportTable(self._named(part), caption, columns, lines, digits))

    def print_table(self, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Fill the paper's own table."""
        self.printed = ReportTable(self._named("printed"), caption, columns, rows)

    def _named(self, part: str) -> str:
        return f"{self.name}-{part}" if part else self.name

    @property
    def outcome(self) -> Outcome:
        """What there is to show."""
        return Outcome(self.claims, self._figures, self._tables, self.notes, self.printed)


class Experiment:
    """One table or figure of a paper.

    A subclass says in `cells` what is to be measured, measures one cell in `run`, and puts the results beside
    the paper in `report`. Cells know nothing of each other, so that they may be spread over processes and a
    run that was interrupted continues with the missing ones.

    Attributes
    ----------
    name : str
        What to type: paper and place, as in "pegasos-table1".
    timed : bool
        Whether cells measure seconds: then they run one at a time, on an otherwise idle machine.
    version : int
        To be raised when a change makes cached cells worthless.
    """

    name: ClassVar[str]
    timed: ClassVar[bool] = False
    version: ClassVar[int] = 1

    @property
    def about(self) -> registry.Listed:
        """Its title, paper and place, and what the paper says there."""
        return registry.BY_NAME[self.name]

    def text(self, name: str, **values: object) -> str:
        """A text of ``claims.toml``, such as a caption, with values in their places."""
        return str(registry.TABLE[self.name][name]).format(self=self, **values)

    def cells(self, scale: Scale) -> list[Cell]:
        """What to measure."""
        raise NotImplementedError

    def run(self, cell: Cell) -> dict[str, Any]:
        """Measure one cell; the result is of JSON's types."""
        raise NotImplementedError

    def report(self, draft: Draft, results: CellResults, scale: Scale) -> None:
        """Say what the results show. Some cells may be missing, after an interrupted run."""
        raise NotImplementedError

    def outcome(self, results: CellResults, scale: Scale) -> Outcome:
        """What the results show; nothing where there are none."""
        draft = Draft(self.name, results.notes())
        if results:
            self.report(draft, results, scale)
        return draft.outcome


def median(values: Iterable[float]) -> float:
    """The median; nan of no values, or if one is nan."""
    known = list(values)
    return float(statistics.median(known)) if known and not any(map(math.isnan, known)) else math.nan


def share_at_most(values: Iterable[float], level: float) -> float:
    """The share of values up to a level; nan of no values."""
    known = list(values)
    return sum(value <= level for value in known) / len(known) if known else math.nan


def grid(**axes: Any) -> list[Cell]:
    """All combinations of the values of parameters, the last one changing fastest.

    A parameter is given as its values, or as one number, one string or None, which all cells have.
    """
    cells: list[Cell] = [{}]
    for name, values in axes.items():
        if values is None or isinstance(values, str | float | int):
            values = [values]
        cells = [{**cell, name: value} for cell in cells for value in values]
    return cells
