"""What `NuSVC` and `NuSVR` have in place of `C` and `epsilon`."""

from hinge.estimators.kernel_machine import KernelMachine
from hinge.kernels import Gaussian, Kernel
from hinge.solvers import LevelBlocks, Solver, registry


class NuMachine(KernelMachine):
    """The solver of problems with ν, for estimators that have it as a parameter."""

    nu: float
    fit_intercept = True

    def _solver(self, n_tasks: int) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        return LevelBlocks() if self.solver == "auto" else registry.BY_NAME[self.solver].load()()

    def _needs_double(self, kernel: Kernel) -> bool:
        return not isinstance(kernel, Gaussian)  # the Gaussian's values are at most 1; sums of others may cancel
