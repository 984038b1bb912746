"""The laws that every solver obeys, over all linear ones of the registry.

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
import scipy.sparse as sp
from clock import within
from ctrl_c import interrupt_after
from default_cases import default_cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.norma import norma
from reference.pegasos import pegasos
from reference.perceptron import perceptron
from reference.sdca import sdca
from reference.sgd import sgd

from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers import (
    SDCA,
    SGD,
    Amplified,
    CuttingPlane,
    Newton,
    Norma,
    Pegasos,
    Perceptron,
    StaleSDCA,
    UniformDCA,
    solve,
)


class Case(NamedTuple):
    """A solver with settings, and the kind of problem to give it."""

    solver: object
    bias: str = "none"
    weighted: bool = False
    ball: bool = False
    T: int = 150

    def problem(self, X, y, lam=0.05, weight=None):
        if self.weighted and weight is None:
            weight = weights(len(y))
        options = {"bias": self.bias, "weight": weight if self.weighted else None}
        if self.ball:
            return NormConstrained(X, y, 1.5, **options)
        if self.bias == "penalized":
            options["bias_scale"] = 0.7
        return Regularized(X, y, lam, **options)


def weights(n):
    """Weights with zeros among them."""
    return np.random.default_rng(5).integers(0, 4, n) / 2.0


CASES = {
    "pegasos": Case(Pegasos()),
    "pegasos-batch-free": Case(Pegasos(batch_size=3, output="uniform"), "free", weighted=True),
    "pegasos-exact-bias": Case(
        Pegasos(batch_size=16, output="last", bias="exact", block_rows=16), "free", T=40
    ),
    "pegasos-random-penalized": Case(Pegasos(output="random", block_rows=4, projection=False), "penalized"),
    "sdca": Case(SDCA("sgd")),
    "stale": Case(StaleSDCA(block_rows=1)),
    "stale-blocks": Case(StaleSDCA(least=0.3, width=0.1, block_rows=7)),
    "stale-free": Case(StaleSDCA(), "free", weighted=True, T=300),
    "stale-penalized": Case(StaleSDCA(block_rows=2), "penalized", weighted=True, T=300),
    "sdca-plain": Case(SDCA(first_pass="plain", shrinking=False, block_rows=1)),
    "sdca-free": Case(SDCA("sgd", block_rows=3), "free", weighted=True, T=300),
    "sdca-penalized": Case(SDCA(block_rows=2), "penalized", weighted=True, T=300),
    "uniform": Case(UniformDCA()),
    "newton": Case(Newton(), T=8),
    "newton-free": Case(Newton(), "free", weighted=True, T=8),
    "newton-penalized": Case(Newton(width=0.3, shrink=0.2), "penalized", T=8),
    "cutting": Case(CuttingPlane(), T=12),
    "cutting-last": Case(CuttingPlane(4, "last"), weighted=True, T=12),
    "cutting-penalized": Case(CuttingPlane(6), "penalized", weighted=True, T=12),
    "norma": Case(Norma()),
    "norma-average": Case(Norma(average=True, projection=True)),
    "sgd": Case(SGD(average=True)),
    "sgd-ball": Case(SGD(eta=0.5), ball=True),
    "perceptron": Case(Perceptron(passes=3)),
    "perceptron-last": Case(Perceptron(average=False, passes=3)),
    "amplified": Case(Amplified(delta=0.2, horizon=140)),
    "amplified-sdca": Case(Amplified(SDCA(block_rows=1), delta=0.2, horizon=140), "free"),
}
CASES |= default_cases(CASES, Case, "linear")
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def data(n=60):
    """The rows of the `tiny` fixture's kind, where no fixture reaches: short binary fractions."""
    rng = np.random.default_rng(0)
    X = np.round(16 * rng.standard_normal((n, 7))) / 16
    X[rng.random(X.shape) < 0.3] = 0.0
    y = np.where(X[:, 0] + X[:, 1] + 0.7 * rng.standard_normal(n) > 0.2, 1, -1).astype(np.int8)
    return X, y


def compressed(X, dtype=np.float32, index=np.int32):
    S = sp.csr_array(X.astype(dtype))
    return sp.csr_array((S.data, S.indices.astype(index), S.indptr.astype(index)), shape=S.shape)


def run(case, problem, cuts, seed=0):
    state = case.solver.init(problem, seed)
    for n in cuts:
        state = case.solver.advance(problem, state, n)
    return state


