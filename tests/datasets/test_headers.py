"""First lines as pandas, polars, Excel and R write them: read right, or refused in a sentence, never read wrong."""

import io

import numpy as np
import pandas as pd
import pytest

from hinge.cli.preparation import check_missing
from hinge.cli.rows import ReadOptions, read_rows
from hinge.datasets import DataFormatError, read
from hinge.datasets.delimited import DATA, DOUBTFUL, HEADER, kind_of_first
from tests.datasets.made_up import written

RNG = np.random.default_rng(0)
ROWS = 30
X = RNG.normal(size=(ROWS, 4)).round(4)
COUNTS = RNG.integers(0, 200, (ROWS, 4))
Y = np.resize([0, 1, 1], ROWS)
WORDS = np.array(["yes", "no"])[Y]
DOUBT = "--header or --no-header"


def frame(values, names, y=Y, label="y"):
    found = pd.DataFrame(values, columns=names)
    found[label] = y
    return found


def by_pandas(values, names, y=Y, label="y", **options):
    return frame(values, names, y, label).to_csv(**{"index": False, **options})


def by_polars(values, names, y=Y, **options):
    polars = pytest.importorskip("polars")
    stream = io.StringIO()
    columns = {str(name): values[:, j] for j, name in enumerate(names)}
    polars.DataFrame({**columns, "y": y}).write_csv(stream, **options)
    return stream.getvalue()


def by_r(names, values=X, y=Y, row_names=False, quoted=True):
    """What ``write.csv`` writes: names and row names in quotes."""
    head = [f'"{name}"' if quoted else name for name in names]
    lines = [[*map(repr, row), str(label)] for row, label in zip(values.tolist(), y.tolist(), strict=True)]
    if row_names:
        head, lines = ['""', *head], [[f'"{i + 1}"', *line] for i, line in enumerate(lines)]
    return "\n".join(map(",".join, [head, *lines])) + "\n"


def by_excel(names, values=X, y=Y, mark=",", comma=False, end="\r\n"):
    """What "save as" writes, in English or with a decimal comma."""
    cells = [[f"{value:g}".replace(".", "," if comma else ".") for value in row] for row in values.tolist()]
    lines = [[*row, str(label)] for row, label in zip(cells, y.tolist(), strict=True)]
    return end.join(map(mark.join, ([list(names)] if names else []) + lines)) + end


NAMES, YEARS = ["a", "b", "c", "d"], [2019, 2020, 2021, 2022]
FILES = {
    # name: text, and what is right: the columns' names, None where there are none, or words of the refusal
    "pandas, names": (by_pandas(X, NAMES), NAMES),
    "pandas, whole numbers": (by_pandas(X, range(4)), list("0123")),
    "pandas, whole numbers above counts": (by_pandas(COUNTS, range(4)), list("0123")),
    "pandas, numbers from 1 above counts": (by_pandas(COUNTS, range(1, 5)), list("1234")),
    "pandas, years": (by_pandas(X, YEARS, label="churn"), list(map(str, YEARS))),
    "pandas, years above counts": (by_pandas(COUNTS, YEARS, label="churn"), list(map(str, YEARS))),
    "pandas, years and words": (by_pandas(X, YEARS, WORDS, "churn"), list(map(str, YEARS))),
    "pandas, some years": (by_pandas(X, [1990, 2001, 2010, 2020], label="churn"), ["1990", "2001", "2010", "2020"]),
    "pandas, numbers and target": (by_pandas(X, range(4), label="target"), list("0123")),
    "pandas, numbers only": (by_pandas(X, range(4), label=4), list("0123")),
    "pandas, numbers only above counts": (by_pandas(COUNTS, range(4), label=4), DOUBT),
    "pandas, quantiles": (by_pandas(X, [0.1, 0.25, 0.5, 0.9]), DOUBT),
    "pandas, distinct numbers above counts": (by_pandas(COUNTS, [20, 40, 60, 80], label="kept"), DOUBT),
    "pandas, index": (by_pandas(X, NAMES, index=True), "numbers the rows"),
    "pandas, index and whole numbers": (by_pandas(X, range(4), index=True), "numbers the rows"),
    "pandas, named index": (by_pandas(X, NAMES, index=True, index_label="id"), ["id", *NAMES]),
    "pandas, no header": (by_pandas(X, NAMES, header=False), None),
    "pandas, no header, counts": (by_pandas(COUNTS, NAMES, header=False), None),
    "pandas, no header, words": (by_pandas(X, NAMES, WORDS, header=False), None),
    "pandas, two lines of names": (frame(X, NAMES).to_csv(index=False).replace("\n", "\nu,v,w,x,z\n", 1), "line 2"),
    "pandas, a column of words": (
        by_pandas(np.column_stack([np.resize(["red", "blue"], ROWS), X[:, :3].astype(object)]), range(4)),
        list("0123"),
    ),
    "pandas, tabs": (by_pandas(X, YEARS, sep="\t"), list(map(str, YEARS))),
    "polars, names": (by_polars(X, NAMES), NAMES),
    "polars, column_0": (by_polars(X, [f"column_{j}" for j in range(4)]), [f"column_{j}" for j in range(4)]),
    "polars, whole numbers": (by_polars(COUNTS, range(4)), list("0123")),
    "polars, years": (by_polars(X, YEARS, WORDS), list(map(str, YEARS))),
    "polars, no header": (by_polars(X, NAMES, include_header=False), None),
    "polars, all quoted": (by_polars(X, YEARS, quote_style="always"), list(map(str, YEARS))),
    "R, names": (by_r([*NAMES, "y"]), NAMES),
    "R, V1": (by_r(["V1", "V2", "V3", "V4", "V5"]), ["V1", "V2", "V3", "V4"]),
    "R, X2019": (by_r([*(f"X{year}" for year in YEARS), "y"]), [f"X{year}" for year in YEARS]),
    "R, check.names=FALSE": (by_r([*map(str, YEARS), "y"]), list(map(str, YEARS))),
    "R, row names": (by_r([*NAMES, "y"], row_names=True), "numbers the rows"),
    "R, row names and years": (by_r([*map(str, YEARS), "y"], row_names=True), "numbers the rows"),
    "R, write.table": ("\n".join(by_r([*NAMES, "y"], row_names=True).split("\n")).removeprefix('"",'), "cells"),
    "Excel, names": (by_excel([*NAMES, "y"]), NAMES),
    "Excel, years": (by_excel([*map(str, YEARS), "won"]), list(map(str, YEARS))),
    "Excel, UTF-8 with a mark": ("\ufeff" + by_excel([*map(str, YEARS), "won"]), list(map(str, YEARS))),
    "Excel, semicolons": (by_excel([*map(str, YEARS), "won"], mark=";"), list(map(str, YEARS))),
    "Excel, decimal commas": (by_excel([*NAMES, "y"], mark=";", comma=True), "commas"),
    "Excel, decimal commas and years": (by_excel([*map(str, YEARS), "y"], mark=";", comma=True), "commas"),
    "Excel, decimal commas, no header": (by_excel([], mark=";", comma=True), "commas"),
    "Excel, no header, counts": (by_excel([], COUNTS), None),
    "Excel, an empty column": (by_excel([*NAMES, "y"]).replace("\r\n", ",\r\n"), "missing"),
    "Excel, sep=": ("sep=,\r\n" + by_excel([*NAMES, "y"]), "cells"),
    "Excel, old Macintosh": (by_excel([*map(str, YEARS), "won"], end="\r"), list(map(str, YEARS))),
}


