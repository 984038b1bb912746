import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hinge.datasets import DataFormatError, read
from hinge.datasets.delimited import layout_of
from tests.datasets.made_up import few, singles, written

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
@few
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=singles),
    st.lists(st.sampled_from(["cat", "dog", "a, b", 'say "x"']), min_size=6, max_size=6),
    st.booleans(),
    st.sampled_from([".csv", ".tsv"]),
    st.integers(0, 5),
)
def test_delimited_round_trip(folder, X, names, header, suffix, place):
    import csv

    place = min(place, X.shape[1])
    table = [[repr(value) for value in row] for row in X.tolist()]
    for row, name in zip(table, names, strict=False):
        row.insert(place, name)
    if header:
        top = [f"x{j}" for j in range(X.shape[1])]
        top.insert(place, "Label")
        table.insert(0, top)
    text = io.StringIO()
    csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",").writerows(table)
    path = written(folder, "data" + suffix, text.getvalue().encode())
    A, b = read(path, label=None if header else place)
    assert A.dtype == np.float32 and A.flags.c_contiguous
    np.testing.assert_array_equal(A, X)
    assert b.tolist() == names[: len(X)]


@pytest.mark.parametrize(
    ("text", "label", "X", "y"),
    [
        ("1,2,5\n3,4,-5\n", None, [[1, 2], [3, 4]], [5, -5]),
        ("y,a,b\n1,2,3\n", None, [[2, 3]], [1]),
        ("a,b,c\n1,2,3\n", "b", [[1, 3]], [2]),
        ("0,1,target\n7,8,1\n", None, [[7, 8]], [1]),
        ("1,2,3\n", 0, [[2, 3]], [1]),
        ("1,2,3\n", -3, [[2, 3]], [1]),
        ("1,2,y\n3,4,n\n", None, [[1, 2], [3, 4]], ["y", "n"]),
        ('\ufeff"a","b","class"\r\n"1",2,x\r\n\r\n3,4,z\r\n', None, [[1, 2], [3, 4]], ["x", "z"]),
        ("1;2;1\n3;4;0\n", None, [[1, 2], [3, 4]], [1, 0]),
        (" 1 , 2 , b \n", None, [[1, 2]], ["b"]),
        ("1,2,0.5\n3,4,1\n", None, [[1, 2], [3, 4]], [0.5, 1.0]),
        ('"a\nb",c,label\n1,2,3\n', None, [[1, 2]], [3]),
    ],
)
def test_csv_headers_labels_and_delimiters(tmp_path, text, label, X, y):
    A, b = read(written(tmp_path, "a.csv", text), label=label)
    np.testing.assert_array_equal(A, X)
    assert b.tolist() == y


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,label\n1,2,1\n3,,1\n", "line 3, column b: the value is missing"),
        ("a,b,label\n1,NA,1\n", "line 2, column b: the value is missing"),
        ("1,2,1\n3,nan,1\n", "line 2, column 2: the value is missing"),
        ("1,2,1\n3,4,\n", "line 2, column 3: the value is missing"),
        ("1,2,1\n3,inf,1\n", "line 2, column 2: found 'inf' where a finite number"),
        ("1,2,1\n3,red,1\n", "line 2, column 2: found 'red' where a finite number"),
        ("1,2,1\n3,4\n", "line 2: found 2 cells, but the first line has 3"),
        ("1,2,1\n3,4,5,6\n", "line 2: found 4 cells"),
        ("a,b\n", "a header but no rows"),
        ("a,b\n\n \n", "a header but no rows"),
        ("1\n2\n", "one column"),
        ('a,b,label\n1,2,1\n"3,4,1\n5,6,1\n', 'line 3: a quote (") is opened here that is never closed'),
        ('a,b,label\n1,2,1\n3,4,"1\n', "line 3: a quote"),
        ('a,b,label\n\n"1\n",2,"1\n', "line 3: a quote"),
        ('"a,b,label\n1,2,1\n', "line 1: a quote"),
        ('a,b,label\n1,2,1\n3,"4,1\n' + 40_000 * "5,6,1\n", "line 3: this is no row of delimited text"),
    ],
)
def test_csv_broken_cell_is_named(tmp_path, text, says):
    with pytest.raises(DataFormatError) as caught:
        read(written(tmp_path, "a.csv", text))
    assert says in str(caught.value)


