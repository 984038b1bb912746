"""Every solver, one a line: the name to ask for it by, where it lies, and what it solves.

A new solver is a file of its own and a line here. All who offer solvers ask this list when they need it:
the estimators' ``solver=``, races, model files, the laws that the tests hold solvers to, the lists in the
documentation and the benchmark. No solver is imported before it is asked for, and no compiler with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # it needs problems, and those a compiler
    from hinge.solvers.base import Solver

Solves = Literal["linear", "multiclass", "cells", "1-norm", "kernel", "nu", "max-min"]
"""The linear SVM by rows in memory; that of several classes at once, whose solvers have the names of those for two
after "multiclass"; the linear SVM by rows, columns and cells; with the 1-norm; the kernel SVM; with ν; the others."""


class Entry(NamedTuple):
    """One line of the registry.

    Attributes
    ----------
    module, class_name : str
        Where the solver lies.
    solves : str
        Which problems it is for.
    needs : str
        A package that it cannot do without and hinge can: such a solver has no name in ``solver=``.
    """

    module: str
    class_name: str
    solves: Solves
    needs: str = ""

    def load(self) -> "type[Solver]":
        """The class."""
        found: type[Solver] = getattr(import_module(self.module), self.class_name)
        return found


BY_NAME: dict[str, Entry] = {
    "pegasos": Entry("hinge.solvers.linear.pegasos", "Pegasos", "linear"),
    "sdca": Entry("hinge.solvers.linear.sdca", "SDCA", "linear"),
    "subspacesdca": Entry("hinge.solvers.linear.subspace_sdca", "SubspaceSDCA", "linear"),
    "cocoa": Entry("hinge.solvers.linear.cocoa", "CoCoA", "linear"),
    "blockascent": Entry("hinge.solvers.linear.block_ascent", "BlockAscent", "linear"),
    "blocknewton": Entry("hinge.solvers.linear.block_newton", "BlockNewton", "linear"),
    "bypasses": Entry("hinge.solvers.linear.by_passes", "ByPasses", "linear"),
    "stalesdca": Entry("hinge.solvers.linear.stale_sdca", "StaleSDCA", "linear"),
    "uniformdca": Entry("hinge.solvers.linear.uniform_dca", "UniformDCA", "linear"),
    "newton": Entry("hinge.solvers.linear.newton", "Newton", "linear"),
    "devicenewton": Entry("hinge.solvers.linear.device_newton", "DeviceNewton", "linear", "torch"),
    "adaptive": Entry("hinge.solvers.linear.adaptive", "Adaptive", "linear"),
    "cuttingplane": Entry("hinge.solvers.linear.cutting_plane", "CuttingPlane", "linear"),
    "norma": Entry("hinge.solvers.linear.norma", "Norma", "linear"),
    "sgd": Entry("hinge.solvers.linear.sgd", "SGD", "linear"),
    "perceptron": Entry("hinge.solvers.linear.perceptron", "Perceptron", "linear"),
    "amplified": Entry("hinge.solvers.linear.amplified", "Amplified", "linear"),
    "interiorpoint": Entry("hinge.solvers.linear.interior_point", "InteriorPoint", "linear", "clarabel"),
    "multiclasssdca": Entry("hinge.solvers.linear.multiclass_sdca", "MulticlassSDCA", "multiclass"),
    "multiclasspegasos": Entry("hinge.solvers.linear.multiclass_pegasos", "MulticlassPegasos", "multiclass"),
    "simba": Entry("hinge.solvers.cells.simba", "Simba", "cells"),
    "frugal": Entry("hinge.solvers.cells.frugal", "Frugal", "cells"),
    "probe": Entry("hinge.solvers.cells.probe", "Probe", "cells"),
    "thrifty": Entry("hinge.solvers.cells.thrifty", "Thrifty", "cells"),
    "cdn": Entry("hinge.solvers.linear.cdn", "CDN", "1-norm"),
    "sbp": Entry("hinge.solvers.kernel.sbp", "SBP", "kernel"),
    "blockdual": Entry("hinge.solvers.kernel.block_dual", "BlockDual", "kernel"),
    "activeset": Entry("hinge.solvers.kernel.active_set", "ActiveSet", "kernel"),
    "kernelpegasos": Entry("hinge.solvers.kernel.kernel_pegasos", "KernelPegasos", "kernel"),
    "kernelsdca": Entry("hinge.solvers.kernel.kernel_sdca", "KernelSDCA", "kernel"),
    "kernelperceptron": Entry("hinge.solvers.kernel.kernel_perceptron", "KernelPerceptron", "kernel"),
    "smo": Entry("hinge.solvers.kernel.smo", "SMO", "kernel"),
    "levelblocks": Entry("hinge.solvers.kernel.level_blocks", "LevelBlocks", "nu"),
    "primaldual": Entry("hinge.solvers.saddle.primal_dual", "PrimalDual", "max-min"),
    "workingset": Entry("hinge.solvers.saddle.working_set", "WorkingSet", "max-min"),
    "byturns": Entry("hinge.solvers.saddle.by_turns", "ByTurns", "max-min"),
    "coreset": Entry("hinge.solvers.saddle.core_set", "CoreSet", "max-min"),
    "pdhg": Entry("hinge.solvers.saddle.pdhg", "PDHG", "max-min"),
    "grigoriadiskhachiyan": Entry("hinge.solvers.saddle.grigoriadis_khachiyan", "GrigoriadisKhachiyan", "max-min"),
}
"""All of them. The name is that of the class in small letters."""


def entries(*solves: Solves) -> dict[str, Entry]:
    """The solvers of some kinds of problem by name, in their order here; all, if no kind is given."""
    return {name: entry for name, entry in BY_NAME.items() if not solves or entry.solves in solves}


def names(*solves: Solves) -> tuple[str, ...]:
    """What ``solver=`` of an estimator of such problems takes, besides "auto"."""
    return tuple(name for name, entry in entries(*solves).items() if not entry.needs)


def classes(*solves: Solves) -> "tuple[type[Solver], ...]":
    """The solvers of some kinds of problem, imported; all, if no kind is given."""
    return tuple(entry.load() for entry in entries(*solves).values())


def of_class(name: str) -> Entry | None:
    """The solver whose class has this name; None if there is none."""
    return next((entry for entry in BY_NAME.values() if entry.class_name == name), None)


def entry_of(solver: "Solver") -> Entry | None:
    """The line of a solver, or of the one it inherits from; None if it inherits from none."""
    places = [(cls.__module__, cls.__qualname__) for cls in type(solver).__mro__]
    found = {(entry.module, entry.class_name): entry for entry in BY_NAME.values()}
    return next((found[place] for place in places if place in found), None)


def solves(solver: "Solver") -> Solves | None:
    """Which problems a solver is for; None if nobody registered it."""
    entry = entry_of(solver)
    return None if entry is None else entry.solves
