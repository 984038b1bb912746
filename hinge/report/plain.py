"""CSV and JSON files that any program can read: JSON without nan and infinity, which it does not allow."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hinge.files.replacing import replacing


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table under its heads."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def finite(value: object) -> Any:
    """The same value with None in place of nan and infinity, which JSON does not allow."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def write_text(path: Path, text: str) -> None:
    """The whole file, or what was there before."""
    with replacing(path) as stream:
        stream.write(text.encode())
