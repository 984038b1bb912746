"""The laws of test_contract.py for the solvers that see points through a kernel.

Run as a script, this file writes the answers of all cases: that is how law 8 gets those without the JIT.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from clock import within
from ctrl_c import interrupt_after
from default_cases import default_cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.kernel_pegasos import kernel_pegasos
from reference.kernel_perceptron import batch_perceptron, kernel_perceptron
from reference.kernel_sdca import kernel_sdca
from reference.sbp import one_basin, sbp, two_basins
from reference.smo import smo
from test_contract import bits, compressed, data, run, weights

from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Polynomial
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.slack_constrained import Basins
from hinge.sampling import draw_index, draw_unit, key_of
from hinge.solvers import (
    SBP,
    SMO,
    ActiveSet,
    BlockDual,
    KernelPegasos,
    KernelPerceptron,
    KernelSDCA,
    solve,
)

N = 80
LAM = 0.0137  # of which no small multiple is a short binary fraction: no ties


class Case(NamedTuple):
    """A solver with settings, and the kind of problem to give it."""

    solver: object
    bias: str = "none"
    weighted: bool = False
    slack: bool = False
    T: int = 150

    def problem(self, X, y, lam=LAM, kernel=None, weight=None, nu=0.05, **gram):
        """A problem with a Gram matrix of its own; `X` may be one."""
        if not isinstance(X, Gram):
            X = Gram(as_points(X, kernel or Gaussian(0.25), exact=gram.pop("exact", False)), **gram)
        if self.weighted and weight is None:
            weight = weights(len(y))
        options = {"bias": self.bias, "weight": weight if self.weighted else None}
        if self.slack:
            return KernelSlackConstrained(X, y, nu, **options)
        return KernelRegularized(X, y, lam, **options)


CASES = {
    "block-dual": Case(BlockDual(), T=8),
    "block-dual-small": Case(BlockDual(block=4, first=2), T=60),
    "block-dual-free": Case(BlockDual(block=4, first=2), "free", T=60),
    "block-dual-free-weighted": Case(BlockDual(block=4, first=2), "free", weighted=True, T=60),
    "active-set": Case(ActiveSet(), T=6),
    "active-set-free": Case(ActiveSet(), "free", T=6),
    "active-set-free-weighted": Case(ActiveSet(), "free", weighted=True, T=6),
    "pegasos": Case(KernelPegasos()),
    "pegasos-last": Case(KernelPegasos(average=False)),
    "pegasos-batch": Case(KernelPegasos(batch_size=5, projection=True)),
    "sdca": Case(KernelSDCA()),
    "sdca-weighted": Case(KernelSDCA(block=3), weighted=True),
    "perceptron": Case(KernelPerceptron(passes=3)),
    "perceptron-last": Case(KernelPerceptron(average=False, passes=3), slack=True),
    "perceptron-batch": Case(KernelPerceptron(batch=True)),
    "sbp": Case(SBP(), slack=True, T=80),
    "sbp-free": Case(SBP(batch_size=3, output="uniform", keep_p=True), "free", slack=True, T=40),
    "sbp-best-free": Case(SBP(batch_size=4, output="best"), "free", slack=True, T=40),
    "smo": Case(SMO(), T=60),
    "smo-free": Case(SMO(), "free", T=60),
    "smo-free-weighted": Case(SMO(), "free", weighted=True, T=60),
    "smo-weighted": Case(SMO(), weighted=True, T=60),
}
CASES |= default_cases(CASES, Case, "kernel")
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def assert_close(a, b, tol=1e-9):
    """Two expansions equal to rounding."""
    np.testing.assert_allclose(a.beta, b.beta, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.responses, b.responses, rtol=tol, atol=tol)
    assert a.b == pytest.approx(b.b, rel=tol, abs=tol)


@cache
def uncut(name):
    """State and solution of the uncut run, with a Gram matrix of its own."""
    case = CASES[name]
    problem = case.problem(*data(N))
    state = run(case, problem, [case.T])
    return bits(state), bits(case.solver.solution(problem, state))


# --- 1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=4)
@given(inner=st.lists(st.integers(0, 150), max_size=8))
@example(inner=list(range(150)))  # chunks of one
@example(inner=[0, 0, 1, 1])  # empty chunks
@example(inner=[79, 80, 81])  # about the end of a pass
def test_chunked_equals_unchunked(name, inner):
    case = CASES[name]
    state_bits, solution_bits = uncut(name)
    ends = [0, *sorted(min(e, case.T) for e in inner), case.T]
    problem = case.problem(*data(N))
    state = run(case, problem, np.diff(ends).tolist())
    assert bits(state) == state_bits
    assert bits(case.solver.solution(problem, state)) == solution_bits


@every_case
def test_chunked_equals_unchunked_on_compressed_points(case, adult):
    X, y = adult[0][:600], adult[1][:600]
    T = 700 if case.T > 20 else 8
    if isinstance(case.solver, BlockDual):
        T = min(T, 40)
    whole, cut = (
        run(case, case.problem(X, y, lam=1e-3, kernel=Gaussian(0.05)), cuts)
        for cuts in ([T], [1, T // 3, 0, 2, T - T // 3 - 3])
    )
    assert bits(whole) == bits(cut)


@every_case
@pytest.mark.parametrize("how", ["no memory", "used before", "focused"])
def test_the_cache_changes_nothing(case, how):
    X, y = data(N)
    if how == "no memory":
        problem = case.problem(X, y, cache_bytes=0)
        assert problem.gram.capacity < N
    else:
        problem = case.problem(X, y)
        run(case, problem, [7], seed=5)
        if how == "focused":
            problem.gram.focus(np.arange(0, N, 3))
    state = run(case, problem, [case.T])
    name = next(name for name, other in CASES.items() if other is case)
    assert bits(case.solver.solution(problem, state)) == uncut(name)[1]


@every_case
def test_looking_changes_nothing(case):
    problem, looked_at = case.problem(*data(N)), case.problem(*data(N))
    state = case.solver.init(looked_at)
    for _ in range(min(case.T, 40)):
        state = case.solver.advance(looked_at, state, 1)
        looked_at.certificate(case.solver.solution(looked_at, state))
    undisturbed = case.solver.solution(problem, run(case, problem, [min(case.T, 40)]))
    assert_close(case.solver.solution(looked_at, state), undisturbed)


# --- 2 ------------------------------------------------------------------------------------


@every_case
def test_same_seed_same_result(case):
    X, y = data(300)
    T = min(case.T, 40)
    first, second, other = (run(case, case.problem(X, y), [T], seed) for seed in (3, 3, 4))
    assert bits(first) == bits(second)
    if not (
        isinstance(case.solver, SMO | ActiveSet) or case.solver == KernelPerceptron(batch=True)
    ):  # which draw nothing
        assert bits(first) != bits(other)


@every_case
@pytest.mark.parametrize("sparse", [False, True])
def test_data_is_never_written(case, sparse):
    X, y = data(N)
    weight = weights(len(y))
    X = compressed(X) if sparse else X
    parts = [X.data, X.indices, X.indptr] if sparse else [X]
    before = [a.tobytes() for a in (*parts, y, weight)]
    for a in (*parts, y, weight):
        a.flags.writeable = False
    problem = case.problem(X, y, weight=weight)
    result = solve(problem, case.solver, stop=Stop(tol=1e-6, max_iter=case.T))
    problem.objective(result.solution)
    assert [a.tobytes() for a in (*parts, y, weight)] == before


@every_case
def test_an_answer_given_out_is_no_view_of_the_state(case):
    problem = case.problem(*data(N))
    result = solve(problem, case.solver, stop=Stop(tol=0.0, max_iter=5))
    before = bits(result.solution)
    case.solver.advance(problem, result.state, 20)
    assert bits(result.solution) == before


# --- 3 ------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("kernel", [Gaussian(0.25), Polynomial(2, 0.5, 1.0)], ids=["gaussian", "polynomial"])
def test_layouts_agree(case, kernel, tmp_path):
    X, y = data(N)
    np.save(tmp_path / "X.npy", X)
    frozen = X.astype(np.float32)
    frozen.flags.writeable = False
    layouts = {
        "mapped": np.load(tmp_path / "X.npy", mmap_mode="r"),
        "read-only float32": frozen,
        "csr float32 int32": compressed(X),
        "csr float64 int64": compressed(X, np.float64, np.int64),
    }
    T = min(case.T, 40)

    def answer(X):
        problem = case.problem(X, y, kernel=kernel)
        return case.solver.solution(problem, run(case, problem, [T]))

    expected = answer(X)
    for X in layouts.values():
        assert_close(answer(X), expected)


# --- 4 ------------------------------------------------------------------------------------


@cache
def gram_matrix(n=60):
    """Tiny points, labels, and all kernel values, in float64: those in float32 are not quite symmetric."""
    X, y = data(n)
    points = as_points(X, Gaussian(0.25), exact=True)
    K = np.empty((n, n))
    points.fill(np.arange(n), np.arange(n), K)
    return points, y, K


def visits(n, T, seed):
    """Points in the order visited: Fisher and Yates from the end, afresh each pass."""
    key, out = key_of(seed), []
    for first in range(0, T, n):
        order = list(range(n))
        for c, k in enumerate(range(n - 1, 0, -1)):
            j = int(draw_index(key, first + c, k + 1))
            order[k], order[j] = order[j], order[k]
        out += order
    return out[:T]


def batches(n, k, T, seed):
    key = key_of(seed)
    return [[int(draw_index(key, t * k + j, n)) for j in range(k)] for t in range(T)]


def answer_of(solver, problem, T, seed=0):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


def assert_is(answer, beta, K):
    np.testing.assert_allclose(answer.beta, beta, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(answer.responses, K @ beta, rtol=1e-9, atol=1e-9)


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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize(
    ("output", "mean"), [("last", "last"), ("uniform", "uniform"), ("average", "weighted")]
)
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


@pytest.mark.parametrize("bias", ["none", "free"])
def test_the_reference_of_the_sbp_approaches_the_optimum(bias):
    points, y, K = gram_matrix()
    problem = KernelRegularized(Gram(points), y, 0.05, bias=bias)
    best = solve(problem, SMO(), stop=Stop(tol=1e-9)).solution
    norm, loss = problem.criteria_of(best)
    slack = KernelSlackConstrained(problem.gram, y, loss / norm, bias=bias)
    rng = np.random.default_rng(1)
    beta, _ = sbp(
        K, y, slack.nu, 3000, lambda t, p: rng.choice(60, p=p), bias=bias == "free", output="weighted"
    )
    level = slack.objective(best._replace(beta=beta, responses=K @ beta))
    assert 0.95 / norm < level < 1.0000001 / norm  # Lemma 2.1: the optimum is 1/‖w*‖


# --- 5 ------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("cache_bytes", [0, 10**8])
@pytest.mark.parametrize("by_value", [False, True])
def test_kernel_values_of_an_iteration_stay_within_the_bound(case, cache_bytes, by_value):
    n = 100
    X, y = data(n)
    kernel = (
        Function(lambda A, B: np.exp(-0.25 * ((A[:, None] - B) ** 2).sum(2)), on="blocks")
        if by_value
        else None
    )
    problem = case.problem(X, y, kernel=kernel, cache_bytes=cache_bytes)
    state = case.solver.init(problem)
    assert problem.kernel_evals == 0
    for _ in range(min(case.T, 90)):
        before, bound = problem.kernel_evals, case.solver.cost(problem, state).kernel_values
        state = case.solver.advance(problem, state, 1)
        problem.certificate(case.solver.solution(problem, state))
        assert problem.kernel_evals - before <= bound


@every_case
def test_so_they_do_for_a_state_that_comes_to_an_empty_cache(case):
    X, y = data(100)
    problem = case.problem(X, y, lam=0.001)
    state = case.solver.init(problem)
    for _ in range(min(case.T, 20)):
        other, copy = case.problem(X, y, lam=0.001), pickle.loads(pickle.dumps(state))
        bound = case.solver.cost(other, copy).kernel_values
        copy = case.solver.advance(other, copy, 1)
        other.certificate(case.solver.solution(other, copy))
        assert other.kernel_evals <= bound
        state = case.solver.advance(problem, state, 1)


def test_only_points_that_move_cost_kernel_values():
    points, y, K = gram_matrix()
    draws = np.ravel(batches(60, 1, 40, 7))
    violators = {
        i for t, i in enumerate(draws)
        if t == 0 or y[i] * (K[i] @ kernel_pegasos(K, y, LAM, draws[:t, None], average=False)) < 1
    }  # fmt: skip
    order = visits(60, 60, 7)
    mistakes = {
        i for t, i in enumerate(order)
        if y[i] * (K[i] @ kernel_perceptron(K, y, order[:t], average=False)) <= 0
    }  # fmt: skip
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


@every_case
def test_kernel_budget_is_never_exceeded(case):
    X, y = data(N)
    for limit in (0, 1, N - 1, N, 5 * N, 33 * N + 7, 100 * N):
        problem = case.problem(X, y, cache_bytes=0)
        result = solve(problem, case.solver, stop=Stop(tol=0, max_kernel_evals=limit, max_iter=2000))
        assert problem.kernel_evals <= limit
        assert result.status in (Status.MAX_KERNEL_EVALS, Status.FINISHED, Status.MAX_ITER)
        assert np.isfinite(result.solution.beta).all()


# --- 6 ------------------------------------------------------------------------------------


@every_case
def test_state_is_a_plain_value(case):
    problem = case.problem(*data(N))
    state = case.solver.init(problem)
    shapes = [b[:3] for b in bits(state)]
    t = 0
    for n in (1, case.T // 3, case.T - case.T // 3 - 1):
        state = case.solver.advance(problem, state, n)
        t += n
        assert [b[:3] for b in bits(state)] == shapes
        assert state.t <= t
        copy = pickle.loads(pickle.dumps(state))
        assert type(copy) is type(state)
        assert bits(copy) == bits(state)
        on = case.solver.advance(case.problem(*data(N)), copy, 5)  # where nothing is in the cache
        state = case.solver.advance(problem, state, 5)
        t += 5
        assert bits(on) == bits(state)


@every_case
def test_solving_on_from_a_state_equals_solving_through(case):
    first = solve(case.problem(*data(N)), case.solver, stop=Stop(tol=0, max_iter=case.T // 2))
    state = pickle.loads(pickle.dumps(first.state))
    resumed = solve(case.problem(*data(N)), case.solver, state=state, stop=Stop(tol=0, max_iter=case.T))
    through = solve(case.problem(*data(N)), case.solver, stop=Stop(tol=0, max_iter=case.T))
    assert resumed.n_iter == through.n_iter
    assert bits(resumed.solution) == bits(through.solution)


# --- 7 ------------------------------------------------------------------------------------


@cache
def optimum(seed, bias, weighted):
    """A noisy problem in float64, its kernel matrix, its optimum, and the minimum proved by the dual."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.003, 0.05)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    y = np.where(X @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) > 0.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    kernel = (Gaussian(0.3), Polynomial(2, 0.5, 1.0))[seed % 2]
    points = as_points(X, kernel, exact=True)
    K = np.empty((n, n))
    points.fill(np.arange(n), np.arange(n), K)
    problem = KernelRegularized(Gram(points), y, lam, bias=bias, weight=s if weighted else None)
    best = solve(problem, SMO(), stop=Stop(tol=1e-10, max_iter=10**6)).solution
    c, beta = s / s.sum(), best.beta
    assert (beta * y >= 0).all()
    assert (beta * y <= c / lam * (1 + 1e-12)).all()
    assert bias == "none" or abs(beta.sum()) < 1e-12 * np.abs(beta).sum()
    primal = lam / 2 * beta @ K @ beta + c @ np.maximum(0, 1 - y * (K @ beta + best.b))
    dual = lam * (beta @ y - beta @ K @ beta / 2)
    assert primal == pytest.approx(dual, rel=1e-9)
    return problem, K, best, dual


