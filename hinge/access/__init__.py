"""DATA: the only code that touches the data matrix, and the place where reads are counted."""

from hinge.access.matrix import Matrix, as_matrix, frozen
from hinge.access.rows import add_outer, add_row, dot, held_row, read_row, sq_norm

__all__ = ["Matrix", "add_outer", "add_row", "as_matrix", "dot", "frozen", "held_row", "read_row", "sq_norm"]
