"""Solvers, one algorithm in each file, and the driver that runs them.

Solvers are imported when they are first used: `registry` lists them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hinge.solvers.registry import BY_NAME, Solves, classes, of_class

_WHERE = {
    "Result": "hinge.solvers.base",
    "Snapshot": "hinge.solvers.tracing",
    "Solver": "hinge.solvers.base",
    "choose": "hinge.solvers.choice.auto",
    "solve": "hinge.solvers.driver",
    "solve_slack": "hinge.solvers.slack_path",
    "trace": "hinge.solvers.tracing",
}

_KINDS: dict[str, tuple[Solves, ...]] = {
    "SOLVERS": (),  # all of them
    "KERNEL_SOLVERS": ("kernel",),
    "TABLE_SOLVERS": ("cells",),
    "MAX_MIN_SOLVERS": ("max-min",),
}

_PARTS = (
    "ascent",
    "base",
    "cells",
    "driver",
    "choice",
    "kernel",
    "l1",
    "newton",
    "papers",
    "registry",
    "saddle",
    "slack_path",
)

__all__ = [*_WHERE, *_KINDS, *(entry.class_name for entry in BY_NAME.values())]

if TYPE_CHECKING:
    # For type checkers. A registered solver that is not listed here works all the same, as `Any`.
    from hinge.solvers.ascent.block_ascent import BlockAscent as BlockAscent
    from hinge.solvers.ascent.cocoa import CoCoA as CoCoA
    from hinge.solvers.ascent.multiclass_sdca import MulticlassSDCA as MulticlassSDCA
    from hinge.solvers.ascent.sdca import SDCA as SDCA
    from hinge.solvers.ascent.stale_sdca import StaleSDCA as StaleSDCA
    from hinge.solvers.base import Result as Result
    from hinge.solvers.base import Solver as Solver
    from hinge.solvers.cells.frugal import Frugal as Frugal
    from hinge.solvers.cells.multiclass_simba import MulticlassSimba as MulticlassSimba
    from hinge.solvers.cells.probe import Probe as Probe
    from hinge.solvers.cells.simba import Simba as Simba
    from hinge.solvers.cells.thrifty import Thrifty as Thrifty
    from hinge.solvers.choice.auto import choose as choose
    from hinge.solvers.choice.by_passes import ByPasses as ByPasses
    from hinge.solvers.driver import solve as solve
    from hinge.solvers.kernel.active_set import ActiveSet as ActiveSet
    from hinge.solvers.kernel.block_dual import BlockDual as BlockDual
    from hinge.solvers.kernel.device_block import DeviceBlock as DeviceBlock
    from hinge.solvers.kernel.from_landmarks import FromLandmarks as FromLandmarks
    from hinge.solvers.kernel.level_blocks import LevelBlocks as LevelBlocks
    from hinge.solvers.kernel.nystroem import Nystroem as Nystroem
    from hinge.solvers.l1.cdn import CDN as CDN
    from hinge.solvers.newton.block_newton import BlockNewton as BlockNewton
    from hinge.solvers.newton.central_path import CentralPath as CentralPath
    from hinge.solvers.newton.device_newton import DeviceNewton as DeviceNewton
    from hinge.solvers.newton.finite_newton import FiniteNewton as FiniteNewton
    from hinge.solvers.newton.multiclass_newton import MulticlassNewton as MulticlassNewton
    from hinge.solvers.newton.newton import Newton as Newton
    from hinge.solvers.papers.amplified import Amplified as Amplified
    from hinge.solvers.papers.cutting_plane import CuttingPlane as CuttingPlane
    from hinge.solvers.papers.interior_point import InteriorPoint as InteriorPoint
    from hinge.solvers.papers.kernel_pegasos import KernelPegasos as KernelPegasos
    from hinge.solvers.papers.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from hinge.solvers.papers.kernel_sdca import KernelSDCA as KernelSDCA
    from hinge.solvers.papers.multiclass_pegasos import MulticlassPegasos as MulticlassPegasos
    from hinge.solvers.papers.norma import Norma as Norma
    from hinge.solvers.papers.pegasos import Pegasos as Pegasos
    from hinge.solvers.papers.perceptron import Perceptron as Perceptron
    from hinge.solvers.papers.sbp import SBP as SBP
    from hinge.solvers.papers.sgd import SGD as SGD
    from hinge.solvers.papers.smo import SMO as SMO
    from hinge.solvers.papers.structured_pegasos import StructuredPegasos as StructuredPegasos
    from hinge.solvers.papers.sublinear_perceptron import SublinearPerceptron as SublinearPerceptron
    from hinge.solvers.papers.sublinear_sdp import SublinearSDP as SublinearSDP
    from hinge.solvers.papers.uniform_dca import UniformDCA as UniformDCA
    from hinge.solvers.saddle.by_turns import ByTurns as ByTurns
    from hinge.solvers.saddle.core_set import CoreSet as CoreSet
    from hinge.solvers.saddle.grigoriadis_khachiyan import GrigoriadisKhachiyan as GrigoriadisKhachiyan
    from hinge.solvers.saddle.pdhg import PDHG as PDHG
    from hinge.solvers.saddle.primal_dual import PrimalDual as PrimalDual
    from hinge.solvers.saddle.working_set import WorkingSet as WorkingSet
    from hinge.solvers.slack_path import solve_slack as solve_slack
    from hinge.solvers.tracing import Snapshot as Snapshot
    from hinge.solvers.tracing import trace as trace

    SOLVERS: tuple[type[Solver], ...]
    KERNEL_SOLVERS: tuple[type[Solver], ...]
    TABLE_SOLVERS: tuple[type[Solver], ...]
    MAX_MIN_SOLVERS: tuple[type[Solver], ...]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _KINDS:
        return classes(*_KINDS[name])
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    entry = of_class(name)
    if entry is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return entry.load()


def __dir__() -> list[str]:
    return sorted(__all__)
