"""HOW: one algorithm a file, and the driver that runs them all."""

from hinge.solvers.auto import choose, frugal_for
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.cells.probe import Probe
from hinge.solvers.cells.simba import Simba
from hinge.solvers.driver import solve
from hinge.solvers.kernel.active_set import ActiveSet
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.kernel.kernel_pegasos import KernelPegasos
from hinge.solvers.kernel.kernel_perceptron import KernelPerceptron
from hinge.solvers.kernel.kernel_sdca import KernelSDCA
from hinge.solvers.kernel.one_class_dual import LevelBlocks
from hinge.solvers.kernel.sbp import SBP
from hinge.solvers.kernel.smo import SMO
from hinge.solvers.linear.amplified import Amplified
from hinge.solvers.linear.cutting_plane import CuttingPlane
from hinge.solvers.linear.interior_point import InteriorPoint
from hinge.solvers.linear.newton import Newton
from hinge.solvers.linear.norma import Norma
from hinge.solvers.linear.pegasos import Pegasos
from hinge.solvers.linear.perceptron import Perceptron
from hinge.solvers.linear.sdca import SDCA
from hinge.solvers.linear.sgd import SGD
from hinge.solvers.linear.stale_sdca import StaleSDCA
from hinge.solvers.linear.uniform_dca import UniformDCA
from hinge.solvers.result import Result
from hinge.solvers.saddle.core_set import CoreSet
from hinge.solvers.saddle.grigoriadis_khachiyan import GrigoriadisKhachiyan
from hinge.solvers.saddle.pdhg import PDHG
from hinge.solvers.saddle.primal_dual import PrimalDual
from hinge.solvers.saddle.working_set import WorkingSet
from hinge.solvers.slack_path import solve_slack

SOLVERS: tuple[type[Solver], ...] = (
    Pegasos,
    SDCA,
    StaleSDCA,
    UniformDCA,
    Newton,
    CuttingPlane,
    Norma,
    SGD,
    Perceptron,
    Amplified,
)
"""All of them: the laws that every solver obeys are tested over this tuple."""

KERNEL_SOLVERS: tuple[type[Solver], ...] = (
    SBP, BlockDual, ActiveSet, KernelPegasos, KernelSDCA, KernelPerceptron, SMO
)  # fmt: skip
"""Those that see the points only through a kernel."""

TABLE_SOLVERS: tuple[type[Solver], ...] = (Simba, Frugal, Probe)
"""Those that read rows, columns and cells, of data that need not be in memory."""

MAX_MIN_SOLVERS: tuple[type[Solver], ...] = (PrimalDual, WorkingSet, CoreSet, PDHG, GrigoriadisKhachiyan)
"""Those of max-min problems."""

__all__ = [
    "KERNEL_SOLVERS",
    "MAX_MIN_SOLVERS",
    "PDHG",
    "SBP",
    "SDCA",
    "SGD",
    "SMO",
    "SOLVERS",
    "TABLE_SOLVERS",
    "ActiveSet",
    "Amplified",
    "BlockDual",
    "CoreSet",
    "CuttingPlane",
    "Frugal",
    "GrigoriadisKhachiyan",
    "InteriorPoint",
    "KernelPegasos",
    "KernelPerceptron",
    "KernelSDCA",
    "LevelBlocks",
    "Newton",
    "Norma",
    "Pegasos",
    "Perceptron",
    "PrimalDual",
    "Probe",
    "Result",
    "Simba",
    "Solver",
    "StaleSDCA",
    "UniformDCA",
    "WorkingSet",
    "choose",
    "frugal_for",
    "solve",
    "solve_slack",
]
