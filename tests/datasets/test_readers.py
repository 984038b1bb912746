"""Readers: round trips, and sentences about whatever is broken."""

import bz2
import gzip
import io
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hinge.datasets import DataFormatError, compressed, read

pytestmark = pytest.mark.filterwarnings("error")
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
few = settings(max_examples=60, deadline=None)
singles = st.floats(-1e6, 1e6, width=32).filter(lambda v: v == 0 or abs(v) > 1e-30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of a property, each of which overwrites the last one's file."""
    return tmp_path_factory.mktemp("examples")


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def svmlight_text(X, y):
    lines = []
    for row, label in zip(X, y, strict=True):
        pairs = [f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value]
        lines.append(" ".join([str(label), *pairs]))
    return "\n".join(lines) + "\n"


def npz_bytes(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


# svmlight


@few
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=singles),
    st.integers(-3, 3),
    st.sampled_from(sorted(PACK)),
)
def test_svmlight_round_trip(folder, X, label, packing):
    y = np.full(len(X), label)
    path = written(folder, "data.svm" + packing, PACK[packing](svmlight_text(X, y).encode()))
    A, b = read(path, n_features=X.shape[1])
    assert A.dtype == np.float32 and A.indices.dtype == np.int32 and A.has_sorted_indices
    np.testing.assert_array_equal(A.toarray(), X)
    np.testing.assert_array_equal(b, y)
    assert b.dtype == np.int64


def test_svmlight_comments_query_ids_blank_and_bare_lines(tmp_path):
    text = "# head\n+1 qid:3 2:0.5 # tail\n\n-1\r\n1 1:1 4:2e0\n"
    X, y = read(written(tmp_path, "a.train", text))
    np.testing.assert_array_equal(X.toarray(), [[0, 0.5, 0, 0], [0, 0, 0, 0], [1, 0, 0, 2]])
    assert y.tolist() == [1, -1, 1]


def test_svmlight_zero_based_on_request(tmp_path):
    path = written(tmp_path, "a.svm", "1 0:1 2:3\n")
    assert read(path, zero_based=True)[0].toarray().tolist() == [[1, 0, 3]]
    with pytest.raises(DataFormatError, match="indices start at 1; pass zero_based=True"):
        read(path)


