"""Validation of zarr arrays, before they are read as streams."""

import json
import sys

import numpy as np
import pytest

from hinge.access.streams.opening import array_of

zarr = pytest.importorskip("zarr")

X = np.round(8 * np.random.default_rng(6).standard_normal((25, 17))) / 8


@pytest.fixture
def path(tmp_path):
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, dtype="f4", chunks=(8, 5))
    array[:] = X
    return tmp_path / "x.zarr"


def test_a_path_or_an_array(path):
    array = array_of(path)
    assert (array[:] == X).all() and array_of(array) is array


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no zarr array"):
        array_of(tmp_path / "none.zarr")
    with pytest.raises(ValueError, match="two dimensions, but this array has 3"):
        array_of(zarr.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="Cells are numbers"):
        array_of(zarr.zeros((2, 2), dtype="c16"))
    with pytest.raises(TypeError, match="A ndarray is neither"):
        array_of(X)


def test_without_zarr(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"pip install hinge\[zarr\]"):
        array_of(path)


def test_declared_sizes_are_compared_with_what_is_stored(path):
    header = path / "zarr.json"
    for old, new in (("25,", f"{1 << 70},"), ("25,", "2500000000,"), ("25,", "1000000,"), ("8,", f"{1 << 40},")):
        text = header.read_text()
        assert old in text
        header.write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=r"are declared, in \d+ bytes|is not a zarr array"):
            array_of(path)
        header.write_text(text)
    assert array_of(path).shape == X.shape


def test_chunks_without_cells_are_refused(path):
    description = path / "zarr.json"
    told = json.loads(description.read_text())
    told["chunk_grid"]["configuration"]["chunk_shape"] = [8, 0]
    description.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="damaged"):
        array_of(path)
