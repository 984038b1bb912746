import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from laws.data import known_game

from hinge.access import DenseTable
from hinge.problems.max_min.base import Fraction, Strategies
from hinge.problems.max_min.linear import (
    LinearMaxMin,
    MatrixGame,
    onto_ball,
    onto_cap,
    onto_simplex,
    project_onto_simplex,
)
from hinge.problems.max_min.symmetric import onto_bounded_cone, top_eigenvalue

A = np.random.default_rng(0).standard_normal((30, 5)) * (np.random.default_rng(1).random((30, 5)) < 0.6)
LAYOUTS = {
    "dense": lambda: A,
    "csr": lambda: sp.csr_array(A),
    "table": lambda: DenseTable(A, np.ascontiguousarray(A.T)),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


@every_layout
def test_values_and_slopes_are_products(layout):
    problem = LinearMaxMin(layout())
    x, p = np.linspace(-1, 1, 5), np.random.default_rng(2).dirichlet(np.ones(30))
    np.testing.assert_allclose(problem.values(x), A @ x, rtol=1e-13)
    np.testing.assert_allclose(problem.quick_values(x), A @ x, rtol=1e-13)
    np.testing.assert_allclose(problem.combine(p), A.T @ p, atol=1e-15)
    np.testing.assert_allclose(problem.quick_combine(p), A.T @ p, atol=1e-15)
    np.testing.assert_allclose(problem.values_at(np.array([3, 7]), x), A[[3, 7]] @ x)
    np.testing.assert_array_equal(problem.grad_at(4), A[4])
    np.testing.assert_array_equal(problem.column(2), A[:, 2])
    np.testing.assert_allclose(problem.sample_of(np.array([3, 7]))(x), A[[3, 7]] @ x)


@every_layout
def test_the_estimate_is_unbiased_and_its_mean_square_is_bounded(layout):
    problem = LinearMaxMin(layout())
    x = np.array([0.5, -0.3, 0.0, 0.2, 0.1])
    chance = x**2 / (x @ x)
    ends = np.cumsum(chance)
    units = [end - c / 2 for end, c in zip(ends, chance, strict=True) if c > 0]  # one for each column
    found = np.array([problem.estimate_values(x, u) for u in units])
    mean = chance[chance > 0] @ found
    np.testing.assert_allclose(mean, A @ x, atol=1e-12)
    square = chance[chance > 0] @ found**2
    assert (square <= (A**2).sum(axis=1) * (x @ x) * (1 + 1e-12)).all()
    assert problem.estimate_values(np.zeros(5), 0.5) is None


def test_reads_are_counted_and_announced():
    problem = LinearMaxMin(sp.csr_array(A))
    assert problem.step_reads == max((A != 0).sum(1)) + max((A != 0).sum(0))
    assert problem.lower_reads == problem.pass_cells == np.count_nonzero(A)
    problem.values(np.ones(5))
    assert problem.reads == np.count_nonzero(A)
    sampled = LinearMaxMin(A, fraction=Fraction(0.5, 0.1))
    assert sampled.lower_reads == sampled.fraction.size * 5
    sampled.least(np.ones(5))
    assert 0 < sampled.reads <= sampled.fraction.size * 5
    assert sampled.lower_reads == 0  # the sample is read once


def test_rounding_is_bounded():
    from fractions import Fraction as Exact

    problem, x = LinearMaxMin(A), np.random.default_rng(3).standard_normal(5)
    values = problem.values(x)
    for i in range(30):
        exact = sum(Exact(a) * Exact(b) for a, b in zip(A[i].tolist(), x.tolist(), strict=True))
        assert abs(Exact(float(values[i])) - exact) <= Exact(problem.value_error(x, 0.0))


def test_bad_input():
    with pytest.raises(ValueError, match="nothing to solve"):
        LinearMaxMin(np.zeros((3, 0)))
    broken = A.copy()
    broken[2, 1] = np.nan
    with pytest.raises(ValueError, match="Value number 2 is not finite"):
        LinearMaxMin(DenseTable(broken, np.ascontiguousarray(broken.T))).values(np.ones(5))


@pytest.mark.parametrize("seed", range(4))
def test_strategies_bound_the_value(seed):
    A, value = known_game(seed)
    game, rng = MatrixGame(A), np.random.default_rng(seed)
    for _ in range(20):
        x, p = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(12))
        lower, upper = game.bounds(Strategies(x, p))
        assert lower == pytest.approx((A @ x).min(), abs=1e-12)
        assert upper == pytest.approx((p @ A).max(), abs=1e-12)
        assert lower <= value + 1e-9 and upper >= value - 1e-9


def test_gaps_are_relative_to_the_largest_payoff():
    A, _ = known_game()
    game = MatrixGame(A)
    assert game.scale == np.abs(A).max()
    assert game.gap(0.0, 0.5) == pytest.approx(0.5 / np.abs(A).max())
    assert MatrixGame(A, largest=4.0).scale == 4.0
    assert MatrixGame(np.zeros((2, 2))).scale == 1.0


def test_a_column_is_drawn_by_its_weight():
    A, _ = known_game()
    game, x = MatrixGame(A), np.array([0.5, 0.25, 0.25] + [0.0] * 6)
    for unit, j in ((0.1, 0), (0.6, 1), (0.9, 2)):
        np.testing.assert_array_equal(game.estimate_values(x, unit), A[:, j])


