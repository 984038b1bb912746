"""Law 4 for kernel rows: agrees with the literal pseudo-code of tests/reference on the same draws."""

from functools import cache

import numpy as np
import pytest
from reference.draws import batches, visits
from reference.kernel_pegasos import kernel_pegasos
from reference.kernel_perceptron import batch_perceptron, kernel_perceptron
from reference.kernel_sdca import kernel_sdca
from reference.sbp import one_basin, sbp, two_basins
from reference.smo import smo

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.slack_constrained import Basins
from hinge.sampling import draw_unit, key_of
from hinge.solvers import SBP, SMO, KernelPegasos, KernelPerceptron, KernelSDCA, solve
from laws.cases import LAM
from laws.data import tiny_rows, weights


@cache
def gram_matrix(n=60):
    """Tiny points, labels, and all kernel values, in float64: those in float32 are not quite symmetric."""
    X, y = tiny_rows(n)
    points = as_points(X, Gaussian(0.25), exact=True)
    K = np.empty((n, n))
    points.fill(np.arange(n), np.arange(n), K)
    return points, y, K


def answer_of(solver, problem, T, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


def assert_is(answer, beta, K):
    np.testing.assert_allclose(answer.beta, beta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer.responses, K @ beta, rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("batch", [1, 4])
def test_pegasos_is_section_4(seed, average, projection, batch):
    points, y, K = gram_matrix()
    solver = KernelPegasos(batch, projection, average)
    draws = batches(60, batch, 150, seed)
    beta = kernel_pegasos(K, y, LAM, draws, projection=projection, average=average)
    assert_is(answer_of(solver, KernelRegularized(Gram(points), y, LAM), 150, seed), beta, K)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("block", [1, 3, 32])
@pytest.mark.parametrize("weighted", [False, True])
def test_sdca_is_one_exact_step_after_another(seed, block, weighted):
    points, y, K = gram_matrix()
    s = weights(60) if weighted else None
    problem = KernelRegularized(Gram(points), y, LAM, weight=s)
    beta = kernel_sdca(K, y, LAM, visits(60, 230, seed), weight=s)
    assert_is(answer_of(KernelSDCA(block), problem, 230, seed), beta, K)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
def test_perceptron_is_rosenblatts(seed, average):
    points, y, K = gram_matrix()
    beta = kernel_perceptron(K, y, visits(60, 170, seed), average=average)
    problem = KernelSlackConstrained(Gram(points), y, 0.1)
    assert_is(answer_of(KernelPerceptron(average, 3), problem, 170, seed), beta, K)


def test_batch_perceptron_adds_the_worst_point():
    points, y, K = gram_matrix()
    problem = KernelRegularized(Gram(points), y, LAM)
    for T in (1, 10, 40):
        assert_is(answer_of(KernelPerceptron(batch=True), problem, T), batch_perceptron(K, y, T), K)


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("T", [1, 2, 20, 80])
def test_smo_is_wss_3(bias, weighted, T):
    points, y, K = gram_matrix()
    s = weights(60) if weighted else None
    problem = KernelRegularized(Gram(points), y, LAM, weight=s, bias=bias)
    beta = smo(K, y, LAM, T, free=bias == "free", weight=s)
    assert_is(answer_of(SMO(), problem, T), beta, K)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize(("output", "mean"), [("last", "last"), ("uniform", "uniform"), ("average", "weighted")])
def test_sbp_is_section_3_4(seed, bias, output, mean):
    points, y, K = gram_matrix()
    key = key_of(seed)

    def choose(t, p):
        u, wet = float(draw_unit(key, t - 1)), np.flatnonzero(p)
        if bias == "free":
            wet, u = wet[y[wet] == (1 if u < 0.5 else -1)], 2 * u % 1
        return wet[int(u * len(wet))]

    beta, _ = sbp(K, y, 0.05, 80, choose, bias=bias == "free", output=mean)
    problem = KernelSlackConstrained(Gram(points), y, 0.05, bias=bias)
    assert_is(answer_of(SBP(output=output), problem, 80, seed), beta, K)


def test_the_reference_of_the_sbp_finds_water_levels():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(4, 30))
        y = np.where(np.arange(n) < max(2, n // 3), 1, -1)
        c, nu = rng.standard_normal(n), float(rng.random() * 0.3)
        share = np.full(n, 1 / n)
        p, gamma = one_basin(c, n * nu)
        assert gamma == pytest.approx(Basins(y * c, y, share, free=False).level(nu)[0], abs=1e-12)
        assert np.maximum(gamma - c, 0).sum() == pytest.approx(n * nu)
        assert p.sum() == pytest.approx(1)
        p, gamma, b = two_basins(c, y, n * nu)
        assert gamma == pytest.approx(Basins(y * c, y, share, free=True).level(nu)[0], abs=1e-12)
        assert np.maximum(gamma - c - y * b, 0).sum() == pytest.approx(n * nu)
        assert p @ y == pytest.approx(0, abs=1e-12)
        assert p.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_reference_of_the_sbp_approaches_the_optimum(bias):
    points, y, K = gram_matrix()
    problem = KernelRegularized(Gram(points), y, 0.05, bias=bias)
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).solution
    norm, loss = problem.criteria_of(best)
    slack = KernelSlackConstrained(problem.gram, y, loss / norm, bias=bias)
    rng = np.random.default_rng(1)
    beta, _ = sbp(K, y, slack.nu, 3000, lambda t, p: rng.choice(60, p=p), bias=bias == "free", output="weighted")
    level = slack.objective(best._replace(beta=beta, responses=K @ beta))
    assert 0.95 / norm < level < 1.0000001 / norm  # Lemma 2.1: the optimum is 1/‖w*‖


def test_only_points_that_move_cost_kernel_values():
    points, y, K = gram_matrix()
    draws = np.ravel(batches(60, 1, 40, 7))
    violators = {
        i
        for t, i in enumerate(draws)
        if t == 0 or y[i] * (K[i] @ kernel_pegasos(K, y, LAM, draws[:t, None], average=False)) < 1
    }
    order = visits(60, 60, 7)
    mistakes = {
        i for t, i in enumerate(order) if y[i] * (K[i] @ kernel_perceptron(K, y, order[:t], average=False)) <= 0
    }
    counted = {
        KernelPegasos(): (40, len(violators)),
        KernelPerceptron(): (60, len(mistakes)),
        KernelSDCA(block=1): (60, np.count_nonzero(kernel_sdca(K, y, LAM, order))),
    }
    for solver, (T, rows) in counted.items():
        problem = KernelRegularized(Gram(points), y, LAM)
        solver.advance(problem, solver.init(problem, 7), T)
        assert problem.kernel_evals == 60 * rows, solver
        assert rows < T
