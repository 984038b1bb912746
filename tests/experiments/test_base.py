from dataclasses import replace

import numpy as np
import pytest

from hinge.display.figure import Panel, Series
from hinge.experiments import NAMES, CellResult, CellResults, Verdict, find, nearest
from hinge.experiments.base import Claims, Draft, Sentence, grid
from hinge.report.outcome import at_least, at_most, within


@pytest.mark.parametrize(
    ("rule", "ours", "verdict"),
    [
        (at_least(10, 2), 10, Verdict.REPRODUCED),
        (at_least(10, 2), 9.99, Verdict.PARTLY),
        (at_least(10, 2), 1.99, Verdict.NOT),
        (at_most(1.5, 3), 1.5, Verdict.REPRODUCED),
        (at_most(1.5, 3), 2.0, Verdict.PARTLY),
        (at_most(1.5, 3), 3.01, Verdict.NOT),
        (within(0.02, 0.2), 101.9, Verdict.REPRODUCED),
        (within(0.02, 0.2), 81.0, Verdict.PARTLY),
        (within(0.02, 0.2), 121.0, Verdict.NOT),
        (at_least(10, 2), None, Verdict.UNKNOWN),
        (at_most(1.5, 3), float("nan"), Verdict.UNKNOWN),
        (within(0.02, 0.2), None, Verdict.UNKNOWN),
    ],
)
def test_a_verdict_follows_from_the_number(rule, ours, verdict):
    row = row_of(rule, ours)
    assert row.verdict is verdict
    assert row.ratio == (None if verdict is Verdict.UNKNOWN else ours / 100)
    assert bool(row.why) == (verdict is Verdict.UNKNOWN)


def row_of(rule, ours, **options):
    """The one row of a claim of which the paper has the number 100."""
    claims = Claims()
    claims.add(Sentence("quote", "Table 1", "what", rule), "a set", ours, 100.0, "conditions", **options)
    return claims[0].rows[0]


def test_what_is_no_measurement_or_says_nothing_is_not_judged():
    for options, verdict in (({"unmeasured": "too few"}, Verdict.UNKNOWN), ({"silent": "a bound"}, Verdict.SILENT)):
        for ours in (20.0, 1.0):
            row = row_of(at_least(10, 2), ours, **options)
            assert (row.verdict, row.ours, [row.why]) == (verdict, ours, list(options.values()))


def test_what_can_hardly_fail_says_nothing_where_it_holds():
    assert row_of(at_least(10, 2), 20.0, sure="it stops there").verdict is Verdict.SILENT
    assert row_of(at_least(10, 2), 5.0, sure="it stops there").verdict is Verdict.PARTLY
    assert row_of(at_least(10, 2), 1.0, sure="it stops there").verdict is Verdict.NOT


def test_one_sentence_is_one_claim_whatever_the_number_of_sets():
    one, other = Sentence("quote", "", "what", at_least(2, 1)), Sentence("", "", "what")
    claims = Claims()
    for k, ours in enumerate((3.0, 1.5, 0.5)):
        claims.add(one, f"set {k}", ours)
        claims.add(other, f"set {k}", ours)
    more = Claims()
    more.add(one, "set 3", 3.0)
    claims += more
    assert [(claim.sentence, len(claim.rows), claim.verdict) for claim in claims] == [
        (one, 4, Verdict.PARTLY),
        (other, 3, Verdict.OURS),
    ]


def test_a_draft_has_no_empty_figures_and_tables():
    draft = Draft("made-up", ["a note"])
    empty, shown = Panel("empty", "x", "y", []), Panel("shown", "x", "y", [Series("one", [1.0], [2.0])])
    more = replace(shown, series=[Series("no points", [], []), *shown.series])
    for part, panels in (("", [empty, shown]), ("none", [empty]), ("more", [more])):
        draft.figure("Caption.", panels, part)
    draft.table("Caption.", ["a"], [])
    draft.table("Caption.", ["a", "b"], [[1, 2.0], (2, float("nan"))], "two", digits=4)
    draft.print_table("Printed.", ["a"], [])
    outcome = draft.outcome
    assert [(figure.name, list(figure.panels)) for figure in outcome.figures] == [
        ("made-up", [shown]),
        ("made-up-more", [shown]),
    ]
    (table,) = outcome.tables
    assert (table.name, table.columns, table.rows, table.digits) == (
        "made-up-two",
        ["a", "b"],
        [[1, 2.0], [2, None]],
        4,
    )
    assert outcome.printed.name == "made-up-printed"
    assert (outcome.claims, outcome.notes) == ([], ["a note"])


def test_grids_and_what_is_picked_from_them():
    cells = grid(set=["a", "b"], seed=range(3))
    assert cells[:2] == [{"set": "a", "seed": 0}, {"set": "a", "seed": 1}]
    assert len(cells) == 6
    results = CellResults(CellResult(cell, {"v": 10 * cell["seed"], "note": cell["set"]}, 0.0, "") for cell in cells)
    assert results.where(set="b", seed=2).column("v") == [20]
    assert results.where(set="c") == []
    assert grid(set="a", rows=None, lam=0.5, seed=[0]) == [{"set": "a", "rows": None, "lam": 0.5, "seed": 0}]
    assert results.values_of("set") == ["a", "b"]
    assert results.notes() == ["a", "b"]
    assert results.where(set="b").median("v") == 10.0 and np.isnan(CellResults().median("v"))
    runs = CellResults(CellResult({}, {"looks": [{"v": 9.0}, {"v": float(k)}]}, 0.0, "") for k in range(3))
    assert runs.end("v") == 1.0 and np.isnan(CellResults().end("v"))


@pytest.mark.slow
def test_experiments_are_found_by_name_by_paper_and_all_together():
    assert [e.name for e in find(["all"])] == list(NAMES)
    assert {e.name for e in find(["talk"])} == {name for name in NAMES if name.startswith("talk-")}
    assert [e.name for e in find(["SBP_Table2", "pegasos-figure3"])] == ["pegasos-figure3", "sbp-table2"]


def test_an_unknown_name_gets_the_nearest_and_the_list():
    with pytest.raises(ValueError, match="did you mean 'pegasos-figure3'") as caught:
        find(["pegasos-figur3"])
    assert all(name in str(caught.value) for name in NAMES)
    with pytest.raises(ValueError, match="no solver 'zzz': The solvers are") as caught:
        nearest("zzz", ["sdca", "pegasos"], "solver")
    assert "did you mean" not in str(caught.value)


def test_a_series_has_coordinates_of_one_length():
    with pytest.raises(ValueError, match="'late' differ in length"):
        Series("late", [1, 2], [1.0])
    assert Series("good", np.arange(2), [1.0, 2.0]).low is None
