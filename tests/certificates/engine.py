"""Random problems by the thousand, and whether what was certified of them is true."""

import importlib
import pkgutil
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tests.certificates import families

SHOWN = 5  # violations of a family that are printed


class Claim(NamedTuple):
    """What a certificate says, beside what a reference knows: it is false where `true` exceeds `certified`.

    Attributes
    ----------
    what : str
        The claim, with what is needed to find it again.
    true : float or longdouble
        A lower bound on the truth; or what was certified, where `certified` is the truth.
    certified : float or longdouble
    slack : float or longdouble
        What the reference's own arithmetic may be off by.
    gap : bool
        Whether both are gaps, of which the largest ratio is reported.
    """

    what: str
    true: Any
    certified: Any
    slack: Any = 0.0
    gap: bool = False

    @property
    def violated(self) -> bool:
        """Whether the reference contradicts it; what is not a number says nothing."""
        return self.true > self.certified + self.slack

    @property
    def ratio(self) -> float:
        """The true gap in certified ones."""
        if not self.gap or not self.true > self.slack or not np.isfinite(float(self.certified)):
            return 0.0
        return float(self.true / self.certified) if self.certified > 0 else np.inf

    def __str__(self) -> str:
        return f"{self.what}: true {float(self.true):.17g}, certified {float(self.certified):.17g}"


@dataclass
class Tally:
    """What became of the cases of a family."""

    name: str
    reference: str
    cases: int = 0
    claims: int = 0
    refused: int = 0
    violated: int = 0
    ratio: float = 0.0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.name:<18}{self.cases:>7} cases{self.claims:>8} claims{self.refused:>6} refused"
            f"{self.violated:>6} violated   largest true/certified gap {self.ratio:<9.3g}"
            f"{self.seconds:>6.0f} s   {self.reference}"
        )


def names() -> list[str]:
    """All families."""
    return sorted(info.name for info in pkgutil.iter_modules(families.__path__))


def check(name: str, numbers: Iterator[int] | range, seed: int, late: Callable[[], bool] = lambda: False) -> Tally:
    """The cases of a family with these numbers: each is a function of (family, seed, number) alone."""
    family = importlib.import_module(f"{families.__name__}.{name}")
    tally, began = Tally(name, family.REFERENCE), time.perf_counter()
    for number in numbers:
        if late():
            break
        again = f"python -m tests.certificates --only {name} --seed {seed} --case {number}"
        tally.cases += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                claims = family.case(np.random.default_rng([seed, number, *name.encode()]))
        except Exception as error:
            if isinstance(error, ValueError) and "/hinge/" in traceback.extract_tb(error.__traceback__)[-1].filename:
                tally.refused += 1  # with a sentence: nothing was certified
            else:
                tally.violated += 1
                tally.failures.append(f"{again}\n{traceback.format_exc()}")
            continue
        tally.claims += len(claims)
        tally.ratio = max([tally.ratio, *(claim.ratio for claim in claims)])
        bad = [str(claim) for claim in claims if claim.violated]
        if bad:
            tally.violated += 1
            tally.failures.append("\n    ".join([again, *bad]))
    tally.seconds = time.perf_counter() - began
    return tally