def test_svmlight_fractional_labels_stay_fractions(tmp_path):
    y = read(written(tmp_path, "a.svm", "0.5 1:1\n2 1:1\n"))[1]
    assert y.dtype == np.float64 and y.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("0.1", np.float32),
        ("16777216", np.float32),
        ("16777217", np.float64),
        ("1e39", np.float64),
        ("1e-42", np.float64),
    ],
)
def test_float32_only_where_it_serves(tmp_path, value, dtype):
    X, _ = read(written(tmp_path, "a.svm", f"1 1:{value}\n"))
    assert X.dtype == dtype
    assert X[0, 0] == pytest.approx(float(value), rel=6e-8, abs=0)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("spam 1:2", "found 'spam' where a label was expected"),
        ("1,2 1:2", "found '1,2' where a label was expected"),
        ("nan 1:2", "the label 'nan' is not finite"),
        ("1 1:2 7", "found '7' where a pair index:value was expected"),
        ("1 a:2", "found 'a:2' where a pair"),
        ("1 3:x", "the value in '3:x' is not a number"),
        ("1 3:", "the value in '3:' is not a number"),
        ("1 3:nan", "the value in '3:nan' is not finite"),
        ("1 3:-inf", "the value in '3:-inf' is not finite"),
        ("1 3:1e999", "the value in '3:1e999' is not finite"),
        ("1 0:2", "found index 0"),
        ("1 -4:2", "the index in '-4:2' is negative"),
        ("1 5:1 3:1", "'3:1' follows index 5, but indices must ascend"),
        ("1 5:1 5:1", "'5:1' follows index 5"),
        ("1 2147483648:1", "larger than 2147483647"),
        ("1 99999999999999999999:1", "larger than 2147483647"),
        ("1 1:2\0 3:4", "zero byte"),
    ],
)
def test_svmlight_broken_line_is_named(tmp_path, line, says):
    path = written(tmp_path, "a.svm", f"1 1:1\n# fine\n{line}\n1 2:2\n")
    with pytest.raises(DataFormatError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "line 3: " in str(caught.value)
    assert says in str(caught.value)


def test_first_of_several_broken_lines_is_named(tmp_path):
    path = written(tmp_path, "a.svm", "1 1:nan\n1 x\n")
    with pytest.raises(DataFormatError, match="line 1: the value in '1:nan'"):
        read(path)


def test_n_features_widens_and_refuses(tmp_path):
    path = written(tmp_path, "a.test", "1 2:1\n-1 5:1\n")
    assert read(path, n_features=9)[0].shape == (2, 9)
    with pytest.raises(DataFormatError, match=r"line 2: the index in '5:1' lies beyond the 4 features"):
        read(path, n_features=4)
    with pytest.raises(ValueError, match="at least 1"):
        read(path, n_features=0)


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.npz", "a.svm.gz"])
def test_empty_file(tmp_path, name):
    content = gzip.compress(b"") if name.endswith(".gz") else b""
    with pytest.raises(DataFormatError, match=r"holds no rows|is empty"):
        read(written(tmp_path, name, content))


def test_labels_without_any_feature(tmp_path):
    path = written(tmp_path, "a.svm", "1\n-1\n")
    with pytest.raises(DataFormatError, match="labels but no index:value pair"):
        read(path)
    assert read(path, n_features=3)[0].shape == (2, 3)


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", [".svm", ".csv", ".npz"])
def test_truncated_and_false_compression(tmp_path, packing, kind):
    plain = {
        ".svm": b"1 1:0.5\n" * 9000,
        ".csv": b"1,2,0.5\n" * 9000,
        ".npz": npz_bytes(X=np.eye(2), y=[1, -1]),
    }
    packed = PACK[packing](plain[kind])
    with pytest.raises(DataFormatError, match="cut short or damaged"):
        read(written(tmp_path, "a" + kind + packing, packed[: len(packed) // 2]))
    with pytest.raises(DataFormatError, match="cut short or damaged"):
        read(written(tmp_path, "b" + kind + packing, b"not compressed at all"))


def test_folder_missing_file_and_unknown_extension(tmp_path):
    (tmp_path / "x.svm").mkdir()
    with pytest.raises(DataFormatError, match="is a folder"):
        read(tmp_path / "x.svm")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(DataFormatError, match=r"extension '.parquet'.* use .svm, .csv"):
        read(written(tmp_path, "a.parquet", b"PAR1"))


# csv and tsv


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
    ],
)
def test_csv_broken_cell_is_named(tmp_path, text, says):
    with pytest.raises(DataFormatError) as caught:
        read(written(tmp_path, "a.csv", text))
    assert says in str(caught.value)


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


# junk

NAMES = ["a.svm", "a.csv", "a.tsv", "a.npz", "a.svm.gz", "a.csv.bz2", "a.npz.xz"]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.binary(max_size=200), st.booleans())
@example("a.csv", b'"', False)
@example("a.csv", b"1,2\r3,4", False)
@example("a.csv", b"\0,\0\n", False)
@example("a.svm", b"1_0 1_0:1_0", False)
def test_junk_is_refused_in_words(folder, name, content, packed):
    suffix = Path(name).suffix
    path = written(folder, name, PACK[suffix](content) if packed and suffix in PACK else content)
    try:
        X, y = read(path)
    except DataFormatError as error:
        assert str(path) in str(error)
    else:
        assert X.shape[0] == len(y) > 0


@few
@given(st.text(alphabet='01-.,;:#\n\t\r" eyqid', max_size=120), st.sampled_from(["a.svm", "a.csv", "a.tsv"]))
def test_nearly_right_text_is_read_or_refused_in_words(folder, text, name):
    path = written(folder, name, text.encode())
    try:
        X, y = read(path)
    except DataFormatError as error:
        assert str(path) in str(error)
    else:
        assert X.shape[0] == len(y) > 0
        assert np.isfinite(X.data if sp.issparse(X) else X).all()


@pytest.mark.parametrize("name", ["a.svm.gz", "a.csv.bz2", "a.npz.xz", "a.svm.xz"])
def test_files_that_would_unpack_to_too_much(tmp_path, name, monkeypatch):
    monkeypatch.setattr(compressed, "LEAST", 1 << 20)
    monkeypatch.setattr(compressed, "MOST_UNPACKED", 100)
    path = written(
        tmp_path, name, PACK[Path(name).suffix]((b"1,2\n" if "csv" in name else b"1 1:1\n") * 500_000)
    )
    with pytest.raises(DataFormatError, match="unpacks to more than 100 times its size"):
        read(path)


def test_an_index_that_would_ask_for_all_memory(tmp_path):
    path = written(tmp_path, "a.svm", b"1 1:1\n-1 2147483640:2\n")
    with pytest.raises(DataFormatError, match="has the index 2147483640, but only 2 entries"):
        read(path)
    assert read(path, n_features=2147483640)[0].shape == (2, 2147483640)
    assert read(written(tmp_path, "b.svm", b"1 2097152:1\n-1 1:1\n"))[0].shape == (2, 1 << 21)
