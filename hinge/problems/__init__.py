"""WHAT is wanted: problems are data and parameters, and they certify answers."""

from hinge.problems.base import Certificate, Problem, Solution
from hinge.problems.examples import Examples, sorted_bias
from hinge.problems.kernelized import Expansion, KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.problems.linear import LinearProblem
from hinge.problems.norm_constrained import NormConstrained
from hinge.problems.regularized import Regularized, relative_gap
from hinge.problems.scalarizations import Scalarization, scalarizations
from hinge.problems.slack_constrained import SlackConstrained

__all__ = [
    "Certificate",
    "Examples",
    "Expansion",
    "KernelProblem",
    "KernelRegularized",
    "KernelSlackConstrained",
    "LinearProblem",
    "NormConstrained",
    "Problem",
    "Regularized",
    "Scalarization",
    "SlackConstrained",
    "Solution",
    "relative_gap",
    "scalarizations",
    "sorted_bias",
]
