"""Tables as pandas DataFrames."""

import sys

import numpy as np
import pytest

from hinge.explain import FeatureTable, frame

TABLE = FeatureTable(np.array(["a"]), np.array([""]), *(np.ones(1) for _ in range(4)))


def test_without_pandas_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        frame(TABLE)


def test_columns_are_those_of_the_table():
    pytest.importorskip("pandas")
    assert list(frame(TABLE).columns) == list(TABLE.columns)


def test_other_libraries_take_a_table():
    pa = pytest.importorskip("pyarrow")
    found = pa.table(TABLE)
    assert found.column_names == list(TABLE.columns) and found["weight"].to_pylist() == [1.0]


def test_a_table_prints_slices_and_has_a_html_form():
    table = FeatureTable(np.array(["a<b", "c", "d"]), np.array(["", "", ""]), *(np.arange(3) / 7.0 for _ in range(4)))
    assert len(table) == 3 and len(table[:2]) == 2 and table[1].feature.tolist() == ["c"]
    assert table[table.weight > 0.1]["feature"].tolist() == ["c", "d"] == table[[1, 2]].feature.tolist()
    names, _, *rest = repr(table).splitlines()
    assert names.split() == list(table.columns) and "0.1429" in rest[0] and len(rest) == 2
    assert "a&lt;b" in table._repr_html_() and table._repr_html_().count("<tr>") == 4
    many = FeatureTable(np.full(100, "x"), np.full(100, ""), *(np.arange(100.0) for _ in range(4)))
    assert (
        len(repr(many).splitlines()) == 23 and repr(many).endswith("[100 lines]") and "100 lines" in many._repr_html_()
    )
