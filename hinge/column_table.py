"""Tables of columns that print as such, and results that print as one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ColumnTable", "Tabled", "as_text", "in_short"]


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTable:
    """A table of columns of equal length, which prints as one: the base class of all tables of this package.

    ``table[:3]``, ``table[mask]`` and ``table[rows]`` are tables of some lines, ``table["name"]`` is a column and
    ``len(table)`` the number of lines. `to_pandas` makes a DataFrame, and so do ``polars.DataFrame(table)`` and
    ``pyarrow.table(table)`` where pyarrow is installed.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.explain import FeatureTable
    >>> table = FeatureTable(np.array(["age", "pay"]), np.array(["yes", "yes"]), *(np.array([0.5, -0.25]),) * 4)
    >>> table[:1]
    feature   of  weight  spread  effect  share
        age  yes     0.5     0.5     0.5    0.5
    """

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, without those that have nothing to say."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, which: str | int | slice | ArrayLike) -> Any:
        if isinstance(which, str):
            return self.columns[which]
        lines = np.atleast_1d(np.arange(len(self))[cast(Any, which)])
        return type(self)(**{field.name: getattr(self, field.name)[lines] for field in fields(self)})

    def to_pandas(self) -> DataFrame:
        """The same columns as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas: pip install pandas, or use the table's columns.") from error
        return pd.DataFrame(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.table(self.columns).__arrow_c_stream__(requested_schema)

    def _cells(self, most: int = 20) -> list[list[str]]:
        """Names and lines as text: all lines, or the first and the last of many."""
        half = most // 2
        lines = list(self.columns.values())
        shown: list[Any] = [*range(len(self))] if len(self) <= most else [*range(half), None, *range(-half, 0)]
        rows = [["..." if k is None else as_text(column[k]) for column in lines] for k in shown]
        return [list(self.columns), *rows]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join(lines + [f"[{len(self):,} lines]"] * (len(cells) <= len(self)))

    def _repr_html_(self) -> str:
        names, *rows = [[escape(text) for text in row] for row in self._cells()]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{text}</td>" for text in row) + "</tr>" for row in rows)
        note = f"<p>{len(self):,} lines</p>" if len(rows) < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


class Tabled:
    """The base class of results that print as a sentence above a table, in notebooks too.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.access import as_table
    >>> table = as_table(np.eye(3))
    >>> line = table.row(0)
    >>> table.bill
    What was read of 3 rows and 3 columns.
              what  amount
             cells       3
          nonzeros       1
    distinct cells       3
             bytes      24
             pages       1
              cost       3
    """

    @property
    def table(self) -> Any:
        """The result as a `ColumnTable`."""
        raise NotImplementedError

    @property
    def _headline(self) -> str:
        raise NotImplementedError

    def to_pandas(self) -> DataFrame:
        """The table as a pandas DataFrame."""
        return self.table.to_pandas()

    def __repr__(self) -> str:
        return f"{self._headline}\n{self.table}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._headline)}</p>{self.table._repr_html_()}"


def as_text(value: object) -> str:
    """A value of a table in few characters: whole numbers, and those from a thousand on, without fractions."""
    if isinstance(value, float | np.floating):
        number = float(value)
        whole = abs(number) < 1e12 and (number.is_integer() or abs(number) >= 1e3)
        return f"{number:,.0f}" if whole else f"{number:.4g}"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)


def in_short(result: NamedTuple) -> str:
    """A named tuple in one line, its numbers with four digits."""
    shown = []
    for name, value in zip(result._fields, result, strict=True):
        few = f"[{', '.join(map(as_text, value))}]" if isinstance(value, np.ndarray) else as_text(value)
        shown.append(f"{name}={few}")
    return f"{type(result).__name__}({', '.join(shown)})"
