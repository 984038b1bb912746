"""SIMBA in the theorem's regime: on made-up reads, and what its shortcut rests on."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers

from hinge.access.tables.memory import ProductTable
from hinge.experiments.base import read_sentence
from hinge.experiments.simba.regime import LAMS, TUNED, experiment
from hinge.experiments.simba.runtime import Rare
from hinge.problems import Regularized
from hinge.solvers import SDCA, Pegasos, Perceptron, trace

FACTOR = read_sentence("simba-runtime", "factor")
BEATS = read_sentence("simba-regime", "beats")
BEFOREHAND = read_sentence("simba-regime", "beforehand")
HINDSIGHT = read_sentence("simba-regime", "hindsight")
TURNED = read_sentence("simba-regime", "turned")

AT = 64_000


def world(growth=1.0, rows=1.0, gain=100.0, noisy=0.5, arrives=True, spent=1.0):
    """Rows: so many passes at the best λ, else twice as many. SIMBA: fewer by `gain` at 64,000, by its power of n."""

    def made(cell):
        n = cell["n"]
        best = rows * n**2
        if "form" in cell:  # one of them takes half of what the paper's own takes
            cells = best / (gain * (n / AT) ** growth) * (0.5 if cell["form"] == "3η" else 2.0)
            return {"found": {f"{TUNED}, {cell['form']}": cells}, "most": best}
        found = {"Perceptron, averaged": 2 * best, "Perceptron, last": best}
        found |= {f"{m}, λ = {lam:g}": best * (1 if lam == LAMS[2] else 2) for m in ("Pegasos", "SDCA") for lam in LAMS}
        less = gain * (n / AT) ** growth if not cell["noise"] else noisy
        return {
            "found": {"SIMBA": best / less if arrives or not cell["noise"] else None, **found},
            "most": spent * best,
        }

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(0.2, gain=0.5, noisy=10.0))
    assert numbers(held, BEATS) == pytest.approx([100] * 3)
    assert numbers(held, HINDSIGHT) == numbers(held, BEFOREHAND) == pytest.approx([200] * 3)
    assert number(held, FACTOR) == pytest.approx(1)
    assert number(bad, FACTOR) == pytest.approx(0.2)
    assert number(bad, TURNED) == pytest.approx(10)


def test_a_setting_is_chosen_at_the_smallest_size_alone():
    """At 16,000 the last iterate is best, at 64,000 another: what was chosen stands, though it is worse there."""
    usual = world()

    def made(cell):
        found = usual(cell)
        if cell.get("form") == "last" and cell["n"] == 16_000:
            found["found"] = {f"{TUNED}, last": 1.0}
        return found

    claims = claims_in(experiment, made)
    assert numbers(claims, BEFOREHAND) == pytest.approx([50] * 3)
    assert all("last, best at n = d = 16,000" in row.conditions for row in claims[BEFOREHAND].values())


def test_what_simba_spent_in_vain_bounds_its_gain():
    found = claims_in(experiment, world(arrives=False, spent=1.25))
    assert numbers(found, TURNED) == pytest.approx([0.8] * 2)


@pytest.mark.parametrize("solver", [Perceptron(), Pegasos(output="last"), SDCA()], ids=lambda s: type(s).__name__)
def test_methods_that_read_rows_make_the_same_steps_on_coordinates(solver):
    """So that their curves at n = d = 256,000 need no matrix of that size; a row costs d cells, not its coordinates."""
    data = Rare(300, 200, 0.05, 1.0, seed=1)
    (whole,) = trace(Regularized(data.X, data.y, 1e-3), solver, [300], seed=4)
    (thin,) = trace(Regularized(data.coordinates, data.y, 1e-3), solver, [300], seed=4)
    np.testing.assert_allclose(data.axes @ whole.solution.w, thin.solution.w, rtol=1e-4, atol=1e-5)
    assert data.error(whole.solution.w) == pytest.approx(data.error_along(thin.solution.w), rel=1e-3)
    assert whole.feature_reads * data.coordinates.shape[1] == thin.feature_reads * data.X.shape[1]


def test_its_rows_and_columns_are_those_of_the_matrix():
    data = Rare(40, 90, 0.1, 1.0, seed=0)
    table = ProductTable(data.coordinates, data.axes)
    np.testing.assert_allclose(table.row(7).values, data.X[7], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(table.column(7).values, data.X[:, 7], rtol=1e-4, atol=1e-6)
