from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from access.two_way.writing import MEMORIES, Sliced, X, stored

from hinge.access.two_way.writer import write_pair


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORIES)
def test_row_blocks(tmp_path, memory):
    cuts = [0, 1, 1, 15, 16, 37]
    for kind in (np.asarray, sp.csr_array, sp.coo_array):
        for shape in (None, (37, 23), [37, 23]):
            blocks = (kind(X[a:b]) for a, b in pairwise(cuts) if kind is np.asarray or a < b)
            write_pair(blocks, tmp_path / "pair", shape=shape, memory=memory)
            stored(tmp_path / "pair")
    write_pair([X[:20].tolist(), X[20:].tolist()], tmp_path / "pair", memory=memory)
    stored(tmp_path / "pair")


def test_chunks_are_not_read_twice(tmp_path):
    source = Sliced(X, chunks=(8, 5))
    write_pair(source, tmp_path / "pair", memory=4 * 8 * 23 * 11)  # room for 11 rows
    assert source.slices == [(0, 8), (8, 16), (16, 24), (24, 32), (32, 37)]
    stored(tmp_path / "pair")


def test_types(tmp_path):
    whole_numbers = np.round(X)
    for kind, expected in (
        (bool, "float32"),
        (np.int8, "float32"),
        (np.uint16, "float32"),
        (np.int32, "float64"),
        (np.int64, "float64"),
        (">f4", "float32"),
        (">f8", "float64"),
    ):
        given_ = np.abs(whole_numbers).astype(kind)
        write_pair(given_, tmp_path / "pair")
        assert stored(tmp_path / "pair", given_)["dtype"] == expected
    write_pair(X, tmp_path / "pair", dtype="float32")
    assert stored(tmp_path / "pair")["dtype"] == "float32"
    with pytest.raises(ValueError, match="dtype is float32 or float64"):
        write_pair(X, tmp_path / "pair", dtype=int)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_no_numbers_are_named(tmp_path, bad):
    A = X.copy()
    A[31, 4] = bad
    for given_ in (A, np.asfortranarray(A), sp.csr_array(A), sp.csc_array(A), iter([A[:9], A[9:]]), Sliced(A)):
        with pytest.raises(ValueError, match=f"row 31, column 4 is {bad}"):
            write_pair(given_, tmp_path / "pair", memory=2000)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_named(tmp_path):
    A = X.copy()
    A[2, 3] = 1e300
    with pytest.raises(ValueError, match="row 2, column 3 is inf as float32"):
        write_pair(A, tmp_path / "pair", dtype=np.float32)


def test_input_that_does_not_fit_together(tmp_path):
    target = tmp_path / "pair"
    for given_, words in (
        ([X[:5], X[5:, :3]], "The block from row 5 on is unlike"),
        ([X[:5], sp.csr_array(X[5:])], "The block from row 5 on is unlike"),
        ([X[:5].astype(np.float32), X[5:]], "say which dtype"),
        ([X[0]], "A block of rows has two dimensions, but one has 1"),
        (np.zeros(3), "A matrix has two dimensions, but this has 1"),
        (np.array([["a", "b"]]), "Cells are numbers"),
        (X.astype(complex), "Cells are numbers"),
        (np.zeros((0, 3)), "There are no rows"),
        (np.zeros((3, 0)), "There are no cells"),
        ([], "There are no rows"),
    ):
        with pytest.raises(ValueError, match=words):
            write_pair(given_, target)
    with pytest.raises(ValueError, match=r"make 37 × 23 cells, but shape is \(36, 23\)"):
        write_pair(iter([X]), target, shape=(36, 23))
    with pytest.raises(TypeError, match="neither a matrix nor an iterable"):
        write_pair(3, target)
    with pytest.raises(ValueError, match="memory must be a number of bytes"):
        write_pair(X, target, memory=0)
    assert list(tmp_path.iterdir()) == []
