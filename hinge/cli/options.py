"""Options that several commands have."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

Format = Enum("Format", {"table": "table", "json": "json"})
Impute = Enum("Impute", {"median": "median", "mean": "mean", "most_frequent": "most_frequent"})

CODES = (
    "Exit codes: 0 it is done (a training may have ended before it converged, and says so), 1 an error, told in a "
    "sentence, 2 wrong options, 130 interrupted by Ctrl-C."
)
DATA = "A name that 'hinge datasets' lists; a csv, tsv, svmlight, npz, npy, Zarr or Parquet file; - for standard input."

OF_DATA, OF_MODEL, OF_ENDS = "Data", "Model", "Solver and limits"
"""Headings of options in the help."""

of_data, of_model = (partial(typer.Option, rich_help_panel=panel) for panel in (OF_DATA, OF_MODEL))

Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA)]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'hinge train -o' wrote.")]
Test = Annotated[str | None, typer.Option(help="Data to measure the test error on.")]
Positive = Annotated[str | None, of_data(help="The class to tell from all others.")]
Fill = Annotated[Impute | None, of_data(help="Fill in missing values: numbers by this, words by the commonest.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
OldFormat = Annotated[Format, typer.Option("--format", hidden=True, help="The same as --json.")]
NoIntercept = Annotated[bool, of_model("--no-intercept", help="Learn no bias.")]
FreeIntercept = Annotated[bool, of_model("--free-intercept", help="A bias that is not penalised.")]


class ReadOptions(NamedTuple):
    """How files are read, with the option for each field.

    A command that has a parameter of this type lists the fields that it has options for. Several names of columns are
    one word, with commas between.

    Attributes
    ----------
    label : str, optional
        The label column, by name or position.
    labels : Path, optional
        The file of the labels, for matrices without.
    weight : str, optional
        The column of the rows' weights.
    drop, categorical : tuple of str
        Columns to leave out, and columns that are categories even if they hold numbers.
    zero_based : bool
        Whether features of svmlight files count from 0.
    fetch : bool
        Whether a set that is not here may be downloaded.
    unlabelled : bool
        Whether files hold features only.
    header : bool, optional
        Whether the first line of a csv file names its columns; by default the file is examined.
    """

    label: Annotated[str | None, of_data(help="Label column of a csv or Parquet file: name or position.")] = None
    labels: Annotated[Path | None, of_data(help="File of the labels: .npy, or text with one a line.")] = None
    weight: Annotated[str | None, of_data("--sample-weight-column", help="Column of the rows' weights.")] = None
    drop: Annotated[tuple[str, ...], of_data(help="Columns to leave out, with commas between.")] = ()
    categorical: Annotated[
        tuple[str, ...], of_data(help="Columns of numbers that are names, with commas between.")
    ] = ()
    zero_based: Annotated[bool, of_data("--zero-based", help="Features of svmlight files count from 0.")] = False
    fetch: Annotated[bool, of_data("--fetch", help="Download a set that is not here.")] = False
    unlabelled: Annotated[bool, of_data("--no-labels", help="The file holds features only.")] = False
    header: Annotated[
        bool | None, of_data("--header/--no-header", help="Whether a csv file begins with names, if in doubt.")
    ] = None
