"""``hinge pair``: what it writes, and what it refuses."""

import numpy as np
from typer.testing import CliRunner

from hinge import cli, datasets, open_pair


def run(*args):
    return CliRunner().invoke(cli.application(), ["pair", *map(str, args)])


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
