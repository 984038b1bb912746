"""A problem over a matrix that is read with counts."""

from typing import Any

from hinge.access import Data, Matrix, Table, as_table
from hinge.problems.base import Answer, Problem
from hinge.problems.cost import Cost


class OnData(Problem[Answer]):
    """What every problem over rows of a matrix can say of its reads.

    Parameters
    ----------
    data : Data
        A `Matrix`, or a `Table`, which then keeps the bill. Of a table in memory, compiled code takes the rows,
        unless there is money in it (prices, or a limit of the cost), which only the table adds up.
    """

    def __init__(self, data: Data) -> None:
        table = data if isinstance(data, Table) else None
        self._table = table
        priced = table is not None and (table.bill.prices is not None or table.max_cost is not None)
        # A `Matrix` for all who read rows in memory: the driver turns them away where it is another.
        self.matrix: Matrix | Any = data if priced else data.by_rows

    @property
    def table(self) -> Table:
        """The same data by rows, columns and cells, on the same bill."""
        if self._table is None:
            self._table = as_table(self.matrix)
        return self._table

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Whether compiled code can take rows from it."""
        return isinstance(self.matrix, Matrix)

    @property
    def read_through(self) -> Data:
        """What counts the reads: the table, as soon as there is one, else the matrix."""
        return self.matrix if self._table is None else self._table

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells handed out so far."""
        return self.read_through.reads

    @property
    def cost(self) -> float:  # type: ignore[override]
        """The prices of those cells, 0 where nobody has asked for them by rows, columns or cells."""
        return 0.0 if self._table is None else self._table.bill.cost

    @property
    def budget(self) -> tuple[int | None, float | None]:  # type: ignore[override]
        """The most cells, and the highest cost, that the owner of the data allows."""
        return (None, None) if self._table is None else (self._table.max_reads, self._table.max_cost)

    @property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Cells that one pass over the data reads; a certificate takes at most two passes."""
        return self.matrix.n_cells

    def cells_of(self, cost: Cost) -> int:
        """With the longest rows and columns."""
        cells = cost.cells + cost.rows * self.matrix.max_row_cells
        return cells + cost.columns * self.table.max_column_cells if cost.columns else cells

    def price_of(self, cost: Cost) -> float:
        """By the prices of the table's owner: of a whole row, of the dearest column, of the dearest cells."""
        bill = self.table.bill
        dearest = 1.0 if bill.prices is None else float(bill.prices.max(initial=0.0))
        return cost.rows * bill.row_price + dearest * (cost.columns * self.table.shape[0] + cost.cells)
