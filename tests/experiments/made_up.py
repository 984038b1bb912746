"""Made-up measurements: what an experiment says of curves whose exponents and ratios are known beforehand.

A world is a function from a cell to its values. In the first one that is given every claim holds; in one of the
others each of them fails. So the arithmetic of every rule is seen from both sides, without a single run.
"""

import re
import sys
import tomllib
from pathlib import Path

import hinge.experiments
from hinge.experiments import CellResult, CellResults, Verdict
from hinge.experiments.base import read_sentence

CLAIMS = Path(hinge.experiments.__file__).with_name("claims.toml")

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
    """Those that an experiment's file names, its own or another's."""
    source = Path(sys.modules[type(experiment).__module__].__file__).read_text("utf-8")
    return {read_sentence(*names) for names in named_in(source, experiment.name)}


def named_in(source, experiment):
    """The sentences that a file names, as "faster" or "pegasos-table1.faster": the experiment, and the name."""
    own = tomllib.loads(CLAIMS.read_text("utf-8")).get(experiment, {})
    found = {(experiment, name) for name, entry in own.items() if isinstance(entry, dict) and f'"{name}"' in source}
    return found | set(re.findall(r'"([a-z]+-[a-z0-9-]+)\.(\w+)"', source))


def numbers(claims, sentence):
    """What was found for each set."""
    return [row.ours for row in claims[sentence].values()]


def number(claims, sentence, k=0):
    """What was found for the k-th set."""
    return numbers(claims, sentence)[k]