@pytest.mark.parametrize("name", FILES)
def test_a_first_line_is_read_right_or_refused(tmp_path, name):
    """By the command line, which takes words and names, and by `read`."""
    text, right = FILES[name]
    path = written(tmp_path, "a.csv", text.encode())
    if isinstance(right, str):
        with pytest.raises(ValueError) as refused:
            check_missing(read_rows(str(path), ReadOptions()))
        assert right in str(refused.value)
        with pytest.raises(DataFormatError):
            read(path)
        return
    found = read_rows(str(path), ReadOptions())
    assert found.X.shape == (ROWS, len(right or NAMES)) and found.names == right
    assert found.y.tolist() in (Y.tolist(), WORDS.tolist())
    if not found.words:
        A, y = read(path)
        assert np.array_equal(A, found.X) and y.tolist() == found.y.tolist()


@pytest.mark.parametrize(
    ("first", "beneath", "kind"),
    [
        ("0 1 y", ["7 8 1"], HEADER),
        ("0 1 2", ["0.5 1.5 1", "0.1 3.5 3"] * 10, DOUBTFUL),  # 2 may be a label
        ("1 2 3", ["4 5 6", "7 8 9"], DATA),  # so do all rows
        ("1 2 5", ["3 4 -5"], DATA),
        ("1 10 100", [f"{i} {10 * i} {100 * i}" for i in range(2, 30)], DOUBTFUL),  # in order, or names
        ("unknown 3 1", ["5 2 0", "1 4 1"], DOUBTFUL),
        ("p x s", ["e x s", "p y s"], DATA),
        ("kind shape size", ["e x s", "p y s"], HEADER),
        ("5 1 rare", ["4 0 usual", "6 2 usual"], DOUBTFUL),
        ("5.5 1.5 rare", ["4 0 usual", "6 2 usual"], DATA),
        ("2019_20 2020_21 y", ["7 8 1"], HEADER),
        ("1 2 3", [], DATA),
    ],
)
def test_what_a_first_line_is(first, beneath, kind):
    assert kind_of_first(first.split(), [row.split() for row in beneath]) == kind


def test_known_names_prove_a_header():
    rows = [["7", "5"], ["9", "3"]]
    assert kind_of_first(["0", "1"], rows) == DOUBTFUL
    assert kind_of_first(["0", "1"], rows, ["0", "1"]) == HEADER
    assert kind_of_first(["0", "1"], rows, ["0", "5"]) == DOUBTFUL
    assert kind_of_first(["0.5", "1"], rows, ["1"]) == DATA
    assert kind_of_first(["0.5", "a"], rows, ["a", "b"]) == HEADER


def test_header_says_what_it_is(tmp_path):
    text, _ = FILES["pandas, numbers only above counts"]
    path = written(tmp_path, "a.csv", text)
    for header, rows in ((True, ROWS), (False, ROWS + 1)):
        assert read(path, header=header)[0].shape == (rows, 4)
        assert read_rows(str(path), ReadOptions(header=header)).X.shape == (rows, 4)
    with pytest.raises(ValueError, match="csv and tsv"):
        read(written(tmp_path, "a.svm", "1 1:1\n"), header=True)


def test_a_number_that_is_a_name_and_another_position_is_refused(tmp_path):
    path = str(written(tmp_path, "a.csv", FILES["pandas, numbers from 1 above counts"][0]))
    with pytest.raises(ValueError, match="called '2', which is not the one at position 2"):
        read_rows(path, ReadOptions(label="2"))
    assert read_rows(path, ReadOptions(label="-1")).y.tolist() == Y.tolist()
