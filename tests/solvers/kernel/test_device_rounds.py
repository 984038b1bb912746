"""Rounds of several problems at once: sets that hold what they should, and biases that are best."""

import numpy as np
import pytest

from hinge.problems import sorted_bias

torch = pytest.importorskip("torch")


@pytest.fixture
def lines():
    """Two problems of 40 and 30 points, of which the second is filled up."""
    from hinge.solvers.kernel.device_rounds import Lines

    rng = np.random.default_rng(0)
    y = np.where(rng.random((2, 40)) < 0.4, 1.0, -1.0)
    box = 1.0 * rng.integers(1, 3, (2, 40))
    y[1, 30:] = box[1, 30:] = 0.0
    beta = y * box * rng.choice([0.0, 0.5, 1.0], (2, 40))
    bounds = np.where(y < 0, -box, 0.0), np.where(y > 0, box, 0.0)
    free = np.ones((2, 40, 1)), np.zeros((2, 1))
    made = y, *bounds, *free, beta, rng.standard_normal((2, 40)), np.abs(beta)
    return Lines(*map(torch.from_numpy, made))


def test_the_first_sets_are_half_of_each_class_where_it_has_so_many(lines):
    from hinge.solvers.kernel.device_rounds import first_sets

    u = torch.rand(2, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    few, many = (first_sets(lines, size, u) for size in (10, 30))
    assert (lines.y.gather(1, few).sum(1) == 0).all()
    assert all(len(set(own.tolist())) == 30 for own in many)
    assert set(many[1].tolist()) == set(range(30))  # none that only fills the line up


def test_working_sets_hold_the_points_between_bounds_and_the_worst_others(lines):
    from hinge.solvers.kernel.device_rounds import working_sets

    b, yes, no = (
        torch.zeros(2, 1, dtype=torch.float64),
        torch.tensor([[True], [True]]),
        torch.tensor([[False], [False]]),
    )
    work = working_sets(lines, b, 20, None, no, yes)
    others = lines.violation(b, 0.0).masked_fill(lines.between, -1.0)
    for q in range(2):
        own, between = set(work[q].tolist()), set(torch.nonzero(lines.between[q])[:, 0].tolist())
        assert between <= own
        worst = others[q].argsort(descending=True)[: 20 - len(between)]
        assert others[q][sorted(own - between)].min() >= others[q][worst].min()
    u = torch.rand(2, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    drawn = working_sets(lines, b, 5, u, yes, no)
    assert (lines.violation(b, 0.0).gather(1, drawn) > 0.0).all()


def regression(lines):
    """The same with targets, and bounds on both sides."""
    return lines._replace(y=lines.y + lines.r, lo=lines.lo - lines.hi, hi=lines.hi - lines.lo)


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.3])
def test_biases_are_those_of_one_line_at_a_time(lines, epsilon):
    from hinge.solvers.kernel.device_rounds import Lines, best_biases

    whole = lines if epsilon is None else regression(lines)
    for q, n in enumerate((40, 30)):
        own = Lines(*(one[q : q + 1, :n] for one in whole))
        y, lo, hi, r = (one[0].numpy() for one in (own.y, own.lo, own.hi, own.r))
        expected = sorted_bias(r, y, np.maximum(hi, -lo), epsilon)
        assert float(best_biases(whole, epsilon or 0.0)[q]) == pytest.approx(expected, rel=1e-12)
        assert float(best_biases(own, epsilon or 0.0)) == pytest.approx(expected, rel=1e-12)


def test_an_evaluation_of_regression_is_its_definition(lines):
    from hinge.solvers.kernel.device_rounds import Seen, look

    own = regression(lines)._replace(groups=lines.groups[:, :, :0], sums=lines.sums[:, :0])
    y, hi, beta, r = (one.numpy() for one in (own.y, own.hi, own.beta, own.r))
    for q in range(2):
        seen = Seen.from_numbers(look(own, 0.3)[q].tolist())
        g = y[q] - r[q]
        assert seen.b == ()
        assert seen.loss == pytest.approx(hi[q] @ np.maximum(np.abs(g) - 0.3, 0.0))
        assert seen.linear == pytest.approx(y[q] @ beta[q] - 0.3 * np.abs(beta[q]).sum())
        slope = np.where(np.abs(g) > 0.3, np.sign(g), 0.0)
        assert seen.pull == pytest.approx(hi[q] @ (slope * r[q]))
        inside = (beta[q] != 0.0) & (np.abs(beta[q]) < hi[q])
        optimal = np.where(beta[q] == 0.0, np.abs(g) <= 0.3, np.sign(beta[q]) * g >= 0.3)
        assert seen.free == inside.sum() and seen.off == (~inside & ~optimal & (hi[q] > 0.0)).sum()


def test_a_move_goes_down_and_is_written_down(lines):
    from hinge.solvers.kernel.device_rounds import move

    b, rho = torch.zeros(2, 1, dtype=torch.float64), torch.ones(2, 1, dtype=torch.float64)
    K, work = torch.eye(40, dtype=torch.float64).expand(2, 40, 40), torch.arange(40).expand(2, 40)
    before, path, e = lines.beta.clone(), lines.path.clone(), lines.r - lines.y
    lines = lines._replace(sums=(lines.groups * lines.beta[:, :, None]).sum(1))
    change, _ = move(lines, work, K, b, rho, 40)
    assert torch.equal(lines.beta, before + change) and torch.equal(lines.path, path + change.abs())
    assert ((e * change).sum(1) + 0.5 * (change**2).sum(1) < 0.0).all()
    assert change.sum(1).abs().max() < 1e-9 and not change[1, 30:].any()


def test_classes_with_sums_of_their_own_have_levels_of_their_own(lines):
    """Biases of two groups are those of each alone, and their products with the sums are part of the loss."""
    from hinge.problems.svm.levels import optimal_level
    from hinge.solvers.kernel.device_rounds import Seen, best_biases, look

    up = lines.y > 0.0
    own = lines._replace(
        y=0.0 * lines.y,
        groups=torch.stack([up, lines.y < 0.0], 2).to(torch.float64),
        sums=torch.tensor([[5.0, -4.0], [3.0, -6.0]], dtype=torch.float64),
    )
    b, found = best_biases(own), look(own)
    for q in range(2):
        r, box = own.r[q].numpy(), (own.hi - own.lo)[q].numpy()
        seen, loss = Seen.from_numbers(found[q].tolist()), 0.0
        for g, sign in ((0, 1.0), (1, -1.0)):
            at, mass = own.groups[q, :, g].numpy() > 0.0, sign * float(own.sums[q, g])
            m = sign * r[at]
            level = optimal_level(m, np.zeros(at.sum()), box[at], mass / box[at].sum())
            assert -sign * float(b[q, g]) == pytest.approx(level) == -sign * seen.b[g]
            loss += box[at] @ np.maximum(level - m, 0.0) - mass * level
        assert seen.loss == pytest.approx(loss)
