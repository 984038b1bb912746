"""Algorithm 3, and the projection in it."""

import numpy as np
import pytest
from reference import sublinear

from hinge.monitoring import Status, Stop
from hinge.problems import MaxMargin, Semidefinite
from hinge.problems.max_min.symmetric import onto_bounded_cone
from hinge.solvers import PrimalDual, SublinearSDP, solve
from hinge.solvers.papers.sublinear_sdp import project_sparsely

LARGE = 101


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / (2 * np.sqrt(n))


def matrices(n=4, m=6, size=1.0):
    """Matrices of norms up to `size`, most of which the identity satisfies."""
    rng = np.random.default_rng(0)
    A = np.stack([symmetric(n, seed) + 0.3 * np.eye(n) for seed in range(m)])
    return size * A * rng.uniform(0.5, 1.0, m)[:, None, None] / np.linalg.norm(A, axis=(1, 2))[:, None, None]


@pytest.mark.parametrize("size", [1.0, 5.0])
def test_it_is_algorithm_3_with_hazans_projection_to_half_of_its_accuracy(size):
    A = matrices(size=size)
    problem, solver = Semidefinite(A, relative=False), SublinearSDP("fixed", 0.5 * size, 1.0)
    T = solver.horizon(problem)
    result = solve(problem, solver, stop=Stop(0), seed=1)
    assert (result.status, result.n_iter) == (Status.FINISHED, T)
    X = sublinear.semidefinite(
        A / problem.scale, T, 1, lambda Y: project_sparsely(Y, (0.25 * size / problem.scale) ** 2).matrix
    )
    np.testing.assert_allclose(problem.matrix_of(result.state.x_sum / T), X, atol=1e-12)


def test_exact_projections_are_algorithm_2():
    """As `PrimalDual` has them, on the same draws: where ε is small, the two hardly differ."""
    A = matrices(3, 4)
    answers = []
    for solver in (SublinearSDP("fixed", 0.02, 0.04), PrimalDual("fixed", 0.02, 0.04)):
        problem = Semidefinite(A, relative=False)
        state = solver.advance(problem, solver.init(problem, 2), 8)
        answers.append(problem.matrix_of(state.x_sum / 8))
    assert np.linalg.norm(answers[0] - answers[1]) < 0.02


def test_pieces_make_the_whole():
    solver, problem = SublinearSDP(), Semidefinite(matrices())
    whole, pieces = solver.advance(problem, solver.init(problem, 4), 30), solver.init(problem, 4)
    for size in (1, 7, 22):
        pieces = solver.advance(problem, pieces, size)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)


def test_other_problems_and_settings_are_refused():
    with pytest.raises(ValueError, match="use PrimalDual"):
        solve(MaxMargin([[1.0, 0.0]]), SublinearSDP())
    with pytest.raises(ValueError, match="needs epsilon"):
        SublinearSDP("adaptive", None)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 6, 30])
@pytest.mark.parametrize("eps", [0.5, 0.05])
def test_it_is_as_near_as_its_gap_says(n, eps):
    Y = symmetric(n)
    found = project_sparsely(Y, eps)
    best = ((Y - onto_bounded_cone(Y)) ** 2).sum()
    assert ((Y - found.matrix) ** 2).sum() <= best + found.gap + 1e-12
    assert found.steps <= np.ceil(1 / eps)
    assert np.linalg.matrix_rank(found.matrix, tol=1e-9) <= found.steps
    assert np.linalg.eigvalsh(found.matrix)[0] > -1e-12 and np.trace(found.matrix) <= 1 + 1e-12
    assert found.gap <= eps or found.steps == np.ceil(1 / eps)


def test_a_vertex_is_found_in_one_step():
    v = np.array([0.6, 0.8, 0.0])
    found = project_sparsely(3 * np.outer(v, v), 1e-6)
    np.testing.assert_allclose(found.matrix, np.outer(v, v), atol=1e-9)
    assert found.steps == 1


def test_what_is_negative_goes_to_zero():
    found = project_sparsely(-np.eye(4), 0.1)
    assert not found.matrix.any() and found.steps == 0


def test_products_are_few_where_little_is_asked():
    """About log n/√ε of them a step, and not the n of an eigendecomposition."""
    found = project_sparsely(symmetric(200, 3), 0.05)
    assert found.products <= 60 * (found.steps + 1)


@pytest.mark.parametrize("eps", [0, -1.0, np.inf, np.nan])
def test_settings_are_checked(eps):
    with pytest.raises(ValueError, match="eps must be"):
        project_sparsely(np.eye(2), eps)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 20, LARGE])
@pytest.mark.parametrize("eps", [0.3, 0.05])
def test_the_sparse_projection_keeps_the_lemma(n, eps):
    for size in (0.01, 0.5, 3.0):
        Y = size * symmetric(n, n) * np.sqrt(n)
        found = project_sparsely(Y, eps)
        best = np.linalg.norm(Y - onto_bounded_cone(Y)) ** 2
        excess = np.linalg.norm(Y - found.matrix) ** 2 - best
        assert -1e-9 <= excess <= found.gap + 1e-9
        assert found.gap <= eps or found.steps == int(np.ceil(1 / eps))
        assert np.linalg.norm(found.matrix - onto_bounded_cone(Y)) ** 2 <= excess + 1e-9  # as in Theorem 4.6
        assert excess <= max(eps, 18.0 / (found.steps + 2))  # 8 times (3/2)², of vertices with two thirds of the slope
        assert np.linalg.matrix_rank(found.matrix, tol=1e-9) <= found.steps
        assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-12 and np.trace(found.matrix) <= 1 + 1e-9


def test_the_sparse_projection_repeats_itself_and_leaves_zero_alone():
    Y = symmetric(LARGE, 5)
    np.testing.assert_array_equal(project_sparsely(Y, 0.05).matrix, project_sparsely(Y, 0.05).matrix)
    assert project_sparsely(-np.eye(LARGE), 0.05).steps == 0
    assert project_sparsely(np.zeros((25, 25)), 0.05).steps == 0
    with pytest.raises(ValueError, match="eps must be a positive number"):
        project_sparsely(Y, 0.0)
