"""Estimators in scikit-learn's conventions: thin clients of `solve`."""

from hinge.estimators.kernel.one_class import OneClassSVM
from hinge.estimators.kernel.svc import SVC, NuSVC
from hinge.estimators.kernel.svr import SVR, NuSVR
from hinge.estimators.linear.linear_machine import l1_min_c
from hinge.estimators.linear.linear_svc import LinearSVC
from hinge.estimators.linear.linear_svr import LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "l1_min_c"]
