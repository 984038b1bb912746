"""What an experiment is: independent cells, and what their results say beside the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from hinge.experiments import registry
from hinge.report.outcome import Claim, Earlier, Outcome, Verdict

Scale = Literal["tiny", "full"]
OPEN = "open question"
"""The `paper` of a claim where the paper only asks a question, so that there is nothing to reproduce."""

Cell = dict[str, Any]
"""Parameters of one independent measurement, in JSON's terms; its seed is one of them."""


def claim(
    what: str,
    paper: float | str | None,
    ours: float | None,
    conditions: str,
    *,
    at_least: tuple[float, float] | None = None,
    at_most: tuple[float, float] | None = None,
    within: tuple[float, float] | None = None,
    unit: str = "",
    sure: str = "",
) -> Claim:
    """A claim with its verdict; of the three rules exactly one is given.

    Parameters
    ----------
    at_least, at_most : (float, float)
        The number from which on, or up to which, the claim counts as reproduced, and as partly.
    within : (float, float)
        The relative distance from the paper's number that counts as reproduced, and as partly.
    sure : str
        Why a claim can hardly fail, whatever the paper's worth: then it does not count as reproduced where it
        is met. One that fails all the same counts like any other.
    """
    if sum(rule is not None for rule in (at_least, at_most, within)) != 1:
        raise ValueError("A claim is judged by exactly one of at_least, at_most and within.")
    if at_least is not None:
        full, part = at_least
        rule = f"reproduced from {full:g} on, partly from {part:g} on"
        met = (ours is not None and ours >= full, ours is not None and ours >= part)
    elif at_most is not None:
        full, part = at_most
        rule = f"reproduced up to {full:g}, partly up to {part:g}"
        met = (ours is not None and ours <= full, ours is not None and ours <= part)
    else:
        assert within is not None
        if isinstance(paper, str) or paper is None:
            raise ValueError("within needs the paper's number.")
        full, part = within
        rule = f"reproduced within {100 * full:g}% of the paper's number, partly within {100 * part:g}%"
        apart = math.inf if ours is None else abs(ours / paper - 1)
        met = (apart <= full, apart <= part)
    if ours is None or math.isnan(ours):
        verdict, ours = Verdict.UNKNOWN, None
    elif paper == OPEN:
        verdict = Verdict.BEYOND
        rule = rule.replace("reproduced", "yes")
    elif met[0]:
        verdict = Verdict.SURE if sure else Verdict.REPRODUCED
    else:
        verdict = Verdict.PARTLY if met[1] else Verdict.NOT
    if sure:
        rule += f"; it can hardly fail: {sure}"
    return Claim(what, paper, ours, verdict, rule, conditions, unit)


def mended(new: Claim, old: Claim, why: str) -> Claim:
    """The new claim with what the old rule says of the same cells beside it, and why it was changed."""
    return replace(new, earlier=Earlier(old.ours, old.verdict, old.rule, why))


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

    cell: Cell
    values: dict[str, Any]
    seconds: float
    machine: str


class CellResults(list[CellResult]):
    """Results of cells, chosen by their parameters."""

    def where(self, **parameters: Any) -> CellResults:
        """Those whose cells have all these parameters."""
        return CellResults(r for r in self if all(r.cell.get(k) == v for k, v in parameters.items()))

    def column(self, name: str) -> list[Any]:
        """One value of all of them."""
        return [r.values[name] for r in self]

    def of(self, parameter: str) -> list[Any]:
        """The distinct values of a parameter, in order of first appearance."""
        return list(dict.fromkeys(r.cell[parameter] for r in self if parameter in r.cell))

    def notes(self) -> list[str]:
        """What the cells had to say of their data, each once."""
        return sorted({note for r in self if (note := r.values.get("note"))})


class Experiment:
    """One table or figure of a paper.

    A subclass says in `cells` what is to be measured, measures one cell in `run`, and puts the results beside
    the paper in `outcome`. Cells know nothing of each other, so that they may be spread over processes and a
    run that was interrupted goes on with those that are missing.

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
