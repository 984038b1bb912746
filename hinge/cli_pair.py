"""``hinge pair``: a matrix written by rows and by columns, for fits that read little of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from hinge.cli_data import training_data

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
except ImportError:  # `hinge.cli.main` says how to get them
    typer = None  # type: ignore[assignment]

STREAMED = (".npy", ".parquet")


def pair(
    ctx: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A .npy or .parquet file, or as for train.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the pair, made at the end.")],
    labels: Annotated[
        Path | None, typer.Option(help="File for the labels, FOLDER.labels.npy by default.")
    ] = None,
    memory: Annotated[int, typer.Option(min=1, help="Megabytes to work with.")] = 256,
    positive: Annotated[str | None, typer.Option(help="The class to tell from all others.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a csv file: name or position.")] = None,
) -> None:
    """Write a matrix by rows and by columns, out of core, for fits that read only part of it."""
    from hinge.access.pair_writer import write_pair

    X: Any = data
    y = None
    if Path(data).suffix not in STREAMED:
        found = training_data(data, None, label, positive)
        X, y = found.X_train, np.asarray(found.y_train)
        labels = labels or folder.with_name(f"{folder.name}.labels.npy")
    elif labels is not None:
        raise ValueError(
            f"{Path(data).suffix} files are taken as a matrix without labels: leave --labels out."
        )
    bar = Progress("[progress.description]{task.description}", BarColumn(), DownloadColumn(),
                   TimeRemainingColumn(), console=Console(stderr=True), transient=True)  # fmt: skip
    with bar:
        task = bar.add_task(f"writing {folder}", total=None)
        write_pair(
            X, folder, memory=memory << 20,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    if y is not None and labels is not None:
        np.save(labels, y, allow_pickle=False)
