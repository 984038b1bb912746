"""Support vector machines by stochastic and sublinear-time methods, certified and counted.

Names are imported when they are first used: ``import hinge`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "LinearSVC": "hinge.estimators",
    "NormConstrained": "hinge.problems",
    "Regularized": "hinge.problems",
    "SVC": "hinge.estimators",
    "SlackConstrained": "hinge.problems",
    "Solution": "hinge.problems",
    "scalarizations": "hinge.problems",
    "Stop": "hinge.monitoring",
    "solve": "hinge.solvers",
    "solve_slack": "hinge.solvers",
}

__all__ = [*_WHERE, "datasets"]

if TYPE_CHECKING:
    from hinge import datasets as datasets
    from hinge.estimators import SVC as SVC
    from hinge.estimators import LinearSVC as LinearSVC
    from hinge.monitoring import Stop as Stop
    from hinge.problems import NormConstrained as NormConstrained
    from hinge.problems import Regularized as Regularized
    from hinge.problems import SlackConstrained as SlackConstrained
    from hinge.problems import Solution as Solution
    from hinge.problems import scalarizations as scalarizations
    from hinge.solvers import solve as solve
    from hinge.solvers import solve_slack as solve_slack


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in ("access", "datasets", "estimators", "monitoring", "problems", "solvers"):
        return import_module(f"hinge.{name}")
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
