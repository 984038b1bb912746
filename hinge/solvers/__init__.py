"""HOW: one algorithm a file, and the driver that runs them all."""

from hinge.solvers.amplified import Amplified
from hinge.solvers.auto import choose
from hinge.solvers.base import Solver
from hinge.solvers.block_dual import BlockDual
from hinge.solvers.driver import Result, solve
from hinge.solvers.newton import Newton
from hinge.solvers.norma import Norma
from hinge.solvers.pegasos import Pegasos
from hinge.solvers.perceptron import Perceptron
from hinge.solvers.sdca import SDCA
from hinge.solvers.sgd import SGD
from hinge.solvers.slack_path import solve_slack

SOLVERS: tuple[type[Solver], ...] = (Pegasos, SDCA, Newton, Norma, SGD, Perceptron, Amplified)
"""All of them: the laws that every solver obeys are tested over this tuple."""

KERNEL_SOLVERS: tuple[type[Solver], ...] = (BlockDual,)
"""Those that see the points only through a kernel."""

__all__ = [
    "KERNEL_SOLVERS",
    "SDCA",
    "SGD",
    "SOLVERS",
    "Amplified",
    "BlockDual",
    "Newton",
    "Norma",
    "Pegasos",
    "Perceptron",
    "Result",
    "Solver",
    "choose",
    "solve",
    "solve_slack",
]
