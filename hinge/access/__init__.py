"""Access to the data: the only code that reads it, where reads and kernel values are counted."""

from hinge.access.data import Data
from hinge.access.gram.as_points import as_points
from hinge.access.gram.base import BaseGram
from hinge.access.gram.gram import Gram
from hinge.access.gram.inner_points import Points
from hinge.access.matrix import Matrix, as_matrix, frozen
from hinge.access.rows import (
    CSRRows,
    DenseRows,
    add_outer,
    add_row,
    are_far,
    cell,
    dot,
    dots,
    fetch,
    held_row,
    read_row,
    span,
    sq_norm,
)
from hinge.access.tables.memory import DenseTable, SparseTable, as_table
from hinge.access.tables.table import Line, Table

__all__ = [
    "BaseGram",
    "CSRRows",
    "Data",
    "DenseRows",
    "DenseTable",
    "Gram",
    "Line",
    "Matrix",
    "Points",
    "SparseTable",
    "Table",
    "add_outer",
    "add_row",
    "are_far",
    "as_matrix",
    "as_points",
    "as_table",
    "cell",
    "dot",
    "dots",
    "fetch",
    "frozen",
    "held_row",
    "read_row",
    "span",
    "sq_norm",
]
