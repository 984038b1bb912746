"""``hinge datasets``: the sets that have a name."""

from __future__ import annotations

from hinge.cli.show import PIPED_WIDTH, console, show_table

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]


def datasets(ctx: typer.Context) -> None:
    """List the data sets that have a name."""
    from hinge.datasets import catalog

    lines = [["name", "rows", "features", "task", "paper", "where, or how to get it"]]
    for e in catalog():
        features = f"{e.features:,}" if e.features else ""
        lines.append([e.name, e.rows, features, e.task, e.paper.partition(" (")[0], e.found or e.how])
    if console().width < PIPED_WIDTH:  # no terminal is wide enough for six columns
        lines = [[*line[:3], "\n".join(line[3:])] for line in lines]
    show_table(lines)
