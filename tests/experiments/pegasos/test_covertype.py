"""Covertype in three scalings, on made-up seconds; and the scalings themselves."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, number

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.covertype import SCALINGS, experiment, rescale
from hinge.experiments.pegasos.table1 import PERF

FASTER = read_sentence("pegasos-table1", "faster")


def world(gain=None, above=0.0, apart=0.0):
    """SVM-Perf takes 85 s and Pegasos that over a gain by scaling; what it ends above its goal, and in test error."""
    gain = gain or dict.fromkeys(SCALINGS, 85 / 6)

    def made(cell):
        said = {"label": cell["scaling"], "note": "", "n": 1000}
        end = {"seconds": 85.0, "objective": 0.5, "error": 0.2}
        if cell["method"] == PERF:
            return {**said, "looks": [end], "bound": 0.4995, "gap": 5e-4, "passes": 50}
        end = {"seconds": 85.0 / gain[cell["scaling"]], "objective": 0.5009 + above, "error": 0.2 + apart}
        return {**said, "looks": [{**end, "seconds": end["seconds"] / 2, "objective": 0.9}, end]}

    return made


def test_both_outcomes_of_every_claim():
    slow = world(dict.fromkeys(SCALINGS, 0.5), apart=0.01)
    held, (bad,) = in_both_outcomes(experiment, world(), slow)
    assert number(held, FASTER) == pytest.approx(85 / 6)
    assert number(bad, FASTER) == pytest.approx(0.5)


def test_the_scaling_of_table_1_is_judged_there():
    found = claims_in(experiment, world({"columns": 0.5, "rows": 10.0, "standard": 2.0}))
    assert {on: row.verdict for on, row in found[FASTER].items()} == {
        "rows": Verdict.REPRODUCED,
        "standard": Verdict.PARTLY,
    }


@pytest.mark.slow
def test_the_scalings_are_what_they_are_called():
    X, _, X_test, _ = rescale("rows", 500)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(X_test, axis=1), 1.0, rtol=1e-5)
    X = rescale("standard", 500)[0]
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-4)
    assert set(np.round(X.std(axis=0), 3).tolist()) <= {0.0, 1.0}
    X = rescale("columns", 500)[0]
    assert X.min() >= 0 and X.max() <= 1
