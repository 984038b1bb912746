"""Cases of the laws for solvers that nobody wrote one for."""

from hinge.solvers import registry


def default_cases(cases, make, *solves):
    """A case with default settings for each registered solver that has none, so that none escapes the laws.

    Parameters
    ----------
    cases : dict
        Those that are there.
    make : callable
        A case from a solver.
    solves : str
        The kinds of problem whose solvers are meant; those that need a package of others are left out.
    """
    there = {type(case.solver) for case in cases.values()}
    wanted = {name: registry.BY_NAME[name].load() for name in registry.names(*solves)}
    return {name: make(cls()) for name, cls in wanted.items() if cls not in there}
