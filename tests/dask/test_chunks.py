"""Chunks of rows, as they are given."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("distributed", reason="hinge[dask] is not installed")
da = pytest.importorskip("dask.array")
from dask.delayed import delayed  # noqa: E402

from hinge.dask.parts import chunks_of, is_distributed  # noqa: E402

X = np.arange(60.0).reshape(10, 6)
y = np.resize([1, -1], 10)


def computed(pieces):
    return [piece.compute(scheduler="synchronous") for piece in pieces]


def test_chunks_of_columns_are_put_together_and_labels_are_cut_as_rows_are():
    chunks = chunks_of(da.from_array(X, chunks=(4, 2)), da.from_array(y, chunks=3), da.ones(10, chunks=10))
    np.testing.assert_array_equal(np.concatenate(computed(chunks.Xs)), X)
    assert [len(piece) for piece in computed(chunks.ys)] == [4, 4, 2]
    assert [len(piece) for piece in computed(chunks.weights)] == [4, 4, 2]


def test_labels_may_lie_here_where_lengths_are_known():
    chunks = chunks_of(da.from_array(X, chunks=(4, 6)), list(y))
    np.testing.assert_array_equal(np.concatenate(computed(chunks.ys)), y)
    unknown = da.from_array(X, chunks=(4, 6))
    unknown = unknown[unknown[:, 0] >= 0]
    with pytest.raises(TypeError, match="how many rows the chunks of X have is not known"):
        chunks_of(unknown, y)
    assert len(chunks_of(unknown, da.from_array(y, chunks=4)).ys) == 3


def test_chunks_of_sparse_matrices():
    S = da.from_array(X, chunks=(5, 6)).map_blocks(sp.csr_matrix)
    assert all(sp.issparse(piece) for piece in computed(chunks_of(S, y).Xs))


def test_lists_of_parts():
    parts, labels = [delayed(X[:3]), delayed(X[3:])], [delayed(y[:3]), y[3:]]
    chunks = chunks_of(parts, labels)
    np.testing.assert_array_equal(np.concatenate(computed(chunks.ys)), y)
    assert is_distributed(parts)
    assert not is_distributed([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="X has 2 chunks of rows and y has 1"):
        chunks_of(parts, [y])


def test_groups_are_neighbours():
    chunks = chunks_of([delayed(k) for k in range(7)], [delayed(k) for k in range(7)])
    assert [computed(group.Xs) for group in chunks.grouped(3)] == [[0, 1], [2, 3], [4, 5, 6]]
    assert len(chunks.grouped(20)) == 7


@pytest.mark.slow
def test_frames_and_columns_that_are_no_numbers():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "town": ["a", "b", "c"], "kind": [0, 1, 1]})
    frames = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match="Column 'town' of X has the type"):
        chunks_of(frames, frames["kind"])
    chunks = chunks_of(frames[["size"]], frames["kind"])
    assert [len(piece) for piece in computed(chunks.Xs)] == [len(piece) for piece in computed(chunks.ys)]


@pytest.mark.parametrize("given", [X, [1.0, 2.0], [], None])
def test_what_lies_here_is_for_the_local_machines(given):
    with pytest.raises(TypeError, match=r"hinge\.LinearSVC"):
        chunks_of(given, y)


def test_other_lengths():
    with pytest.raises(ValueError, match="X has 10 rows and y has 9"):
        chunks_of(da.from_array(X), da.from_array(y[:9]))
    with pytest.raises(ValueError, match="X has 10 rows and y has 9"):
        chunks_of(da.from_array(X), y[:9])
    with pytest.raises(ValueError, match="1 dimension"):
        chunks_of(da.from_array(y), y)
    with pytest.raises(ValueError, match="y is None"):
        chunks_of(da.from_array(X), None)
