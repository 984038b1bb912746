"""Estimators in scikit-learn's conventions: thin clients of `solve`."""

from hinge.estimators.linear_svc import LinearSVC
from hinge.estimators.linear_svr import LinearSVR
from hinge.estimators.nu_svc import NuSVC
from hinge.estimators.nu_svr import NuSVR
from hinge.estimators.one_class import OneClassSVM
from hinge.estimators.smallest_c import l1_min_c
from hinge.estimators.svc import SVC
from hinge.estimators.svr import SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "l1_min_c"]
