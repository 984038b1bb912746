"""WHAT is wanted: problems are data and parameters, and they certify answers."""

from hinge.problems.base import Certificate, Problem, Solution
from hinge.problems.enclosing_ball import EnclosingBall
from hinge.problems.examples import Examples, sorted_bias
from hinge.problems.fraction import Fraction
from hinge.problems.kernel_margin import KernelMaxMargin
from hinge.problems.kernel_slack import KernelSlackConstrained
from hinge.problems.kernelized import Expansion, KernelProblem, KernelRegularized
from hinge.problems.linear import LinearProblem
from hinge.problems.linear_max_min import LinearMaxMin
from hinge.problems.matrix_game import MatrixGame
from hinge.problems.max_margin import MaxMargin
from hinge.problems.max_min import MaxMin, Strategies
from hinge.problems.norm_constrained import NormConstrained
from hinge.problems.regularized import Regularized, relative_gap
from hinge.problems.scalarizations import Scalarization, scalarizations
from hinge.problems.semidefinite import Semidefinite
from hinge.problems.slack_constrained import SlackConstrained
from hinge.problems.slack_game import SlackGame

__all__ = [
    "Certificate",
    "EnclosingBall",
    "Examples",
    "Expansion",
    "Fraction",
    "KernelMaxMargin",
    "KernelProblem",
    "KernelRegularized",
    "KernelSlackConstrained",
    "LinearMaxMin",
    "LinearProblem",
    "MatrixGame",
    "MaxMargin",
    "MaxMin",
    "NormConstrained",
    "Problem",
    "Regularized",
    "Scalarization",
    "Semidefinite",
    "SlackConstrained",
    "SlackGame",
    "Solution",
    "Strategies",
    "relative_gap",
    "scalarizations",
    "sorted_bias",
]
