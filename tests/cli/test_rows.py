"""What files are found to hold: labels, names, words, weights; by name where there are names."""

import bz2
import gzip
import lzma
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import run, said, sentence
from typer.testing import CliRunner

from hinge.cli.app import application
from hinge.cli.machines import megabytes
from hinge.cli.rows import ModelColumns, ReadOptions, read_blocks, read_rows, split_names, stacked, stream_label

HOW = ReadOptions()
PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(folder, text, name="x.csv"):
    (folder / name).write_text(text)
    return str(folder / name)


def test_weights_labels_and_columns_left_out(tmp_path):
    path = write(tmp_path, "id,w,a,kind\n1,0.5,3,x\n2,1.5,4,y\n")
    found = read_rows(path, ReadOptions(weight="w", drop=("id",)))
    assert found.names == ["a"] and found.weight.tolist() == [0.5, 1.5] and found.label == "kind"
    (tmp_path / "y.txt").write_text("no\nyes\n")
    found = read_rows(path, ReadOptions(drop=("id", "kind"), labels=tmp_path / "y.txt"))
    assert found.y.tolist() == ["no", "yes"] and found.X.shape == (2, 2)
    found = read_rows(path, ReadOptions(categorical=("a",), drop=("id",)))
    assert found.words == (1,) and found.X[:, 1].tolist() == ["3", "4"]


def test_arrays(tmp_path):
    X = np.arange(8.0).reshape(4, 2)
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=r"--labels, or name it x\.labels\.npy"):
        read_rows(str(tmp_path / "x.npy"), HOW)
    assert read_rows(str(tmp_path / "x.npy"), ReadOptions(label="-1")).y.tolist() == [1, 3, 5, 7]
    np.save(tmp_path / "x.labels.npy", [0, 1, 0, 1])
    assert read_rows(str(tmp_path / "x.npy"), HOW).y.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="--drop names a column"):
        read_rows(str(tmp_path / "x.npy"), ReadOptions(drop=("a",)))


@pytest.mark.slow
def test_a_pair_is_trained_on(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "x.labels.npy", X[:, 0] > 0)
    said(run("pair", tmp_path / "x.npy", tmp_path / "p"))
    assert "holds no labels" in sentence(run("train", tmp_path / "p"))
    said(run("train", tmp_path / "p", "--labels", tmp_path / "x.labels.npy", "-o", tmp_path / "m", "--quiet"))
    _, err = said(run("predict", tmp_path / "m", tmp_path / "x.npy"))
    assert "Error rate: 0.00 %" in err or "Error rate: 2.50 %" in err
    assert "which is for training" in sentence(run("predict", tmp_path / "m", tmp_path / "p"))


@pytest.mark.slow
def test_rows_stay_on_disk(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    (tmp_path / "rows").mkdir()
    for k in range(2):
        X = rng.normal(size=(50, 2))
        kind = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "kind": kind}), tmp_path / "rows" / f"{k}.parquet")
    pattern = f"{tmp_path}/rows/*.parquet"
    options = ["--max-memory", "4G", "--checkpoint", tmp_path / "state", "-o", tmp_path / "m", "--quiet"]
    said(run("train", pattern, *options))
    for source in (pattern, tmp_path / "rows", tmp_path / "rows" / "1.parquet"):
        assert "Error rate: 0.00 %" in said(run("predict", tmp_path / "m", source))[1]
    assert stream_label(pattern, HOW) == "kind" and stream_label(pattern, ReadOptions("a")) == "a"
    result = run("train", pattern, "--max-memory", "1G", "--impute", "mean")
    assert result.exit_code == 2 and "stay on disk" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b,y\n1,2,x\n3,4,z\n5,6,z\n", 3),
        ("+1 1:2 3:1\n-1 2:1 # note\n", 2),
        ("1,2,x\n3,4,z\n", 2),
        ("\ufeff+1 1:2\n-1 2:1\n", 2),
    ],
)
def test_standard_input(text, rows):
    result = CliRunner().invoke(application(), ["train", "-", "--json"], input=text)
    assert result.exit_code == 0, result.output
    assert f'"rows": {rows}' in result.stdout and '"data": "standard input"' in result.stdout
    assert "Standard input is empty" in CliRunner().invoke(application(), ["train", "-"], input="").stderr
    failed = CliRunner().invoke(application(), ["train", "-"], input="a,y\n1,x\n,z\n")
    assert "Standard input" in failed.stderr and "line 3, column a" in failed.stderr and "--impute" in failed.stderr


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_packed_standard_input_is_told_by_what_is_in_it(packing):
    for text in (b"a,y\n1,x\n,z\n", b"\xef\xbb\xbf1 1:2\n-1 0:3\n"):
        failed = CliRunner().invoke(application(), ["train", "-"], input=PACK[packing](text))
        assert "Standard input, line" in failed.stderr and ("--impute" if b"," in text else "index 0") in failed.stderr
    cut = CliRunner().invoke(application(), ["train", "-"], input=PACK[packing](text)[:20])
    assert "Standard input is not a whole" in cut.stderr


