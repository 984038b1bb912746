"""Opening a source of rows: the stream for each type of source, and for each kind of file."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hinge.access.streams.arrays import ArrayStream, NpyStream
from hinge.access.streams.base import RowStream, is_glob
from hinge.access.streams.delimited import DelimitedStream
from hinge.access.streams.frames import dataset_stream, lazy_frame_stream
from hinge.access.streams.parquet import ParquetStream
from hinge.access.streams.svmlight import SvmlightStream
from hinge.access.tables.zarr import array_of
from hinge.datasets.compressed import inner_suffix
from hinge.datasets.readers import DELIMITED, SVMLIGHT

PARQUET = (".parquet", ".pq")


class Features(NamedTuple):
    """The features that a model was fitted on, for rows to be predicted: their number, and their names if known."""

    width: int
    names: Sequence[str] | None


def as_stream(
    source: Any, label: str | None = None, keep: int = 0, features: Features | None = None
) -> RowStream | None:
    """The stream of a source; None if it is not one, such as an array in memory.

    Parameters
    ----------
    source : RowStream, path, list of paths, memory map, Zarr array, Arrow dataset or polars LazyFrame
        A path may be a pattern with ``*``, or a folder of Parquet files or of a Zarr array.
    label : str, optional
        Name of the column of labels.
    keep : int
        Bytes of rows that may stay in memory while a text file is parsed at opening.
    features : Features, optional
        The features wanted: columns of Parquet are selected by name, and svmlight text gets this width.
    """
    only = None if features is None else features.names
    if not is_source(source):
        return None
    if isinstance(source, RowStream):
        return source
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fspath(source), label, keep, features)
    if isinstance(source, list | tuple):
        return ParquetStream([Path(path) for path in source], label, only)
    if hasattr(source, "get_fragments"):
        return dataset_stream(source, label, only)
    if hasattr(source, "sink_parquet"):
        return lazy_frame_stream(source, label, only)
    _no_label(label, "an array")
    return ArrayStream(source)


def is_source(source: object) -> bool:
    """Whether `as_stream` opens it; fast for arrays in memory, which are not sources."""
    if isinstance(source, np.ndarray):
        return isinstance(source, np.memmap)
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(path, str | os.PathLike) for path in source)
    if isinstance(source, RowStream | str | os.PathLike):
        return True
    marks = {"zarr": "chunks", "pyarrow": "get_fragments", "polars": "sink_parquet"}
    mark = marks.get(type(source).__module__.partition(".")[0])
    return mark is not None and hasattr(source, mark)


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array."""
    return path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray"))


def _of_path(text: str, label: str | None, keep: int, features: Features | None) -> RowStream:
    width, only = (None, None) if features is None else features
    if is_glob(text):
        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise FileNotFoundError(f"There is no file {text}: check the pattern.")
        return ParquetStream([Path(path) for path in found], label, only)
    path = Path(text)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}: check the name.")
    if is_zarr(path):
        _no_label(label, "a Zarr array")
        return ArrayStream(array_of(path))
    if path.is_dir() or path.suffix.lower() in PARQUET:
        return ParquetStream(path, label, only)
    if path.suffix.lower() == ".npy":
        _no_label(label, "an array")
        return NpyStream(path)
    suffix = inner_suffix(path)
    if suffix in DELIMITED:
        return DelimitedStream(path, label, keep)
    if suffix in SVMLIGHT:
        if label is not None:
            raise ValueError(f"There is no column {label!r}: in svmlight files such as {path} labels stand first.")
        return SvmlightStream(path, width, keep=keep)
    raise ValueError(
        f"{path} is not a kind of file that is read by rows: .parquet, .npy, .svm, .csv, .tsv, or a folder of Parquet "
        "files or of Zarr."
    )


def _no_label(label: str | None, what: str) -> None:
    if label is not None:
        raise ValueError(f"There is no column {label!r}: {what} has no names. Give y as an array.")
