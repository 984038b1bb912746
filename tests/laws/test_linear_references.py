"""Law 4 for rows in memory: agrees with the literal pseudo-code of tests/reference on the same draws."""

import numpy as np
import pytest
from reference.draws import drawn, pegasos_draws, perceptron_visits, sdca_epochs
from reference.norma import norma
from reference.pegasos import pegasos
from reference.perceptron import perceptron
from reference.sdca import sdca
from reference.sgd import sgd

from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, SGD, Norma, Pegasos, Perceptron
from laws.data import compressed, tiny_rows, weights


def answer_of(solver, problem, T, seed):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("output", ["last", "uniform", "weighted"])
@pytest.mark.parametrize(("batch", "block", "projection"), [(1, 1, True), (1, 4, False), (4, 1, True)])
def test_pegasos_is_figure_1(seed, output, batch, block, projection):
    X, y = tiny_rows()
    solver = Pegasos(batch, projection, output, block_rows=block)
    w, _ = pegasos(X, y, 0.05, pegasos_draws(solver, 60, 150, seed), projection=projection, output=output)
    np.testing.assert_allclose(answer_of(solver, Regularized(X, y, 0.05), 150, seed).w, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("output", ["last", "uniform"])
@pytest.mark.parametrize("projection", [True, False])
def test_pegasos_on_all_rows_is_the_subgradient_projection_method(output, projection):
    X, y = tiny_rows()
    w, _ = pegasos(X, y, 0.05, [range(60)] * 150, projection=projection, output=output)
    answer = answer_of(Pegasos("all", projection, output), Regularized(X, y, 0.05), 150, 0)
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("output", ["last", "uniform", "weighted"])
@pytest.mark.parametrize(("bias", "batch"), [("subgradient", 1), ("subgradient", 6), ("eta", 6), ("exact", 15)])
def test_pegasos_with_a_free_bias_is_section_4(output, bias, batch):
    X, y = tiny_rows()
    block = batch if bias == "exact" else 1  # a row drawn twice may lie on the margin: a tie
    solver = Pegasos(batch, output=output, bias=bias, block_rows=block)
    draws = pegasos_draws(solver, 60, 80, 1)
    w, b = pegasos(X, y, 0.05, draws, output=output, bias=bias)
    s = answer_of(solver, Regularized(X, y, 0.05, bias="free"), 80, 1)
    np.testing.assert_allclose(s.w, w, rtol=1e-12, atol=1e-12)
    assert s.b == pytest.approx(b, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("bias", ["subgradient", "constant"])
def test_pegasos_with_weights_is_figure_1_with_weighted_losses(bias):
    X, y = tiny_rows()
    s = weights(60)
    solver = Pegasos(3)
    draws, relative = pegasos_draws(solver, 60, 100, 2), s / s.mean()
    if bias == "constant":
        wide = np.column_stack([X, np.full(60, 0.7)])
        w, _ = pegasos(wide, y, 0.05, draws, output="weighted", weight=relative)
        w, b = w[:-1], 0.7 * w[-1]
        problem = Regularized(X, y, 0.05, bias="penalized", bias_scale=0.7, weight=s)
    else:
        w, b = pegasos(X, y, 0.05, draws, output="weighted", bias=bias, weight=relative)
        problem = Regularized(X, y, 0.05, bias="free", weight=s)
    answer = answer_of(solver, problem, 100, 2)
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)
    assert answer.b == pytest.approx(b, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first_pass", ["plain", "sgd"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sdca_is_the_talks(seed, first_pass, weighted):
    X, y = tiny_rows()
    s = weights(60) if weighted else np.ones(60)
    rows = np.flatnonzero(s).tolist()
    solver = SDCA(first_pass, shrinking=False, block_rows=1)
    problem = Regularized(X, y, 0.05, weight=s if weighted else None)
    w, _, alpha = sdca(X, y, 0.05, sdca_epochs(rows, 4, seed), first_pass=first_pass, weight=s)
    answer = answer_of(solver, problem, 4 * len(rows), seed)
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", ["free", "penalized"])
@pytest.mark.parametrize("first_pass", ["plain", "sgd"])
def test_sdca_with_a_bias_is_the_talks_with_a_constant_feature(bias, first_pass):
    X, y = tiny_rows()
    solver = SDCA(first_pass, shrinking=False, block_rows=1)
    problem = Regularized(X, y, 0.05, bias=bias, bias_scale=0.5)
    kappa, keep = max(0.03 * np.median((X[::3] ** 2).sum(axis=1)), 10 * 0.05), 1.0
    if bias == "penalized":
        kappa, keep = 0.25 * kappa / (0.25 + kappa), 0.25 / (0.25 + kappa)
    w, b, alpha = sdca(X, y, 0.05, sdca_epochs(range(60), 5, 1), first_pass=first_pass, kappa=kappa, keep=keep)
    answer = answer_of(solver, problem, 300, 1)
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-12, atol=1e-12)
    assert answer.b == pytest.approx(b, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("projection", [False, True])
def test_norma_is_section_5(seed, average, projection):
    X, y = tiny_rows()
    w = norma(X, y, 0.05, drawn(60, range(1, 151), seed), p=0.6, average=average, projection=projection)
    answer = answer_of(Norma(average, 0.6, projection), Regularized(X, y, 0.05), 150, seed)
    np.testing.assert_allclose(answer.w, w, rtol=0, atol=1e-12 * np.abs(w).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("ball", [False, True])
def test_sgd_is_section_5(seed, average, ball):
    X, y = tiny_rows()
    draws = drawn(60, range(1, 151), seed)
    if ball:
        w = sgd(X, y, draws, eta=0.3, radius=1.5, average=average)
        problem = NormConstrained(X, y, 1.5)
    else:
        w = sgd(X, y, draws, eta=0.3, lam=0.05, average=average)
        problem = Regularized(X, y, 0.05)
    np.testing.assert_allclose(answer_of(SGD(average, 0.3), problem, 150, seed).w, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
def test_perceptron_is_rosenblatts(seed, average):
    X, y = tiny_rows()
    w = perceptron(X, y, perceptron_visits(60, 3, seed), average=average)
    answer = answer_of(Perceptron(average, 3), Regularized(X, y, 0.05), 180, seed)
    np.testing.assert_allclose(answer.w, w, rtol=1e-12, atol=1e-12)


def test_row_methods_read_the_rows_they_visit_and_no_more():
    X, y = tiny_rows()
    S = compressed(X)
    nonzeros = np.diff(S.indptr)
    batch = Pegasos(3, block_rows=2)
    visits = {
        Pegasos(): np.ravel(pegasos_draws(Pegasos(), 60, 90, 7)),
        batch: np.ravel(pegasos_draws(batch, 60, 90, 7)),
        Norma(projection=True): drawn(60, range(1, 91), 7),
        SGD(average=True): drawn(60, range(1, 91), 7),
        Perceptron(passes=2): perceptron_visits(60, 2, 7)[:90],
        SDCA(shrinking=False, block_rows=1): np.ravel(sdca_epochs(range(60), 2, 7))[:90],
    }
    for solver, rows in visits.items():
        problem = Regularized(S, y, 0.05)
        solver.advance(problem, solver.init(problem, 7), 90)
        assert problem.matrix.reads == nonzeros[rows].sum(), solver
