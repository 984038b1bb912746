"""A solver for the time of a test: what someone writes who adds one.

As a plugin of pytest it also registers itself, which is the one line that is added besides.
"""

from dataclasses import dataclass

from hinge.solvers import registry
from hinge.solvers.papers.pegasos import Pegasos


@dataclass(frozen=True)
class Throwaway(Pegasos):
    """Pegasos under another name, with a setting more."""

    patience: float = 0.5


ENTRY = registry.Registered(__name__, "Throwaway", "linear")


def pytest_configure():
    """Before anything is collected."""
    registry.BY_NAME["throwaway"] = ENTRY
