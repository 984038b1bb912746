"""The problem of a block by splitting: the optimum, in the box and in the plane, and never a step back."""

import numpy as np
import pytest

from hinge.solvers.kernel.conjugate_steps import pair_steps

torch = pytest.importorskip("torch")


@pytest.fixture
def block():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.where(rng.random(60) < 0.4, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    return K, np.where(y > 0, 0.0, -2.0), np.where(y > 0, 2.0, 0.0), -y


def planes(shape, free):
    """Groups and sums: of all points zero with a free bias, else none."""
    return torch.ones((*shape, int(free)), dtype=torch.float64), torch.zeros((shape[0], int(free)), dtype=torch.float64)


def solved(block, steps, free=True):
    from hinge.solvers.kernel.douglas_rachford import solve_blocks

    K, lo, hi, e = (torch.from_numpy(a.copy())[None] for a in block)
    b, rho = torch.zeros((1, 1)), torch.ones((1, 1))
    beta = solve_blocks(K, torch.zeros_like(e), e, lo, hi, b, rho, steps, *planes(e.shape, free)).beta[0].numpy()
    return beta, 0.5 * beta @ block[0] @ beta + block[3] @ beta


def test_it_finds_the_optimum_that_pairs_find(block):
    K, lo, hi, e = block
    exact, slopes = np.zeros(60), e.copy()
    pair_steps(K, exact, slopes, lo, hi, 1e-10, 10**6, 0.0, len(exact), True)
    beta, value = solved(block, 400)
    assert abs(beta.sum()) < 1e-9
    assert value == pytest.approx(0.5 * exact @ K @ exact + e @ exact, rel=1e-6)


@pytest.mark.parametrize("free", [True, False])
def test_few_steps_are_feasible_and_none_is_a_step_back(block, free):
    values = []
    for steps in (10, 40, 160):
        beta, value = solved(block, steps, free)
        assert (beta >= block[1]).all() and (beta <= block[2]).all()
        assert not free or abs(beta.sum()) < 1e-9
        values.append(value)
    assert values[0] < 0.0 and values[2] <= values[0] + 1e-12


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_the_norm_of_regression_is_part_of_the_problem(block, free, epsilon):
    """The optimum is checked by its own conditions, and few steps never go back."""
    from hinge.solvers.kernel.douglas_rachford import solve_blocks

    K, _, hi, y = block
    lo, hi, e = -2.0 + 0.0 * hi, 2.0 + 0.0 * hi, 0.7 * y + np.linspace(-1.0, 1.0, 60)
    given = (torch.from_numpy(a.copy())[None] for a in (K, 0.0 * e, e, lo, hi))
    arrays, values = [*given, torch.zeros((1, 1)), torch.ones((1, 1))], []
    for steps in (10, 40, 160, 3000):
        beta = solve_blocks(*arrays, steps, *planes((1, 60), free), epsilon).beta[0].numpy()
        values.append(0.5 * beta @ K @ beta + e @ beta + epsilon * np.abs(beta).sum())
        assert not free or abs(beta.sum()) < 1e-9
    assert 0.0 > values[0] >= values[1] - 1e-12 >= values[2] - 2e-12
    slopes = K @ beta + e
    above = np.where(beta < hi - 1e-9, slopes + np.where(beta >= -1e-12, epsilon, -epsilon), np.inf)
    below = np.where(beta > lo + 1e-9, slopes + np.where(beta > 1e-12, epsilon, -epsilon), -np.inf)
    if free:
        assert above.min() - below.max() > -1e-4
    else:
        assert above.min() > -1e-4 and below.max() < 1e-4


@pytest.mark.parametrize("m", [5, 64, 65, 200])
def test_inverses_by_halves_are_inverses(m):
    from hinge.solvers.kernel.douglas_rachford import _by_halves

    A = torch.randn(3, m, m, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    A = A @ A.mT + 0.1 * torch.eye(m, dtype=torch.float64)
    torch.testing.assert_close(_by_halves(torch, A) @ A, torch.eye(m, dtype=torch.float64).expand_as(A))


@pytest.mark.parametrize("free", [True, False])
def test_several_blocks_are_solved_as_each_alone(block, free):
    from hinge.solvers.kernel.douglas_rachford import solve_blocks

    K, lo, hi, e = (torch.from_numpy(np.stack([a, 0.5 * a, a])) for a in block)
    zeros, b = torch.zeros_like(e), torch.zeros((3, 1), dtype=torch.float64)
    rho = torch.tensor([[1.0], [0.5], [2.0]], dtype=torch.float64)
    given = K, zeros, e, lo, hi, b, rho
    groups, sums = planes(e.shape, free)
    together = solve_blocks(*given, 40, groups, sums)
    for q in range(3):
        alone = solve_blocks(*(one[q : q + 1] for one in given), 40, groups[:1], sums[:1])
        torch.testing.assert_close(together.beta[q], alone.beta[0])
        torch.testing.assert_close(together.balance[q], alone.balance[0])


def test_the_sums_of_two_groups_are_kept_and_the_optimum_found(block):
    """As of a ν-SVM of two classes: each class has a sum and a bias of its own, and a third group is empty."""
    from hinge.solvers.kernel.douglas_rachford import solve_blocks

    K, lo, hi, e = block
    up = hi > 0.0
    beta = np.where(up, 12.0 / up.sum(), -12.0 / (~up).sum())
    exact, slopes = beta.copy(), K @ beta + 0.0 * e
    order = np.argsort(~up, kind="stable")
    part = [np.ascontiguousarray(a[order]) for a in (exact, slopes, lo, hi)]
    pair_steps(np.ascontiguousarray(K[np.ix_(order, order)]), *part, 1e-10, 10**6, 0.0, int(up.sum()), True)
    groups = torch.from_numpy(np.stack([up, ~up, 0 * up], 1).astype(float))[None]
    sums = torch.tensor([[12.0, -12.0, 0.0]], dtype=torch.float64)
    given = (torch.from_numpy(a.copy())[None] for a in (K, beta, K @ beta, lo, hi))
    zeros = torch.zeros((1, 60), dtype=torch.float64)
    found = solve_blocks(*given, zeros, torch.ones((1, 1), dtype=torch.float64), 2000, groups, sums).beta[0].numpy()
    assert found[up].sum() == pytest.approx(12.0, abs=1e-12) and found[~up].sum() == pytest.approx(-12.0, abs=1e-12)
    assert (found >= lo).all() and (found <= hi).all()
    assert found @ K @ found == pytest.approx(part[0] @ K[np.ix_(order, order)] @ part[0], rel=1e-6)
    assert found @ K @ found < 0.99 * beta @ K @ beta
