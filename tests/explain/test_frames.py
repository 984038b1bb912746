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
    assert list(frame(TABLE).columns) == list(TABLE._fields)
