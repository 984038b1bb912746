"""The base class of `NuSVC` and `NuSVR`."""

from hinge.estimators.kernel.kernel_machine import EXACT_BELOW, KernelMachine
from hinge.kernels import Gaussian, Kernel
from hinge.solvers import LevelBlocks, Solver, registry


class NuMachine(KernelMachine):
    """A kernel estimator with the parameter ν, whose default solver is `LevelBlocks`."""

    nu: float
    fit_intercept = True

    def _solver(self, n_tasks: int) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        return LevelBlocks() if self.solver == "auto" else registry.BY_NAME[self.solver].load()()

    def _needs_double(self, kernel: Kernel) -> bool:
        # Values of a Gaussian are at most 1; sums of others may cancel. `LevelBlocks` restarts if float32 is too
        # coarse.
        return self.tol < EXACT_BELOW or not isinstance(kernel, Gaussian)
