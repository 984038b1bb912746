"""How the laws ask a solver what the driver asks it: the only lines of the laws that name these methods."""

from hinge.problems import KernelProblem
from hinge.problems.max_min.max_margin import KernelMaxMargin
from hinge.solvers.base import certified


def iterations(solver, state):
    """Iterations run so far."""
    return state.t


def certify(solver, problem, state):
    """The certificate of the answer so far, as the driver gets it."""
    return certified(problem, solver, state)


def bound(solver, problem, state):
    """Cells, or kernel values, that the next iteration reads at most; the first sets up besides."""
    cost = solver.cost(problem, state)
    if by_kernel(problem):
        return cost.kernel_values
    return problem.cells_of(cost) + (cost.setup if iterations(solver, state) == 0 else 0)


def by_kernel(problem):
    """Whether what it costs is kernel values."""
    return isinstance(problem, KernelProblem | KernelMaxMargin)


def spent(problem):
    """Cells read, or kernel values computed, so far."""
    return problem.kernel_evals if by_kernel(problem) else problem.reads


def value(state):
    """The arrays and numbers of a state or an answer, in order; a copy of rows kept aside is none of them."""
    if isinstance(state, tuple):
        for name, item in zip(getattr(state, "_fields", [""] * len(state)), state, strict=True):
            if name != "copy":
                yield from value(item)
    else:
        yield state
