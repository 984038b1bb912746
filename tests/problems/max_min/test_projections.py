import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hinge.problems.max_min.projections import onto_ball, onto_cap, onto_simplex
from hinge.problems.max_min.semidefinite.sparse_projection import project_sparsely
from hinge.problems.max_min.semidefinite.spectral import onto_bounded_cone, top_eigenvalue

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


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 20, LARGE])
@pytest.mark.parametrize("eps", [0.3, 0.05])
def test_the_sparse_projection_keeps_the_lemma(n, eps):
    for size in (0.01, 0.5, 3.0):
        Y = symmetric(n, n, size)
        found = project_sparsely(Y, eps)
        best = np.linalg.norm(Y - onto_bounded_cone(Y)) ** 2
        excess = np.linalg.norm(Y - found.X) ** 2 - best
        assert -1e-9 <= excess <= found.gap + 1e-9
        assert found.gap <= eps or found.steps == int(np.ceil(1 / eps))
        assert np.linalg.norm(found.X - onto_bounded_cone(Y)) ** 2 <= excess + 1e-9  # as in Theorem 4.6
        assert excess <= max(eps, 18.0 / (found.steps + 2))  # 8 times (3/2)², of vertices with two thirds of the slope
        assert np.linalg.matrix_rank(found.X, tol=1e-9) <= found.steps
        assert np.linalg.eigvalsh(found.X)[0] >= -1e-12 and np.trace(found.X) <= 1 + 1e-9


def test_the_sparse_projection_repeats_itself_and_leaves_zero_alone():
    Y = symmetric(LARGE, 5)
    np.testing.assert_array_equal(project_sparsely(Y, 0.05).X, project_sparsely(Y, 0.05).X)
    assert project_sparsely(-np.eye(LARGE), 0.05).steps == 0
    assert project_sparsely(np.zeros((25, 25)), 0.05).steps == 0
    with pytest.raises(ValueError, match="eps must be a positive number"):
        project_sparsely(Y, 0.0)


def test_entries_beside_which_the_total_vanishes():
    for size in (1e20, -1e20, 1e300):
        np.testing.assert_allclose(onto_simplex(np.array([size, 0.5 * size - abs(size), -1e301])), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(onto_simplex(np.full(4, 1e30)), 0.25)
