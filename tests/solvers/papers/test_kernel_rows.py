import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.solvers import SMO, KernelPegasos, KernelPerceptron, KernelSDCA
from hinge.solvers.papers.kernel_rows import combine_rows


def problem_of(rows, **options):
    X, y = rows
    return KernelRegularized(Gram(as_points(X, Gaussian(0.25), exact=True)), y, 0.01, **options)


@pytest.mark.parametrize("solver", [KernelPegasos(), KernelPerceptron(), KernelSDCA(), SMO()], ids=repr)
def test_each_says_what_it_refuses_and_what_to_use(solver, tiny):
    weighted = problem_of(tiny, weight=np.arange(60) % 4 / 2.0)
    assert solver.rejects(problem_of(tiny)) is None
    name = type(solver).__name__
    for problem, allowed in ((problem_of(tiny, bias="free"), (SMO,)), (weighted, (SMO, KernelSDCA))):
        reason = solver.rejects(problem)
        assert reason is None if isinstance(solver, allowed) else reason.startswith(name) and "; use " in reason
    slack = KernelSlackConstrained(problem_of(tiny).gram, tiny[1], 0.1)
    if not isinstance(solver, KernelPerceptron):  # which takes the points of any kernel problem
        assert solver.rejects(slack).startswith(f"{name} solves KernelRegularized problems")


def test_sums_of_rows(tiny):
    problem = problem_of(tiny)
    i, coef = np.array([3, 7]), np.array([0.5, -2.0])
    np.testing.assert_allclose(combine_rows(problem, i, coef), coef @ problem.gram.whole()[i])


@pytest.mark.parametrize("solver", [KernelSDCA(), SMO()], ids=repr)
def test_the_gap_is_computed_at_every_stride(solver, tiny):
    problem = problem_of(tiny)
    state = solver.init(problem, 0)
    assert solver.stride(problem) == 4 == solver.pause(problem, state)
    state = solver.advance(problem, state, 6)
    assert solver.pause(problem, state) == 2
    state = solver.advance(problem, state, 2)
    found = problem.certificate(solver.solution(problem, state))
    assert solver.estimate(problem, state) == pytest.approx(found.unrounded, rel=1e-9)
