"""``hinge datasets``: the sets that have a name."""

from __future__ import annotations

import json

from hinge.cli.options import Json
from hinge.cli.show import PIPED_WIDTH, console, show_table

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]


def datasets(ctx: typer.Context, as_json: Json = False) -> None:
    """List the data sets that have a name."""
    from hinge.datasets import catalog

    if as_json:
        entries = [
            {"name": e.name, "rows": e.rows, "features": e.features or None, "task": e.task, "paper": e.paper}
            | {"found": str(e.found) if e.found else None, "how": e.how}
            for e in catalog()
        ]
        typer.echo(json.dumps(entries, indent=1))
        return
    lines = [["name", "rows", "features", "task", "paper", "where, or how to get it"]]
    for e in catalog():
        features = f"{e.features:,}" if e.features else ""
        lines.append([e.name, e.rows, features, e.task, e.paper.partition(" (")[0], e.found or e.how])
    if console().width < PIPED_WIDTH:  # no terminal is wide enough for six columns
        lines = [[*line[:3], "\n".join(line[3:])] for line in lines]
    show_table(lines)