def assert_certified(problem, K, answer, best):
    """`best` is the optimum, or below it by a rounding error: the certificate may not claim more."""
    certificate = problem.certificate(answer)
    np.testing.assert_allclose(answer.responses, K @ answer.beta, rtol=1e-9, atol=1e-9)
    c = np.broadcast_to(problem.share(), (problem.n,))
    hinge = c @ np.maximum(0, 1 - problem.y * (K @ answer.beta + certificate.b))
    exact = problem.lam / 2 * answer.beta @ K @ answer.beta + hinge
    assert certificate.objective == pytest.approx(exact, rel=1e-9)
    assert certificate.objective >= best * (1 - 1e-9)
    assert certificate.bound <= best * (1 + 1e-9)
    assert certificate.gap >= (certificate.objective - best) / best * (1 - 1e-9) - 1e-9


def stages(case):
    return (1, 4) if case.T < 20 else (1, 30, 120)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.slack])
def test_certificate_covers_the_optimum(name):
    case = CASES[name]
    for seed in range(3):
        problem, K, _, best = optimum(seed, case.bias, case.weighted)
        state = case.solver.init(problem, seed)
        assert_certified(problem, K, case.solver.solution(problem, state), best)
        for n in stages(case):
            state = case.solver.advance(problem, state, n)
            assert_certified(problem, K, case.solver.solution(problem, state), best)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.slack])
