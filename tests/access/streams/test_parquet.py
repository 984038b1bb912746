import sys

import numpy as np
import pytest

from hinge.access.streams.base import DataChanged
from hinge.access.streams.parquet import ParquetStream, parquet_names, set_columns

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 35)).astype(np.float32)
Y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]


def write(path, lo=0, hi=90, group=20, **others):
    columns = {f"x{j}": X[lo:hi, j] for j in range(35)} | {"label": Y[lo:hi]} | others
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def test_files_are_one_matrix_in_the_order_of_their_names(tmp_path):
    write(tmp_path / "a.parquet", 0, 50)
    write(tmp_path / "b.parquet", 50, 90)
    stream = ParquetStream(tmp_path, "label")
    assert stream.shape == (90, 35) and stream.dtype == np.float32 and stream.names[:2] == ["x0", "x1"]
    np.testing.assert_array_equal(stream.load(), X)
    np.testing.assert_array_equal(stream.read(13, 77), X[13:77])
    np.testing.assert_array_equal(stream.labels(), Y)
    other = ParquetStream([tmp_path / "a.parquet", tmp_path / "b.parquet"], "label")
    assert other.fingerprint() == stream.fingerprint() != ParquetStream(tmp_path / "a.parquet", "label").fingerprint()


def test_stretches_are_row_groups_or_parts_of_one(tmp_path):
    stream = ParquetStream(write(tmp_path / "a.parquet"), "label")
    assert stream.stretches(45, 60) == [(0, 40), (40, 80), (80, 90)]
    assert stream.stretches(5, 10) == [
        (0, 10),
        (10, 20),
        (20, 30),
        (30, 40),
        (40, 50),
        (50, 60),
        (60, 70),
        (70, 80),
        (80, 90),
    ]


def test_whole_numbers_and_flags_are_numbers(tmp_path):
    table = pa.table({"a": pa.array([1, 2], pa.int64()), "b": [True, False]})
    pq.write_table(table, tmp_path / "a.parquet")
    stream = ParquetStream(tmp_path / "a.parquet")
    assert stream.dtype == np.float64 and stream.labels() is None
    np.testing.assert_array_equal(stream.load(), [[1, 1], [2, 0]])


@pytest.mark.parametrize(
    "column, message",
    [
        (pa.array(["red"] * 90).dictionary_encode(), "Column 'more' holds dictionary.* \\(.*a.parquet\\)"),
        (pa.array([None] + [1.0] * 89), "Column 'more' has missing values in .*a.parquet"),
        (pa.array([1.0] * 89 + [np.nan]), "Column 'more' is nan in row 89"),
        (pa.array(["a"] * 90), "Column 'more' holds string, not numbers"),
    ],
)
def test_columns_that_are_no_numbers_are_named(tmp_path, column, message):
    write(tmp_path / "a.parquet", more=column)
    with pytest.raises(ValueError, match=message):
        ParquetStream(tmp_path / "a.parquet", "label").load()


def test_missing_labels_and_labels_that_are_not_there_are_named(tmp_path):
    write(tmp_path / "a.parquet", more=pa.array([None] + [1.0] * 89))
    with pytest.raises(
        ValueError, match=r"Column 'label' holds string|a.parquet has no column 'lable': did you mean 'label'"
    ):
        ParquetStream(tmp_path / "a.parquet", "lable")
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": pa.array([1, None])}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"Column 'y' has missing values in .*b.parquet"):
        ParquetStream(tmp_path / "b.parquet", "y").labels()


