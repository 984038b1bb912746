import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.monitoring import Stop
from hinge.problems import Expansion, KernelNuClassification, KernelNuRegression, KernelRegularized
from hinge.problems.svm.level_gap import CLASSES, ONE_CLASS, TARGETS
from hinge.problems.svm.one_class import KernelOneClass
from hinge.solvers import SMO, LevelBlocks, solve
from hinge.solvers.kernel import solved_together
from hinge.solvers.kernel.solved_together import Sums, Together, solve_together, unsolved
from hinge.solvers.kernel.two_point import pair_steps

LAM = 0.02


@pytest.fixture
def three():
    """Three problems over one Gram matrix, on points that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))
    parts = [np.arange(0, 40), np.arange(20, 60), np.arange(0, 60, 2)]
    labels = [np.where(X[p, k] + 0.5 * rng.standard_normal(len(p)) > 0, 1, -1) for k, p in enumerate(parts)]
    rows, y = np.concatenate(parts), np.concatenate(labels).astype(np.int8)
    cuts = np.cumsum([0, *map(len, parts)])
    box = np.concatenate([np.full(len(p), 1 / (len(p) * LAM)) for p in parts])
    errors = np.zeros((1, 60))
    lo, hi, zeros = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), np.zeros(len(rows))
    three = np.full(3, LAM), np.zeros(3), np.ones(3), unsolved(3)
    return X, Together(K, errors, errors, rows, cuts, y, box, lo, hi, zeros, zeros.copy(), *three)


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_each_is_solved_as_it_would_be_alone(three, free):
    X, these = three
    assert solve_together(these, 0, 1e-6, free, True, np.inf) == 3
    for k in range(3):
        part = slice(these.cuts[k], these.cuts[k + 1])
        gram = Gram(as_points(X[these.rows[part]], Gaussian(0.3), exact=True))
        problem = KernelRegularized(gram, these.y[part], LAM, bias="free" if free else "none")
        alone = solve(problem, SMO(), stop=Stop(1e-9, max_iter=10**6))
        gap, objective, b = (these.found[name][k] for name in ("gap", "primal", "b"))
        assert gap <= 1e-6
        assert objective == pytest.approx(alone.certificate.objective, rel=2e-6)
        np.testing.assert_allclose(these.r[part] + b, alone.solution.responses + alone.solution.b, atol=5e-3)
        K = these.K[np.ix_(these.rows[part], these.rows[part])]
        np.testing.assert_allclose(these.r[part], K @ these.beta[part], atol=1e-9)


@pytest.mark.slow
def test_large_problems_are_solved_by_conjugate_steps(three, monkeypatch):
    _, these = three
    large = these._replace(beta=0 * these.beta, r=0 * these.r, found=unsolved(3))
    assert solve_together(these, 0, 1e-6, True, True, np.inf) == 3
    monkeypatch.setattr(solved_together, "MOST", 35)
    calls = []
    steps = solved_together._solve
    monkeypatch.setattr(solved_together, "_solve", lambda *args: calls.append(args[-1]) or steps(*args))
    assert solve_together(large, 0, 1e-6, True, True, np.inf) == 3
    assert set(calls) == {True}
    assert (large.found["gap"] <= 1e-6).all()
    np.testing.assert_allclose(large.found["primal"], these.found["primal"], rtol=2e-6)


def test_little_work_at_a_time_comes_to_the_same(three):
    _, these = three
    pieces = these._replace(beta=these.beta.copy(), r=these.r.copy(), found=unsolved(3))
    solve_together(these, 0, 1e-4, True, True, np.inf)
    at, calls = 0, 0
    while at < 3:
        at = solve_together(pieces, at, 1e-4, True, True, 1.0)
        calls += 1
    assert calls > 3
    np.testing.assert_allclose(pieces.found["gap"], these.found["gap"], atol=1e-4)
    np.testing.assert_allclose(pieces.r, these.r, atol=0.05)


def test_newton_steps_end_what_pairs_are_slow_to_end():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 2))
    K, y = np.exp(-0.01 * ((X[:, None] - X) ** 2).sum(2)), np.where(X[:, 0] * X[:, 1] > 0, 1, -1).astype(np.int8)
    box, errors, zeros = np.full(80, 1e4), np.zeros((1, 80)), np.zeros(80)
    lo, hi, numbers = np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), (np.full(1, 1 / 8e5), np.zeros(1))
    rows, cuts = np.arange(80), np.array([0, 80])
    these = Together(
        K, errors, errors, rows, cuts, y, box, lo, hi, zeros, zeros.copy(), *numbers, np.ones(1), unsolved(1)
    )
    calls = 0
    while solve_together(these, 0, 1e-6, True, True, 1.0) == 0:
        calls += 1
    assert calls > 3 and these.found["gap"][0] <= 1e-6
    assert pair_steps(K, these.beta.copy(), K @ these.beta - y, lo, hi, 1e-4, 3, None, None) == 0


@pytest.mark.parametrize("form", [ONE_CLASS, CLASSES, TARGETS])
def test_those_with_given_sums_are_solved_as_they_would_be_alone(form):
    rng = np.random.default_rng(1)
    X, n, nu = rng.standard_normal((40, 2)), 40, 0.3
    K, t = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2)), X[:, 0] ** 2 - 3.0
    gram = Gram(as_points(X, Gaussian(0.5), exact=True))
    if form == ONE_CLASS:
        problem, sign, rows, linear = KernelOneClass(gram, nu), np.ones(n), np.arange(n), np.zeros(n)
    elif form == CLASSES:
        sign = np.where(np.arange(n) < 25, 1.0, -1.0)
        problem, rows, linear = KernelNuClassification(gram, sign, nu), np.arange(n), np.zeros(n)
    else:
        problem, sign, rows = KernelNuRegression(gram, t, nu), np.repeat([1.0, -1.0], n), np.tile(np.arange(n), 2)
        linear = np.tile(problem.linear, 2)
    zeros, box = np.zeros(len(rows)), np.ones(len(rows))
    beta = sign * np.where(sign > 0, problem.shares[0], problem.shares[-1])
    sums = Sums(form, np.array([problem.mass]), np.array([int((sign > 0).sum())]), np.zeros((1, 2)), problem.centre)
    lo, hi, cuts, errors = np.minimum(sign, 0.0), np.maximum(sign, 0.0), np.array([0, len(rows)]), np.zeros((1, n))
    numbers = np.ones(1), np.full(1, problem.faint), np.ones(1), unsolved(1)
    these = Together(K, errors, errors, rows, cuts, linear, box, lo, hi, beta, zeros, *numbers)
    assert solve_together(these, 0, 1e-6, True, True, np.inf, None, sums) == 1
    gap, objective, b = (these.found[name][0] for name in ("gap", "primal", "b"))
    alone = solve(problem, LevelBlocks(), stop=Stop(1e-9, max_iter=1000))
    assert gap <= 1e-6 and objective == pytest.approx(alone.certificate.objective, rel=1e-6)
    net = np.bincount(rows, these.beta)
    np.testing.assert_allclose(K @ net + b, alone.solution.responses + alone.solution.b, atol=1e-3)
    found = problem.certificate(Expansion(net, b, K @ net, None, 2 * n))
    assert found.gap == pytest.approx(gap, rel=1e-2, abs=1e-7)


def test_unsolved_problems_say_so():
    found = unsolved(2)
    assert found.shape == (2,)
    assert np.isinf(found["gap"]).all() and np.isnan(found["primal"]).all()