def test_the_simplex():
    game = MatrixGame(known_game()[0])
    assert game.start().sum() == pytest.approx(1.0)
    assert game.support(np.array([1.0, 3.0, 2.0])) == 3.0
    x = game.project(np.array([2.0, 1.0] + [0.0] * 7))
    assert x.tolist() == [1.0] + [0.0] * 8
    # a mean that sums to 1 only to rounding counts as if it did
    assert game.lower(0.5 * game.start()) == pytest.approx(game.lower(game.start()), abs=1e-14)


LARGE = 101


def symmetric(n, seed, size=1.0):
    M = size * np.random.default_rng(seed).standard_normal((n, n))
    return (M + M.T) / 2


def in_cone(n, seed, *, unit_trace):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, rng.integers(1, n + 1)))
    X = half @ half.T
    return X / np.trace(X) * (1.0 if unit_trace else rng.random())


def direction(rng, n):
    v = rng.standard_normal(n)
    return v / np.linalg.norm(v)


VECTORS = {
    "ball": (onto_ball, lambda rng, n: rng.random() * direction(rng, n)),
    "simplex": (onto_simplex, lambda rng, n: rng.dirichlet(np.ones(n))),
    "cap": (onto_cap, lambda rng, n: rng.random() * rng.dirichlet(np.ones(n))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VECTORS)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), size=st.sampled_from([0.01, 1.0, 100.0]))
def test_a_projection_of_vectors_is_the_nearest_point(name, seed, n, size):
    project, point_of = VECTORS[name]
    rng = np.random.default_rng(seed)
    a, b = size * rng.standard_normal((2, n))
    x, z = project(a), project(b)
    np.testing.assert_allclose(project(x), x, atol=1e-12)
    assert np.linalg.norm(x - z) <= np.linalg.norm(a - b) * (1 + 1e-9)
    for _ in range(5):  # no point of the set lies on the far side
        assert (a - x) @ (point_of(rng, n) - x) <= 1e-9 * (1 + size)


@pytest.mark.slow
@pytest.mark.parametrize("unit_trace", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 17, 24, 40])
@pytest.mark.parametrize("size", [0.02, 1.0, 30.0])
def test_the_nearest_bounded_matrix(n, size, unit_trace):
    for seed in range(3):
        A, B = symmetric(n, seed, size), symmetric(n, seed + 100, size)
        X, Z = (onto_bounded_cone(M, unit_trace=unit_trace) for M in (A, B))
        assert np.linalg.eigvalsh(X)[0] >= -1e-13
        assert np.trace(X) <= 1 + 1e-12
        assert not unit_trace or np.trace(X) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(onto_bounded_cone(X, unit_trace=unit_trace), X, atol=1e-12)
        assert np.linalg.norm(X - Z) <= np.linalg.norm(A - B) * (1 + 1e-9)
        for k in range(5):
            other = in_cone(n, k, unit_trace=unit_trace)
            assert np.vdot(A - X, other - X) <= 1e-9 * (1 + size * n)


@pytest.mark.parametrize("n", [4, 30])
def test_few_and_many_vectors_agree(n):
    for shift in (0.0, 5.0):
        M = symmetric(n, 1, 0.02) + shift * np.diag(np.arange(n) >= n - 2)
        values, vectors = np.linalg.eigh(M)
        expected = (vectors * onto_cap(values)) @ vectors.T
        np.testing.assert_allclose(onto_bounded_cone(M), expected, atol=1e-12)
    np.testing.assert_array_equal(onto_bounded_cone(-np.eye(n)), np.zeros((n, n)))


@pytest.mark.parametrize("n", [1, 5, 40, LARGE])
def test_the_top_eigenvalue(n):
    M = symmetric(n, 3)
    assert top_eigenvalue(M) == pytest.approx(np.linalg.eigvalsh(M)[-1], abs=1e-12)


def test_entries_beside_which_the_total_vanishes():
    for size in (1e20, -1e20, 1e300):
        np.testing.assert_allclose(onto_simplex(np.array([size, 0.5 * size - abs(size), -1e301])), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(onto_simplex(np.full(4, 1e30)), 0.25)


def by_sorting(x):
    """The nearest strategy, by a sort."""
    x = x - x.max()
    down = -np.sort(-x)
    excess = np.cumsum(down) - 1.0
    k = int(np.flatnonzero(down * np.arange(1, len(x) + 1) > excess)[-1])
    return np.maximum(x - excess[k] / (k + 1), 0.0)


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_nearest_strategy_is_that_of_a_sort(n, size):
    v = size * np.random.default_rng(n).standard_normal(n)
    for vector in (v, v + 1e3, np.zeros(n), np.round(v / size) * size):
        out = onto_simplex(vector)
        np.testing.assert_allclose(out, by_sorting(vector), atol=1e-12 * (1 + np.abs(vector).max()))
        assert out.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_projection_where_others_are_infinitely_far():
    z = np.array([-np.inf, 0.0, 0.0])
    project_onto_simplex(z)
    np.testing.assert_array_equal(z, [0.0, 0.5, 0.5])