def test_certificate_covers_the_highest_level(name):
    case = CASES[name]
    for seed in range(3):
        regularized, K, w, _ = optimum(seed, case.bias, case.weighted)
        norm, loss = regularized.criteria_of(w)  # Lemma 2.1: the highest level for ν = loss/‖w‖ is 1/‖w‖
        problem = case.problem(regularized.gram, regularized.y, nu=loss / norm)
        state = case.solver.init(problem, seed)
        for n in stages(case):
            state = case.solver.advance(problem, state, n)
            answer = case.solver.solution(problem, state)
            np.testing.assert_allclose(answer.responses, K @ answer.beta, rtol=1e-9, atol=1e-9)
            certificate = problem.certificate(answer)
            assert certificate.objective <= (1 + 1e-6) / norm
            assert certificate.bound >= (1 - 1e-6) / norm


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [BlockDual(), BlockDual(block=4), KernelSDCA(), SMO()], ids=repr)
def test_exact_solvers_reach_the_optimum(solver, bias, weighted):
    for seed in (0, 3):
        problem, _, _, best = optimum(seed, bias, weighted)
        if solver.rejects(problem):
            continue
        result = solve(problem, solver, stop=Stop(tol=1e-4, max_time=10))
        assert result.status is Status.CONVERGED
        assert result.certificate.gap <= 1e-4
        assert best * (1 - 1e-9) <= problem.objective(result.solution) <= best * (1 + 1.1e-4)