def test_a_quote_within_a_cell_is_a_letter(tmp_path):
    X, y = read(written(tmp_path, "a.csv", 'a,label\n1,5" pipe\n2,"5"" pipe"\n3,"a ""pipe"""\n'))
    assert X.ravel().tolist() == [1, 2, 3] and y.tolist() == ['5" pipe', '5" pipe', 'a "pipe"']


def test_csv_label_column_that_is_not_there(tmp_path):
    path = written(tmp_path, "a.csv", "age,income,kind\n1,2,3\n")
    with pytest.raises(DataFormatError, match="no column 'incom': did you mean 'income'"):
        read(path, label="incom")
    with pytest.raises(DataFormatError, match="3 columns, so label=3"):
        read(path, label=3)
    with pytest.raises(DataFormatError, match="no header"):
        read(written(tmp_path, "b.csv", "1,2\n"), label="x")
    with pytest.raises(DataFormatError, match="has 2 columns beside its label, but 5 were asked for"):
        read(path, n_features=5)
    with pytest.raises(ValueError, match="in svmlight files the label stands first"):
        read(written(tmp_path, "c.svm", "1 1:1\n"), label="x")


def test_csv_in_another_encoding(tmp_path):
    with pytest.raises(DataFormatError, match="not UTF-8"):
        read(written(tmp_path, "a.csv", "1,2,Zürich\n".encode("latin-1")))


def test_pieces_are_one_table(tmp_path, monkeypatch):
    """Small pieces, a cell with a line end, labels that come late, and a number that wants float64 at the end."""
    lines = [f'{i}.5,{0.1 * i},"class\n{i % 3}"\n' for i in range(40)]
    (tmp_path / "x.csv").write_text("".join(lines) + "\n\n")
    X, y = read(tmp_path / "x.csv")
    monkeypatch.setattr("hinge.datasets.delimited.PIECE", 50)
    pieces, labels = read(tmp_path / "x.csv")
    assert X.dtype == pieces.dtype == np.float32
    assert (pieces == X).all() and (y == labels).all() and y[4] == "class\n1"
    (tmp_path / "x.csv").write_text("".join(lines) + "1e-300,1,last\n")
    X, y = read(tmp_path / "x.csv")
    assert X.dtype == np.float64 and X[1, 1] == 0.1 and y[-1] == "last"
    (tmp_path / "x.csv").write_text("".join(lines) + "1,,last\n")
    with pytest.raises(DataFormatError, match="line 81, column 2: the value is missing"):
        read(tmp_path / "x.csv")


def test_a_file_that_is_no_text_is_named_already_by_its_layout(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"1,2.0\n\xb0\xff,3\n")
    with pytest.raises(DataFormatError, match="is not UTF-8 text"):
        layout_of(path, 0)


def test_ctrl_c_while_labels_are_read_is_no_broken_cell(tmp_path, monkeypatch):
    """NumPy makes a ValueError of whatever its converters raise."""

    class Pressed(tuple):
        def __contains__(self, word):
            raise KeyboardInterrupt

    monkeypatch.setattr("hinge.datasets.delimited.MISSING", Pressed())
    monkeypatch.setattr("hinge.datasets.delimited.parse_by_cell", lambda *_: pytest.fail("it went on"))
    with pytest.raises(KeyboardInterrupt):
        read(written(tmp_path, "a.csv", "1,2,yes\n3,4,no\n"))


def test_numbers_among_words_keep_their_spelling_wherever_the_words_come(tmp_path, monkeypatch):
    path = written(tmp_path, "a.csv", "".join(f"{i}.5,{i % 2:02d}\n" for i in range(30)) + "1.5,last\n")
    monkeypatch.setattr("hinge.datasets.delimited.PIECE", 50)
    assert set(read(path)[1].tolist()) == {"00", "01", "last"}
    path = written(tmp_path, "b.csv", "".join(f"{i}.5,{i % 2:02d}\n" for i in range(30)))
    assert set(read(path)[1].tolist()) == {0, 1}
