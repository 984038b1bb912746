"""All solvers, one in each line: the name, the module, and the kind of problem.

A new solver is a file of its own and a line here. Everything that offers solvers uses this list: the estimators'
``solver=``, races, model files, the laws that tests hold solvers to, the lists in the documentation, and the benchmark.
No solver is imported, and nothing is compiled, before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # its import needs a compiler
    from hinge.solvers.base import Solver

Solves = Literal["linear", "multiclass", "multiclass cells", "structured", "cells", "1-norm", "kernel", "nu", "max-min"]
"""The linear SVM, by rows in memory; the multiclass SVM in one problem (names are "multiclass" and that of a binary
solver), by rows, or with a given slack by rows and columns; structured outputs; the linear SVM by rows, columns
and cells; with the 1-norm; the kernel SVM; with ν; max-min problems."""


class Registered(NamedTuple):
    """One line of the registry.

    Attributes
    ----------
    module, class_name : str
        Where the solver is defined.
    solves : str
        The kind of problem it solves.
    needs : str
        An optional package that it needs: such a solver has no name in ``solver=``.
    """

    module: str
    class_name: str
    solves: Solves
    needs: str = ""

    def load(self) -> "type[Solver]":
        """The class."""
        found: type[Solver] = getattr(import_module(self.module), self.class_name)
        return found


BY_NAME: dict[str, Registered] = {
    "pegasos": Registered("hinge.solvers.papers.pegasos", "Pegasos", "linear"),
    "sdca": Registered("hinge.solvers.ascent.sdca", "SDCA", "linear"),
    "rowspace": Registered("hinge.solvers.newton.row_space", "RowSpace", "linear"),
    "cocoa": Registered("hinge.solvers.ascent.cocoa", "CoCoA", "linear"),
    "blockascent": Registered("hinge.solvers.ascent.block_ascent", "BlockAscent", "linear"),
    "blocknewton": Registered("hinge.solvers.newton.block_newton", "BlockNewton", "linear"),
    "bypasses": Registered("hinge.solvers.choice.by_passes", "ByPasses", "linear"),
    "stalesdca": Registered("hinge.solvers.ascent.stale_sdca", "StaleSDCA", "linear"),
    "uniformdca": Registered("hinge.solvers.papers.uniform_dca", "UniformDCA", "linear"),
    "newton": Registered("hinge.solvers.newton.newton", "Newton", "linear"),
    "finitenewton": Registered("hinge.solvers.newton.finite_newton", "FiniteNewton", "linear"),
    "centralpath": Registered("hinge.solvers.newton.central_path", "CentralPath", "linear"),
    "devicenewton": Registered("hinge.solvers.newton.device_newton", "DeviceNewton", "linear", "torch"),
    "switch": Registered("hinge.solvers.choice.switch", "Switch", "linear"),
    "cuttingplane": Registered("hinge.solvers.papers.cutting_plane", "CuttingPlane", "linear"),
    "norma": Registered("hinge.solvers.papers.norma", "Norma", "linear"),
    "sgd": Registered("hinge.solvers.papers.sgd", "SGD", "linear"),
    "perceptron": Registered("hinge.solvers.papers.perceptron", "Perceptron", "linear"),
    "amplified": Registered("hinge.solvers.papers.amplified", "Amplified", "linear"),
    "interiorpoint": Registered("hinge.solvers.papers.interior_point", "InteriorPoint", "linear", "clarabel"),
    "multiclasssdca": Registered("hinge.solvers.ascent.multiclass_sdca", "MulticlassSDCA", "multiclass"),
    "multiclassnewton": Registered("hinge.solvers.newton.multiclass_newton", "MulticlassNewton", "multiclass"),
    "multiclasspegasos": Registered("hinge.solvers.papers.multiclass_pegasos", "MulticlassPegasos", "multiclass"),
    "multiclasssimba": Registered("hinge.solvers.cells.multiclass_simba", "MulticlassSimba", "multiclass cells"),
    "structuredpegasos": Registered("hinge.solvers.papers.structured_pegasos", "StructuredPegasos", "structured"),
    "simba": Registered("hinge.solvers.cells.simba", "Simba", "cells"),
    "frugal": Registered("hinge.solvers.cells.frugal", "Frugal", "cells"),
    "probe": Registered("hinge.solvers.cells.probe", "Probe", "cells"),
    "thrifty": Registered("hinge.solvers.cells.thrifty", "Thrifty", "cells"),
    "cdn": Registered("hinge.solvers.l1.cdn", "CDN", "1-norm"),
    "sbp": Registered("hinge.solvers.papers.sbp", "SBP", "kernel"),
    "blockdual": Registered("hinge.solvers.kernel.block_dual", "BlockDual", "kernel"),
    "deviceblock": Registered("hinge.solvers.kernel.device_block", "DeviceBlock", "kernel"),
    "nystroem": Registered("hinge.solvers.kernel.nystroem", "Nystroem", "kernel"),
    "fromlandmarks": Registered("hinge.solvers.kernel.from_landmarks", "FromLandmarks", "kernel"),
    "activeset": Registered("hinge.solvers.kernel.active_set", "ActiveSet", "kernel"),
    "kernelpegasos": Registered("hinge.solvers.papers.kernel_pegasos", "KernelPegasos", "kernel"),
    "kernelsdca": Registered("hinge.solvers.papers.kernel_sdca", "KernelSDCA", "kernel"),
    "kernelperceptron": Registered("hinge.solvers.papers.kernel_perceptron", "KernelPerceptron", "kernel"),
    "smo": Registered("hinge.solvers.papers.smo", "SMO", "kernel"),
    "levelblocks": Registered("hinge.solvers.kernel.level_blocks", "LevelBlocks", "nu"),
    "sublinearperceptron": Registered("hinge.solvers.papers.sublinear_perceptron", "SublinearPerceptron", "max-min"),
    "sublinearsdp": Registered("hinge.solvers.papers.sublinear_sdp", "SublinearSDP", "max-min"),
    "primaldual": Registered("hinge.solvers.saddle.primal_dual", "PrimalDual", "max-min"),
    "workingset": Registered("hinge.solvers.saddle.working_set", "WorkingSet", "max-min"),
    "byturns": Registered("hinge.solvers.saddle.by_turns", "ByTurns", "max-min"),
    "coreset": Registered("hinge.solvers.saddle.core_set", "CoreSet", "max-min"),
    "pdhg": Registered("hinge.solvers.saddle.pdhg", "PDHG", "max-min"),
    "grigoriadiskhachiyan": Registered("hinge.solvers.saddle.grigoriadis_khachiyan", "GrigoriadisKhachiyan", "max-min"),
}
"""All solvers. The name is the name of the class in lower case."""


def entries(*solves: Solves) -> dict[str, Registered]:
    """The solvers of some kinds of problem by name, in this order; all if no kind is given."""
    return {name: entry for name, entry in BY_NAME.items() if not solves or entry.solves in solves}


def names(*solves: Solves) -> tuple[str, ...]:
    """Names that ``solver=`` of an estimator of such problems accepts, besides "auto"."""
    return tuple(name for name, entry in entries(*solves).items() if not entry.needs)


def classes(*solves: Solves) -> "tuple[type[Solver], ...]":
    """The classes of the solvers of some kinds of problem; all if no kind is given."""
    return tuple(entry.load() for entry in entries(*solves).values())


def of_class(name: str) -> Registered | None:
    """The entry of the solver class with this name; None if there is none."""
    return next((entry for entry in BY_NAME.values() if entry.class_name == name), None)


def entry_of(solver: "Solver") -> Registered | None:
    """The entry of a solver's class, or of a class that it inherits from; None if there is none."""
    places = [(cls.__module__, cls.__qualname__) for cls in type(solver).__mro__]
    found = {(entry.module, entry.class_name): entry for entry in BY_NAME.values()}
    return next((found[place] for place in places if place in found), None)


def solves(solver: "Solver") -> Solves | None:
    """The kind of problem that a solver solves; None if it is not registered."""
    entry = entry_of(solver)
    return None if entry is None else entry.solves
