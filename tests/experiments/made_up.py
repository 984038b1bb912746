"""Made-up measurements: what an experiment says of curves whose exponents and ratios are known beforehand.

A world is a function from a cell to its values. In the first one that is given every claim holds; in one of the
others each of them fails. So the arithmetic of every rule is seen from both sides, without a single run.
"""

import ast
import inspect
import sys
from collections import Counter, defaultdict
from contextlib import contextmanager

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
    """Every claim holds in the good world, and all that can fail do so in one of the bad ones.

    So it is with every line of the experiment's file that makes one, or the worlds do not reach it.
    """
    with _lines_of_claims(experiment) as verdicts:
        held, failed = claims_in(experiment, good), [claims_in(experiment, world) for world in bad]
    assert held
    for key, claim in held.items():
        assert claim.verdict in MET, (key, claim.ours, claim.rule)
        if claim.verdict is Verdict.REPRODUCED:
            seen = [(world[key].verdict, world[key].ours) for world in failed if key in world]
            assert any(verdict is Verdict.NOT for verdict, _ in seen), (key, claim.rule, seen)
    for line in _calls(experiment):
        assert verdicts[line] & {*MET}, f"line {line} makes no claim that holds"
        assert verdicts[line] & {Verdict.NOT, Verdict.SURE, Verdict.BEYOND}, f"line {line} makes no claim that fails"
    return held, failed


@contextmanager
def _lines_of_claims(experiment):
    """The verdicts of each line that makes a claim."""
    module, verdicts = sys.modules[type(experiment).__module__], defaultdict(set)
    own = getattr(module, "claim", None)  # none where all claims are made by another experiment's functions

    def noted(*args, **options):
        made = own(*args, **options)
        verdicts[sys._getframe(1).f_lineno].add(made.verdict)
        return made

    if own is not None:
        module.claim = noted
    try:
        yield verdicts
    finally:
        if own is not None:
            module.claim = own


def _calls(experiment):
    """The lines of an experiment's file at which `claim` is called."""
    tree = ast.parse(inspect.getsource(sys.modules[type(experiment).__module__]))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "claim"]


def number(claims, begins, k=0):
    """What was found for the k-th claim that begins so."""
    return [claim.ours for (what, _), claim in claims.items() if what.startswith(begins)][k]
