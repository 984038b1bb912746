"""Rows for a model, a block at a time."""

import tracemalloc

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight
from shop_table import shop

import hinge
from hinge.cli.rows import ModelColumns, ReadOptions, read_blocks, stacked
from hinge.files import model_files

HOW = ReadOptions()


def write(folder, text, name="x.csv"):
    (folder / name).write_text(text)
    return str(folder / name)


def read(data, how, wanted):
    return stacked(read_blocks(data, how, wanted))


@pytest.fixture
def small(monkeypatch):
    """Blocks of some kilobytes."""
    monkeypatch.setattr("hinge.datasets.delimited.PIECE", 1 << 14)
    monkeypatch.setattr("hinge.datasets.delimited.COMPARED", 1 << 10)
    monkeypatch.setattr("hinge.datasets.readers.PIECE", 1 << 14)
    monkeypatch.setattr("hinge.cli.rows.BLOCK", 1 << 12)


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Blocks of some rows."""
    monkeypatch.setattr("hinge.datasets.delimited.PIECE", 1 << 10)


def test_columns_are_taken_by_name(tmp_path):
    wanted = ModelColumns(2, ["a", "b"], (), "y")
    found = read(write(tmp_path, "id,b,y,a\n7,2,1,1\n8,4,0,3\n"), HOW, wanted)
    assert found.X.tolist() == [[1, 2], [3, 4]] and found.y.tolist() == [1, 0]
    assert read(write(tmp_path, "b,a\n2,1\n"), HOW, wanted).y is None
    with pytest.raises(ValueError, match="no column 'b', which the model was trained on"):
        read(write(tmp_path, "a,c\n1,2\n"), HOW, wanted)
    with pytest.raises(ValueError, match="column b: holds words, but numbers"):
        read(write(tmp_path, "a,b\n1,x\n2,y\n"), HOW, wanted)


def test_without_names_the_width_says_whether_there_are_labels(tmp_path):
    assert read(write(tmp_path, "1,2,1\n3,4,0\n"), HOW, ModelColumns(2)).y.tolist() == [1, 0]
    assert read(write(tmp_path, "1,2\n3,4\n"), HOW, ModelColumns(2)).y is None
    with pytest.raises(ValueError, match=r"--no-labels"):
        read(write(tmp_path, "1,2,3,4\n"), HOW, ModelColumns(2))


def test_words_are_spelled_alike_in_all_blocks(tmp_path, tiny_blocks):
    """A block whose words all look like numbers holds the same words as the whole file."""
    rows = [f"{'abc' if k < 200 else '007'},{k},{'x' if k % 2 else '1.0'}" for k in range(400)]
    path = write(tmp_path, "code,n,y\n" + "\n".join(rows))
    blocks = list(read_blocks(path, HOW, ModelColumns(2, ["code", "n"], (0,), "y", spelled=True)))
    assert len(blocks) > 3
    assert np.asarray(blocks[-1].X)[-1].tolist() == ["007", 399.0] and blocks[-1].y[-2:].tolist() == ["1.0", "x"]
    path = write(tmp_path, "\n".join(row.rpartition(",")[0] for row in rows), "bare.csv")
    assert read(path, HOW, ModelColumns(2, None, (0,))).X[:, 0].tolist() == ["abc"] * 200 + ["007"] * 200


def test_what_is_wrong_is_told_with_its_place_in_the_file(tmp_path, tiny_blocks):
    rows = [f"{k},{k % 7},{k % 2}" for k in range(400)]
    rows[310] = "310,,0"
    blocks = list(read_blocks(write(tmp_path, "a,b,y\n" + "\n".join(rows)), HOW, ModelColumns(2, ["a", "b"], (), "y")))
    at = next(block for block in blocks if np.isnan(block.X).any())
    assert at.place(int(np.argwhere(np.isnan(at.X))[0, 0])).endswith("x.csv, line 312")
    assert np.concatenate([block.X for block in blocks])[:, 0].tolist() == list(range(400))
    rows[310] = "310,word,0"
    with pytest.raises(ValueError, match="line 312, column b: found 'word' where the others are numbers"):
        read(write(tmp_path, "a,b,y\n" + "\n".join(rows)), HOW, ModelColumns(2, ["a", "b"], (), "y"))


def test_columns_that_the_model_does_not_take_may_hold_anything(tmp_path, tiny_blocks):
    rows = [f"{k},{'1' if k % 50 else 'note'},{k % 2}" for k in range(400)]
    found = read(write(tmp_path, "a,remark,y\n" + "\n".join(rows)), HOW, ModelColumns(1, ["a"], (), "y"))
    assert found.X[:, 0].tolist() == list(range(400)) and found.y.tolist() == [k % 2 for k in range(400)]


def test_labels_of_a_file_of_their_own(tmp_path, tiny_blocks):
    data = write(tmp_path, "\n".join(f"{k},{k * k}" for k in range(200)))
    for n in (199, 200, 201):
        labels = tmp_path / f"{n}.txt"
        labels.write_text("\n".join(str(k % 3) for k in range(n)))
        if n == 200:
            assert read(data, ReadOptions(labels=labels), ModelColumns(2)).y.tolist() == [k % 3 for k in range(200)]
            continue
        with pytest.raises(ValueError, match=f"holds {n} labels, but there are 200 rows"):
            read(data, ReadOptions(labels=labels), ModelColumns(2))


def test_files_without_rows(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    with pytest.raises(ValueError, match="holds no rows"):
        read(str(tmp_path / "x.npy"), HOW, ModelColumns(3))
    with pytest.raises(ValueError, match="holds no rows"):
        read(write(tmp_path, "# nothing\n", "x.svm"), HOW, ModelColumns(3))


# --- memory ----------------------------------------------------------------------------------------


def write_all(folder, X, y, times):
    """The same rows, again and again, in all kinds of files."""
    folder.mkdir()
    lines = [",".join(map(str, [*row, label])) + "\n" for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    write(folder, times * "".join(lines), "x.csv")
    write(folder, times * svmlight(folder / "x.svm", X, y).read_text(), "x.svm")
    np.save(folder / "x.npy", np.tile(X, (times, 1)))
    np.save(folder / "x.labels.npy", np.tile(y, times))
    head, _, rest = shop(folder / "shop.csv", len(X)).read_text().partition("\n")
    write(folder, f"{head}\n" + times * rest, "shop.csv")


@pytest.fixture(scope="module")
def sizes(tmp_path_factory):
    """Files of some blocks, and of twenty times as many, and models for them."""
    folder, rng = tmp_path_factory.mktemp("sizes"), np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 8)).round(3), np.arange(1000) % 2
    write_all(folder / "1", X, y, 1)
    write_all(folder / "20", X, y, 20)
    model_files.save(hinge.LinearSVC().fit(X, y), folder / "linear")
    model_files.save(hinge.SVC().fit(X[:40], y[:40]), folder / "kernel")
    said(run("train", folder / "1/shop.csv", "--impute", "median", "-o", folder / "prepared", "--quiet"))
    return folder


@pytest.mark.parametrize(
    ("model", "name"),
    [("linear", "x.csv"), ("linear", "x.svm"), ("linear", "x.npy"), ("kernel", "x.csv"), ("prepared", "shop.csv")],
)
def test_memory_does_not_grow_with_the_file(sizes, tmp_path, small, model, name, monkeypatch):
    for limit in ("A_MOMENT", "A_WHILE"):  # nothing is interpreted first, and compiled when the file is long
        monkeypatch.setattr(f"hinge.compiled.{limit}", 0.0)

    def peak(times):
        tracemalloc.start()
        said(run("predict", sizes / model, sizes / str(times) / name, "-o", tmp_path / "said", "--scores"))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len((tmp_path / "said").read_text().splitlines()) == 1000 * times
        return most

    peak(1)  # what is imported and compiled
    few = peak(1)
    assert peak(20) < few + (sizes / "20" / name).stat().st_size


def test_an_error_in_a_late_block_leaves_the_output_as_it_was(sizes, tmp_path, small):
    (tmp_path / "said").write_text("before")
    text = (sizes / "20/x.csv").read_text() + "1,2,3"
    path = write(tmp_path, text)
    result = run("predict", sizes / "linear", path, "-o", tmp_path / "said")
    assert "line 20001: found 3 cells" in sentence(result)
    assert (tmp_path / "said").read_text() == "before"


def test_evaluation_by_blocks_is_that_of_the_whole(sizes, monkeypatch):
    for model, name in (("linear", "x.csv"), ("prepared", "shop.csv")):
        whole = said(run("evaluate", sizes / model, sizes / "1" / name))
        with monkeypatch.context() as patch:
            patch.setattr("hinge.datasets.delimited.PIECE", 1 << 10)
            assert said(run("evaluate", sizes / model, sizes / "1" / name)) == whole
