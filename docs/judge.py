"""Judges the stored measurements by the present rules: ``python -m docs.judge [FOLDER]`` writes the report anew.

A rule or the wording of a claim may change without a new measurement. Experiments of which FOLDER has cells, as
`hinge reproduce NAME --scale full --out FOLDER` leaves them, are taken from there.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.fold import fold
from docs.unfold import unfold
from hinge.experiments import CellResult, CellResults, load, registry
from hinge.experiments.runner import machine, names_in, stored_results
from hinge.report.outcome import Section
from hinge.report.report import write_report


def judged(newer: Path | None = None) -> list[Section]:
    """The sections of the report, of the stored measurements or newer ones."""
    data = unfold() / "data"
    sections = []
    for name in registry.names():
        experiment = load(name)
        if newer is not None and name in names_in(newer):
            results = stored_results(experiment, "full", newer)
        else:
            stored = json.loads((data / f"{name}.json").read_text(encoding="utf-8"))
            results = CellResults(CellResult(**one) for one in stored)
        sections.append(Section.from_run(experiment, experiment.outcome(results, "full"), results))
    return sections


if __name__ == "__main__":
    sections = judged(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    with TemporaryDirectory() as folder:
        says = {"title": "The papers' tables and figures, beside ours", "scale": "full", "machine": machine()}
        write_report(Path(folder), sections, command="hinge reproduce all --scale full", **says)
        fold(Path(folder))
