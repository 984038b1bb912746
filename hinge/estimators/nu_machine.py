"""What `NuSVC` and `NuSVR` have in place of `C` and `epsilon`."""

from hinge.estimators.kernel_machine import EXACT_BELOW, KernelMachine
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
        # The Gaussian's values are at most 1; sums of others may cancel. `LevelBlocks` begins anew where float32 ends.
        return self.tol < EXACT_BELOW or not isinstance(kernel, Gaussian)
