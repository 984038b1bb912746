import numpy as np
import pytest

from hinge.problems.max_min.semidefinite.sparse_projection import project_sparsely, top_pair
from hinge.problems.max_min.semidefinite.spectral import onto_bounded_cone


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / (2 * np.sqrt(n))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 6, 30])
@pytest.mark.parametrize("eps", [0.5, 0.05])
def test_it_is_as_near_as_its_gap_says(n, eps):
    Y = symmetric(n)
    found = project_sparsely(Y, eps)
    best = ((Y - onto_bounded_cone(Y)) ** 2).sum()
    assert ((Y - found.X) ** 2).sum() <= best + found.gap + 1e-12
    assert found.steps <= np.ceil(1 / eps)
    assert np.linalg.matrix_rank(found.X, tol=1e-9) <= found.steps
    assert np.linalg.eigvalsh(found.X)[0] > -1e-12 and np.trace(found.X) <= 1 + 1e-12
    assert found.gap <= eps or found.steps == np.ceil(1 / eps)


def test_a_vertex_is_found_in_one_step():
    v = np.array([0.6, 0.8, 0.0])
    found = project_sparsely(3 * np.outer(v, v), 1e-6)
    np.testing.assert_allclose(found.X, np.outer(v, v), atol=1e-9)
    assert found.steps == 1


def test_what_is_negative_goes_to_zero():
    found = project_sparsely(-np.eye(4), 0.1)
    assert not found.X.any() and found.steps == 0


@pytest.mark.parametrize("n", [3, 130])
def test_the_top_pair(n):
    M = symmetric(n, 1)
    top = np.linalg.eigvalsh(M)[-1]
    for accuracy in (0.1, 1e-8):
        found = top_pair(M.__matmul__, np.random.default_rng(2).standard_normal(n), accuracy)
        assert top - found.error - 1e-12 <= found.value <= top + 1e-12
        assert found.vector @ M @ found.vector == pytest.approx(found.value, abs=1e-12)
        assert found.error <= accuracy and found.products <= n
    crude = top_pair(M.__matmul__, np.random.default_rng(2).standard_normal(n), 1e-8, beyond=-1.0)
    assert crude.products <= found.products
    assert np.linalg.norm(M @ crude.vector - crude.value * crude.vector) <= (crude.value + 1.0) / 2


def test_products_are_few_where_little_is_asked():
    """About log n/√ε of them a step, and not the n of an eigendecomposition."""
    found = project_sparsely(symmetric(200, 3), 0.05)
    assert found.products <= 60 * (found.steps + 1)


@pytest.mark.parametrize("eps", [0, -1.0, np.inf, np.nan])
def test_settings_are_checked(eps):
    with pytest.raises(ValueError, match="eps must be"):
        project_sparsely(np.eye(2), eps)