# --- 8 ------------------------------------------------------------------------------------


def tiny_answers():
    """The answers of all cases on 20 points, dense and compressed, in float64."""
    X, y = data(20)
    answers = {}
    for name, case in CASES.items():
        for layout, A in {"dense": X, "csr": compressed(X, np.float64)}.items():
            problem = case.problem(A, y, exact=True)
            solution = case.solver.solution(problem, run(case, problem, [min(case.T, 60)]))
            answers[name, layout] = solution, problem.certificate(solution), problem.kernel_evals
    return answers


def test_without_the_jit(tmp_path):
    target = tmp_path / "answers.pickle"
    subprocess.run(
        [sys.executable, __file__, str(target)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True, timeout=120,
    )  # fmt: skip
    plain = pickle.loads(target.read_bytes())
    compiled = tiny_answers()
    assert plain.keys() == compiled.keys()
    for key, (solution, certificate, evals) in compiled.items():
        assert_close(plain[key][0], solution)
        np.testing.assert_allclose(plain[key][1], certificate, rtol=1e-9, atol=1e-9)
        assert plain[key][2] == evals


# --- 9 ------------------------------------------------------------------------------------

ENDLESS = {
    "block-dual": Case(BlockDual()),
    "block-dual-free": Case(BlockDual(block=16), "free"),
    "pegasos": Case(KernelPegasos()),
    "sdca": Case(KernelSDCA()),
    "perceptron": Case(KernelPerceptron(passes=10**9)),
    "sbp": Case(SBP(batch_size=8, passes=10**9), "free", slack=True),
    "smo": Case(SMO(), "free"),
}
every_endless = pytest.mark.parametrize("case", ENDLESS.values(), ids=ENDLESS.keys())


@pytest.fixture
def warm(adult):
    """A problem for which all code is compiled, so that no compilation is timed."""

    def make(case):
        def problem():
            return case.problem(*adult, lam=1e-7, kernel=Gaussian(0.05))

        solve(problem(), case.solver, stop=Stop(tol=1e-9, max_iter=3))
        return problem()

    return make


@every_endless
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_returns_the_answer_so_far(case, warm):
    problem = warm(case)
    sent = interrupt_after(0.1)
    result = solve(problem, case.solver, stop=Stop(tol=0, max_time=20), on_interrupt="keep")
    assert time.perf_counter() - sent[0] < 1.0
    assert result.status is Status.INTERRUPTED
    assert result.n_iter > 0
    assert np.isfinite(result.solution.beta).all()
    assert np.isfinite(problem.objective(result.solution))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # and the state it leaves is whole
    on = solve(problem, case.solver, state=result.state, stop=Stop(tol=0, max_iter=result.n_iter + 1))
    assert on.n_iter == result.n_iter + 1


@every_endless
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_raises(case, warm):
    problem = warm(case)

    def mine(signum, frame):
        raise AssertionError("the solver's own handler should be in place")

    signal.signal(signal.SIGINT, mine)
    sent = interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, case.solver, stop=Stop(tol=0, max_time=20))
    assert time.perf_counter() - sent[0] < 1.0
    assert signal.getsignal(signal.SIGINT) is mine


@every_endless
def test_time_budget(case, warm):
    problem = warm(case)
    result = within(0.15, 0.8, lambda: solve(problem, case.solver, stop=Stop(tol=0, max_time=0.2)))
    assert result.status is Status.MAX_TIME
    assert np.isfinite(result.solution.beta).all()
    assert np.isfinite(result.certificate.objective)


@every_case
def test_iteration_limit_is_exact(case):
    for limit in (0, 1, 7, 61):
        result = solve(case.problem(*data(N)), case.solver, stop=Stop(tol=0, max_iter=limit))
        ended = result.status in (Status.FINISHED, Status.STALLED)
        assert result.n_iter == limit or (ended and result.n_iter < limit)


if __name__ == "__main__":
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")
        Path(sys.argv[1]).write_bytes(pickle.dumps(tiny_answers()))
