"""Gaps and words before a machine: what is fitted, named and kept."""

import numpy as np
import pytest
from command_line import run, said, sentence
from shop_table import HEAD, shop

import hinge
from hinge.cli.preparation import (
    advice_on_scale,
    check_missing,
    columns_of,
    described_columns,
    feature_names,
    fills_gaps,
    joined,
    keep_names,
    machine_of,
    preparation_of,
)
from hinge.cli.rows import FileRows, ReadOptions, read_rows


@pytest.mark.sampled
@pytest.mark.parametrize(("impute", "scale"), [(None, False), ("mean", False), (None, True), ("median", True)])
def test_what_is_prepared_is_known_afterwards(impute, scale, tmp_path):
    rows = read_rows(str(shop(tmp_path / "x.csv", 30, gaps=0.05 if impute else 0)), ReadOptions())
    model = joined(preparation_of(rows, impute, scale), hinge.LinearSVC()).fit(rows.X, rows.y)
    keep_names(model, rows.names)
    assert columns_of(model)[:3] == (4, HEAD[:4], (1, 3))
    assert fills_gaps(model) == (impute is not None)
    assert feature_names(model) == ["age", "income", "city=Lima", "city=Oslo", "city=Rome", "member=no", "member=yes"]
    hinge.save(model, tmp_path / "m")
    again = hinge.load(tmp_path / "m")
    assert columns_of(again)[:3] == columns_of(model)[:3] and feature_names(again) == feature_names(model)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.asarray(rows.X), columns=rows.names)[["member", "income", "city", "age"]]
    scores = machine_of(model).decision_function(
        model[:-1].transform(pd.DataFrame(np.asarray(rows.X), columns=rows.names))
    )
    assert np.array_equal(again.decision_function(frame), scores)  # by name from Python, too, without a warning


def test_numbers_alone_need_nothing():
    rows = FileRows(np.ones((3, 2)), np.arange(3))
    assert preparation_of(rows) is None
    assert type(preparation_of(rows, "mean")).__name__ == "SimpleImputer"


def test_a_gap_is_named_with_its_remedy():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [np.nan, 4.0]])
    with pytest.raises(ValueError, match=r"Row 2, column age: the value is missing \(and 1 more.*--impute median"):
        check_missing(FileRows(X, None, ["age", "b"]))


@pytest.mark.slow
def test_gaps_in_rows_to_predict(tmp_path):
    whole, holed = shop(tmp_path / "a.csv", 40, gaps=0), shop(tmp_path / "b.csv", 40, gaps=0.2)
    said(run("train", whole, "-o", tmp_path / "m", "--quiet"))
    assert "the value is missing" in sentence(run("predict", tmp_path / "m", holed))
    said(run("train", whole, "--impute", "most_frequent", "-o", tmp_path / "m", "--quiet"))
    assert len(said(run("predict", tmp_path / "m", holed))[0].split()) == 40


def test_columns_that_should_not_be_learned_from_are_named(tmp_path):
    rng, days = np.random.default_rng(0), np.arange("2020-01-01", "2020-07-19", dtype="datetime64[D]")
    lines = ["id,day,age,town,same,y"]
    towns = ["t0", "t1", "t2", ""]  # the last one is missing, which is no town
    lines += [f"{1000 + k},{days[k // 4]},{rng.integers(90)},{towns[k % 4]},1,{'ab'[k % 2]}" for k in range(200)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines))
    columns = described_columns(read_rows(str(path), ReadOptions()))
    assert [(column.name, column.kind, column.levels) for column in columns] == [
        ("id", "number", 1),
        ("day", "words", 50),
        ("age", "number", 1),
        ("town", "words", 3),
        ("same", "number", 1),
    ]
    says = ["counts the rows", "holds dates", "", "", "is the same in all rows"]
    assert all(bool(part) == bool(column.doubt) for part, column in zip(says, columns, strict=True))
    assert all(part in column.doubt for part, column in zip(says, columns, strict=True))
    out, err = said(run("train", path, "--drop", "id,day", "--drop", "town", "--max-iter", 50))
    assert "rows x features  200 x 2" in out and "2 of numbers; without id, day, town" in out
    assert "Column same is the same in all rows: --drop same leaves it out." in err and "Column id" not in err


def test_a_fit_that_ends_early_hears_of_scales():
    X = np.array([[1.0, 1e6], [2.0, 5e6], [3.0, -1e6]])
    assert "factor of 3e+06: train with --scale" in advice_on_scale(FileRows(X, None))
    assert advice_on_scale(FileRows(X / [1.0, 1e6], None)) == ""
