import os
import shutil
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from access.two_way.writing import MEMORIES, Sliced, X, stored
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORIES)
def test_dense_input_of_every_kind(tmp_path, memory):
    saved = tmp_path / "saved.npy"
    inputs = [X, X.astype(np.float32), np.asfortranarray(X), X[:, ::-1][:, ::-1], Sliced(X), X.astype(np.float16)]
    for order in "CF":
        path = tmp_path / f"{order}.dat"
        mapped = np.memmap(path, np.float32, "w+", shape=X.shape, order=order)
        mapped[:] = X
        inputs.append(np.memmap(path, np.float32, "r", shape=X.shape, order=order))
    np.save(saved, X)
    inputs += [saved, str(saved)]
    for given_ in inputs:
        write_pair(given_, tmp_path / "pair", memory=memory)
        header = stored(tmp_path / "pair")
        wide = isinstance(given_, str | Path) or given_.dtype == np.float64
        assert header["dtype"] == ("float64" if wide else "float32")


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORIES)
def test_sparse_input_of_every_kind(tmp_path, memory):
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix):
        for given_ in (kind(X), kind(X.astype(np.float32))):
            write_pair(given_, tmp_path / "pair", memory=memory)
            header = stored(tmp_path / "pair")
            assert (header["kind"], header["dtype"]) == ("compressed", given_.dtype.name)


@pytest.mark.slow
def test_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({f"x{j}": X[:, j].astype(np.float32) for j in range(23)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=11)
    for memory in MEMORIES:
        write_pair(tmp_path / "x.parquet", tmp_path / "pair", memory=memory)
        assert stored(tmp_path / "pair")["dtype"] == "float32"
    with pytest.raises(ValueError, match="not Parquet"):
        (tmp_path / "x.csv").write_text("1,2\n3,4\n")
        write_pair(tmp_path / "x.csv", tmp_path / "other")


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array({}, shape=X.shape, chunks=(10, 7), dtype="f8")
    array[:] = X
    write_pair(array, tmp_path / "pair", memory=3000)
    stored(tmp_path / "pair")


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 12),
    seed=st.integers(0, 99),
    memory=st.integers(1, 3000),
    compressed=st.booleans(),
    turned=st.booleans(),
)
def test_any_shape_in_any_memory(tmp_path, n, d, seed, memory, compressed, turned):
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, size=(n, d)) * (rng.random((n, d)) < 0.5).astype(np.float32)
    given_ = np.asfortranarray(A) if turned else A
    if compressed:
        given_ = sp.csc_array(A) if turned else sp.csr_array(A)
    write_pair(given_, tmp_path / "pair", memory=memory)
    stored(tmp_path / "pair", A)
    table = open_pair(tmp_path / "pair")
    assert np.allclose(table.responses(np.ones(d), 0, n), A.sum(axis=1))


@pytest.mark.slow
def test_duplicates_are_added_and_zeros_dropped(tmp_path):
    S = sp.coo_array(([1.0, 2.0, 5.0, -5.0, 0.0], ([0, 0, 1, 1, 2], [1, 1, 2, 2, 0])), shape=(3, 4))
    given_ = sp.csr_array((S.data, S.coords[1], [0, 2, 4, 5]), shape=(3, 4))
    write_pair(given_, tmp_path / "pair")
    assert stored(tmp_path / "pair", S.toarray())["nonzeros"] == 1
    assert given_.nnz == 5  # the caller's matrix is as it was


def test_compressed_pairs_may_be_empty(tmp_path):
    write_pair(sp.csr_array((4, 3)), tmp_path / "pair")
    stored(tmp_path / "pair", np.zeros((4, 3)))
    table = open_pair(tmp_path / "pair")
    assert table.n_cells == 0
    assert (table.block(np.array([0, 3]), np.array([2])).toarray() == 0).all()
    assert len(table.row(1).values) == len(table.column(1).values.nonzero()[0]) == 0


