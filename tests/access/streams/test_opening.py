import numpy as np
import pytest

from hinge.access.streams.opening import ArrayStream, NpyStream, as_stream
from hinge.access.streams.parquet import ParquetStream

X = np.arange(12.0).reshape(6, 2)


def test_sources_are_known_by_their_names_and_types(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    zarr = pytest.importorskip("zarr")
    np.save(tmp_path / "x.npy", X)
    for name in ("a", "b"):
        pq.write_table(pa.table({"u": X[:, 0], "v": X[:, 1]}), tmp_path / f"{name}.parquet")
    array = zarr.create_array(str(tmp_path / "z"), shape=X.shape, chunks=(2, 2), dtype="f8")
    array[:] = X
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    kinds = {
        tmp_path / "x.npy": (NpyStream, 6),
        str(tmp_path / "*.parquet"): (ParquetStream, 12),
        tmp_path / "a.parquet": (ParquetStream, 6),
        tmp_path: (ParquetStream, 12),
        tmp_path / "z": (ArrayStream, 6),
    }
    for source, (kind, n) in kinds.items():
        stream = as_stream(source)
        assert type(stream) is kind and stream.shape == (n, 2)
    assert type(as_stream([tmp_path / "a.parquet"])) is ParquetStream
    assert type(as_stream(mapped)) is type(as_stream(array)) is ArrayStream
    assert as_stream(stream) is stream


def test_what_is_in_memory_is_no_stream():
    assert as_stream(X) is None and as_stream([[1.0], [2.0]]) is None and as_stream([]) is None


def test_names_that_lead_nowhere_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(FileNotFoundError, match=r"no file .*\*.pq"):
        as_stream(str(tmp_path / "*.pq"))
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*none.npy"):
        as_stream(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="no column 'y': an array has no names"):
        as_stream(tmp_path / "x.npy", "y")
    (tmp_path / "x.doc").write_text("")
    with pytest.raises(ValueError, match=r"x.doc is not a kind of file"):
        as_stream(tmp_path / "x.doc")


def test_a_pattern_is_one_that_is_no_file(tmp_path):
    path = tmp_path / "a[1].npy"
    np.save(path, np.ones((3, 2)))
    assert as_stream(str(path)).shape == (3, 2)
    with pytest.raises(FileNotFoundError, match="check the pattern"):
        as_stream(str(tmp_path / "b[1].npy"))
