"""Choosing C, γ and thresholds, by searches whose fits share data, kernel values and starting points."""

from hinge.selection.kernel_cv import SVCCV, SVRCV
from hinge.selection.linear_cv import LinearSVCCV, LinearSVRCV
from hinge.selection.planning import CostPlan, plan_cost
from hinge.selection.thresholds import choose_threshold
from hinge.selection.tuning import Tuned, tune

__all__ = ["SVCCV", "SVRCV", "CostPlan", "LinearSVCCV", "LinearSVRCV", "Tuned", "choose_threshold", "plan_cost", "tune"]
