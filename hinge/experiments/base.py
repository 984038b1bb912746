"""What an experiment is: independent cells, and what their results say beside the paper."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

from hinge.experiments import registry
from hinge.report.outcome import CellResult, Claim, Earlier, Outcome, Verdict

Scale = Literal["tiny", "full"]
OPEN = "open question"
"""The `paper` of a claim where the paper only asks a question, so that there is nothing to reproduce."""

Cell = dict[str, Any]
"""Parameters of one independent measurement, in JSON's terms; its seed is one of them."""


class Expectation(NamedTuple):
    """What a paper says of a number, and which numbers agree with it.

    Attributes
    ----------
    paper : float or str or None
        The paper's number, or its words where it gives none.
    levels : (float, float)
        From which level on a number counts as reproduced, and as partly.
    meets : callable
        Whether a number meets a level.
    rule : str
        The same in words.
    unit : str
    """

    paper: float | str | None
    levels: tuple[float, float]
    meets: Callable[[float, float], bool]
    rule: str
    unit: str


def expect(
    paper: float | str | None,
    *,
    at_least: tuple[float, float] | None = None,
    at_most: tuple[float, float] | None = None,
    within: tuple[float, float] | None = None,
    unit: str = "",
) -> Expectation:
    """What a paper says, and by which of the three rules a number is judged.

    Parameters
    ----------
    at_least, at_most : (float, float)
        The number from which on, or up to which, the claim counts as reproduced, and as partly.
    within : (float, float)
        The relative distance from the paper's number that counts as reproduced, and as partly.
    """
    if sum(rule is not None for rule in (at_least, at_most, within)) != 1:
        raise ValueError("A claim is judged by exactly one of at_least, at_most and within.")
    if at_least is not None:
        words = f"reproduced from {at_least[0]:g} on, partly from {at_least[1]:g} on"
        return Expectation(paper, at_least, operator.ge, words, unit)
    if at_most is not None:
        words = f"reproduced up to {at_most[0]:g}, partly up to {at_most[1]:g}"
        return Expectation(paper, at_most, operator.le, words, unit)
    if isinstance(paper, str) or paper is None or within is None:
        raise ValueError("within needs the paper's number.")
    full, part = (f"{100 * level:g}%" for level in within)
    words = f"reproduced within {full} of the paper's number, partly within {part}"
    return Expectation(paper, within, lambda ours, level: abs(ours / paper - 1) <= level, words, unit)


def claim(what: str, ours: float | None, expected: Expectation, conditions: str, *, sure: str = "") -> Claim:
    """A claim with its verdict.

    Parameters
    ----------
    ours : float or None
        None where it could not be measured.
    sure : str
        Why a claim can hardly fail, whatever the paper's worth: then it does not count as reproduced where it
        is met. One that fails all the same counts like any other.
    """
    rule = expected.rule
    full, part = expected.levels
    if ours is None or math.isnan(ours):
        verdict, ours = Verdict.UNKNOWN, None
    elif expected.paper == OPEN:
        verdict, rule = Verdict.BEYOND, rule.replace("reproduced", "yes")
    elif expected.meets(ours, full):
        verdict = Verdict.SURE if sure else Verdict.REPRODUCED
    else:
        verdict = Verdict.PARTLY if expected.meets(ours, part) else Verdict.NOT
    if sure:
        rule += f"; it can hardly fail: {sure}"
    return Claim(what, expected.paper, ours, verdict, rule, conditions, expected.unit)


class Claims(list[Claim]):
    """Claims under the same conditions, in the order in which they are reported."""

    def __init__(self, conditions: str = "") -> None:
        super().__init__()
        self.conditions = conditions

    def add(self, what: str, ours: float | None, expected: Expectation, more: str = "", *, sure: str = "") -> None:
        """Judge a number, as `claim` does; `more` continues the sentence of the conditions."""
        self.append(claim(what, ours, expected, self.conditions + more, sure=sure))


def revise(new: Claim, old: Claim, why: str) -> Claim:
    """The new claim, with the verdict of the old rule on the same cells and why the rule was changed."""
    return replace(new, earlier=Earlier(old.ours, old.verdict, old.rule, why))


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

    def values_of(self, parameter: str) -> list[Any]:
        """The distinct values of a parameter, in order of first appearance."""
        return list(dict.fromkeys(r.cell[parameter] for r in self if parameter in r.cell))

    def by(self, parameter: str) -> Iterator[tuple[Any, CellResults]]:
        """Each value of a parameter, with the results of its cells."""
        return ((value, self.where(**{parameter: value})) for value in self.values_of(parameter))

    def notes(self) -> list[str]:
        """What the cells had to say of their data, each once."""
        return sorted({note for r in self if (note := r.values.get("note"))})


class Experiment:
    """One table or figure of a paper.

    A subclass says in `cells` what is to be measured, measures one cell in `run`, and puts the results beside
    the paper in `outcome`. Cells know nothing of each other, so that they may be spread over processes and a
    run that was interrupted continues with the missing ones.

    Attributes
    ----------
    name : str
        What to type: paper and place, as in "pegasos-table1".
    title, paper, place : str
        As the registry has them.
    question : str
        What the paper says there, in a sentence or two of our own.
    timed : bool
        Whether cells measure seconds: then they run one at a time, on an otherwise idle machine.
    version : int
        To be raised when a change makes cached cells worthless.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    timed: ClassVar[bool] = False
    version: ClassVar[int] = 1

    @property
    def title(self) -> str:
        """What it measures, in a few words."""
        return registry.BY_NAME[self.name].title

    @property
    def paper(self) -> str:
        """Authors and year."""
        return registry.BY_NAME[self.name].paper

    @property
    def place(self) -> str:
        """Where in the paper."""
        return registry.BY_NAME[self.name].place

    def cells(self, scale: Scale) -> list[Cell]:
        """What to measure."""
        raise NotImplementedError

    def run(self, cell: Cell) -> dict[str, Any]:
        """Measure one cell; the result is of JSON's types."""
        raise NotImplementedError

    def outcome(self, results: CellResults, scale: Scale) -> Outcome:
        """What the results say. Some cells may be missing, after an interrupted run."""
        raise NotImplementedError


def grid(**axes: Iterable[Any]) -> list[Cell]:
    """All combinations of parameters, the last one changing fastest."""
    cells: list[Cell] = [{}]
    for name, values in axes.items():
        values = list(values)
        cells = [{**cell, name: value} for cell in cells for value in values]
    return cells
