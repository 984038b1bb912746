"""Numbers as plain text."""

import csv
import io
import json
import math

import pytest

from hinge.report.outcome import csv_text, finite, write_text


def test_a_table_is_read_back():
    rows = [["a, b", 1.5, None], ['say "so"', -2, "two\nlines"]]
    back = list(csv.reader(io.StringIO(csv_text(["x", "y", "z"], rows))))
    assert back == [["x", "y", "z"], ["a, b", "1.5", ""], ['say "so"', "-2", "two\nlines"]]


def test_what_json_lacks_becomes_null():
    value = {"a": [1.0, math.nan, (math.inf, "x")], "b": {"c": -math.inf, "d": True, "e": None, "f": 3}}
    assert finite(value) == {"a": [1.0, None, [None, "x"]], "b": {"c": None, "d": True, "e": None, "f": 3}}
    json.dumps(finite(value), allow_nan=False)
    assert math.isnan(value["a"][1])  # the given one is left as it is


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "none" / "a.txt", "")
    assert list(tmp_path.iterdir()) == [path]
