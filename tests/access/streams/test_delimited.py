import numpy as np
import pytest

from hinge.access.streams import text
from hinge.access.streams.delimited import DelimitedStream
from hinge.datasets import DataFormatError, read


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
