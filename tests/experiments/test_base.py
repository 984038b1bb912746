import numpy as np
import pytest

from hinge.display.figure import Series
from hinge.experiments import NAMES, CellResult, CellResults, Verdict, find, nearest
from hinge.experiments.base import claim, expect, grid, revise


@pytest.mark.parametrize(
    ("rule", "ours", "verdict"),
    [
        ({"at_least": (10, 2)}, 10, Verdict.REPRODUCED),
        ({"at_least": (10, 2)}, 9.99, Verdict.PARTLY),
        ({"at_least": (10, 2)}, 1.99, Verdict.NOT),
        ({"at_most": (1.5, 3)}, 1.5, Verdict.REPRODUCED),
        ({"at_most": (1.5, 3)}, 2.0, Verdict.PARTLY),
        ({"at_most": (1.5, 3)}, 3.01, Verdict.NOT),
        ({"within": (0.02, 0.2)}, 101.9, Verdict.REPRODUCED),
        ({"within": (0.02, 0.2)}, 81.0, Verdict.PARTLY),
        ({"within": (0.02, 0.2)}, 121.0, Verdict.NOT),
        ({"at_least": (10, 2)}, None, Verdict.UNKNOWN),
        ({"at_most": (1.5, 3)}, float("nan"), Verdict.UNKNOWN),
        ({"within": (0.02, 0.2)}, None, Verdict.UNKNOWN),
    ],
)
def test_a_verdict_follows_from_the_number(rule, ours, verdict):
    found = claim("what", ours, expect(100.0, **rule), "conditions")
    assert found.verdict is verdict
    assert found.ratio == (None if verdict is Verdict.UNKNOWN else ours / 100)
    assert found.rule


def test_a_claim_has_one_rule_that_can_be_applied():
    with pytest.raises(ValueError, match="exactly one"):
        expect(1.0)
    with pytest.raises(ValueError, match="exactly one"):
        claim("what", 1.0, expect(1.0, at_least=(1, 1), at_most=(1, 1)), "")
    with pytest.raises(ValueError, match="paper's number"):
        claim("what", 1.0, expect("much", within=(0.1, 0.2)), "")
    assert claim("what", 3.0, expect("much", at_least=(2, 1)), "").ratio is None


def test_where_a_paper_only_asks_there_is_nothing_to_reproduce():
    found = claim("what", 3.0, expect("open question", at_least=(2, 1)), "")
    assert found.verdict is Verdict.BEYOND
    assert "reproduced" not in found.rule
    assert claim("what", None, expect("open question", at_least=(2, 1)), "").verdict is Verdict.UNKNOWN


def test_what_can_hardly_fail_counts_for_no_paper():
    met = claim("what", 3.0, expect(1.0, at_least=(2, 1)), "", sure="it stops there")
    assert met.verdict is Verdict.SURE
    assert met.rule.endswith("it can hardly fail: it stops there")
    assert claim("what", 1.5, expect(1.0, at_least=(2, 1)), "", sure="it stops there").verdict is Verdict.PARTLY
    assert claim("what", 0.5, expect(1.0, at_least=(2, 1)), "", sure="it stops there").verdict is Verdict.NOT


def test_a_changed_rule_keeps_what_was_said_before():
    old = claim("what", 3.0, expect(1.0, at_most=(1, 2)), "")
    found = revise(claim("what", 3.0, expect(1.0, at_least=(2, 1)), ""), old, "it was turned over")
    assert (found.verdict, found.earlier.verdict) == (Verdict.REPRODUCED, Verdict.NOT)
    assert (found.earlier.ours, found.earlier.rule, found.earlier.why) == (3.0, old.rule, "it was turned over")


def test_grids_and_what_is_picked_from_them():
    cells = grid(set=["a", "b"], seed=range(3))
    assert cells[:2] == [{"set": "a", "seed": 0}, {"set": "a", "seed": 1}]
    assert len(cells) == 6
    results = CellResults(CellResult(cell, {"v": 10 * cell["seed"], "note": cell["set"]}, 0.0, "") for cell in cells)
    assert results.where(set="b", seed=2).column("v") == [20]
    assert results.where(set="c") == []
    assert results.values_of("set") == ["a", "b"]
    assert results.notes() == ["a", "b"]


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