def test_labels_may_be_categories(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": pa.array(["u", "v"]).dictionary_encode()}), tmp_path / "a.parquet")
    assert ParquetStream(tmp_path / "a.parquet", "y").labels().tolist() == ["u", "v"]


def test_files_with_other_columns_and_files_that_change_are_named(tmp_path):
    write(tmp_path / "a.parquet")
    stream = ParquetStream(tmp_path, "label")
    write(tmp_path / "b.parquet", more=np.ones(90))
    with pytest.raises(ValueError, match=r"b.parquet has other columns"):
        ParquetStream(tmp_path, "label")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(DataChanged, match=r"a.parquet is gone"):
        stream.read(0, 5)


@pytest.mark.parametrize("nbytes", [1 << 20, 4 * 35 * 7])
def test_blocks_cover_all_rows(tmp_path, nbytes):
    blocks = list(ParquetStream(write(tmp_path / "a.parquet"), "label").blocks(nbytes))
    assert max(block.nbytes for block in blocks) <= nbytes
    np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_blocks_are_validated(tmp_path):
    write(tmp_path / "a.parquet", more=pa.array([1.0] * 89 + [np.inf]))
    with pytest.raises(ValueError, match="Column 'more' is inf in row 89"):
        list(ParquetStream(tmp_path / "a.parquet", "label").blocks(1 << 10))


def test_all_kinds_of_numbers(tmp_path):
    A = np.abs(np.round(X[:, :6]))
    kinds = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.int32(), pa.float16()]
    columns = {f"x{j}": pa.array(A[:, j].astype(kind.to_pandas_dtype())) for j, kind in enumerate(kinds)}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    np.testing.assert_array_equal(ParquetStream(tmp_path / "a.parquet").load(), A)


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no Parquet file or folder"):
        ParquetStream(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"There is no .parquet file in"):
        ParquetStream(tmp_path)
    for content in (b"", b"PAR1", b"something else, and long enough", b"\xff" * 8 + b"PAR1"):
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(ValueError, match="is not Parquet, or damaged"):
            ParquetStream(tmp_path / "x.parquet")
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="two columns called"):
        ParquetStream(tmp_path / "x.parquet")


@pytest.mark.parametrize("read", [ParquetStream, parquet_names])
def test_without_pyarrow(tmp_path, monkeypatch, read):
    path = write(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install hinge\[arrow\]"):
        read(path)


@pytest.mark.slow
def test_no_damage_of_the_footer_ends_the_process(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(50.0), "b": np.arange(50.0)}), path)
    whole, rng, read = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(len(whole) // 2, len(whole) - 4, 3):
            broken[at] = rng.integers(256)
        path.write_bytes(broken)
        try:
            ParquetStream(path).load()
            read += 1
        except (ValueError, MemoryError):
            pass
    assert 0 < read < 300


def test_pieces_of_a_read_may_be_done_in_any_order(tmp_path):
    stream, out = ParquetStream(write(tmp_path / "a.parquet"), "label"), np.full((64, 35), np.nan, np.float32)
    pieces = stream.pieces(13, 77, out)
    assert len(pieces) == 4  # one a row group, whose columns are short
    for piece in reversed(pieces):
        piece()
    np.testing.assert_array_equal(out, X[13:77])


@pytest.mark.parametrize("shape", [(1, 1), (5000, 3), (257, 9), (4096, 4)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_columns_become_rows(shape, kind):
    X = np.random.default_rng(0).standard_normal(shape).astype(kind)
    room = np.zeros((shape[0], shape[1] + 2), kind)
    set_columns(room[:, 1:-1], [column.copy() for column in X.T])
    np.testing.assert_array_equal(room[:, 1:-1], X)
    assert not room[:, [0, -1]].any()  # what is beside them stays


def test_other_numbers_and_columns_with_gaps_between_them_are_converted():
    out = np.empty((3, 3), np.float32)
    set_columns(out, [np.arange(6)[::2], np.array([True, False, True]), np.arange(3.0)])
    np.testing.assert_array_equal(out, [[0, 1, 0], [2, 0, 1], [4, 1, 2]])


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="could not broadcast"):
        set_columns(np.empty((3, 2)), [np.zeros(3), np.zeros(2)])
    with pytest.raises(ValueError, match="shorter"):
        set_columns(np.empty((3, 2)), [np.zeros(3)])
