"""What all contestants of a race share: problems, references and judging."""

import numpy as np
import pytest

from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelRegularized, Regularized, Solution
from hinge.racing import Course
from hinge.racing.contestants import KERNEL_TEST_ROWS
from hinge.solvers import SBP, BlockDual, Simba, solve


@pytest.fixture
def course(adult):
    X, y = adult
    return Course(X[:1500], y[:1500], X[1500:], y[1500:], 1e-3, name="adult")


@pytest.fixture
def kernel_course(adult):
    X, y = adult
    return Course(X[:400], y[:400], X[1500:1600], y[1500:1600], 1e-2, Gaussian(0.05))


def test_the_reference_bounds_the_minimum_from_below(course):
    found = course.find_reference(1e-5, 30.0)
    better = solve(course.regularized(), _sdca(), seed=1)
    assert found.gap <= 1e-5
    assert found.bound <= better.certificate.objective
    norm, loss = course.regularized().criteria_of(better.solution)
    assert found.nu == pytest.approx(loss / norm, rel=0.05)


def test_linear_answers_are_judged_by_the_problem_itself(course):
    w = np.random.default_rng(0).normal(size=course.X.shape[1])
    objective, error, bound = course.judge_weights(w)
    assert bound == -np.inf
    assert objective == pytest.approx(Regularized(course.X, course.y, 1e-3).objective(Solution(w)))
    assert error == np.mean(np.sign(course.X_test @ w) != course.y_test)


def test_a_slack_constrained_answer_is_scaled_before_it_is_judged(course):
    course.find_reference(1e-4, 30.0)
    problem = course.slack_constrained()
    w = solve(course.regularized(), _sdca()).solution.w
    judged = [course.judge(problem, Solution(scale * w))[0] for scale in (1e-3, 1.0, 1e3)]
    # Lemma 2.1: at the slack of the optimum, the optimum over γ is the optimum.
    assert judged == pytest.approx([course.references["none"].bound] * 3, rel=0.01)
    assert Simba().rejects(problem) is None


def test_kernel_answers_are_judged_by_the_problem_itself(kernel_course):
    problem = kernel_course.regularized()
    answer = solve(problem, BlockDual()).solution
    objective, error, bound = kernel_course.judge(problem, answer)
    assert objective == pytest.approx(problem.objective(answer))
    assert bound <= objective
    K = Gaussian(0.05)(kernel_course.X_test.toarray(), kernel_course.X.toarray())
    assert error == np.mean((K @ answer.beta > 0) != (kernel_course.y_test > 0))


def test_a_peers_support_vectors_are_judged_with_their_bias(kernel_course):
    free = kernel_course.regularized("free")
    answer = solve(free, BlockDual()).solution
    used = np.flatnonzero(answer.beta)
    objective, _, bound = kernel_course.judge_support(used, answer.beta[used], answer.b)
    assert objective == pytest.approx(free.objective(answer), rel=1e-4)
    assert bound == pytest.approx(free.certificate(answer).bound, rel=1e-3)


def test_kernel_slack_answers_are_scaled(kernel_course):
    kernel_course.find_reference(1e-4, 30.0)
    problem = kernel_course.slack_constrained()
    assert SBP().rejects(problem) is None
    answer = solve(kernel_course.regularized(), BlockDual()).solution
    scaled = Expansion(7.0 * answer.beta, 0.0, 7.0 * answer.responses)
    judged = kernel_course.judge(problem, scaled)[0]
    own = KernelRegularized(kernel_course.X, kernel_course.y, 1e-2, Gaussian(0.05))
    assert judged == pytest.approx(own.objective(answer), rel=0.01)


def test_kernels_are_judged_on_a_part_of_many_test_rows(adult):
    X, y = adult
    many = np.tile(np.arange(2000), 2)
    course = Course(X[:50], y[:50], X[many], y[many], 1e-2, Gaussian(0.05))
    assert len(course.y_test) == course.X_test.shape[0] == KERNEL_TEST_ROWS


def test_a_part_has_both_classes(course):
    part = course.part(16)
    assert len(part.y) == 16
    assert set(part.y.tolist()) == {-1, 1}


def _sdca():
    from hinge.solvers import SDCA

    return SDCA()
