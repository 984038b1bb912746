"""All values of C and folds at once, by splitting."""

import numpy as np
import pytest

from hinge import Regularized, Stop, solve
from hinge.monitoring import Status
from hinge.problems.svm.losses import HINGE, epsilon_insensitive

torch = pytest.importorskip("torch")

from hinge.problems.svm.gram_batch import GramBatch  # noqa: E402
from hinge.solvers.kernel.gram_splitting import GramSplitting  # noqa: E402

N = 150
CS = np.geomspace(1e-3, 10, 5)


def batch(kind, free=True, dtype=torch.float32):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(N) > 0, 1.0, -1.0)
    loss = HINGE
    if kind == "targets":
        y, loss = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(N), epsilon_insensitive(0.05)
    boxes = np.stack([C * (np.arange(N) % 3 != k) for k in range(2) for C in CS], 1)
    aims = np.repeat(y[:, None], boxes.shape[1], 1)
    return GramBatch(torch.as_tensor(K).to(dtype), torch.as_tensor(aims), torch.as_tensor(boxes), loss, free=free)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_every_C_of_every_fold_is_certified(kind, free):
    problem = batch(kind, free)
    result = solve(problem, GramSplitting(tol=1e-3), stop=Stop(1e-3))
    assert result.status is Status.CONVERGED
    assert max(member.gap for member in result.certificate.members) <= 1e-3
    beta, boxes = result.solution.beta, problem.boxes
    assert bool((beta.abs() <= boxes * (1 + 1e-12)).all())
    assert not free or float(beta.sum(0).abs().max()) < 1e-9 * float(boxes.max())


def test_what_is_left_is_said():
    problem = batch("labels")
    result = solve(problem, GramSplitting(tol=1e-6, steps=2, most=1), stop=Stop(1e-6))
    assert result.status is Status.STALLED
    gaps = np.array([member.gap for member in result.certificate.members])
    assert (gaps > 1e-6).any()
    np.testing.assert_allclose(gaps, result.state.gap, rtol=1e-9)


def test_other_problems_are_refused():
    made = Regularized(np.eye(3), np.array([1, -1, 1]), lam=1.0)
    assert "GramBatch" in GramSplitting().rejects(made)
