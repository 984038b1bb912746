"""Files in svmlight form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hinge.datasets import DataFormatError, read
from tests.datasets.made_up import PACK, few, singles, written

pytestmark = pytest.mark.filterwarnings("error")


def svmlight_text(X, y):
    lines = []
    for row, label in zip(X, y, strict=True):
        pairs = [f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()) if value]
        lines.append(" ".join([str(label), *pairs]))
    return "\n".join(lines) + "\n"


@pytest.mark.slow
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


def test_labels_without_any_feature(tmp_path):
    path = written(tmp_path, "a.svm", "1\n-1\n")
    with pytest.raises(DataFormatError, match="labels but no index:value pair"):
        read(path)
    assert read(path, n_features=3)[0].shape == (2, 3)


def test_an_index_that_would_ask_for_all_memory(tmp_path):
    path = written(tmp_path, "a.svm", b"1 1:1\n-1 2147483640:2\n")
    with pytest.raises(DataFormatError, match="has the index 2147483640, but only 2 entries"):
        read(path)
    assert read(path, n_features=2147483640)[0].shape == (2, 2147483640)
    assert read(written(tmp_path, "b.svm", b"1 2097152:1\n-1 1:1\n"))[0].shape == (2, 1 << 21)


@pytest.mark.parametrize("packing", PACK)
def test_the_mark_of_an_encoding_is_no_label(tmp_path, packing):
    X, y = read(written(tmp_path, f"a.svm{packing}", PACK[packing](b"\xef\xbb\xbf+1 1:2\n-1 2:1\n")))
    assert X.toarray().tolist() == [[2, 0], [0, 1]] and y.tolist() == [1, -1]
    with pytest.raises(DataFormatError, match="line 1: found 'x'"):
        read(written(tmp_path, "b.svm", b"\xef\xbb\xbfx 1:2\n-1 2:1\n"))
