"""Kernel SVMs over one Gram matrix on a device."""

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.svm.losses import HINGE, epsilon_insensitive

torch = pytest.importorskip("torch")

from hinge.problems.svm.gram_batch import GramAnswers, GramBatch  # noqa: E402

N = 60


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    return rng, X, K


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_a_certificate_is_that_of_each_member_alone(points, kind, free):
    rng, X, K = points
    loss = HINGE if kind == "labels" else epsilon_insensitive(0.1)
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if kind == "labels" else np.sin(X[:, 0])
    Cs, held_out = (0.1, 10.0), np.arange(N) % 4 == 0
    boxes = np.stack([C * ~held_out for C in Cs], 1)
    beta = rng.uniform(-1, 1, (N, 2)) * boxes
    if kind == "labels":
        beta = np.abs(beta) * y[:, None]
    if free:  # both sides to the same sum
        up, down = np.maximum(beta, 0).sum(0), -np.minimum(beta, 0).sum(0)
        beta *= np.where(beta > 0, np.minimum(up, down) / up, np.minimum(up, down) / down)
    beta *= 0.2
    there = [torch.as_tensor(one) for one in (K, np.stack([y, y], 1), boxes)]
    batch = GramBatch(*there, loss, free=free)
    own = torch.as_tensor(beta)
    found = batch.certificate(GramAnswers(own, batch.responses(own), torch.zeros(2, dtype=torch.float64)))
    gram = Gram(as_points(X, Gaussian(gamma=0.5), exact=True))
    for k, C in enumerate(Cs):
        alone = KernelRegularized.from_C(
            gram, y, C, weight=(~held_out).astype(float), bias="free" if free else "none", loss=loss
        )
        one = alone.certificate(Expansion(beta[:, k], 0.0, K @ beta[:, k], None, N))
        scale = C * (~held_out).sum()  # it states means, and this sums
        assert found.members[k].objective == pytest.approx(scale * one.objective, rel=1e-9)
        dual = beta[:, k] @ y - loss.epsilon * np.abs(beta[:, k]).sum() - 0.5 * beta[:, k] @ K @ beta[:, k]
        assert found.members[k].bound == pytest.approx(dual, rel=1e-9)
        assert dual <= scale * one.bound * (1 + 1e-9)  # which takes the best multiple
    assert found.gap == max(member.gap for member in found.members)


def test_an_inverse_keeps_the_sum(points):
    K = torch.as_tensor(points[2])
    aims, boxes = torch.ones(N, 1, dtype=K.dtype), torch.ones(N, 1, dtype=K.dtype)
    P = GramBatch(K, aims, boxes, HINGE).inverse(0.5)
    assert float((P @ torch.ones(N, dtype=K.dtype)).abs().max()) < 1e-10
    M = GramBatch(K, aims, boxes, HINGE, free=False).inverse(0.5)
    assert torch.allclose(M @ (K + 0.5 * torch.eye(N, dtype=K.dtype)), torch.eye(N, dtype=K.dtype), atol=1e-9)
