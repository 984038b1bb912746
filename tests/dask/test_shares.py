"""Parts of a certificate."""

import numpy as np
import pytest
from dask_rounds import parts_of, some_rows, task_of

from hinge.dask.rounds import CertificateQuery, Kept, certificate, certify_part, losses, together
from hinge.problems import Regularized, Solution
from hinge.problems.svm.examples import balance
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive

LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.2)]


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_shares_of_parts_make_the_certificate_of_the_whole(loss, bias):
    X, y = some_rows(90)
    rng = np.random.default_rng(1)
    y = X[:, 0] + 0.3 * y if loss.two_sided else y
    weight = rng.random(90)
    whole = Regularized(X, y, 1e-2, weight=weight, bias=bias, loss=loss)
    low, high = max(loss.low, -2.0), min(loss.high, 2.0)
    answer = Solution(rng.standard_normal(6) * 0.3, 0.0, rng.uniform(low, high, 90))
    expected = whole.certificate(answer)
    parts = parts_of(X, y, 3, 2, loss.two_sided, weight)
    task = task_of(whole.total, 3, loss=loss, bias=bias)
    side, ratio = balance(*whole.class_mass(answer.alpha))
    question = CertificateQuery(
        (task,), np.array([0]), np.ones(1), answer.w[None], np.array([expected.b]), np.array([side]), np.array([ratio])
    )
    found = [
        certify_part(part, Kept(alpha[None], alpha[None]), question)
        for part, alpha in zip(parts, np.array_split(answer.alpha, 3), strict=True)
    ]
    total = together([one.shares[0] for one in found], 6)
    made = certificate(total, task, answer.w, expected.b)
    assert made.objective == pytest.approx(expected.objective, rel=1e-12)
    assert made.bound == pytest.approx(expected.bound, rel=1e-11)
    assert made.gap >= expected.gap * (1 - 1e-11)
    assert 0 < sum(one.cells for one in found) <= 2 * X.size
    if bias == "free":
        biases = np.array([[expected.b, expected.b + 0.1]])
        loss_at = sum(losses(part, one, question, biases) for part, one in zip(parts, found, strict=True))
        assert loss_at[0, 0] == pytest.approx(total.loss, rel=1e-13)
        assert loss_at[0, 1] > loss_at[0, 0]


def test_of_nothing():
    empty = together([], 4)
    assert (empty.loss, empty.dual.linear, empty.terms) == (0.0, 0.0, 0)
    assert empty.dual.z.shape == (4,)
