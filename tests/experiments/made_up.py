"""Made-up measurements: what an experiment says of curves whose exponents and ratios are known beforehand.

A world is a function from a cell to its values. In the first one that is given every claim holds; in one of the
others each of them fails. So the arithmetic of every rule is seen from both sides, without a single run.
"""

import sys

from hinge.experiments import CellResult, CellResults, Verdict
from hinge.report.outcome import Sentence

MET = (Verdict.REPRODUCED, Verdict.SILENT, Verdict.OURS)


def results_of(experiment, world, scale="full"):
    """The results of all cells in a world; it leaves out a cell by giving None."""
    pairs = [(cell, world(cell)) for cell in experiment.cells(scale)]
    return CellResults(CellResult(cell, values, 1.0, "made up") for cell, values in pairs if values is not None)


def claims_in(experiment, world, scale="full"):
    """What is said of each sentence: its rows, by the set."""
    claims = experiment.outcome(results_of(experiment, world, scale), scale).claims
    return {claim.sentence: {row.on: row for row in claim.rows} for claim in claims}


def printed_in(experiment, world, scale="full"):
    """The paper's own table, filled."""
    return experiment.outcome(results_of(experiment, world, scale), scale).printed


def in_both_outcomes(experiment, good, *bad, unmeasured=()):
    """Every row holds in the good world, and all that can fail do so in one of the bad ones.

    So it is with every sentence of the experiment's file, but for those that it leaves unmeasured.
    """
    held, failed = claims_in(experiment, good), [claims_in(experiment, world) for world in bad]
    assert set(held) >= {one for one in sentences_of(experiment) if one.quote}
    for sentence, rows in held.items():
        for on, row in rows.items():
            if sentence in unmeasured and row.verdict is Verdict.UNKNOWN:
                continue
            assert row.verdict in MET, (sentence.what, row)
            if row.verdict is Verdict.REPRODUCED:
                seen = [world[sentence][on] for world in failed if on in world.get(sentence, {})]
                assert any(one.verdict is Verdict.NOT for one in seen), (sentence, on, [one.ours for one in seen])
    return held, failed


def sentences_of(experiment):
    """Those that an experiment's file has, its own or another's."""
    module = sys.modules[type(experiment).__module__]
    return {one for one in vars(module).values() if isinstance(one, Sentence)}


def numbers(claims, sentence):
    """What was found for each set."""
    return [row.ours for row in claims[sentence].values()]


def number(claims, sentence, k=0):
    """What was found for the k-th set."""
    return numbers(claims, sentence)[k]
