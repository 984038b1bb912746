"""One experiment as the report shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from hinge.report.outcome import Outcome


class Measured(Protocol):
    """What is shown of a cell's result; experiments draw with this package, so it cannot name theirs."""

    @property
    def cell(self) -> Mapping[str, Any]:
        """Its parameters."""

    @property
    def values(self) -> Mapping[str, Any]:
        """What was measured."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def machine(self) -> str:
        """Where it ran."""


class Described(Protocol):
    """What is shown of an experiment itself."""

    name: ClassVar[str]
    question: ClassVar[str]

    @property
    def title(self) -> str:
        """What it measures."""

    @property
    def paper(self) -> str:
        """Authors and year."""

    @property
    def place(self) -> str:
        """Where in the paper."""


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
    results: Sequence[Measured] = ()
    failures: Sequence[str] = field(default=())

    @classmethod
    def from_run(
        cls, experiment: Described, outcome: Outcome, results: Sequence[Measured], failures: Sequence[str] = ()
    ) -> Section:
        """The section of an experiment that was run."""
        about = (experiment.name, experiment.title, experiment.paper, experiment.place, experiment.question)
        return cls(*about, outcome, results, failures)