def test_small_words():
    assert split_names([" a, b,", "c"]) == ("a", "b", "c") and split_names(None) == ()
    assert megabytes("2G") == megabytes("2GiB") == megabytes("2048") == 2 * 1024**3
    with pytest.raises(ValueError, match="800M or 2G"):
        megabytes("lots")


def test_folders_without_rows_and_names_that_come_twice_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder", "1,2\n", "rows.csv")
    with pytest.raises(FileNotFoundError, match="folder without Parquet files"):
        read_rows(str(tmp_path / "folder"), HOW)
    with pytest.raises(ValueError, match="two columns called 'a'"):  # of numbers, as of words
        read_rows(write(tmp_path, "a,a,y\n1,2,0\n3,4,1\n"), HOW)


def test_a_zarr_array_is_a_matrix_like_an_npy_file(tmp_path):
    zarr = pytest.importorskip("zarr")
    X = np.arange(12.0).reshape(4, 3)
    array = zarr.create_array(str(tmp_path / "z.zarr"), shape=X.shape, chunks=(2, 2), dtype="f8")
    array[:] = X
    with pytest.raises(ValueError, match=r"name it z\.labels\.npy"):
        read_rows(str(tmp_path / "z.zarr"), HOW)
    found = read_rows(str(tmp_path / "z.zarr"), ReadOptions(label="2"))
    assert found.X.tolist() == X[:, :2].tolist() and found.y.tolist() == [2, 5, 8, 11]
    np.save(tmp_path / "z.labels.npy", [0, 1, 0, 1])
    assert read_rows(str(tmp_path / "z.zarr"), HOW).y.tolist() == [0, 1, 0, 1]
    assert stream_label(str(tmp_path / "z.zarr"), HOW) is None
    with pytest.raises(ValueError, match="names a column"):
        read_rows(str(tmp_path / "z.zarr"), ReadOptions(drop=("a",)))


def test_columns_are_found_in_one_pass(tmp_path):
    """With a search for each of 60,000 columns it would take minutes."""
    width = 60_000
    path = tmp_path / "wide.csv.gz"
    path.write_bytes(gzip.compress((b"1," * width + b"0\n" + b"2," * width + b"1\n") * 2))
    began = time.process_time()
    found = read_rows(str(path), HOW)
    names = [f"f{j}" for j in range(width)]
    data = write(tmp_path, ",".join([*names, "y"]) + "\n" + "1," * width + "0\n")
    again = stacked(read_blocks(data, HOW, ModelColumns(width, names)))
    assert time.process_time() - began < 20
    assert found.X.shape == (4, width) and again.X.shape == (1, width)


PEAK = """
import resource, sys
import sklearn.datasets
from hinge.cli.rows import ReadOptions, read_rows

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = read_rows(sys.argv[1], ReadOptions())
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(found.X.shape[0] * found.X.shape[1] * 8, (after - before) * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no getrusage")
def test_numbers_beside_words_stay_numbers_in_memory(tmp_path):
    """As Python's objects they took 40 bytes each."""
    row = ",".join(["0.5", "1.5"] * 15) + ",blue,yes\n"
    (tmp_path / "x.csv").write_text("".join(f"c{j}," for j in range(31)) + "label\n" + row * 80_000)
    found = subprocess.run([sys.executable, "-c", PEAK, tmp_path / "x.csv"], capture_output=True, text=True, check=True)
    rows, peak = map(int, found.stdout.split())
    assert peak < 2 * rows + (60 << 20)  # besides, the cells of one piece of text


def test_rows_of_words_and_numbers_are_selected_as_an_array_s(tmp_path):
    X = read_rows(write(tmp_path, "a,b,c,label\n1,x,2,u\n3,y,4,v\n5,x,6,u\n"), HOW).X
    assert X[1:].shape == (2, 3) and X[[True, False, True], ...].columns[0].tolist() == [1, 5]
    assert X[:, [0, 2]].dtype == np.float64 and X[:, 1].tolist() == ["x", "y", "x"]
    assert np.asarray(X).tolist() == [[1.0, "x", 2.0], [3.0, "y", 4.0], [5.0, "x", 6.0]]
