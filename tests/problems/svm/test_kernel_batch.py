import numpy as np
import pytest

from hinge.access import as_points
from hinge.kernels import Function, Gaussian, Precomputed
from hinge.problems import KernelRegularized
from hinge.problems.svm.kernel_batch import BatchExpansion, KernelBatch, kernel_matrix
from hinge.problems.svm.losses import epsilon_insensitive

X = np.random.default_rng(0).standard_normal((300, 3))
ROWS, CUTS = np.concatenate([np.arange(20), np.arange(10, 40)]), np.array([0, 20, 50])
Y = np.where(X[ROWS, 0] > 0, 1, -1).astype(np.int8)
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, 50)


def test_members_are_the_problems_of_their_points():
    points = as_points(X[:40], Gaussian(0.5), exact=True)
    batch = KernelBatch(points, ROWS, CUTS, Y, WEIGHT, 3.0)
    answer = BatchExpansion(0.5 * batch.boxes * Y, np.zeros(50), np.array([0.1, 0.2]))
    for k, (member, part) in enumerate(zip(batch.members, batch.parts, strict=True)):
        X_k = X[ROWS[part]]
        alone = KernelRegularized.from_C(X_k, Y[part], 3.0, Gaussian(0.5), weight=WEIGHT[part], bias="free")
        assert member.lam == pytest.approx(alone.lam) == batch.lam[k]
        np.testing.assert_allclose(member.boxes[ROWS[part]], alone.boxes)
        np.testing.assert_allclose(batch.boxes[part], alone.boxes)
        for own, other in zip((batch.lo[part], batch.hi[part]), alone.limits, strict=True):
            np.testing.assert_allclose(own, other)
        mine = batch.expansion(answer, k)
        np.testing.assert_array_equal(mine.beta[ROWS[part]], answer.beta[part])
        assert mine.b == answer.biases[k] and np.count_nonzero(mine.beta) == len(X_k)
    found = batch.certificate(answer)
    assert found.gap == max(one.gap for one in found.members) and len(found.members) == 2
    assert batch.objective(answer._replace(biases=np.array([one.b for one in found.members]))) == pytest.approx(
        found.objective
    )
    assert batch.final_answer(answer, found).biases.tolist() == [one.b for one in found.members]


def test_targets_have_a_unit_and_a_spread():
    t = X[:40, 0] ** 2
    points, loss = as_points(X[:40], Gaussian(0.5), exact=True), epsilon_insensitive(0.1)
    batch = KernelBatch(points, np.arange(40), np.array([0, 40]), t, np.ones(40), 3.0, loss=loss)
    alone = KernelRegularized.from_C(X[:40], t, 3.0, Gaussian(0.5), loss=loss, bias="free")
    assert (batch.unit[0], batch.spread[0]) == (pytest.approx(alone.unit), pytest.approx(alone.spread))
    assert (batch.epsilon, batch.lam[0]) == (0.1, pytest.approx(alone.lam))
    np.testing.assert_allclose(batch.lo, -batch.hi)


def test_kernel_values_are_computed_once_and_counted():
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    rows, y = np.arange(300), np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    batch = KernelBatch(as_points(X, Gaussian(0.5), exact=True), rows, np.array([0, 300]), y, np.ones(300), 1.0)
    assert batch.kernel_evals == 0 and batch.pass_cells == 300**2
    np.testing.assert_allclose(batch.K, K, atol=1e-12)
    assert batch.K is batch.K and batch.kernel_evals == 300 * 301 // 2
    calls = []

    def values(A, B):
        calls.append(len(A))
        return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(2))

    points, found, evals = kernel_matrix(as_points(X, Function(values, on="blocks")))
    assert (calls, evals) == ([300], 300**2) and not points.indefinite
    np.testing.assert_allclose(found, K, atol=1e-12)
    with pytest.raises(ValueError, match=r"K\(x, x\) is inf"):
        kernel_matrix(as_points(np.diag([np.inf, 1.0, 1.0]), Precomputed()))
