"""Shares within ε, constants and exponents of made-up losses; losses and certificates of a game that is known."""

import numpy as np
import pytest

from hinge.experiments import CellResult, CellResults, Verdict
from hinge.experiments.base import Claims
from hinge.experiments.survey.losses import (
    certificates_hold,
    exponent_of_losses,
    least_share_within,
    loss_after,
    median_exponent,
    share_within,
)
from hinge.problems import MatrixGame
from hinge.solvers import PrimalDual


def results(*losses):
    """A cell for each seed, with its losses at c/ε = 5, 10 and 20."""
    return CellResults(
        CellResult(
            {"seed": seed},
            {
                "looks": [
                    {"ratio": r, "T": round(r * r), "loss": x} for r, x in zip((5.0, 10.0, 20.0), one, strict=True)
                ]
            },
            1.0,
            "made up",
        )
        for seed, one in enumerate(losses)
    )


def test_shares_are_of_runs_at_one_constant():
    part = results((0.5, 0.1, 0.01), (0.5, 0.3, 0.01))
    assert share_within(part, 1.0, 0.2) == 0.0  # c/ε = 5
    assert share_within(part, 2.0, 0.2) == 0.5
    assert np.isnan(share_within(part, 3.0, 0.2))
    assert share_within(part, 2.0, 0.1) == 1.0
    assert least_share_within([part], 2.0, (0.07, 0.1, 0.2)) == 0.5
    assert least_share_within([part], 2.0, (0.07, 0.1)) == 1.0
    assert np.isnan(least_share_within([part], 2.0, (0.07,)))


def test_exponents_are_of_medians_that_are_positive():
    law = results((0.2, 0.1, 0.05), (0.2, 0.1, 0.05))
    assert exponent_of_losses(law) == pytest.approx(0.5)
    assert np.isnan(exponent_of_losses(results((0.2, 0.1, 0.0))))
    assert median_exponent([law, results((0.2, 0.1, 0.0))]) == pytest.approx(0.5)
    assert np.isnan(median_exponent([]))


def test_the_loss_of_a_game_whose_value_is_known():
    found = loss_after(MatrixGame(np.eye(2), relative=False), PrimalDual(), 4000, 0.5, 1e-9, 0)
    assert 0 <= found["loss"] <= found["gap"] < 0.2
    assert found["held"]
    assert not loss_after(MatrixGame(np.eye(2), relative=False), PrimalDual(), 50, 5.0, 1e-9, 0)["held"]


def test_the_share_of_certificates_that_hold_is_ours():
    claims = Claims()
    certificates_hold(claims, "values", [{"held": True}, {"held": False}], "")
    (claim,) = claims
    assert claim.verdict is Verdict.OURS and claim.rows[0].ours == 0.5
