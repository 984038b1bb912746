"""The laws that every solver obeys, over all cases of all families. Law 4 is in the files of references."""

import os
import pickle
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from clock import within
from ctrl_c import interrupt_after
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hinge.solvers as S
from hinge.access import DenseTable, SparseTable
from hinge.kernels import Function, Gaussian, Polynomial
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.solvers import registry, solve
from laws.answers import run, tiny_answers
from laws.cases import (
    CASES,
    FAMILIES,
    CellCase,
    DeviceCase,
    KernelCase,
    LinearCase,
    MulticlassCase,
    OneClassCase,
    SaddleCase,
    every_case,
    needed_by,
)
from laws.contract import bound, by_kernel, certify, iterations, spent, value
from laws.data import compressed, tiny_rows, weights

TESTS = Path(__file__).resolve().parents[1]
ENDED = (Status.FINISHED, Status.STALLED)


def bits(state):
    """All that a state or solution is, for exact comparison (NaN included)."""
    return [(type(x).__name__, np.shape(x), np.asarray(x).dtype.str, np.asarray(x).tobytes()) for x in value(state)]


def assert_close(case, a, b, tol=None):
    """Two answers equal to rounding."""
    tol = case.tol if tol is None else tol
    for part in case.answer:
        one, other = getattr(a, part), getattr(b, part)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=tol, atol=tol)


def finite(case, answer):
    """Whether every number of an answer is one."""
    return all(np.isfinite(x).all() for part in case.answer if (x := getattr(answer, part)) is not None)


@cache
def uncut(name):
    """State and solution of the uncut run, and what it read."""
    case = CASES[name]
    problem = case.problem(*case.data())
    state = run(case, problem, [case.T])
    read = None if by_kernel(problem) else spent(problem)  # kernel rows may be fetched ahead
    return bits(state), bits(case.solver.solution(problem, state)), read


def test_every_solver_of_the_registry_has_a_case():
    assert {type(case.solver) for case in CASES.values()} == set(registry.classes())


# --- 1: chunked equals unchunked, bit for bit ---------------------------------------------------


def assert_cut_is_uncut(name, inner):
    case = CASES[name]
    ends = [0, *sorted(min(e, case.T) for e in inner), case.T]
    problem = case.problem(*case.data())
    state = run(case, problem, np.diff(ends).tolist())
    read = None if by_kernel(problem) else spent(problem)
    assert (bits(state), bits(case.solver.solution(problem, state)), read) == uncut(name)


@every_case()
@pytest.mark.parametrize(
    "inner",
    [pytest.param(list(range(300)), marks=pytest.mark.slow), [0, 0, 1, 1, 59, 60, 61, 79, 80, 81, 119, 120, 121]],
    ids=["of one", "empty and about the ends of passes"],
)
def test_chunked_equals_unchunked(name, inner):
    assert_cut_is_uncut(name, inner)


@pytest.mark.slow
@every_case()
@settings(max_examples=6)
@given(inner=st.lists(st.integers(0, 300), max_size=8))
@example(inner=[1, 2, 4, 8, 16, 32, 64, 128, 256])
def test_chunked_equals_unchunked_wherever_it_is_cut(name, inner):
    assert_cut_is_uncut(name, inner)


