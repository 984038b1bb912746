"""What an iteration of a method may read, in units that every kind of data can count and price."""

from typing import NamedTuple


class Cost(NamedTuple):
    """The most that an iteration reads.

    Attributes
    ----------
    rows, columns : int
        Whole rows and columns.
    cells : int
        Cells beside those, wherever they are.
    kernel_values : int
        Kernel values of the iteration and of a look at the answer after it.
    answer : int
        Kernel values of such a look alone, as the run stands.
    setup : int
        Cells that the first iteration reads besides.
    certificate : int or None
        Cells that a certificate reads; None for two passes over the data.
    a_pass : int
        Iterations that read as much as one pass over the data.

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
