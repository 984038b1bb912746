"""Optimisation problems: data and parameters, an objective, and a certificate for any answer; no algorithm."""

from hinge.problems.base import Certificate, Cost, Problem, Solution
from hinge.problems.max_min.base import Fraction, MaxMin, Strategies
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import LinearMaxMin, MatrixGame
from hinge.problems.max_min.max_margin import KernelMaxMargin, MaxMargin, SlackGame
from hinge.problems.max_min.symmetric import Semidefinite
from hinge.problems.svm.examples import Examples, sorted_bias
from hinge.problems.svm.kernelized import Expansion, KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.linear import LinearProblem
from hinge.problems.svm.multiclass import Multiclass, MulticlassSlackConstrained
from hinge.problems.svm.nu_forms import KernelNuClassification, KernelNuRegression, OneClass
from hinge.problems.svm.penalized import L1Regularized, Penalized
from hinge.problems.svm.regularized import Regularized
from hinge.problems.svm.slack_constrained import NormConstrained, Scalarization, SlackConstrained, scalarizations
from hinge.problems.svm.structured import Structured, StructuredSolution

__all__ = [
    "Certificate",
    "Cost",
    "EnclosingBall",
    "Examples",
    "Expansion",
    "Fraction",
    "KernelMaxMargin",
    "KernelNuClassification",
    "KernelNuRegression",
    "KernelProblem",
    "KernelRegularized",
    "KernelSlackConstrained",
    "L1Regularized",
    "LinearMaxMin",
    "LinearProblem",
    "MatrixGame",
    "MaxMargin",
    "MaxMin",
    "Multiclass",
    "MulticlassSlackConstrained",
    "NormConstrained",
    "OneClass",
    "Penalized",
    "Problem",
    "Regularized",
    "Scalarization",
    "Semidefinite",
    "SlackConstrained",
    "SlackGame",
    "Solution",
    "Strategies",
    "Structured",
    "StructuredSolution",
    "scalarizations",
    "sorted_bias",
]