def leaves(value):
    """The arrays and numbers of a state or solution, in order."""
    if isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def bits(value):
    """All that a state or solution is, for exact comparison (NaN included)."""
    return [
        (type(x).__name__, np.shape(x), np.asarray(x).dtype.str, np.asarray(x).tobytes())
        for x in leaves(value)
    ]


def assert_close(a, b, tol=1e-9):
    """Two solutions equal to rounding."""
    np.testing.assert_allclose(a.w, b.w, rtol=tol, atol=tol)
    assert a.b == pytest.approx(b.b, rel=tol, abs=tol)
    assert (a.alpha is None) == (b.alpha is None)
    if a.alpha is not None:
        np.testing.assert_allclose(a.alpha, b.alpha, rtol=tol, atol=tol)


@cache
def uncut(name):
    """Problem, state and solution of the uncut run on the tiny dense rows."""
    case = CASES[name]
    problem = case.problem(*data())
    state = run(case, problem, [case.T])
    return problem, bits(state), bits(case.solver.solution(problem, state))


# --- 1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=15)
@given(inner=st.lists(st.integers(0, 300), max_size=8))
@example(inner=list(range(300)))  # chunks of one
@example(inner=list(range(0, 300, 7)))
@example(inner=[59, 60, 61, 119, 120, 121])  # about the ends of passes
@example(inner=[0, 0, 1, 1])  # empty chunks
def test_chunked_equals_unchunked(name, inner):
    case = CASES[name]
    problem, state_bits, solution_bits = uncut(name)
    ends = [0, *sorted(min(e, case.T) for e in inner), case.T]
    state = run(case, problem, np.diff(ends).tolist())
    assert bits(state) == state_bits
    assert bits(case.solver.solution(problem, state)) == solution_bits


