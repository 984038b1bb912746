"""The report: one page that needs nothing else, beside it the figures as files and the numbers as tables."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hinge.display import static
from hinge.display.figure import Figure
from hinge.report import page
from hinge.report.outcome import CellResult, Section, csv_text, finite, write_text
from hinge.report.page import Picture, plain_name


def write_report(
    out: Path, sections: Sequence[Section], *, title: str, scale: str, machine: str, command: str, jobs: int = 1
) -> Path:
    """Write report.html, the figures and the data into a folder.

    Each file appears whole or not at all, the page last: an interrupted run leaves the page that was there.
    The page loads nothing from anywhere. Without plotly it shows the figures as pictures.

    Parameters
    ----------
    out : Path
        The folder; made if it is not there.
    sections : sequence of Section
    title : str
    scale : str
        On "tiny" the page says that the runs are too small to judge the papers by.
    machine : str
        The one that writes; the cells say themselves where they ran.
    command : str
        What to type to get this report again.
    jobs : int
        Processes that draw the figures, which takes half a minute of all of them.

    Returns
    -------
    Path
        Of the page.
    """
    static.check_installed()  # before folders are made that would stay empty
    figures, data = out / "figures", out / "data"
    for folder in (figures, data):
        folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    named: dict[tuple[str, int], Figure] = {}
    for section in sections:
        _write_cells(section, data)
        for i, figure in enumerate(section.outcome.figures):
            named[section.name, i] = replace(figure, name=_file_name(section.name, figure, taken))
    saved = _spread(jobs, [(figure, figures) for figure in named.values()])
    pictures = {
        key: Picture(f"figures/{png.name}", f"figures/{svg.name}", _inlined(png, svg))
        for key, (png, svg) in zip(named, saved, strict=True)
    }
    claims = _claim_rows(sections, scale)
    write_text(data / "claims.csv", csv_text([*claims[0]] if claims else [], (row.values() for row in claims)))
    said = page.Heading(title, scale, machine, command)
    path = out / "report.html"
    write_text(path, page.page(said, sections, pictures))
    return path


def _spread(jobs: int, tasks: Sequence[tuple[Figure, Path]]) -> Iterable[list[Path]]:
    """The figures drawn into files, by several processes."""
    if min(jobs, len(tasks)) < 2:
        return [static.save(*task) for task in tasks]
    from joblib import Parallel, delayed

    drawn: list[list[Path]] = Parallel(n_jobs=min(jobs, len(tasks)))(delayed(static.save)(*task) for task in tasks)
    return drawn


def _file_name(experiment: str, figure: Figure, taken: set[str]) -> str:
    """A name for files, of the experiment and the figure, that no other figure of the report has."""
    name = figure.name if figure.name.startswith(experiment) else f"{experiment}-{figure.name}"
    name = base = plain_name(name)
    count = 1
    while name.lower() in taken:  # some file systems do not tell case apart
        count += 1
        name = f"{base}-{count}"
    taken.add(name.lower())
    return name


def _inlined(*paths: Path) -> str:
    """The smallest of several pictures as a data URI."""
    path = min(paths, key=lambda path: path.stat().st_size)
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _write_cells(section: Section, folder: Path) -> None:
    """Everything of each cell as JSON; its parameters and single values also as CSV."""
    content = [vars(result) for result in section.results]
    name = plain_name(section.name)
    write_text(folder / f"{name}.json", json.dumps(finite(content), indent=1, ensure_ascii=False, allow_nan=False))
    parameters = _names(r.cell for r in section.results)
    values = [v for v in _names(r.values for r in section.results) if any(_scalar(r, v) for r in section.results)]
    columns = [*parameters, *(f"result {v}" if v in parameters else v for v in values), "cell seconds", "machine"]
    rows = [
        [
            *(_cell(r.cell.get(name)) for name in parameters),
            *(r.values.get(v) if _scalar(r, v) else None for v in values),
            r.seconds,
            r.machine,
        ]
        for r in section.results
    ]
    write_text(folder / f"{name}.csv", csv_text(columns, rows))


def _names(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


def _scalar(result: CellResult, name: str) -> bool:
    return name in result.values and not isinstance(result.values[name], list | dict | tuple)


def _cell(value: object) -> Any:
    return json.dumps(value) if isinstance(value, list | dict | tuple) else value


def _claim_rows(sections: Sequence[Section], scale: str) -> list[dict[str, Any]]:
    """A row for each finding, by the names of the columns."""
    return [
        {
            "experiment": section.name,
            "paper": section.paper,
            "place": claim.sentence.place or section.place,
            "quotation": claim.sentence.quote,
            "what": claim.sentence.what,
            "rule": claim.sentence.rule.words,
            "changed": claim.sentence.changed,
            "claim's verdict": claim.verdict.value,
            "on": row.on,
            "paper's number": row.paper,
            "ours": row.ours,
            "ratio": row.ratio,
            "unit": claim.sentence.unit,
            "verdict": row.verdict.value,
            "why": row.why,
            "conditions": row.conditions,
            "scale": scale,
        }
        for section in sections
        for claim in section.outcome.claims
        for row in claim.rows
    ]
