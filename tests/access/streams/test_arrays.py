"""Streams of arrays: NumPy files, zarr, HDF5."""

import numpy as np
import pytest

from hinge.access.streams.base import DataChanged
from hinge.access.streams.opening import ArrayStream, NpyStream

X = np.arange(60.0).reshape(20, 3).astype(np.float32)


@pytest.mark.parametrize("dtype, read", [("f4", "f4"), ("f8", "f8"), ("i2", "f4"), ("i8", "f8"), (">f4", "f4")])
def test_an_npy_file_is_read_in_stretches(tmp_path, dtype, read):
    np.save(tmp_path / "x.npy", X.astype(dtype))
    stream = NpyStream(tmp_path / "x.npy")
    assert stream.shape == (20, 3) and stream.dtype == np.dtype(read) and stream.row_bytes == 3 * stream.dtype.itemsize
    parts = [stream.read(lo, hi) for lo, hi in stream.stretches(7, 20)]
    assert [len(part) for part in parts] == [6, 7, 7]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    np.testing.assert_array_equal(stream.load(), X)
    assert parts[0].dtype == stream.dtype


@pytest.mark.parametrize(
    "array, message", [(X[0], "shape \\(3,\\)"), (np.asfortranarray(X), "by columns"), (X.astype("U3"), "of <U3")]
)
def test_other_arrays_are_refused(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ValueError, match=message):
        NpyStream(tmp_path / "x.npy")


def test_damage_is_named(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match=r"x.npy is not a NumPy array"):
        NpyStream(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"x.npy is cut short"):
        NpyStream(tmp_path / "x.npy")


def test_a_file_that_was_written_to_is_not_read_on(tmp_path):
    np.save(tmp_path / "x.npy", X)
    stream = NpyStream(tmp_path / "x.npy")
    print_before = stream.fingerprint()
    np.save(tmp_path / "x.npy", np.concatenate([X, X]))
    with pytest.raises(DataChanged, match=r"x.npy has changed"):
        stream.read(0, 2)
    assert NpyStream(tmp_path / "x.npy").fingerprint() != print_before


def test_a_memory_map_is_read_and_watched(tmp_path):
    np.save(tmp_path / "x.npy", X)
    stream = ArrayStream(np.load(tmp_path / "x.npy", mmap_mode="r"))
    np.testing.assert_array_equal(np.concatenate([stream.read(0, 9), stream.read(9, 20)]), X)
    assert stream.fingerprint() == ArrayStream(np.load(tmp_path / "x.npy", mmap_mode="r")).fingerprint()
    (tmp_path / "x.npy").unlink()
    with pytest.raises(DataChanged, match=r"x.npy is gone"):
        stream.read(0, 2)


def test_a_map_whose_file_has_no_name_any_more_is_read(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    (tmp_path / "x.npy").unlink()
    np.testing.assert_array_equal(ArrayStream(mapped).load(), X)


def test_changes_to_a_private_map_are_kept(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped[0, 0] = 7.0
    ArrayStream(mapped).read(0, 20)
    assert mapped[0, 0] == 7.0


def test_stretches_of_a_zarr_array_are_whole_chunks(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "z"), shape=X.shape, chunks=(6, 2), dtype="f4")
    array[:] = X
    stream = ArrayStream(array)
    assert stream.stretches(7, 20) == [(0, 6), (6, 12), (12, 18), (18, 20)]
    assert max(hi - lo for lo, hi in stream.stretches(4, 4)) <= 4  # where a chunk is too large
    np.testing.assert_array_equal(stream.load(), X)
