"""Streams of svmlight text."""

import random

import numpy as np
import pytest

from hinge.access.streams import text
from hinge.access.streams.text import SvmlightStream, _number
from hinge.datasets import DataFormatError, read

LINES = "+1 1:0.5 3:1e-3 # first\n\n-1 2:3\r\n# nothing\n+1\n-1 1:-7.25E+2 4:0.12345678901234567\n"


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 16)


def written(tmp_path, content):
    path = tmp_path / "x.svm"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_it_reads_what_the_reader_reads_by_pieces(tmp_path, pieces):
    path = written(tmp_path, LINES)
    X, y = read(path)
    for keep in (0, 1 << 20):
        stream = SvmlightStream(path, keep=keep)
        assert stream.shape == X.shape == (4, 4) and stream.n_cells == 5 and stream.max_row_cells == 2
        np.testing.assert_array_equal(stream.labels(), y)
        np.testing.assert_array_equal(stream.read(1, 4).toarray(), X[1:].toarray())
        assert stream.stretches(2, 4)[-1][1] == 4 and len(stream.stretches(1, 1)) == 4
        loaded = stream.load()
        np.testing.assert_array_equal(loaded.toarray(), X.toarray())
        assert loaded.dtype == X.dtype and loaded.indices.dtype == loaded.indptr.dtype == np.int32


def test_the_mark_of_an_encoding_is_no_label(tmp_path, pieces):
    stream = SvmlightStream(written(tmp_path, b"\xef\xbb\xbf" + LINES.encode()))
    plain = SvmlightStream(written(tmp_path, LINES))
    assert stream.shape == plain.shape and (stream.labels() == plain.labels()).all()


def test_numbers_are_read_as_python_reads_them():
    rng = random.Random(0)
    words = [repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-4, 4)) for _ in range(2000)]
    words += ["0", "-0.0", "1.", ".5", "+3", "1e22", "1e-22", "999999999999999999", "123456789.123456789e-9", "007"]
    for word in words:
        value, at, fine = _number(np.frombuffer(word.encode(), np.uint8), 0)
        assert fine and at == len(word) and value == float(word)
    for word in ("", "-", "e5", "1e", "1.2.3", "nan", "0x1", "1" * 19, "1e23", "1e-300"):
        assert not _number(np.frombuffer(word.encode(), np.uint8), 0)[2]


def test_what_is_not_plain_is_left_to_others(tmp_path, pieces):
    path = written(tmp_path, "1 qid:3 1:2\n-1 1:1e-30 2:" + "1" * 25 + "\n")
    X, y = read(path)
    stream = SvmlightStream(path)
    np.testing.assert_array_equal(stream.load().toarray(), X.toarray())
    assert stream.dtype == X.dtype == np.float64 and stream.labels().tolist() == y.tolist()


@pytest.mark.parametrize(
    "line, message",
    [
        ("1 2:x", "line 4: the value in '2:x' is not a number"),
        ("1 2:1 2:1", "indices must ascend"),
        ("1 0:1", "found index 0"),
        ("yes 1:1", "found 'yes' where a label was expected"),
        ("1 3", "where a pair index:value was expected"),
        ("1 1:nan", "is not finite"),
        ("1 :5", "where a pair"),
    ],
)
def test_a_broken_line_is_named(tmp_path, pieces, line, message):
    path = written(tmp_path, f"1 1:1\n-1 2:1 3:5\n\n{line}\n1 1:1\n")
    with pytest.raises(DataFormatError, match=f"x.svm, line 4.*{message.removeprefix('line 4')}"):
        SvmlightStream(path)


def test_files_without_rows_and_packed_ones_are_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no rows"):
        SvmlightStream(written(tmp_path, "# nothing\n"))
    (tmp_path / "x.svm.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="unpack it first"):
        SvmlightStream(tmp_path / "x.svm.gz")
    with pytest.raises(DataFormatError, match="lies beyond the 2 features"):
        SvmlightStream(written(tmp_path, "1 3:1\n"), n_features=2)
    with pytest.raises(DataFormatError, match="only 1 entries in all"):
        SvmlightStream(written(tmp_path, "1 99999999:1\n"))
    zero = SvmlightStream(written(tmp_path, "1 0:1\n-1 2:5\n"), zero_based=True)
    assert zero.load().toarray().tolist() == [[1, 0, 0], [0, 0, 5]]
