"""Support vector machines by stochastic and sublinear-time methods, certified and counted.

Names are imported when they are first used: ``import hinge`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "FeatureOracle": "hinge.access.oracle",
    "LinearSVC": "hinge.estimators",
    "MaxMin": "hinge.problems.max_min",
    "NormConstrained": "hinge.problems",
    "OneClassSVM": "hinge.estimators",
    "Oracle": "hinge.access.oracle",
    "Regularized": "hinge.problems",
    "SVC": "hinge.estimators",
    "SlackConstrained": "hinge.problems",
    "Solution": "hinge.problems",
    "scalarizations": "hinge.problems",
    "Stop": "hinge.monitoring",
    "check_problem": "hinge.problems.check_problem",
    "enclosing_ball": "hinge.saddle",
    "max_margin": "hinge.saddle",
    "maximize_semidefinite": "hinge.solvers.semidefinite_program",
    "maxmin": "hinge.saddle",
    "open_pair": "hinge.access.on_disk",
    "semidefinite": "hinge.saddle",
    "solve": "hinge.solvers",
    "solve_game": "hinge.saddle",
    "solve_slack": "hinge.solvers",
    "write_pair": "hinge.access.pair_writer",
}

__all__ = [*_WHERE, "datasets"]

if TYPE_CHECKING:
    from hinge import datasets as datasets
    from hinge.access.on_disk import open_pair as open_pair
    from hinge.access.oracle import FeatureOracle as FeatureOracle
    from hinge.access.oracle import Oracle as Oracle
    from hinge.access.pair_writer import write_pair as write_pair
    from hinge.estimators import SVC as SVC
    from hinge.estimators import LinearSVC as LinearSVC
    from hinge.estimators import OneClassSVM as OneClassSVM
    from hinge.monitoring import Stop as Stop
    from hinge.problems import NormConstrained as NormConstrained
    from hinge.problems import Regularized as Regularized
    from hinge.problems import SlackConstrained as SlackConstrained
    from hinge.problems import Solution as Solution
    from hinge.problems import scalarizations as scalarizations
    from hinge.problems.check_problem import check_problem as check_problem
    from hinge.problems.max_min import MaxMin as MaxMin
    from hinge.saddle import enclosing_ball as enclosing_ball
    from hinge.saddle import max_margin as max_margin
    from hinge.saddle import maxmin as maxmin
    from hinge.saddle import semidefinite as semidefinite
    from hinge.saddle import solve_game as solve_game
    from hinge.solvers import solve as solve
    from hinge.solvers import solve_slack as solve_slack
    from hinge.solvers.semidefinite_program import maximize_semidefinite as maximize_semidefinite


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in ("access", "bounds", "datasets", "display", "estimators", "monitoring", "problems", "solvers"):
        return import_module(f"hinge.{name}")
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
