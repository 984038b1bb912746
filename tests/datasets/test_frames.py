"""Tables with names, words and gaps."""

import math

import numpy as np
import pytest

from hinge.datasets import DataFormatError
from hinge.datasets.frames import as_words, check_categories, is_missing, is_words, labels_in, read_frame

TEXT = 'age,city,zip,label\n33,"Oslo, N",0150,yes\n\n,NA,9000,no\n 41 ,Rome,0150,yes\n'


@pytest.fixture
def path(tmp_path):
    (tmp_path / "x.csv").write_text(TEXT)
    return tmp_path / "x.csv"


def test_columns_of_a_text_file(path):
    frame = read_frame(path, words=["zip"])
    assert (frame.names, frame.named) == (["age", "city", "zip", "label"], True)
    age, city, code, _ = frame.columns
    assert age[[0, 2]].tolist() == [33.0, 41.0] and math.isnan(age[1])
    assert is_words(city) and city[0] == "Oslo, N" and is_missing(city).tolist() == [False, True, False]
    assert code.tolist() == ["0150", "9000", "0150"]  # a name, with its zero
    assert labels_in(frame, 3).tolist() == ["yes", "no", "yes"]
    assert frame.place(1) == f"{path}, line 4"
    assert read_frame(path, drop=["city"]).names == ["age", "zip", "label"]


def test_a_word_after_many_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("hinge.datasets.delimited.PIECE", 8)
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{w},{i}\n" for i, w in enumerate(["1", "2", "x", "y", "x"])))
    assert read_frame(tmp_path / "x.csv").columns[0].tolist() == ["1", "2", "x", "y", "x"]
    (tmp_path / "x.csv").write_text("a,b\n1,1\n2,2\nx,3\n4,4\n")
    with pytest.raises(
        DataFormatError, match=r"line 4, column a: found 'x' where the others are numbers.*--categorical"
    ):
        read_frame(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,inf\n", "line 2: found 'inf'"),
        ("a,b\n1\n", "line 2: found 1 cells"),
        ("a,a\n1,2\n", "two columns called 'a'"),
    ],
)
def test_what_is_refused(tmp_path, text, sentence):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DataFormatError, match=sentence):
        read_frame(tmp_path / "x.csv")


def test_names_that_are_not_there(path):
    with pytest.raises(DataFormatError, match="no column 'cty': did you mean 'city'"):
        read_frame(path, drop=["cty"])


def test_names_are_no_categories(tmp_path):
    (tmp_path / "x.csv").write_text("id,b\n" + "".join(f"n{i},{i}\n" for i in range(60)))
    with pytest.raises(DataFormatError, match=r"60 different words.*--drop id"):
        check_categories(read_frame(tmp_path / "x.csv"), [0])


def test_columns_of_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    words = pa.array(["x", None, "y"]).dictionary_encode()
    when = pa.array([1, 2, 3], pa.timestamp("s"))
    columns = {"n": pa.array([1, None, 3]), "b": [True, False, True], "w": words, "when": when}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    frame = read_frame(tmp_path / "x.parquet", drop=["when"])
    assert np.array_equal(frame.columns[0], [1, np.nan, 3], equal_nan=True)
    assert frame.columns[1].tolist() == [1, 0, 1]
    assert is_missing(frame.columns[2]).tolist() == [False, True, False]
    assert frame.place(1).endswith("row 2")
    with pytest.raises(DataFormatError, match=r"column when: holds timestamp.*--drop when"):
        read_frame(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataFormatError, match="not Parquet, or damaged"):
        read_frame(tmp_path / "x.parquet")


def test_what_python_alone_takes_for_a_number_is_a_word(tmp_path):
    (tmp_path / "x.csv").write_text("season,y\n2019_20,a\n2020_21,b\n2019_20,a\n")
    assert read_frame(tmp_path / "x.csv").columns[0].tolist() == ["2019_20", "2020_21", "2019_20"]


def test_numbers_as_words_stay_apart():
    assert as_words(np.array([1234567.0, 1234568.0, 0.5, np.nan])).tolist()[:3] == ["1234567", "1234568", "0.5"]
