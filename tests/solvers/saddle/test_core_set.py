"""Core-sets against a conic solver, on points of all kinds."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.monitoring import Status, Stop
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers import solve
from hinge.solvers.saddle.core_set import CoreSet

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from ball_instances import FAMILIES, clarabel_ball

RNG = np.random.default_rng(1)
LINE = np.outer(RNG.standard_normal(30), RNG.standard_normal(5)) + 2.0
SIZES = (300, 4), (120, 40)
KINDS = {
    **{f"{name}-{n}x{d}": family(n, d) for name, family in FAMILIES.items() for n, d in SIZES},
    "few points": RNG.standard_normal((5, 30)),
    "one column": RNG.standard_normal((50, 1)),
    "a line": LINE,
    "twice": np.repeat(RNG.standard_normal((20, 3)), 3, axis=0),
    "still columns": np.hstack([np.full((40, 2), 7.0), RNG.standard_normal((40, 3))]),
    "far off": RNG.standard_normal((60, 5)) + 1e4,
    "a sphere": (lambda Z: Z / np.linalg.norm(Z, axis=1)[:, None])(RNG.standard_normal((200, 3))),
    "sparse": sp.random_array((100, 30), density=0.1, format="csr", rng=np.random.default_rng(2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("tol", [1e-2, 1e-7])
def test_the_certificate_holds_the_exact_radius(name, tol):
    A = KINDS[name]
    exact = clarabel_ball(A)[1]
    problem = EnclosingBall(A)
    result = solve(problem, CoreSet(), stop=Stop(tol))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= tol
    assert -result.certificate.bound <= exact * (1 + 1e-6) + 1e-12
    assert -result.certificate.objective >= exact * (1 - 1e-6) - 1e-12
    again = problem.certificate(result.solution)
    np.testing.assert_allclose(again[:2], result.certificate[:2], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("A", [np.full((1, 4), 0.1), np.full((9, 3), 0.3), np.full((600, 2), -1e9 / 3)])
def test_a_single_place(A):
    result = solve(EnclosingBall(A), CoreSet(), stop=Stop(1e-12))
    assert result.certificate.gap == 0.0
    assert result.certificate.objective == 0.0
    np.testing.assert_array_equal(result.solution.x, A[0])


def test_two_points():
    result = solve(EnclosingBall(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 0.0]])), CoreSet(), stop=Stop(1e-12))
    np.testing.assert_allclose(result.solution.x, [1.0, 0.0], atol=1e-12)
    assert result.certificate.objective == pytest.approx(-1.0, rel=1e-12)


def test_few_passes():
    for family in FAMILIES.values():
        problem = EnclosingBall(family(20_000, 50))
        result = solve(problem, CoreSet(), stop=Stop(1e-3))
        assert result.status is Status.CONVERGED
        assert problem.reads <= 7 * problem.pass_cells


@pytest.mark.parametrize("cuts", [[6], [1] * 6, [2, 0, 3, 1]])
def test_cutting_a_run_changes_nothing(cuts):
    solver, whole = CoreSet(first=4), EnclosingBall(KINDS["gauss-300x4"])
    expected = solver.advance(whole, solver.init(whole), 6)
    problem = EnclosingBall(KINDS["gauss-300x4"])
    state = solver.init(problem)
    for n in cuts:
        state = solver.advance(problem, state, n)
    for a, b in zip(state, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert problem.reads == whole.reads


def test_it_resumes_and_starts_warm():
    A = KINDS["gauss-120x40"]
    full = solve(EnclosingBall(A), CoreSet(first=4), stop=Stop(1e-9))
    part = solve(EnclosingBall(A), CoreSet(first=4), stop=Stop(1e-9, max_iter=2))
    assert part.status is Status.MAX_ITER
    rest = solve(EnclosingBall(A), CoreSet(first=4), stop=Stop(1e-9), state=part.state)
    np.testing.assert_array_equal(rest.solution.x, full.solution.x)
    warm = solve(EnclosingBall(A), CoreSet(), stop=Stop(1e-6), start=full.solution)
    assert warm.n_iter <= 2


def test_reads_never_pass_their_limit():
    A = FAMILIES["gauss"](2000, 10)
    problem = EnclosingBall(A)
    result = solve(problem, CoreSet(first=2), stop=Stop(1e-12, max_reads=6 * A.size))
    assert result.status is Status.MAX_READS
    assert problem.reads <= 6 * A.size


def test_it_ends_where_floating_point_does():
    result = solve(EnclosingBall(KINDS["gauss-300x4"]), CoreSet(), stop=Stop(0.0))
    assert result.status is Status.STALLED
    assert result.certificate.gap < 1e-10


def test_refusals():
    with pytest.raises(ValueError, match="EnclosingBall"):
        solve(MaxMargin(np.eye(3)), CoreSet())
    with pytest.raises(ValueError, match="inner"):
        CoreSet(inner=2.0)
    with pytest.raises(ValueError, match="first"):
        CoreSet(first=0)
