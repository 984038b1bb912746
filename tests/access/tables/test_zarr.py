import json
import pickle
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read_sequences import Mirror, reads

from hinge.access.tables.zarr import ZarrTable

zarr = pytest.importorskip("zarr")

RNG = np.random.default_rng(6)
X = np.round(8 * RNG.standard_normal((25, 17))) / 8
X[RNG.random(X.shape) < 0.4] = 0
CHUNKS = (8, 5)
CHUNK_BYTES = 8 * 5 * 4


def stored(store, X=X, dtype="f4", **settings):
    array = zarr.create_array(store, shape=X.shape, dtype=dtype, **{"chunks": CHUNKS, **settings})
    array[:] = X.astype(dtype)
    return array


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("zarr") / "x.zarr"
    stored(str(path))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=reads(*X.shape, passes=True), cache=st.sampled_from([0, 3 * CHUNK_BYTES, 1 << 20]))
def test_every_cell_is_read_and_billed_as_it_should_be(path, keep, sequence, cache):
    Mirror(ZarrTable(path, keep=keep, cache=cache), X).run(sequence)


def test_the_bill_has_whole_chunks(path):
    table = ZarrTable(path, keep=False)
    assert table.shape == (25, 17) and not table.in_memory and table.bill.bytes == 0
    table.row(3)
    assert (table.bill.bytes, table.bill.pages) == (4 * CHUNK_BYTES, 4)
    table.row(7)
    assert table.bill.bytes == 4 * CHUNK_BYTES  # of the same chunks
    table.column(16)
    assert table.bill.bytes == 7 * CHUNK_BYTES  # one of four was there
    table = ZarrTable(path, keep=False)
    table.block(np.array([24, 0, 1, 23]), np.array([16, 0, 1]))
    assert table.bill.bytes == 6 * CHUNK_BYTES


def test_the_cache_has_a_budget(path):
    table = ZarrTable(path, keep=False, cache=0)
    table.row(3)
    table.row(3)
    assert table.bill.bytes == 8 * CHUNK_BYTES
    table = ZarrTable(path, keep=False, cache=4 * CHUNK_BYTES)
    table.row(3)
    table.row(4)
    table.row(9)
    table.row(3)
    assert table.bill.bytes == 12 * CHUNK_BYTES
    assert table._recent.nbytes <= 4 * CHUNK_BYTES


def test_a_pass_reads_each_chunk_once(path):
    table = ZarrTable(path, keep=False, cache=0)
    w = RNG.standard_normal(17)
    r = np.concatenate([table.responses(w, lo, hi) for lo, hi in table.row_blocks()])
    assert np.allclose(r, X @ w)
    assert table.bill.bytes == 16 * CHUNK_BYTES


def test_all_kinds_of_numbers():
    A = np.abs(np.round(X))
    for dtype, expected in (("i4", np.float64), ("u1", np.float32), ("f8", np.float64), ("f2", np.float32)):
        table = ZarrTable(stored({}, A, dtype))
        line = table.row(5)
        assert (line.values == A[5]).all() and line.values.dtype == expected
    table = ZarrTable(stored({}, A > 0, "bool"))
    assert (table.block(np.arange(25), np.arange(17)) == (A > 0)).all()


def test_shards_are_read_by_their_chunks():
    table = ZarrTable(stored({}, chunks=(4, 5), shards=(8, 10)), keep=False)
    assert (table.row(5).values == X[5]).all()
    assert table.bill.bytes == 4 * (4 * 5 * 4)


def test_cells_that_are_no_numbers_are_named():
    A = X.copy()
    A[20, 11] = np.nan
    table = ZarrTable(stored({}, A))
    assert (table.row(3).values == X[3]).all()
    with pytest.raises(ValueError, match="row 20, column 11 is nan"):
        table.row(22)


def test_other_sources_are_refused():
    with pytest.raises(ValueError, match="two dimensions, but this array has 3"):
        ZarrTable(zarr.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="Cells are numbers"):
        ZarrTable(zarr.zeros((2, 2), dtype="c16"))
    with pytest.raises(TypeError, match="A ndarray is neither"):
        ZarrTable(X)


def test_pickles_by_name(path):
    table = ZarrTable(path, prices=np.arange(17), keep=False, cache=4000)
    table.row(2)
    again = pickle.loads(pickle.dumps(table))
    assert (again.bill.bytes, again.keep, again._recent.budget) == (0, False, 4000)
    assert (again.row(2).values == X[2]).all() and again.bill.cost == 136


def test_without_zarr(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"pip install hinge\[zarr\]"):
        ZarrTable(path)


def test_declared_sizes_are_compared_with_what_is_stored(tmp_path):
    stored(str(tmp_path / "x.zarr"))
    header = tmp_path / "x.zarr" / "zarr.json"
    for old, new in (("25,", f"{1 << 70},"), ("25,", "2500000000,"), ("25,", "1000000,"), ("8,", f"{1 << 40},")):
        text = header.read_text()
        assert old in text
        header.write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=r"are declared, in \d+ bytes|is not a zarr array"):
            ZarrTable(tmp_path / "x.zarr")
        header.write_text(text)
    assert ZarrTable(tmp_path / "x.zarr").shape == X.shape


def test_chunks_without_cells_are_refused(tmp_path):
    stored(str(tmp_path / "x.zarr"))
    description = tmp_path / "x.zarr" / "zarr.json"
    told = json.loads(description.read_text())
    told["chunk_grid"]["configuration"]["chunk_shape"] = [8, 0]
    description.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="damaged"):
        ZarrTable(tmp_path / "x.zarr")