def test_an_interrupted_write_leaves_the_old_pair(tmp_path):
    target = tmp_path / "pair"
    write_pair(X, target)

    def interrupted(step):
        steps = iter(range(1, step + 1))

        def progress(done, total):
            if next(steps) == step:
                raise KeyboardInterrupt

        return progress

    for given_ in (2 * X, sp.csr_array(2 * X)):
        counted = []
        write_pair(given_, tmp_path / "other", progress=lambda *step, to=counted: to.append(step), memory=3000)
        for step in (1, len(counted) // 3 + 1, 2 * len(counted) // 3 + 1, len(counted)):
            with pytest.raises(KeyboardInterrupt):
                write_pair(given_, target, progress=interrupted(step), memory=3000)
            stored(target)
            assert sorted(os.listdir(tmp_path)) == ["other", "pair"]
    shutil.rmtree(tmp_path / "other")
    table = open_pair(target)
    write_pair(2 * X, target)
    stored(target, 2 * X)
    assert (table.row(3).values == X[3]).all()  # whoever has opened the old one goes on reading it
    assert os.listdir(tmp_path) == ["pair"]


def test_where_the_new_pair_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "pair"
    write_pair(X, target)
    rename = Path.rename

    def refusing(self, to):
        if self.suffix == ".tmp":
            raise OSError("no")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refusing)
    monkeypatch.setattr("hinge.files.replacing._swapped", lambda one, other: False)  # as where there is no such call
    with pytest.raises(OSError, match="no"):
        write_pair(2 * X, target)
    stored(target)
    assert os.listdir(tmp_path) == ["pair"]


def test_other_things_are_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    write_pair(X, tmp_path / "folder")  # an empty folder is
    stored(tmp_path / "folder")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("keep")
    (tmp_path / "file").write_text("keep")
    for name in ("mine", "file"):
        with pytest.raises(ValueError, match="is not a pair: choose another name"):
            write_pair(X, tmp_path / name)
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_pair(X, tmp_path / "none" / "pair")
    assert (tmp_path / "mine" / "notes").read_text() == "keep"


@pytest.mark.parametrize("given_", [X, np.asfortranarray(X), sp.csr_array(X), [X[:9], X[9:]]], ids=lambda x: type(x))
def test_progress(tmp_path, given_):
    steps = []
    write_pair(given_, tmp_path / "pair", progress=lambda done, total: steps.append((done, total)), memory=2000)
    done = [step[0] for step in steps]
    totals = {step[1] for step in steps}
    assert done == sorted(done) and done[-1] == steps[-1][1]
    assert len(steps) > 5 and len(totals - {None}) == 1
    if isinstance(given_, np.ndarray):
        assert totals == {3 * X.nbytes}


@pytest.mark.slow
def test_memory_stays_within_its_limit(tmp_path):
    memory = 2 << 20
    path = tmp_path / "big.dat"
    A = np.memmap(path, np.float32, "w+", shape=(4000, 1000))
    A[:] = np.arange(4000)[:, None] % 50
    blocks = [sp.random_array((500, 3000), density=0.05, rng=k, dtype=np.float32).tocsr() for k in range(8)]
    assert A.nbytes > 7 * memory and 8 * sum(b.nnz for b in blocks) > 2 * memory
    for first in (A[:5], A[:5].T, iter(blocks[:1])):  # what is imported and compiled is not of the writing
        write_pair(first, tmp_path / "first", memory=memory)
    for given_ in (A, A.T, iter(blocks)):
        tracemalloc.start()
        write_pair(given_, tmp_path / "pair", memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.2 * memory
    S = sp.vstack(blocks).tocsr()
    table = open_pair(tmp_path / "pair")
    w = np.random.default_rng(0).standard_normal(3000)
    assert np.allclose(table.responses(w, 0, 4000), S @ w)
    line = table.column(17)
    assert np.allclose(line.values, S[:, [17]].toarray()[:, 0])


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
