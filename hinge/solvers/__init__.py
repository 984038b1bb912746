"""HOW: one algorithm a file, and the driver that runs them all."""

from hinge.solvers.active_set import ActiveSet
from hinge.solvers.amplified import Amplified
from hinge.solvers.auto import choose, frugal_for
from hinge.solvers.base import Solver
from hinge.solvers.block_dual import BlockDual
from hinge.solvers.core_set import CoreSet
from hinge.solvers.cutting_plane import CuttingPlane
from hinge.solvers.driver import solve
from hinge.solvers.frugal import Frugal
from hinge.solvers.grigoriadis_khachiyan import GrigoriadisKhachiyan
from hinge.solvers.interior_point import InteriorPoint
from hinge.solvers.kernel_pegasos import KernelPegasos
from hinge.solvers.kernel_perceptron import KernelPerceptron
from hinge.solvers.kernel_sdca import KernelSDCA
from hinge.solvers.level_blocks import LevelBlocks
from hinge.solvers.newton import Newton
from hinge.solvers.norma import Norma
from hinge.solvers.pdhg import PDHG
from hinge.solvers.pegasos import Pegasos
from hinge.solvers.perceptron import Perceptron
from hinge.solvers.primal_dual import PrimalDual
from hinge.solvers.probe import Probe
from hinge.solvers.result import Result
from hinge.solvers.sbp import SBP
from hinge.solvers.sdca import SDCA
from hinge.solvers.sgd import SGD
from hinge.solvers.simba import Simba
from hinge.solvers.slack_path import solve_slack
from hinge.solvers.smo import SMO
from hinge.solvers.stale_sdca import StaleSDCA
from hinge.solvers.uniform_dca import UniformDCA
from hinge.solvers.working_set import WorkingSet

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
