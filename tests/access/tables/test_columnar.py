import pickle
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read_sequences import Mirror, reads

from hinge.access.tables.bill import PAGE, pages_of
from hinge.access.tables.columnar import ArrowTable

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(4)
X = np.round(8 * RNG.standard_normal((50, 12))) / 8
X[RNG.random(X.shape) < 0.4] = 0
GROUP = 16


def arrow(X=X, **types):
    return pa.table({f"x{j}": pa.array(X[:, j], types.get(f"x{j}")) for j in range(X.shape[1])})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    pq.write_table(arrow(), path, row_group_size=GROUP)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", ["file", "table"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=reads(*X.shape, passes=True), cache=st.sampled_from([0, 300, 1 << 20]))
def test_every_cell_is_read_and_billed_as_it_should_be(path, kind, keep, sequence, cache):
    source = path if kind == "file" else arrow()
    Mirror(ArrowTable(source, keep=keep, cache=cache), X).run(sequence)


def chunk_sizes(path, groups, columns):
    meta = pq.ParquetFile(path).metadata
    chunks = [meta.row_group(g).column(j) for g in groups for j in columns]
    return sum(c.total_compressed_size for c in chunks)


def test_the_bill_has_the_stored_bytes_of_what_was_decoded(path):
    table = ArrowTable(path, keep=False)
    assert table.bill.bytes == 0 and not table.in_memory
    table.column(3)
    assert table.bill.bytes == chunk_sizes(path, range(4), [3])
    table = ArrowTable(path, keep=False)
    table.row(20)
    expected = chunk_sizes(path, [1], range(12))
    assert table.bill.bytes == expected and 12 <= table.bill.pages <= 24
    table.row(31)
    assert table.bill.bytes == expected  # of the same group, which was decoded
    table = ArrowTable(path, keep=False)
    table.block(np.array([49, 0, 48, 1]), np.array([7, 2]))
    assert table.bill.bytes == chunk_sizes(path, [0, 3], [2, 7])
    meta = pq.ParquetFile(path).metadata.row_group(0).column(0)
    table = ArrowTable(path, keep=False)
    table._fetch_cells(0, np.array([0]))
    assert table.bill.pages == pages_of(4, meta.total_compressed_size)  # behind the four letters PAR1


def test_the_cache_has_a_budget(path):
    one_group = GROUP * 12 * 8
    table = ArrowTable(path, keep=False, cache=0)
    table.row(0)
    once = table.bill.bytes
    table.row(1)
    assert table.bill.bytes == 2 * once
    table = ArrowTable(path, keep=False, cache=one_group)
    for i in (0, 1, 17, 18, 2):
        table.row(i)
    assert table.bill.bytes == chunk_sizes(path, [0, 1, 0], range(12))
    assert table._recent.nbytes <= one_group


def test_a_pass_decodes_each_row_group_once(path):
    table = ArrowTable(path, keep=False, cache=0)
    w = RNG.standard_normal(12)
    r = np.concatenate([table.responses(w, lo, hi) for lo, hi in table.row_blocks()])
    assert np.allclose(r, X @ w)
    assert table.bill.bytes == chunk_sizes(path, range(4), range(12))
    assert list(table.row_blocks()) == [(0, 16), (16, 32), (32, 48), (48, 50)]
    assert np.allclose(table.responses(w, 10, 35), X[10:35] @ w)


def test_bytes_of_an_arrow_table():
    table = ArrowTable(arrow(), keep=False)
    table.column(3)
    assert (table.bill.bytes, table.bill.pages) == (50 * 8, 1)
    assert PAGE > 400
    parts = pa.concat_tables([arrow(X[:20]), arrow(X[20:])])
    table = ArrowTable(parts, keep=False)
    table._fetch_cells(30, np.array([5]))
    assert table.bill.bytes == 30 * 8


def test_a_folder_of_files(tmp_path):
    for k, part in enumerate((X[:20], X[20:20], X[20:])):
        (tmp_path / f"part={k}").mkdir()
        pq.write_table(arrow(part), tmp_path / f"part={k}" / "x.parquet", row_group_size=8)
    table = ArrowTable(str(tmp_path))
    assert table.shape == (50, 12)
    assert (table.row(33).values == X[33]).all() and (table.column(4).values == X[:, 4]).all()
    pq.write_table(arrow(X[:, :5]), tmp_path / "z.parquet")
    with pytest.raises(ValueError, match=r"z.parquet has other columns than"):
        ArrowTable(tmp_path)


def test_all_kinds_of_numbers(tmp_path):
    A = np.abs(np.round(X[:, :6]))
    kinds = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.int32(), pa.float16()]
    columns = {f"x{j}": pa.array(A[:, j].astype(kind.to_pandas_dtype())) for j, kind in enumerate(kinds)}
    columns["flag"] = pa.array(A[:, 0] > 0)
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    table = ArrowTable(tmp_path / "x.parquet")
    assert table.names[-1] == "flag"
    assert (table.block(np.arange(50), np.arange(7)) == np.column_stack([A, A[:, 0] > 0])).all()


def test_columns_that_are_no_numbers_are_named(tmp_path):
    path = tmp_path / "x.parquet"
    for bad, words in (
        (pa.array(["a", "b"]), "Column 'colour' holds string, not numbers"),
        (pa.array([[1.0], [2.0]]), "Column 'colour' holds list.*, not numbers"),
        (pa.array([1.0, None]), "Column 'colour' has missing values"),
        (pa.array([1, None]), "Column 'colour' has missing values"),
    ):
        given_ = pa.table({"size": [1.0, 2.0], "colour": bad})
        pq.write_table(given_, path)
        with pytest.raises(ValueError, match=words):
            ArrowTable(path)
        with pytest.raises(ValueError, match=words):
            ArrowTable(given_).column(1)
    pq.write_table(pa.table({"size": [1.0, 2.0], "colour": [1.0, None]}), path, write_statistics=False)
    table = ArrowTable(path)
    assert (table.column(0).values == [1, 2]).all()
    with pytest.raises(ValueError, match="'colour' has missing values"):
        table.row(0)
    pq.write_table(pa.table({"size": [1.0, np.inf]}), path)
    with pytest.raises(ValueError, match="Column 'size' is inf in row 1"):
        ArrowTable(path).column(0)
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(ValueError, match="same name"):
        ArrowTable(twice)


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no Parquet file or folder"):
        ArrowTable(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"There is no .parquet file in"):
        ArrowTable(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not Parquet, or damaged"):
        ArrowTable(tmp_path / "x.parquet")
    with pytest.raises(TypeError, match="A list is neither"):
        ArrowTable([1, 2])


def test_pickles_by_name(path):
    table = ArrowTable(path, prices=np.arange(12), keep=False, cache=4000)
    table.row(2)
    again = pickle.loads(pickle.dumps(table))
    assert (again.bill.bytes, again.keep, again._recent.budget) == (0, False, 4000)
    assert (again.row(2).values == X[2]).all() and again.bill.cost == 66


def test_without_pyarrow(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install hinge\[arrow\]"):
        ArrowTable(path)
