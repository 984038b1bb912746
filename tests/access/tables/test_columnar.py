import sys

import numpy as np
import pytest

from hinge.access.tables.columnar import groups_of, nulls_of, parquet_blocks, parquet_labels, parquet_names

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(4)
X = np.round(8 * RNG.standard_normal((50, 12))) / 8
X[RNG.random(X.shape) < 0.4] = 0


def arrow(X=X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def read(path, nbytes=1 << 20):
    shape, blocks = parquet_blocks(path, nbytes)
    rows = np.concatenate(list(blocks))
    assert rows.shape == shape
    return rows


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(arrow(), path, row_group_size=16)
    return path


def test_blocks_of_rows(path):
    assert [len(group) for group in groups_of(path)[0]] == [16, 16, 16, 2]
    assert (read(path) == X).all()
    assert (read(path, 12 * 8 * 5) == X).all()


def test_a_folder_of_files(tmp_path):
    for k, part in enumerate((X[:20], X[20:20], X[20:])):
        (tmp_path / f"part={k}").mkdir()
        pq.write_table(arrow(part), tmp_path / f"part={k}" / "x.parquet", row_group_size=8)
    assert (read(tmp_path) == X).all()
    assert parquet_names(tmp_path) == [f"x{j}" for j in range(12)]
    pq.write_table(arrow(X[:, :5]), tmp_path / "z.parquet")
    with pytest.raises(ValueError, match=r"z.parquet has other columns than"):
        groups_of(tmp_path)


def test_all_kinds_of_numbers(tmp_path):
    A = np.abs(np.round(X[:, :6]))
    kinds = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.int32(), pa.float16()]
    columns = {f"x{j}": pa.array(A[:, j].astype(kind.to_pandas_dtype())) for j, kind in enumerate(kinds)}
    columns["flag"] = pa.array(A[:, 0] > 0)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(columns), path)
    assert groups_of(path)[1][-1] == "flag"
    assert (read(path) == np.column_stack([A, A[:, 0] > 0])).all()


def test_labels(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"size": [1.0, 2.0], "colour": ["red", "blue"]}), path)
    assert parquet_labels(path, "colour").tolist() == ["red", "blue"]
    assert groups_of(path, "colour")[1] == ["size"]
    with pytest.raises(ValueError, match="There is no column 'color': did you mean 'colour'"):
        parquet_labels(path, "color")


def test_columns_that_are_no_numbers_are_named(tmp_path):
    path = tmp_path / "x.parquet"
    for bad, words in (
        (pa.array(["a", "b"]), "Column 'colour' holds string, not numbers"),
        (pa.array([[1.0], [2.0]]), "Column 'colour' holds list.*, not numbers"),
        (pa.array([1.0, None]), "Column 'colour' has missing values"),
        (pa.array([1, None]), "Column 'colour' has missing values"),
    ):
        pq.write_table(pa.table({"size": [1.0, 2.0], "colour": bad}), path)
        with pytest.raises(ValueError, match=words):
            groups_of(path)
    pq.write_table(pa.table({"size": [1.0, 2.0], "colour": [1.0, None]}), path, write_statistics=False)
    assert len(groups_of(path)[0]) == 1  # it is not known before they are read
    with pytest.raises(ValueError, match="'colour' has missing values"):
        read(path)
    pq.write_table(pa.table({"size": [1.0, np.inf]}), path)
    with pytest.raises(ValueError, match="Column 'size' is inf in row 1"):
        read(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), path)
    with pytest.raises(ValueError, match="same name"):
        groups_of(path)


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no Parquet file or folder"):
        groups_of(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"There is no .parquet file in"):
        groups_of(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not Parquet, or damaged"):
        groups_of(tmp_path / "x.parquet")
    with pytest.raises(TypeError, match="A list is not the path"):
        groups_of([1, 2])


def test_without_pyarrow(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install hinge\[arrow\]"):
        groups_of(path)


# --- footers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_the_footer_says_what_pyarrow_says(tmp_path, compression, dictionary):
    table = pa.table(
        {
            "a": RNG.random(1000),
            "b": pa.array([None if i % 7 == 0 else i for i in range(1000)]),
            "c.d": RNG.integers(0, 5, 1000),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=300, compression=compression, use_dictionary=dictionary)
    theirs, ours = pq.ParquetFile(path).metadata, nulls_of(path)
    assert len(ours) == theirs.num_row_groups == 4
    for group, found in enumerate(ours):
        assert list(found) == ["a", "b", "c.d"]
        columns = [theirs.row_group(group).column(k) for k in range(3)]
        assert list(found.values()) == [column.statistics.null_count for column in columns]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all, and long enough", b"\xff" * 8 + b"PAR1"])
def test_what_is_no_parquet_is_refused(tmp_path, content):
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises((ValueError, LookupError, TypeError)):
        nulls_of(path)


@pytest.mark.slow
def test_no_damage_of_the_footer_ends_the_process(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(50.0), "b": np.arange(50.0)}), path)
    whole, rng, read = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(len(whole) // 2, len(whole) - 4, 3):
            broken[at] = rng.integers(256)
        path.write_bytes(bytes(broken))
        try:
            nulls_of(path)
            read += 1
        except (ValueError, LookupError, TypeError, OverflowError, AttributeError):
            pass
    assert read < 300  # some of it was noticed
