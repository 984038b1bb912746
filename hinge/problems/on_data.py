"""Problems whose data is a matrix, the reads of which are counted."""

from typing import Any

from hinge.access import Data, Matrix, Table, as_table
from hinge.problems.base import Answer, Problem
from hinge.problems.cost import Cost


class OnData(Problem[Answer]):
    """A problem over the rows of a matrix: how much of it has been read, and at what price.

    Parameters
    ----------
    data : Data
        A `Matrix`, or a `Table`, which then counts all reads. Compiled code reads the rows of a table in memory
        directly, unless it has prices or a limit on the cost, which only the table adds up.
    """

    def __init__(self, data: Data) -> None:
        table = data if isinstance(data, Table) else None
        self._table = table
        priced = table is not None and (table.bill.prices is not None or table.max_cost is not None)
        # A `Matrix` if it is in memory; else the driver rejects solvers that need one.
        self.matrix: Matrix | Any = data if priced else data.by_rows

    @property
    def table(self) -> Table:
        """The same data as a `Table`, read by rows, columns and cells; the reads are counted together."""
        if self._table is None:
            self._table = as_table(self.matrix)
        return self._table

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Whether compiled code can read its rows."""
        return isinstance(self.matrix, Matrix)

    @property
    def read_through(self) -> Data:
        """The object that counts the reads: the table if there is one, else the matrix."""
        return self.matrix if self._table is None else self._table

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells read so far."""
        return self.read_through.reads

    @property
    def cost(self) -> float:  # type: ignore[override]
        """The price of those cells; 0 as long as `table` was not used."""
        return 0.0 if self._table is None else self._table.bill.cost

    @property
    def budget(self) -> tuple[int | None, float | None]:  # type: ignore[override]
        """The most cells, and the highest cost, that the owner of the data allows."""
        return (None, None) if self._table is None else (self._table.max_reads, self._table.max_cost)

    @property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Cells read by one pass over the data; a certificate takes at most two passes."""
        return self.matrix.n_cells

    def cells_of(self, cost: Cost) -> int:
        """Upper bound on the cells that an iteration reads, by the longest row and the longest column."""
        cells = cost.cells + cost.rows * self.matrix.max_row_cells
        return cells + cost.columns * self.table.max_column_cells if cost.columns else cells

    def price_of(self, cost: Cost) -> float:
        """Upper bound on the price of an iteration: every column and cell at the price of the dearest feature."""
        bill = self.table.bill
        dearest = 1.0 if bill.prices is None else float(bill.prices.max(initial=0.0))
        return cost.rows * bill.row_price + dearest * (cost.columns * self.table.shape[0] + cost.cells)
