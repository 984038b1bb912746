"""Tables that print as such, and results that print as one."""

from typing import NamedTuple

import numpy as np
import pytest

from hinge.access import as_table
from hinge.column_table import as_text, in_short


def test_numbers_in_few_characters():
    values = (0.123456, 4306063.0, 19999.6, 1e300, np.int64(12345), 1e-9, np.nan, -np.inf, True, "a")
    assert [as_text(value) for value in values] == [
        *("0.1235", "4,306,063", "20,000", "1e+300", "12,345", "1e-09", "nan", "-inf", "True", "a")
    ]


def test_a_named_tuple_in_one_line():
    class Plan(NamedTuple):
        cost: float
        sizes: np.ndarray

        def __repr__(self) -> str:
            return in_short(self)

    assert repr(Plan(2 / 3, np.array([1, 2]))) == "Plan(cost=0.6667, sizes=[1, 2])"


def test_a_bill_prints_as_a_table():
    table = as_table(np.eye(4))
    table.row(0)
    table.column(1)
    bill = table.bill
    told = dict(zip(bill.table.what.tolist(), bill.table.amount.tolist(), strict=True))
    assert told["cells"] == 8 and told["distinct cells"] == 7 and told["cost"] == 8
    assert "4 rows" in repr(bill) and "distinct cells" in bill._repr_html_() and "<table>" in bill._repr_html_()
    pytest.importorskip("pandas")
    assert bill.to_pandas().shape == (6, 2)