@pytest.mark.slow
@every_case("linear", "multiclass", "kernel")
def test_chunked_equals_unchunked_on_compressed_rows(name, adult):
    case, options = CASES[name], {"lam": 1e-3}
    n = 600 if isinstance(case, KernelCase) else 300
    X, y = adult[0][:n], adult[1][:n]
    T = 660 if case.T > 40 else min(case.T, 40)  # two passes and some rows, or steps that each read many rows
    if isinstance(case, KernelCase):
        T = 700 if case.T > 20 else 8
        T = min(T, 40) if isinstance(case.solver, S.BlockDual) else T
        options["kernel"] = Gaussian(0.05)
    whole, cut = (run(case, case.problem(X, y, **options), cuts) for cuts in ([T], [1, T // 3, 0, 2, T - T // 3 - 3]))
    assert bits(whole) == bits(cut)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_chunked_equals_unchunked_where_the_first_pass_ends_on_rows_of_no_weight_to_speak_of(bias):
    # Λ reaches its full value by rounding before the last rows of the first pass are visited.
    X, y = tiny_rows(8)
    weight = np.full(8, 1e-20)
    weight[:2] = 1.0
    problem = Regularized(X, y, 0.1, weight=weight, bias=bias)
    for seed in range(6):
        case = LinearCase(S.SDCA("sgd", block_rows=8))
        assert bits(run(case, problem, [16], seed)) == bits(run(case, problem, [1] * 16, seed))


@every_case("kernel", "nu")
@pytest.mark.parametrize("how", ["no memory", "used before", "focused"])
def test_the_cache_changes_nothing(name, how):
    case = CASES[name]
    if isinstance(case, DeviceCase) and how == "no memory":
        pytest.skip("no row is kept on a device")
    if isinstance(case, OneClassCase) and how == "no memory":
        pytest.skip("its working sets are as large as the cache: another cache, another run")
    X, y = case.data()
    if how == "no memory":
        problem = case.problem(X, y, cache_bytes=0)
        assert problem.gram.capacity < case.n
    else:
        problem = case.problem(X, y)
        run(case, problem, [7], seed=5)
        if how == "focused":
            problem.gram.focus(np.arange(0, case.n, 3))
    state = run(case, problem, [case.T])
    assert bits(case.solver.solution(problem, state)) == uncut(name)[1]


@pytest.mark.slow
@every_case()
def test_looking_changes_nothing(name):
    case = CASES[name]
    T = min(case.T, 40)
    problem, looked_at = case.problem(*case.data()), case.problem(*case.data())
    state = case.solver.init(looked_at)
    for _ in range(T):
        state = case.solver.advance(looked_at, state, 1)
        looked_at.certificate(case.solver.solution(looked_at, state))
    undisturbed = case.solver.solution(problem, run(case, problem, [T]))
    assert_close(case, case.solver.solution(looked_at, state), undisturbed, tol=1e-9)


# --- 2: same seed, same result; data is never written -------------------------------------------


@every_case()
def test_same_seed_same_result(name):
    case = CASES[name]
    X, y = case.data(300)
    T = min(case.T, 40)
    problems = [case.problem(X, y) for _ in range(3)]
    first, second, other = (run(case, p, [T], seed) for p, seed in zip(problems, (3, 3, 4), strict=True))
    assert bits(first) == bits(second)
    assert (bits(first) == bits(other)) == (case.seed_moves == "nothing")
    if case.seed_moves == "answer":
        one, two = case.solver.solution(problems[0], first), case.solver.solution(problems[2], other)
        part = case.answer[0]
        assert np.abs(getattr(one, part) - getattr(two, part)).max() > 1e-6


@every_case()
@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["dense", "csr"])
def test_data_is_never_written(name, sparse):
    case = CASES[name]
    X, y = case.data()
    weight = 0.5 + weights(len(X))
    X = compressed(X) if sparse else X
    parts = [X.data, X.indices, X.indptr] if sparse else [X]
    parts += [weight] + ([] if y is None else [y])
    before = [a.tobytes() for a in parts]
    for a in parts:
        a.flags.writeable = False
    problem = case.problem(X, y, weight=weight)
    result = solve(problem, case.solver, stop=Stop(tol=1e-6, max_iter=case.T))
    problem.objective(result.solution)
    assert [a.tobytes() for a in parts] == before


@every_case()
def test_an_answer_given_out_is_no_view_of_the_state(name):
    case = CASES[name]
    problem = case.problem(*case.data())
    result = solve(problem, case.solver, stop=Stop(tol=0.0, max_iter=5))
    before = bits(result.solution)
    case.solver.advance(problem, result.state, 20)
    assert bits(result.solution) == before


# --- 3: dense, compressed and mapped agree ------------------------------------------------------

WITH_LONG_INDICES = {next(iter(family)) for family in FAMILIES.values()} | {"sdca", "newton", "block-dual"}
"""Cases with indices of 64 bits: solvers see them through `hinge.access`, whose own tests have both lengths."""


@pytest.mark.slow
@every_case()
def test_layouts_agree(name, tmp_path):
    case = CASES[name]
    X, y = case.data()
    np.save(tmp_path / "X.npy", X)
    frozen = X.copy()
    frozen.flags.writeable = False
    exact = {"mapped": np.load(tmp_path / "X.npy", mmap_mode="r"), "read-only": frozen}
    assert isinstance(exact["mapped"], np.memmap)
    long = np.int64 if name in WITH_LONG_INDICES else np.int32
    rounded = {
        "float32": X.astype(np.float32),
        "csr float32 int32": compressed(X),
        "csr float64": compressed(X, np.float64, long),
    }
    if isinstance(case, CellCase):
        rounded["tables"] = DenseTable(X, np.ascontiguousarray(X.T))
        rounded["sparse tables"] = SparseTable(compressed(X, np.float64), compressed(X, np.float64).tocsc())
    T = min(case.T, 40) if isinstance(case, KernelCase | SaddleCase) else case.T

    def answer(X):
        problem = case.problem(X, y)
        return case.solver.solution(problem, run(case, problem, [T]))

    expected = answer(X)
    for A in exact.values():
        assert bits(answer(A)) == bits(expected)
    for A in rounded.values():
        assert_close(case, answer(A), expected)


@pytest.mark.slow
@every_case("kernel", "nu")
def test_layouts_agree_through_a_polynomial(name):
    case = CASES[name]
    X, y = case.data()

    def answer(X):
        problem = case.problem(X, y, kernel=Polynomial(2, 0.5, 1.0))
        return case.solver.solution(problem, run(case, problem, [min(case.T, 40)]))

    expected = answer(X)
    long = np.int64 if name in WITH_LONG_INDICES else np.int32
    for A in (X.astype(np.float32), compressed(X), compressed(X, np.float64, long)):
        assert_close(case, answer(A), expected)


# --- 5: no iteration reads more than the solver says --------------------------------------------


@every_case()
@pytest.mark.parametrize("how", ["dense", pytest.param("csr", marks=pytest.mark.slow), "no cache", "by value"])
def test_what_an_iteration_reads_stays_within_the_bound(name, how):
    case, options = CASES[name], {}
    X, y = case.data(100)
    kernelized = isinstance(case, KernelCase | OneClassCase)
    if how in ("no cache", "by value") and not kernelized:
        pytest.skip("there is no cache of kernel values")
    if how == "by value":
        options["kernel"] = Function(lambda A, B: np.exp(-0.25 * ((A[:, None] - B) ** 2).sum(2)), on="blocks")
    if how == "no cache":
        options["cache_bytes"] = 0
    problem = case.problem(compressed(X) if how == "csr" else X, y, **options)
    before = spent(problem)
    state = case.solver.init(problem)
    total = 0
    for _ in range(min(case.T, 90)):
        allowed = bound(case.solver, problem, state)
        state = case.solver.advance(problem, state, 1)
        if by_kernel(problem):
            certify(case.solver, problem, state)  # a look is in the bound
        assert spent(problem) - before <= allowed
        total, before = total + spent(problem) - before, spent(problem)
    assert total > 0


@every_case("kernel")
def test_so_it_does_for_a_state_that_comes_to_an_empty_cache(name):
    case = CASES[name]
    X, y = case.data(100)
    problem = case.problem(X, y, lam=0.001)
    state = case.solver.init(problem)
    for _ in range(min(case.T, 20)):
        other, copy = case.problem(X, y, lam=0.001), pickle.loads(pickle.dumps(state))
        allowed = bound(case.solver, other, copy)
        copy = case.solver.advance(other, copy, 1)
        certify(case.solver, other, copy)
        assert spent(other) <= allowed
        state = case.solver.advance(problem, state, 1)


@pytest.mark.slow
@every_case()
def test_a_budget_is_never_exceeded(name):
    case = CASES[name]
    X, y = case.data()
    A = X if isinstance(case, KernelCase | OneClassCase) else compressed(X)
    kernel = by_kernel(case.problem(A, y))
    unit = case.n if kernel else A.nnz
    most = 20 * case.T
    for limit in (0, 1, 7, unit - 1, unit, 3 * unit + 1, 20 * unit):
        problem = case.problem(A, y)
        case.solver.init(problem)
        if spent(problem) > limit:  # the defect that the next test shows
            continue
        problem = case.problem(A, y)
        budget = {"max_kernel_evals": limit} if kernel else {"max_reads": limit}
        result = solve(problem, case.solver, stop=Stop(tol=0, max_iter=most, **budget))
        assert spent(problem) <= limit
        assert result.status in (Status.MAX_READS, Status.MAX_KERNEL_EVALS, Status.MAX_ITER, *ENDED)
        assert finite(case, result.solution)


BEGINNINGS = [
    pytest.param(name, marks=pytest.mark.xfail(reason="it starts from the mean of some rows", strict=True))
    if name == "primal-dual-ball"
    else name
    for name in CASES
    if needed_by(CASES[name]) is None
]


@pytest.mark.parametrize("name", BEGINNINGS)
def test_nothing_is_read_before_the_first_iteration(name):
    case = CASES[name]
    problem = case.problem(*case.data())
    case.solver.init(problem)
    assert spent(problem) == 0


# --- 6: the state is a plain value, and a run goes on from it -----------------------------------


@every_case()
def test_state_is_a_plain_value(name):
    case = CASES[name]
    problem = case.problem(*case.data())
    state = case.solver.init(problem)
    shapes, t = [b[:3] for b in bits(state)], 0
    for n in (1, case.T // 3, case.T - case.T // 3 - 1):
        state = case.solver.advance(problem, state, n)
        t += n
        if ("NoneType", (), "|O") in shapes and len(bits(state)) != len(shapes):  # a part that was not there has come
            shapes = [b[:3] for b in bits(state)]
        for (kind, shape, dtype, _), (first, form, number) in zip(bits(state), shapes, strict=True):
            length = shape[:1] if form[:1] == (0,) else form[:1]  # what is empty at first may grow
            assert (kind, shape, dtype) == (first, length + form[1:], number)
        assert 0 < iterations(case.solver, state) <= t
        copy = pickle.loads(pickle.dumps(state))
        assert type(copy) is type(state)
        assert bits(copy) == bits(state)
        other = pickle.loads(pickle.dumps(problem)) if isinstance(case, CellCase) else case.problem(*case.data())
        on = case.solver.advance(other, copy, 5)  # where nothing is in a cache
        state = case.solver.advance(problem, state, 5)
        t += 5
        assert bits(on) == bits(state)


@pytest.mark.slow
@every_case()
def test_solving_on_from_a_state_equals_solving_through(name):
    case = CASES[name]
    problem = case.problem(*case.data())
    first = solve(problem, case.solver, stop=Stop(tol=0, max_iter=case.T // 2))
    state = pickle.loads(pickle.dumps(first.state))
    if isinstance(case, KernelCase | OneClassCase):
        problem = case.problem(*case.data())  # where nothing is in the cache
    resumed = solve(problem, case.solver, state=state, stop=Stop(tol=0, max_iter=case.T))
    through = solve(case.problem(*case.data()), case.solver, stop=Stop(tol=0, max_iter=case.T))
    assert resumed.n_iter == through.n_iter
    if isinstance(case.solver, S.PrimalDual):  # it keeps the best of its looks: this run had one more
        best = {"best_x": 0, "best_p": 0, "s": 0}
        assert bits(resumed.state._replace(**best)) == bits(through.state._replace(**best))
    else:
        assert bits(resumed.solution) == bits(through.solution)


# --- 7: a certificate is never below the true suboptimality -------------------------------------


def stages(case):
    return (1, 4, 20) if case.T < 20 else (1, 30, 120)


@every_case()
def test_certificate_covers_the_optimum(name):
    """On one problem each; `tests/certificates` draws others."""
    case, seed = CASES[name], 0
    problem, check = case.certified(seed)
    state = case.solver.init(problem, seed)
    for n in stages(case):
        state = case.solver.advance(problem, state, n)
        answer = case.solver.solution(problem, state)
        check(problem.certificate(answer), answer)
    problem, check = case.certified(seed)
    result = solve(problem, case.solver, stop=Stop(tol=1e-3, max_iter=400), seed=seed)
    if np.isfinite(result.certificate.gap):
        check(result.certificate, result.solution)


EXACT = (
    "SDCA",
    "CoCoA",
    "RowSpace",
    "Switch",
    "MulticlassSDCA",
    "MulticlassNewton",
    "StaleSDCA",
    "Newton",
    "FiniteNewton",
    "CentralPath",
    "InteriorPoint",
    "BlockDual",
    "ActiveSet",
    "KernelSDCA",
    "SMO",
    "Frugal",
)
EXACT += ("CDN", "DeviceNewton", "DeviceBlock", "WorkingSet", "ByTurns", "CoreSet", "PDHG", "LevelBlocks")


@every_case()
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_exact_solvers_reach_the_optimum(name, seed):
    case = CASES[name]
    if type(case.solver).__name__ not in EXACT:
        pytest.skip("the method is not made for an exact answer")
    problem, check = case.certified(seed)
    tol = {LinearCase: 1e-6, MulticlassCase: 1e-6, KernelCase: 1e-4}.get(type(case), 1e-3)
    result = solve(problem, case.solver, stop=Stop(tol=tol, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= tol
    check(result.certificate, result.solution)


def test_a_method_without_a_dual_claims_nothing():
    problem = CASES["perceptron"].problem(*tiny_rows())
    result = solve(problem, S.Perceptron(passes=2), stop=Stop(tol=1.0))
    assert result.status is Status.FINISHED
    assert result.certificate.gap == np.inf
    assert np.isfinite(result.certificate.objective)


# --- 8: the same without the JIT ----------------------------------------------------------------


@pytest.mark.slow
def test_without_the_jit(tmp_path):
    target = tmp_path / "answers.pickle"
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-m", "laws.answers", str(target)], env=environment, check=True, timeout=300)
    plain = pickle.loads(target.read_bytes())
    compiled = tiny_answers()
    assert plain.keys() == compiled.keys()
    for key, (answer, certificate, read) in compiled.items():
        tol = CASES[key[0]].tol
        for one, other in zip(plain[key][0], answer, strict=True):
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=tol, atol=tol, err_msg=str(key))
        np.testing.assert_allclose(plain[key][1], certificate, rtol=tol, atol=tol, err_msg=str(key))
        assert plain[key][2] == (read if CASES[key[0]].same_reads else pytest.approx(read, rel=0.1)), key


# --- 9: Ctrl-C and a limit give the best so far -------------------------------------------------


@every_case()
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_at_a_look_keeps_the_answer_and_the_run_can_go_on(name):
    case = CASES[name]
    problem = case.problem(*case.data())

    def press(record, solution):
        os.kill(os.getpid(), signal.SIGINT)

    stop = Stop(tol=0, max_iter=case.T)
    result = solve(problem, case.solver, stop=stop, callbacks=[press], on_interrupt="keep")
    assert result.status is Status.INTERRUPTED
    assert 0 < result.n_iter <= case.T
    assert finite(case, result.solution)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    expected = case.problem(*case.data())
    state = run(case, expected, [result.n_iter])
    given = expected.final_answer(case.solver.solution(expected, state), result.certificate)
    assert bits(given[:1]) == bits(result.solution[:1])
    with pytest.raises(KeyboardInterrupt):
        solve(case.problem(*case.data()), case.solver, stop=stop, callbacks=[press])


@pytest.mark.slow
@every_case()
def test_a_time_limit_gives_the_answer_so_far(name):
    case = CASES[name]
    for _ in range(5):  # the first runs may compile what they meet
        began = time.process_time()  # others may use the machine, too
        result = solve(case.problem(*case.data(200)), case.solver, stop=Stop(tol=0, max_time=0.05))
        if (took := time.process_time() - began) < 2.0:
            break
    assert took < 2.0
    assert result.status in (Status.MAX_TIME, *ENDED)
    assert result.n_iter > 0
    assert finite(case, result.solution)


@every_case()
def test_iteration_limit_is_exact(name):
    case = CASES[name]
    for limit in (0, 1, 7, 61):
        result = solve(case.problem(*case.data()), case.solver, stop=Stop(tol=0, max_iter=limit))
        # They come to an end:
        few = S.InteriorPoint | S.MulticlassNewton | S.Newton | S.FiniteNewton | S.CentralPath | S.DeviceNewton
        if isinstance(case, LinearCase | MulticlassCase) and not isinstance(case.solver, few):
            assert result.status is Status.MAX_ITER
        assert result.n_iter == limit or (result.status in ENDED and result.n_iter < limit)


ENDLESS = {
    "pegasos": LinearCase(S.Pegasos()),
    "sdca": LinearCase(S.SDCA(), bias="free"),
    "cocoa": LinearCase(S.CoCoA(least=1 << 10), bias="free"),
    "stale": LinearCase(S.StaleSDCA(), bias="free"),
    "multiclass-sdca": MulticlassCase(S.MulticlassSDCA(), k=5),
    "multiclass-pegasos": MulticlassCase(S.MulticlassPegasos(), k=5),
    "cutting": LinearCase(S.CuttingPlane(), bias="penalized"),
    "norma": LinearCase(S.Norma()),
    "sgd": LinearCase(S.SGD(), ball=True),
    "perceptron": LinearCase(S.Perceptron(passes=10**9)),
    "amplified": LinearCase(S.Amplified(horizon=10**10)),
    "block-dual": KernelCase(S.BlockDual()),
    "block-dual-free": KernelCase(S.BlockDual(block=16), bias="free"),
    "kernel-pegasos": KernelCase(S.KernelPegasos()),
    "kernel-sdca": KernelCase(S.KernelSDCA()),
    "kernel-perceptron": KernelCase(S.KernelPerceptron(passes=10**9)),
    "sbp": KernelCase(S.SBP(batch_size=8, passes=10**9), bias="free", slack=True),
    "smo": KernelCase(S.SMO(), bias="free"),
    "simba": CellCase(S.Simba("exact"), nu=0.1),
    "simba-lazy": CellCase(S.Simba("lazy"), nu=0.1),
    "primal-dual": SaddleCase(S.PrimalDual()),
    "grigoriadis-khachiyan": SaddleCase(S.GrigoriadisKhachiyan(), kind="game"),
}
every_endless = pytest.mark.parametrize("case", ENDLESS.values(), ids=ENDLESS.keys())


@pytest.fixture
def warm(adult):
    """A problem for which all code is compiled, so that no compilation is timed."""

    def make(case):
        options = {
            LinearCase: {"lam": 1e-4},
            MulticlassCase: {"lam": 1e-4},
            KernelCase: {"lam": 1e-7, "kernel": Gaussian(0.05)},
        }

        def problem():
            return case.problem(*adult, **options.get(type(case), {}))

        solve(problem(), case.solver, stop=Stop(tol=1e-9, max_iter=3))
        return problem()

    return make


@pytest.mark.slow
@every_endless
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_returns_the_answer_so_far(case, warm):
    problem = warm(case)
    sent = interrupt_after(0.15)
    result = solve(problem, case.solver, stop=Stop(tol=0, max_time=20), on_interrupt="keep")
    assert time.perf_counter() - sent[0] < 1.0
    assert result.status is Status.INTERRUPTED
    assert result.n_iter > 0
    assert finite(case, result.solution)
    assert np.isfinite(problem.objective(result.solution))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # and the state it leaves is whole
    on = solve(problem, case.solver, state=result.state, stop=Stop(tol=0, max_iter=result.n_iter + 1))
    assert on.n_iter == result.n_iter + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pegasos", "multiclass-sdca", "block-dual", "simba", "primal-dual"])  # of each family
@pytest.mark.usefixtures("interruptible")
def test_interrupted_it_raises(name, warm):
    case = ENDLESS[name]
    problem = warm(case)

    def mine(signum, frame):
        raise AssertionError("the solver's own handler should be in place")

    signal.signal(signal.SIGINT, mine)
    sent = interrupt_after(0.15)
    with pytest.raises(KeyboardInterrupt):
        solve(problem, case.solver, stop=Stop(tol=0, max_time=20))
    assert time.perf_counter() - sent[0] < 1.0
    assert signal.getsignal(signal.SIGINT) is mine


@pytest.mark.slow
@every_endless
def test_time_budget(case, warm):
    problem = warm(case)
    result = within(0.15, 0.8, lambda: solve(problem, case.solver, stop=Stop(tol=0, max_time=0.2)))
    assert result.status is Status.MAX_TIME
    assert finite(case, result.solution)
