"""Upper bounds on the data that an iteration of a solver reads, in units that every kind of data can price."""

from typing import NamedTuple


class Cost(NamedTuple):
    """Upper bounds on the data that an iteration reads.

    Attributes
    ----------
    rows, columns : int
        Whole rows and whole columns.
    cells : int
        Single cells, in addition to those rows and columns.
    kernel_values : int
        Kernel values computed by the iteration and by `Solver.solution` after it.
    answer : int
        Kernel values computed by `Solver.solution` in the present state.
    setup : int
        Cells that the first iteration reads in addition.
    certificate : int or None
        Cells that a certificate reads; None for two passes over the data.
    a_pass : int
        Number of iterations that together read as much as one pass over the data.

    Examples
    --------
    >>> from hinge.problems import Cost
    >>> Cost(rows=1, columns=1).rows
    1
    """

    rows: int = 0
    columns: int = 0
    cells: int = 0
    kernel_values: int = 0
    answer: int = 0
    setup: int = 0
    certificate: int | None = None
    a_pass: int = 1
