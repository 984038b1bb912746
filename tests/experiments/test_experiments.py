"""Every experiment at its tiny scale: it runs, says what it found, and survives an interrupted run."""

import json
import math

import pytest

from hinge.experiments import NAMES, CellResults, Verdict, find
from hinge.experiments.runner import run


@pytest.fixture(scope="module", params=NAMES)
def measured(request, tmp_path_factory):
    """A run of each experiment; the tests of one are one after the other, so that one process makes it."""
    return run(find([request.param]), "tiny", tmp_path_factory.mktemp("experiments"))[0]


@pytest.mark.slow
def test_it_runs_and_says_what_it_found(measured):
    assert not measured.failures
    outcome = measured.experiment.outcome(measured.results, "tiny")
    assert outcome.claims
    for claim in outcome.claims:
        assert claim.verdict in Verdict
        assert claim.rows
        for row in claim.rows:
            assert row.on
            assert row.conditions
            assert row.ours is None or math.isfinite(row.ours)
    assert any(row.ours is not None for claim in outcome.claims for row in claim.rows)
    assert outcome.figures or outcome.tables
    for figure in outcome.figures:
        assert figure.caption
        assert figure.panels
        for panel in figure.panels:
            assert panel.x
            assert panel.y
            assert panel.title
            labels = [series.label for series in panel.series]
            assert len(set(labels)) == len(labels)
            assert any(math.isfinite(y) for series in panel.series for y in series.y)
    for table in outcome.tables:
        assert table.caption
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.slow
def test_half_of_the_cells_are_enough_for_an_outcome(measured):
    for part in (measured.results[::2], measured.results[1::2], measured.results[:1], []):
        outcome = measured.experiment.outcome(CellResults(part), "tiny")
        found = [row.ours for claim in outcome.claims for row in claim.rows]
        assert all(ours is None or math.isfinite(ours) for ours in found)
        assert part or set(found) <= {None}


@pytest.mark.parametrize("name", NAMES)
def test_the_full_scale_is_spelled_out_and_seeded(name):
    (experiment,) = find([name])
    cells = experiment.cells("full")
    assert cells
    assert all(json.loads(json.dumps(cell)) == cell for cell in cells)
    assert len({json.dumps(cell, sort_keys=True) for cell in cells}) == len(cells)
    assert len(cells) >= len(experiment.cells("tiny"))
    assert all(experiment.about[:4])
    assert experiment.name == name
