from itertools import pairwise

import numpy as np
import pytest

from hinge.access.streams import text
from hinge.access.streams.base import DataChanged
from hinge.access.streams.text import DelimitedStream, SvmlightStream
from hinge.datasets import DataFormatError, read


def test_pieces_are_whole_lines_and_cover_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "PIECE", 50)
    path, n = tmp_path / "x.svm", 200
    path.write_text("".join(f"{k % 2} 1:{k} {k % 7 + 2}:1\n" for k in range(n)))
    stream = SvmlightStream(path)
    assert stream.shape == (n, 8)
    for rows, most in ((30, 40), (5, 40), (3, 3)):
        found = stream.stretches(rows, most)
        assert found[0][0] == 0 and found[-1][1] == n and all(a[1] == b[0] for a, b in pairwise(found))
        assert max(hi - lo for lo, hi in found) <= min(max(rows, 10), most)
    np.testing.assert_array_equal(stream.read(57, 131).toarray()[:, 0], np.arange(57, 131))
    before = stream.fingerprint()
    path.write_text("1 1:1\n")
    with pytest.raises(DataChanged, match=r"x.svm has changed"):
        stream.read(0, 5)
    assert SvmlightStream(path).fingerprint() != before


def test_what_is_kept_can_be_given_up(tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("1 1:1\n-1 2:1\n")
    stream = SvmlightStream(path, keep=1 << 20)
    stream.forget()
    assert stream.load().toarray().tolist() == [[1, 0], [0, 1]]


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    monkeypatch.setattr(text, "PIECE", 40)


@pytest.mark.parametrize("label", ["class", None, 1])
@pytest.mark.parametrize("names", [("no", "yes"), ("-1", "1")])
def test_it_reads_what_the_reader_reads_by_pieces(tmp_path, label, names):
    path = tmp_path / "x.csv"
    lines = [f"{k / 8},{names[k % 2]},{-k}" for k in range(30)]
    path.write_text("a,class,b\n" + "\n".join(lines) + "\n")
    X, y = read(path, label=label)
    stream = DelimitedStream(path, label, keep=0)
    assert stream.shape == X.shape and stream.dtype == X.dtype and stream.names == ["a", "b"]
    np.testing.assert_array_equal(stream.labels(), y)
    np.testing.assert_array_equal(stream.load(), X)
    np.testing.assert_array_equal(stream.read(7, 19), X[7:19])
    np.testing.assert_array_equal(DelimitedStream(path, label, keep=1 << 20).load(), X)


@pytest.mark.parametrize(
    "line, message",
    [("1,yes,", "column b: the value is missing"), ("x,no,1", "column a: found 'x'"), ("1,no", "found 2 cells")],
)
def test_a_broken_line_is_named(tmp_path, line, message):
    path = tmp_path / "x.csv"
    path.write_text("a,class,b\n" + "1,no,2\n" * 20 + line + "\n1,yes,3\n")
    with pytest.raises(DataFormatError, match=f"x.csv, line 22.*{message}"):
        DelimitedStream(path)