@every_case
def test_chunked_equals_unchunked_on_compressed_rows(case, adult):
    problem = case.problem(*adult, lam=1e-3)
    T = 4200 if case.T > 20 else 12
    whole, cut = run(case, problem, [T]), run(case, problem, [1, T // 3, 0, 7, T - T // 3 - 8])
    assert bits(whole) == bits(cut)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_chunked_equals_unchunked_where_the_first_pass_ends_on_rows_of_no_weight_to_speak_of(bias):
    # Λ reaches its full value by rounding before the last rows of the first pass are visited.
    X, y = data(8)
    weight = np.full(8, 1e-20)
    weight[:2] = 1.0
    problem = Regularized(X, y, 0.1, weight=weight, bias=bias)
    for seed in range(6):
        solver = SDCA("sgd", block_rows=8)
        case = Case(solver)
        assert bits(run(case, problem, [16], seed)) == bits(run(case, problem, [1] * 16, seed))


# --- 2 ------------------------------------------------------------------------------------


@every_case
def test_same_seed_same_result(case):
    X, y = data(300)
    T = min(case.T, 40)
    first, second, other = (run(case, case.problem(X, y), [T], seed) for seed in (3, 3, 4))
    assert bits(first) == bits(second)
    if isinstance(case.solver, CuttingPlane):  # which draws nothing
        assert bits(first) == bits(other)
        return
    assert bits(first) != bits(other)
    if not isinstance(case.solver, Newton):  # to which the seed is an order of summation
        w = [case.solver.solution(case.problem(X, y), state).w for state in (first, other)]
        assert np.abs(w[0] - w[1]).max() > 1e-6


@every_case
@pytest.mark.parametrize("sparse", [False, True])
def test_data_is_never_written(case, sparse):
    X, y = data()
    weight = weights(len(y))
    X = compressed(X) if sparse else X
    parts = [X.data, X.indices, X.indptr] if sparse else [X]
    before = [a.tobytes() for a in (*parts, y, weight)]
    for a in (*parts, y):
        a.flags.writeable = False
    problem = case.problem(X, y, weight=weight)
    result = solve(problem, case.solver, stop=Stop(tol=1e-6, max_iter=case.T))
    problem.objective(result.solution)
    assert [a.tobytes() for a in (*parts, y, weight)] == before


def test_weights_are_never_written():
    X, y = data()
    weight = weights(len(y))
    weight.flags.writeable = False
    for name in ("pegasos-batch-free", "sdca-free", "newton-free"):
        case = CASES[name]
        problem = case.problem(X, y, weight=weight)
        assert np.isfinite(solve(problem, case.solver, stop=Stop(max_iter=8)).solution.w).all()
    assert weight.tobytes() == weights(len(y)).tobytes()


# --- 3 ------------------------------------------------------------------------------------


@every_case
def test_layouts_agree(case, tmp_path):
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    frozen = X.copy()
    frozen.flags.writeable = False
    exact = {"mapped": mapped, "read-only": frozen}
    rounded = {
        "float32": X.astype(np.float32),
        "csr float32 int32": compressed(X),
        "csr float64 int64": compressed(X, np.float64, np.int64),
    }

    def answer(X):
        problem = case.problem(X, y)
        return case.solver.solution(problem, run(case, problem, [case.T]))

    expected = answer(X)
    for X in exact.values():
        assert bits(answer(X)) == bits(expected)
    for X in rounded.values():
        assert_close(answer(X), expected)


# --- 4 ------------------------------------------------------------------------------------


def drawn(n, counters, seed):
    key = key_of(seed)
    return [int(draw_index(key, c, n)) for c in counters]


def pegasos_draws(solver, n, T, seed):
    k, size = solver.batch_size, solver.block_rows
    firsts = drawn(n, [2 * (c // size) for c in range(T * k)], seed)
    return [[(firsts[c] + c % size) % n for c in range(t * k, (t + 1) * k)] for t in range(T)]


def shuffled(n, counters, seed):
    """Fisher and Yates, from the end; `counters` gives the draw for each place."""
    key, order = key_of(seed), list(range(n))
    for k in range(n - 1, 0, -1):
        j = int(draw_index(key, next(counters), k + 1))
        order[k], order[j] = order[j], order[k]
    return order


def sdca_epochs(rows, n_epochs, seed):
    counters = iter(range(n_epochs * len(rows)))
    return [[rows[k] for k in shuffled(len(rows), counters, seed)] for _ in range(n_epochs)]


def perceptron_visits(n, passes, seed):
    return [i for e in range(passes) for i in shuffled(n, iter(range(e * n + n - 1, e * n, -1)), seed)]


def answer_of(solver, problem, T, seed):
    return solver.solution(problem, solver.advance(problem, solver.init(problem, seed), T))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("output", ["last", "uniform", "weighted"])
@pytest.mark.parametrize(("batch", "block", "projection"), [(1, 1, True), (1, 4, False), (4, 1, True)])
def test_pegasos_is_figure_1(seed, output, batch, block, projection):
    X, y = data()
    solver = Pegasos(batch, projection, output, block_rows=block)
    w, _ = pegasos(X, y, 0.05, pegasos_draws(solver, 60, 150, seed), projection=projection, output=output)
    np.testing.assert_allclose(
        answer_of(solver, Regularized(X, y, 0.05), 150, seed).w, w, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("output", ["last", "uniform", "weighted"])
@pytest.mark.parametrize(("bias", "batch"), [("subgradient", 1), ("subgradient", 6), ("exact", 15)])
def test_pegasos_with_a_free_bias_is_section_4(output, bias, batch):
    X, y = data()
    block = batch if bias == "exact" else 1  # a row drawn twice may lie on the margin: a tie
    solver = Pegasos(batch, output=output, bias=bias, block_rows=block)
    draws = pegasos_draws(solver, 60, 80, 1)
    w, b = pegasos(X, y, 0.05, draws, output=output, bias=bias)
    s = answer_of(solver, Regularized(X, y, 0.05, bias="free"), 80, 1)
    np.testing.assert_allclose(s.w, w, rtol=1e-9, atol=1e-12)
    assert s.b == pytest.approx(b, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("bias", ["subgradient", "constant"])
def test_pegasos_with_weights_is_figure_1_with_weighted_losses(bias):
    X, y = data()
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
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-12)
    assert answer.b == pytest.approx(b, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first_pass", ["plain", "sgd"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sdca_is_the_talks(seed, first_pass, weighted):
    X, y = data()
    s = weights(60) if weighted else np.ones(60)
    rows = np.flatnonzero(s).tolist()
    solver = SDCA(first_pass, shrinking=False, block_rows=1)
    problem = Regularized(X, y, 0.05, weight=s if weighted else None)
    w, _, alpha = sdca(X, y, 0.05, sdca_epochs(rows, 4, seed), first_pass=first_pass, weight=s)
    answer = answer_of(solver, problem, 4 * len(rows), seed)
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bias", ["free", "penalized"])
@pytest.mark.parametrize("first_pass", ["plain", "sgd"])
def test_sdca_with_a_bias_is_the_talks_with_a_constant_feature(bias, first_pass):
    X, y = data()
    solver = SDCA(first_pass, shrinking=False, block_rows=1)
    problem = Regularized(X, y, 0.05, bias=bias, bias_scale=0.5)
    kappa = 0.25 if bias == "penalized" else max(0.03 * np.median((X[::3] ** 2).sum(axis=1)), 10 * 0.05)
    w, b, alpha = sdca(
        X, y, 0.05, sdca_epochs(range(60), 5, 1), first_pass=first_pass, kappa=kappa, free=bias == "free"
    )
    answer = answer_of(solver, problem, 300, 1)
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=1e-9, atol=1e-12)
    assert answer.b == pytest.approx(b, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("projection", [False, True])
def test_norma_is_section_5(seed, average, projection):
    X, y = data()
    w = norma(X, y, 0.05, drawn(60, range(1, 151), seed), p=0.6, average=average, projection=projection)
    answer = answer_of(Norma(average, 0.6, projection), Regularized(X, y, 0.05), 150, seed)
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("ball", [False, True])
def test_sgd_is_section_5(seed, average, ball):
    X, y = data()
    draws = drawn(60, range(1, 151), seed)
    if ball:
        w = sgd(X, y, draws, eta=0.3, radius=1.5, average=average)
        problem = NormConstrained(X, y, 1.5)
    else:
        w = sgd(X, y, draws, eta=0.3, lam=0.05, average=average)
        problem = Regularized(X, y, 0.05)
    np.testing.assert_allclose(answer_of(SGD(average, 0.3), problem, 150, seed).w, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("average", [False, True])
def test_perceptron_is_rosenblatts(seed, average):
    X, y = data()
    w = perceptron(X, y, perceptron_visits(60, 3, seed), average=average)
    answer = answer_of(Perceptron(average, 3), Regularized(X, y, 0.05), 180, seed)
    np.testing.assert_allclose(answer.w, w, rtol=1e-9, atol=1e-12)


# --- 5 ------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("sparse", [False, True])
def test_reads_of_an_iteration_stay_within_the_bound(case, sparse):
    X, y = data()
    problem = case.problem(compressed(X) if sparse else X, y)
    bound, state = problem.cells_of(case.solver.cost(problem)), case.solver.init(problem)
    assert problem.matrix.reads == 0
    for t in range(case.T):
        before = problem.matrix.reads
        state = case.solver.advance(problem, state, 1)
        allowed = bound + (case.solver.cost(problem).setup if t == 0 else 0)
        assert problem.matrix.reads - before <= allowed


def test_row_methods_read_the_rows_they_visit_and_no_more():
    X, y = data()
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


# --- 6 ------------------------------------------------------------------------------------


@every_case
def test_state_is_a_plain_value(case):
    problem = case.problem(*data())
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
        on = case.solver.advance(problem, copy, 5)
        state = case.solver.advance(problem, state, 5)
        t += 5
        assert bits(on) == bits(state)


@every_case
def test_solving_on_from_a_state_equals_solving_through(case):
    problem = case.problem(*data())
    first = solve(problem, case.solver, stop=Stop(tol=0, max_iter=case.T // 2))
    state = pickle.loads(pickle.dumps(first.state))
    resumed = solve(problem, case.solver, state=state, stop=Stop(tol=0, max_iter=case.T))
    through = solve(case.problem(*data()), case.solver, stop=Stop(tol=0, max_iter=case.T))
    assert resumed.n_iter == through.n_iter
    assert bits(resumed.solution) == bits(through.solution)


# --- 7 ------------------------------------------------------------------------------------


def assert_certified(problem, solution, best):
    """`best` is the optimum, or above it by a rounding error: the certificate may not claim more."""
    certificate = problem.certificate(solution)
    exact = problem.objective(solution._replace(b=certificate.b))
    assert certificate.objective == pytest.approx(exact, rel=1e-9)
    assert certificate.objective >= best * (1 - 1e-9)
    assert certificate.bound <= best * (1 + 1e-9)
    scale = best if isinstance(problem, Regularized) else 1.0
    assert certificate.gap >= (certificate.objective - best) / scale * (1 - 1e-9) - 1e-9


def stages(case):
    return (1, 4, 20) if case.T < 20 else (1, 30, 100, 1000)


WITHOUT_BIAS = {k: c for k, c in CASES.items() if c.bias == "none" and not c.weighted}
WITH_BIAS = {k: c for k, c in CASES.items() if c.bias != "none"}


@pytest.mark.parametrize("name", WITHOUT_BIAS)
@pytest.mark.parametrize("sparse", [False, True])
def test_certificate_covers_a_known_optimum(name, sparse):
    case = WITHOUT_BIAS[name]
    for seed in range(8):
        lam = (0.003, 0.02)[seed % 2]
        known = make_known_optimum(80, 6, lam, noise=0.1, seed=seed)
        X = compressed(known.X_train, np.float64, np.int64) if sparse else known.X_train
        if case.ball:  # the same solution, by its norm (Lemma 2.1)
            B = float(np.linalg.norm(known.w_star))
            problem, best = NormConstrained(X, known.y_train, B), known.objective - lam / 2 * B**2
        else:
            problem, best = Regularized(X, known.y_train, lam), known.objective
        state = case.solver.init(problem, seed)
        for n in stages(case):
            state = case.solver.advance(problem, state, n)
            assert_certified(problem, case.solver.solution(problem, state), best)


@cache
def optimum(seed, bias, weighted):
    """A noisy problem and its minimum: by LIBSVM or LIBLINEAR, made exact, and proved by the dual."""
    from sklearn.svm import SVC, LinearSVC

    rng = np.random.default_rng(seed)
    n, lam = 40, (0.02, 0.1)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    y = np.where(X @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) > 0.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    problem = Regularized(X, y, lam, bias=bias, weight=s if weighted else None, bias_scale=0.7)
    c = s / s.sum()
    Z = y[:, None] * (X if bias == "free" else np.column_stack([X, np.full(n, 0.7)]))
    C = 1 / (lam * s.sum())
    if bias == "free":
        model = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y, s)
        w, b = model.coef_.ravel(), float(model.intercept_[0])
    else:
        model = LinearSVC(loss="hinge", C=C, tol=1e-11, max_iter=10**7, intercept_scaling=0.7, random_state=0)
        model.fit(X, y, s)
        w, b = np.append(model.coef_, model.intercept_ / 0.7), 0.0
    # Which rows lie on the margin is beyond doubt; how heavy they are is a linear system.
    on, inside = (np.abs(1 - Z @ w - y * b) < 1e-6) & (s > 0), 1 - Z @ w - y * b >= 1e-6
    A = Z[on] @ (c * Z.T / lam)[:, on]
    right = 1 - Z[on] @ ((c * inside) @ Z) / lam
    if bias == "free":
        A = np.block([[A, y[on][:, None]], [c[on] * y[on], np.zeros(1)]])
        right = np.append(right, -(c * inside) @ y)
    solved = np.linalg.solve(A, right)
    alpha = inside.astype(float)
    alpha[on] = solved[: on.sum()]
    w, b = (c * alpha) @ Z / lam, solved[-1] if bias == "free" else 0.0
    primal = lam / 2 * w @ w + c @ np.maximum(0, 1 - Z @ w - y * b)
    dual = c @ alpha - lam / 2 * w @ w
    assert (alpha > -1e-12).all()
    assert (alpha < 1 + 1e-12).all()
    assert primal == pytest.approx(dual, rel=1e-11)
    return problem, primal


@pytest.mark.parametrize("name", WITH_BIAS)
def test_certificate_covers_the_optimum_with_a_bias_and_weights(name):
    case = WITH_BIAS[name]
    for seed in range(6):
        problem, best = optimum(seed, case.bias, case.weighted)
        state = case.solver.init(problem, seed)
        for n in stages(case):
            state = case.solver.advance(problem, state, n)
            assert_certified(problem, case.solver.solution(problem, state), best)


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [SDCA(), Newton()], ids=["sdca", "newton"])
def test_exact_solvers_reach_the_optimum(solver, bias, weighted):
    for seed in range(4):
        if bias == "none":
            known = make_known_optimum(80, 6, 0.02, noise=0.1, seed=seed)
            weight = np.full(80, 2.5) if weighted else None
            problem = Regularized(known.X_train, known.y_train, 0.02, weight=weight)
            best = known.objective
        else:
            problem, best = optimum(seed, bias, weighted)
        result = solve(problem, solver, stop=Stop(tol=1e-6, max_time=10))
        assert result.status is Status.CONVERGED
        assert result.certificate.gap <= 1e-6
        assert best * (1 - 1e-9) <= problem.objective(result.solution) <= best * (1 + 1.1e-6)


def test_a_method_without_a_dual_claims_nothing():
    problem = CASES["perceptron"].problem(*data())
    result = solve(problem, Perceptron(passes=2), stop=Stop(tol=1.0))
    assert result.status is Status.FINISHED
    assert result.certificate.gap == np.inf
    assert np.isfinite(result.certificate.objective)


# --- 8 ------------------------------------------------------------------------------------


def tiny_answers():
    """The answers of all cases on 20 rows, dense and compressed."""
    X, y = data(20)
    answers = {}
    for name, case in CASES.items():
        for layout, A in {"dense": X, "csr": compressed(X)}.items():
            problem = case.problem(A, y)
            solution = case.solver.solution(problem, run(case, problem, [min(case.T, 60)]))
            answers[name, layout] = solution, problem.certificate(solution), problem.matrix.reads
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
    for key, (solution, certificate, reads) in compiled.items():
        assert_close(plain[key][0], solution)
        np.testing.assert_allclose(plain[key][1], certificate, rtol=1e-9, atol=1e-9)
        assert plain[key][2] == reads


# --- 9 ------------------------------------------------------------------------------------

ENDLESS = {
    "pegasos": Case(Pegasos()),
    "sdca": Case(SDCA(), "free"),
    "stale": Case(StaleSDCA(), "free"),
    "newton": Case(Newton(), "free"),
    "cutting": Case(CuttingPlane(), "penalized"),
    "norma": Case(Norma()),
    "sgd": Case(SGD(), ball=True),
    "perceptron": Case(Perceptron(passes=10**9)),
    "amplified": Case(Amplified(horizon=10**10)),
}
every_endless = pytest.mark.parametrize("case", ENDLESS.values(), ids=ENDLESS.keys())


@pytest.fixture
def warm(adult):
    """A problem for which all code is compiled, so that no compilation is timed."""

    def make(case):
        problem = case.problem(*adult, lam=1e-4)
        solve(problem, case.solver, stop=Stop(tol=1e-9, max_iter=3))
        return problem

    return make


@every_endless
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_returns_the_answer_so_far(case, warm):
    problem = warm(case)
    sent = interrupt_after(0.15)
    result = solve(problem, case.solver, stop=Stop(tol=0, max_time=20), on_interrupt="keep")
    assert time.perf_counter() - sent[0] < 1.0
    assert result.status is Status.INTERRUPTED
    assert result.n_iter > 0
    assert np.isfinite(result.solution.w).all()
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
    sent = interrupt_after(0.15)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, case.solver, stop=Stop(tol=0, max_time=20))
    assert time.perf_counter() - sent[0] < 1.0
    assert signal.getsignal(signal.SIGINT) is mine


@every_endless
def test_time_budget(case, warm):
    problem = warm(case)
    result = within(0.25, 0.8, lambda: solve(problem, case.solver, stop=Stop(tol=0, max_time=0.3)))
    assert result.status is Status.MAX_TIME
    assert np.isfinite(result.solution.w).all()
    assert np.isfinite(result.certificate.objective)


@every_case
def test_read_budget_is_never_exceeded(case):
    X, y = data()
    S = compressed(X)
    for limit in (0, 1, 5, 6, 7, 50, S.nnz, 3 * S.nnz, 3 * S.nnz + 1, 20 * S.nnz):
        problem = case.problem(S, y)
        result = solve(problem, case.solver, stop=Stop(tol=0, max_reads=limit, max_iter=10**5))
        assert problem.matrix.reads <= limit
        assert result.status in (Status.MAX_READS, Status.FINISHED)
        assert np.isfinite(result.solution.w).all()


@every_case
def test_iteration_limit_is_exact(case):
    for limit in (0, 1, 7, 61):
        result = solve(case.problem(*data()), case.solver, stop=Stop(tol=0, max_iter=limit))
        assert result.n_iter == limit
        assert result.status is Status.MAX_ITER


if __name__ == "__main__":
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")
        Path(sys.argv[1]).write_bytes(pickle.dumps(tiny_answers()))
