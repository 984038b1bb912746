"""Choosing C, γ and thresholds, by searches whose fits share data, kernel values and starting points."""

from hinge.selection.planning import CostPlan, plan_cost
from hinge.selection.searching import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV
from hinge.selection.tuning import Tuned, tune
from hinge.selection.without_rows import choose_threshold

__all__ = ["SVCCV", "SVRCV", "CostPlan", "LinearSVCCV", "LinearSVRCV", "Tuned", "choose_threshold", "plan_cost", "tune"]
