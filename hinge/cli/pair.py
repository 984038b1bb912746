"""``hinge pair``: a matrix written by rows and by columns, for fits that read little of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from hinge.cli.options import Json, Positive, ReadOptions
from hinge.cli.show import say, show_json

if TYPE_CHECKING:
    import numpy as np


def pair(
    ctx: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A .npy or .parquet file, or as for train.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the pair, made at the end.")],
    *,
    labels: Annotated[Path | None, typer.Option(help="File for the labels, FOLDER.labels.npy by default.")] = None,
    memory: Annotated[int, typer.Option(min=1, help="Megabytes to work with.")] = 256,
    positive: Positive = None,
    how: Annotated[ReadOptions, "label", "zero_based", "header"],
    as_json: Json = False,
) -> None:
    """Write a matrix by rows and by columns, out of core, for fits that read only part of it."""
    import numpy as np

    from hinge.access.two_way.writer import write_pair
    from hinge.files.replacing import replacing

    X, y, shape = _rows_and_labels(data, how, positive, memory << 20)
    if y is None and labels is not None:
        raise ValueError(f"{data} is taken as a matrix without labels: leave --labels out.")
    shown = ("[progress.description]{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*shown, console=Console(stderr=True), transient=True)
    place = None if y is None else labels or folder.with_name(f"{folder.name}.labels.npy")
    with ExitStack() as stack:
        if y is not None and place is not None:  # the file appears when the stack ends, after the pair
            np.save(stack.enter_context(replacing(place)), y, allow_pickle=False)
        stack.enter_context(bar)
        task = bar.add_task(f"writing {folder}", total=None)

        def progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        write_pair(X, folder, shape=shape, memory=memory << 20, progress=progress)
    if as_json:
        from hinge.access.two_way.reader import open_pair

        n, d = open_pair(folder).shape
        show_json({"folder": str(folder), "rows": n, "features": d, "labels": place and str(place)})


def _rows_and_labels(
    data: str, how: ReadOptions, positive: str | None, nbytes: int
) -> tuple[Any, np.ndarray | None, tuple[int, int] | None]:
    """What `write_pair` takes, the labels where there are any, and the shape where X does not tell it."""
    from hinge.cli.rows import Kind, is_file, source_of, training_data
    from hinge.datasets.base import Parts
    from hinge.datasets.catalog import binary

    kind, source = source_of(data, how)
    if kind is Kind.ARRAY and how.label is not None:
        raise ValueError(f"{data} is taken as a matrix without labels: leave --label out.")
    if kind in (Kind.ARRAY, Kind.TABLE) and how.label is None and positive is not None:
        raise ValueError(f"--positive is one of the labels, and {data} is taken as a matrix without labels.")
    if kind is Kind.ARRAY:
        return data, None, None
    if kind is Kind.TABLE:
        X, y, shape = _from_parquet(source, how.label, nbytes)
    else:
        found = training_data(data, None, how, None if is_file(data) else positive).train
        if found.words:
            raise ValueError(f"{data} has columns of words, and a pair holds numbers: encode them first.")
        X, y, shape = found.X, found.y, None
    if y is not None:
        y = binary(Parts(X, y), positive if is_file(data) else None, None, data).y_train
    return X, y, shape


def _from_parquet(
    source: Path | list[Path], label: str | None, nbytes: int
) -> tuple[Iterator[np.ndarray], np.ndarray | None, tuple[int, int]]:
    from hinge.access.streams.parquet import ParquetStream, parquet_names
    from hinge.datasets.delimited import LABEL_NAMES

    first = source[0] if isinstance(source, list) else source
    names = parquet_names(first)
    if label is None:
        for name in [name for name in names if name.lower() in LABEL_NAMES][:1]:
            say(f"Column {name!r} becomes a feature; if it holds the labels, give --label {name}.")
    elif label not in names and label.removeprefix("-").isdecimal():
        if not -len(names) <= int(label) < len(names):
            raise ValueError(f"{first} has {len(names)} columns, so --label {label} lies outside them.")
        label = names[int(label)]
    stream = ParquetStream(source, label)
    return stream.blocks(nbytes // 4), stream.labels(), stream.shape
