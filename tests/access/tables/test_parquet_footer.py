"""Footers of Parquet files: where the pages of each column are."""

import numpy as np
import pytest

from hinge.access.tables.columnar import chunks_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("compression", ["none", "snappy"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_the_footer_says_what_pyarrow_says(tmp_path, compression, dictionary):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.random(1000),
            "b": pa.array([None if i % 7 == 0 else i for i in range(1000)]),
            "c.d": rng.integers(0, 5, 1000),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=300, compression=compression, use_dictionary=dictionary)
    theirs, ours = pq.ParquetFile(path).metadata, chunks_of(path)
    assert len(ours) == theirs.num_row_groups == 4
    for group, found in enumerate(ours):
        assert list(found) == ["a", "b", "c.d"]
        for k, chunk in enumerate(found.values()):
            column = theirs.row_group(group).column(k)
            begin = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            assert chunk.begin == begin
            assert chunk.nbytes == column.total_compressed_size
            assert chunk.nulls == column.statistics.null_count


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all, and long enough", b"\xff" * 8 + b"PAR1"])
def test_what_is_no_parquet_is_refused(tmp_path, content):
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises((ValueError, LookupError, TypeError)):
        chunks_of(path)


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
            chunks_of(path)
            read += 1
        except (ValueError, LookupError, TypeError, OverflowError, AttributeError):
            pass
    assert read < 300  # some of it was noticed
