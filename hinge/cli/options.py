"""What several commands take, and what they say in common."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

Format = Enum("Format", {"table": "table", "json": "json"})
Impute = Enum("Impute", {"median": "median", "mean": "mean", "most_frequent": "most_frequent"})

CODES = (
    "Exit codes: 0 it is done (a training may have ended before it converged, and says so), 1 an error, told in a "
    "sentence, 2 wrong options, 130 interrupted by Ctrl-C."
)
DATA = "A name that 'hinge datasets' lists; a csv, tsv, svmlight, npz, npy, Zarr or Parquet file; - for standard input."

OF_DATA, OF_MODEL, OF_ENDS = "Data", "Model", "Solver and limits"
"""Headings of options in the help."""

if typer is not None:
    Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA)]
    ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'hinge train -o' wrote.")]
    Label = Annotated[
        str | None,
        typer.Option(help="Label column of a csv or Parquet file: name or position.", rich_help_panel=OF_DATA),
    ]
    Labels = Annotated[
        Path | None, typer.Option(help="File of the labels: .npy, or text with one a line.", rich_help_panel=OF_DATA)
    ]
    Drop = Annotated[
        str | None, typer.Option(help="Columns to leave out, with commas between.", rich_help_panel=OF_DATA)
    ]
    Categorical = Annotated[
        str | None,
        typer.Option(help="Columns of numbers that are names, with commas between.", rich_help_panel=OF_DATA),
    ]
    ZeroBased = Annotated[
        bool, typer.Option("--zero-based", help="Features of svmlight files count from 0.", rich_help_panel=OF_DATA)
    ]
    Header = Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether a csv file begins with names, if in doubt.", rich_help_panel=OF_DATA
        ),
    ]
    Positive = Annotated[str | None, typer.Option(help="The class to tell from all others.", rich_help_panel=OF_DATA)]
    Fetch = Annotated[bool, typer.Option("--fetch", help="Download a set that is not here.", rich_help_panel=OF_DATA)]
    Fill = Annotated[
        Impute | None,
        typer.Option(help="Fill in missing values: numbers by this, words by the commonest.", rich_help_panel=OF_DATA),
    ]
    Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
    OldFormat = Annotated[Format, typer.Option("--format", hidden=True, help="The same as --json.")]
    NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Learn no bias.", rich_help_panel=OF_MODEL)]
