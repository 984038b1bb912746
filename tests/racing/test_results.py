"""The files that a race writes."""

import json

import numpy as np
import pytest

from hinge.racing import find, race, run_race


@pytest.mark.slow
def test_the_files(course, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need it")
    done = run_race(course, find(["newton", "liblinear", "sbp"]), repeats=1, max_time=20.0)
    written, missing = race.write(done, tmp_path / "out", "hinge compare adult")
    assert not missing
    assert all((tmp_path / "out" / name).exists() for name in written)
    whole = json.loads((tmp_path / "out" / "race.json").read_text())
    assert {line["solver"] for line in whole["solvers"]} == {"newton", "liblinear", "sbp"}
    looks = whole["curves"]["newton"][0]
    assert len(looks["seconds"]) == len(looks["objective"]) > 1
    rows = (tmp_path / "out" / "curves.csv").read_text().splitlines()
    assert rows[0].startswith("solver,run,seconds,reads")
    assert len(rows) == 1 + sum(len(run) for entry in done.entries for run in entry.runs)
    drawn = [f"figures/race-{name}" for name in ("seconds.png", "seconds.svg", "reads.png")]
    for name in (*drawn, "report.html", "standings.csv"):
        assert (tmp_path / "out" / name).stat().st_size > 100


def test_figures_hold_what_was_counted(course):
    done = run_race(course, find(["newton", "liblinear"]), repeats=1, max_time=20.0)
    seconds, reads = race.figures(done)
    assert [one.label for one in reads.panels[0].series] == ["newton", "target"]
    assert {one.label for one in seconds.panels[1].series} == {"newton", "liblinear"}
    above = next(one for one in seconds.panels[0].series if one.label == "newton")
    assert above.y[-1] <= 1e-3 and np.all(np.diff(above.x) >= 0)
