"""Judges the stored measurements by the present rules: ``python -m docs.judge [FOLDER]`` writes the report anew.

A rule or the wording of a claim may change without a new measurement. Cells that FOLDER has, as `hinge reproduce NAME
--scale full --out FOLDER` leaves them, take the place of the stored ones or stand beside them.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.fold import fold
from docs.unfold import unfold
from hinge.experiments import CellResult, CellResults, load, registry
from hinge.experiments.runner import machine, stored_results
from hinge.report.outcome import Section
from hinge.report.page import Heading, write_report
from hinge.threads import cores


def judged(newer: Path | None = None) -> list[Section]:
    """The sections of the report, of the stored measurements and newer ones."""
    data = unfold() / "data"
    sections = []
    for name in registry.names():
        experiment, path = load(name), data / f"{name}.json"
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        found = [CellResult(**one) for one in stored]
        found += stored_results(experiment, "full", newer) if newer is not None else []
        known = {json.dumps(result.cell, sort_keys=True): result for result in found}
        keys = (json.dumps(cell, sort_keys=True) for cell in experiment.cells("full"))
        results = CellResults(known[key] for key in keys if key in known)
        sections.append(Section.from_run(experiment, experiment.outcome(results, "full"), results))
    return sections


if __name__ == "__main__":
    sections = judged(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    with TemporaryDirectory() as folder:
        says = {"title": "The papers' tables and figures, beside ours", "scale": "full", "machine": machine()}
        heading = Heading(command="hinge reproduce all --scale full", **says)
        write_report(Path(folder), sections, heading, cores())
        fold(Path(folder))
