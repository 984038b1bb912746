from itertools import pairwise

import numpy as np
import pytest

from hinge.access.streams import text
from hinge.access.streams.base import DataChanged
from hinge.access.streams.svmlight import SvmlightStream


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
