"""Streams of Arrow datasets and polars' lazy frames, by way of Parquet files."""

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hinge.access.streams.parquet import ParquetStream

if TYPE_CHECKING:  # optional packages
    import polars as pl
    import pyarrow.dataset as ds

ROWS = 1 << 17
"""Rows of a row group in the files that are written here."""


def dataset_stream(dataset: "ds.Dataset", label: str | None = None, only: Sequence[str] | None = None) -> ParquetStream:
    """An Arrow dataset: its files if they are Parquet, else a temporary copy of its rows."""
    files = [Path(path) for path in getattr(dataset, "files", [])]
    kind = getattr(getattr(dataset, "format", None), "default_extname", None)
    if files and kind == "parquet" and all(path.exists() for path in files):
        return ParquetStream(files, label, only)
    import pyarrow.parquet as pq

    path = Path(tempfile.mkdtemp(prefix="hinge-rows-")) / "rows.parquet"
    with pq.ParquetWriter(path, dataset.schema) as writer:
        for batch in dataset.to_batches(batch_size=ROWS):
            writer.write_batch(batch)
    return _Kept(path, label, only)


def lazy_frame_stream(
    frame: "pl.LazyFrame", label: str | None = None, only: Sequence[str] | None = None
) -> ParquetStream:
    """A lazy frame: its query is run once, by polars' streaming engine, into a temporary file.

    Collecting it slice by slice would run the query again for each slice, in each pass.
    """
    path = Path(tempfile.mkdtemp(prefix="hinge-rows-")) / "rows.parquet"
    frame.sink_parquet(path, row_group_size=ROWS, maintain_order=True)
    return _Kept(path, label, only)


class _Kept(ParquetStream):
    """Rows in a temporary folder, which is deleted with the stream."""

    def __init__(self, path: Path, label: str | None, only: Sequence[str] | None) -> None:
        weakref.finalize(self, shutil.rmtree, path.parent, ignore_errors=True)
        super().__init__(path, label, only)
