"""Numbers and words as files that any program reads: CSV, and JSON without what it does not have."""

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


def finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
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
