"""``hinge pair``: what it writes, and what it refuses."""

import numpy as np
import pytest
from typer.testing import CliRunner

from hinge import datasets, open_pair
from hinge.cli import app as cli


def run(*args):
    return CliRunner().invoke(cli.application(), ["pair", *map(str, args)])


@pytest.mark.slow
def test_a_named_set(tmp_path):
    result = run("adult", tmp_path / "pair")
    assert result.exit_code == 0, result.output
    adult, table = datasets.load("adult"), open_pair(tmp_path / "pair")
    assert table.shape == adult.X_train.shape
    dense = adult.X_train[[5]].toarray()[0]
    at, values = table.row(5)
    assert (dense[at] == values).all() and len(at) == np.count_nonzero(dense)
    assert (np.load(tmp_path / "pair.labels.npy") == adult.y_train).all()


def test_a_matrix_in_a_file(tmp_path):
    X = np.arange(60, dtype=np.float32).reshape(12, 5)
    np.save(tmp_path / "X.npy", X)
    result = run(tmp_path / "X.npy", tmp_path / "pair", "--memory", 1)
    assert result.exit_code == 0, result.output
    assert (open_pair(tmp_path / "pair").column(3).values == X[:, 3]).all()
    assert not (tmp_path / "pair.labels.npy").exists()


@pytest.mark.slow
def test_what_it_refuses(tmp_path):
    bad = np.ones((4, 3))
    bad[2, 1] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    for arguments, sentence in [
        (("nothing", tmp_path / "a"), "There is no data set or file 'nothing'"),
        ((tmp_path / "bad.npy", tmp_path / "a"), "row 2"),
        ((tmp_path / "bad.npy", tmp_path / "a", "--labels", tmp_path / "y.npy"), "without labels"),
        (("adult", tmp_path / "no" / "a"), "There is no folder"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 1 and "Traceback" not in result.output
        assert sentence in " ".join(result.stderr.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.npy"]


def parquet(folder, **columns):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), folder / "x.parquet", row_group_size=5)
    return folder / "x.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("label", ["label", "1", "-2"])
def test_labels_of_a_parquet_file_are_no_feature(tmp_path, label):
    rng = np.random.default_rng(0)
    a, b, y = rng.normal(size=12), np.arange(12), np.resize(["no", "yes", "no"], 12)
    path = parquet(tmp_path, a=a, label=y, b=b)
    result = run(path, tmp_path / "pair", "--label", label)
    assert result.exit_code == 0, result.output
    table = open_pair(tmp_path / "pair")
    assert table.shape == (12, 2)
    assert (table.column(0).values == a).all() and (table.column(1).values == b).all()
    assert np.load(tmp_path / "pair.labels.npy").tolist() == y.tolist()
    result = run(path, tmp_path / "pair", "--label", label, "--positive", "yes", "--labels", tmp_path / "y.npy")
    assert result.exit_code == 0, result.output
    assert (np.load(tmp_path / "y.npy") == np.where(y == "yes", 1, -1)).all()


def test_numbers_as_labels_of_a_parquet_file(tmp_path):
    path = parquet(tmp_path, label=[-1, 1, 1], a=[0.5, 1.5, 2.5])
    result = run(path, tmp_path / "pair")
    assert result.exit_code == 0 and open_pair(tmp_path / "pair").shape == (3, 2)
    assert "Column 'label' becomes a feature" in result.stderr and "--label label" in result.stderr
    assert run(tmp_path / "*.parquet", tmp_path / "pair", "--label", "label").exit_code == 0
    assert np.load(tmp_path / "pair.labels.npy").tolist() == [-1, 1, 1]
    assert open_pair(tmp_path / "pair").shape == (3, 1)


@pytest.mark.slow
def test_labels_that_are_not_there(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    path = parquet(tmp_path, lable=[-1, 1, None], a=[0.5, 1.5, 2.5])
    for arguments, sentence in [
        ((path, tmp_path / "a", "--label", "label"), "no column 'label': did you mean 'lable'?"),
        ((path, tmp_path / "a", "--label", "2"), "has 2 columns, so --label 2 lies outside them"),
        ((path, tmp_path / "a", "--label", "lable"), "'lable' has missing values"),
        ((path, tmp_path / "a", "--label", "a", "--positive", "7"), "has no class '7' to make positive"),
        ((path, tmp_path / "a", "--label", "a"), "'lable' has missing values"),
        ((path, tmp_path / "a", "--positive", "1"), "--positive is one of the labels"),
        ((tmp_path / "x.npy", tmp_path / "a", "--label", "0"), "without labels: leave --label out"),
        ((tmp_path / "no.npy", tmp_path / "a"), "There is no file"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 1 and "Traceback" not in result.output
        assert sentence in " ".join(result.stderr.split())
    assert not (tmp_path / "a").exists()
