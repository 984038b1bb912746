"""Streams of data frames."""

import numpy as np
import pytest

from hinge.access.streams.opening import as_stream

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2


def test_a_lazy_frame_is_run_once(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.LazyFrame({"a": X[:, 0], "b": X[:, 1], "y": Y}).filter(pl.col("a") > 4)
    stream = as_stream(frame, "y")
    np.testing.assert_array_equal(stream.load(), X[3:])
    np.testing.assert_array_equal(stream.labels(), Y[3:])
    assert stream.fingerprint() == as_stream(frame, "y").fingerprint()


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_an_arrow_dataset_is_its_files_or_a_copy(tmp_path, form):
    pa, ds = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y})
    ds.write_dataset(table, tmp_path / "d", format=form)
    stream = as_stream(ds.dataset(tmp_path / "d", format=form), "y")
    np.testing.assert_array_equal(stream.load(), X)
    np.testing.assert_array_equal(stream.labels(), Y)
