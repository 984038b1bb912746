"""What was found, beside what a paper says: claims with verdicts, and what is drawn with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hinge.display.figure import Figure, ReportTable


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
