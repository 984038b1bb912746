"""Made-up measurements: what an experiment says of curves whose exponents and ratios are known beforehand.

A world is a function from a cell to its values. In the first one that is given every claim holds; in one of the
others each of them fails. So the arithmetic of every rule is seen from both sides, without a single run.
"""

from collections import Counter

from hinge.experiments import CellResult, CellResults, Verdict

MET = (Verdict.REPRODUCED, Verdict.SURE, Verdict.BEYOND)


def results_of(experiment, world, scale="full"):
    """The results of all cells in a world; it leaves out a cell by giving None."""
    pairs = [(cell, world(cell)) for cell in experiment.cells(scale)]
    return CellResults(CellResult(cell, values, 1.0, "made up") for cell, values in pairs if values is not None)


def claims_in(experiment, world, scale="full"):
    """All claims by what they say, and by how often the same was said before."""
    seen, found = Counter(), {}
    for claim in experiment.outcome(results_of(experiment, world, scale), scale).claims:
        found[claim.what, seen[claim.what]] = claim
        seen[claim.what] += 1
    return found


def in_both_outcomes(experiment, good, *bad):
    """Every claim holds in the good world, and all that can fail do so in one of the bad ones."""
    held, failed = claims_in(experiment, good), [claims_in(experiment, world) for world in bad]
    assert held
    for key, claim in held.items():
        assert claim.verdict in MET, (key, claim.ours, claim.rule)
        if claim.verdict is Verdict.REPRODUCED:
            seen = [(world[key].verdict, world[key].ours) for world in failed if key in world]
            assert any(verdict is Verdict.NOT for verdict, _ in seen), (key, claim.rule, seen)
    return held, failed


def number(claims, begins, k=0):
    """What was found for the k-th claim that begins so."""
    return [claim.ours for (what, _), claim in claims.items() if what.startswith(begins)][k]
