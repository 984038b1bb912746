"""Estimators in scikit-learn's conventions: thin clients of `solve`."""

from hinge.estimators.linear_svc import LinearSVC

__all__ = ["LinearSVC"]
