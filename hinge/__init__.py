"""Support vector machines by stochastic and sublinear-time methods, certified and counted.

Names are imported when they are first used: ``import hinge`` is cheap.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hinge.version import __version__ as __version__

_PUBLIC = {
    "hinge.accel": ("patch_sklearn",),
    "hinge.access.tables.oracle": ("FeatureOracle", "Oracle"),
    "hinge.access.two_way.reader": ("open_pair",),
    "hinge.access.two_way.writer": ("write_pair",),
    "hinge.estimators": ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR", "l1_min_c"),
    "hinge.estimators.fitting.reports": ("ConstantPredictionWarning",),
    "hinge.estimators.pipelines": ("calibrate", "conformalize", "coverage_score", "predict_interval", "predict_set"),
    "hinge.files.model_files": ("load", "save"),
    "hinge.monitoring": ("Stop",),
    "hinge.problems": ("L1Regularized", "NormConstrained", "Regularized", "SlackConstrained", "Solution"),
    "hinge.problems.max_min.base": ("MaxMin",),
    "hinge.problems.max_min.check_problem": ("check_problem",),
    "hinge.problems.svm.slack_constrained": ("scalarizations",),
    "hinge.saddle.front_doors": ("enclosing_ball", "max_margin", "maxmin", "semidefinite", "solve_game"),
    "hinge.saddle.semidefinite_program": ("maximize_semidefinite",),
    "hinge.selection": ("LinearSVCCV", "LinearSVRCV", "SVCCV", "SVRCV", "choose_threshold", "plan_cost", "tune"),
    "hinge.solvers": ("Snapshot", "solve", "solve_slack", "trace"),
    "hinge.warming": ("warm",),
}
"""Public names, by the module that defines or collects them."""

_WHERE = {name: module for module, names in _PUBLIC.items() for name in names}

_MODULES = ("display", "explain", "export", "kernels", "monitoring", "problems", "saddle", "selection", "solvers")
"""Modules with public names of their own, which `dir` shows, too; `hinge.dask` needs dask."""

__all__ = [*_WHERE, "datasets"]

if TYPE_CHECKING:
    from hinge import datasets as datasets
    from hinge.accel import patch_sklearn as patch_sklearn
    from hinge.access.tables.oracle import FeatureOracle as FeatureOracle
    from hinge.access.tables.oracle import Oracle as Oracle
    from hinge.access.two_way.reader import open_pair as open_pair
    from hinge.access.two_way.writer import write_pair as write_pair
    from hinge.estimators import SVC as SVC
    from hinge.estimators import SVR as SVR
    from hinge.estimators import LinearSVC as LinearSVC
    from hinge.estimators import LinearSVR as LinearSVR
    from hinge.estimators import NuSVC as NuSVC
    from hinge.estimators import NuSVR as NuSVR
    from hinge.estimators import OneClassSVM as OneClassSVM
    from hinge.estimators import l1_min_c as l1_min_c
    from hinge.estimators.fitting.reports import ConstantPredictionWarning as ConstantPredictionWarning
    from hinge.estimators.pipelines import calibrate as calibrate
    from hinge.estimators.pipelines import conformalize as conformalize
    from hinge.estimators.pipelines import coverage_score as coverage_score
    from hinge.estimators.pipelines import predict_interval as predict_interval
    from hinge.estimators.pipelines import predict_set as predict_set
    from hinge.files.model_files import load as load
    from hinge.files.model_files import save as save
    from hinge.monitoring import Stop as Stop
    from hinge.problems import L1Regularized as L1Regularized
    from hinge.problems import NormConstrained as NormConstrained
    from hinge.problems import Regularized as Regularized
    from hinge.problems import SlackConstrained as SlackConstrained
    from hinge.problems import Solution as Solution
    from hinge.problems import scalarizations as scalarizations
    from hinge.problems.max_min.base import MaxMin as MaxMin
    from hinge.problems.max_min.check_problem import check_problem as check_problem
    from hinge.saddle.front_doors import enclosing_ball as enclosing_ball
    from hinge.saddle.front_doors import max_margin as max_margin
    from hinge.saddle.front_doors import maxmin as maxmin
    from hinge.saddle.front_doors import semidefinite as semidefinite
    from hinge.saddle.front_doors import solve_game as solve_game
    from hinge.saddle.semidefinite_program import maximize_semidefinite as maximize_semidefinite
    from hinge.selection import SVCCV as SVCCV
    from hinge.selection import SVRCV as SVRCV
    from hinge.selection import LinearSVCCV as LinearSVCCV
    from hinge.selection import LinearSVRCV as LinearSVRCV
    from hinge.selection import choose_threshold as choose_threshold
    from hinge.selection import plan_cost as plan_cost
    from hinge.selection import tune as tune
    from hinge.solvers import Snapshot as Snapshot
    from hinge.solvers import solve as solve
    from hinge.solvers import solve_slack as solve_slack
    from hinge.solvers import trace as trace
    from hinge.warming import warm as warm


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    module = f"hinge.files.{name}" if name == "model_files" else f"hinge.{name}"
    if not name.startswith("_") and find_spec(module):
        return import_module(module)
    raise AttributeError(f"module 'hinge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
