"""Kernel rows through torch, on the CPU where there is no GPU: the same interface, the same values."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC
from hinge.access import Gram, as_points
from hinge.access.gram import device
from hinge.kernels import Function, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from hinge.monitoring import Stop
from hinge.problems import KernelNuClassification, KernelNuRegression, KernelRegularized, KernelSlackConstrained
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.solvers import SBP, BlockDual, LevelBlocks, solve

KERNELS = [Gaussian(0.3), Polynomial(2, 0.1, 1.0), Linear(), Laplacian(0.2), Sigmoid(0.01, 0.1)]
has_torch = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")
needs_gpu = pytest.mark.skipif(
    not has_torch or not importlib.import_module("torch").cuda.is_available(), reason="torch finds no GPU"
)
DEVICES = [pytest.param("cpu", marks=needs_torch), pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("bias", ["free", "none"])
def test_regression_is_that_of_the_cpu(points, where, bias):
    X, y = points
    t = np.sin(X[:, 0]) + 0.3 * y
    grams = device.DeviceGram(X, Gaussian(0.3), where), Gram(as_points(X, Gaussian(0.3), exact=True))
    problems = [KernelRegularized.from_C(g, t, 3.0, bias=bias, loss=epsilon_insensitive(0.1)) for g in grams]
    ours, theirs = (solve(p, BlockDual(block=32), stop=Stop(1e-3)).certificate for p in problems)
    assert max(ours.gap, theirs.gap) <= 1e-3
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-3)


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)).astype(np.float32) + 3
    return X, np.where(X[:, 0] * X[:, 1] + 2 * rng.standard_normal(300) > 9, 1, -1)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_values_are_those_of_the_cpu(points, kernel, where):
    X, _ = points
    ours, theirs = device.DeviceGram(X, kernel, where), Gram(as_points(X, kernel, exact=True))
    i, coef = np.array([3, 7, 7, 299]), np.array([1.0, -2.0, 0.5, 1.0])
    expected = theirs.combine(i, coef)
    size = np.abs(expected).max()
    np.testing.assert_allclose(ours.host(ours.combine(i, coef)), expected, atol=1e-5 * size)
    np.testing.assert_allclose(ours.host(ours.rows(i).combine(coef)), expected, atol=1e-5 * size)
    np.testing.assert_allclose(ours.rows(i).block(), theirs.rows(i).block(), atol=1e-5 * size)
    some = np.array([5, 0])
    np.testing.assert_allclose(ours.host(ours.pass_over(i, coef, some)), expected[some], atol=1e-5 * size)
    np.testing.assert_allclose(ours.diag, theirs.diag, rtol=1e-5)
    assert ours.evals == ours.asked == 4 * 4 * 300


@needs_torch
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_several_sets_at_once(points, kernel, monkeypatch):
    monkeypatch.setattr(device, "TILE_ROWS", 7)
    gram, rng = device.DeviceGram(points[0], kernel, "cpu"), np.random.default_rng(0)
    i, rows = (gram.array(rng.integers(0, 300, (2, size))) for size in (5, 20))
    coef = gram.array(rng.standard_normal((2, 5)))
    among, sums = gram.among(i), gram.sums(rows, i, coef)
    assert gram.evals == 2 * 5 * 5 + 2 * 5 * 20
    for q in range(2):
        np.testing.assert_allclose(among[q], gram.among(i[q]), rtol=1e-6)
        np.testing.assert_allclose(sums[q], gram.combine(i[q], coef[q])[rows[q]], rtol=1e-4, atol=1e-4)


@needs_torch
def test_a_part_copies_its_points_when_they_are_used(points):
    whole = device.DeviceGram(points[0], Gaussian(0.3), "cpu")
    part = whole.part(np.arange(10, 110)).part(np.array([5, 90]))
    assert part.n == 2 and part.at.tolist() == [15, 100] and part.origin is whole and "_points" not in vars(part)
    expected = whole.host(whole.combine([15, 100], [1.0, -2.0]))[[15, 100]]
    np.testing.assert_allclose(part.host(part.combine([0, 1], [1.0, -2.0])), expected, rtol=1e-6)
    assert part.evals == 4 and part.finer.n == 2 and whole.finer.n == 300


@needs_torch
def test_tiles_cover_everything(points, monkeypatch):
    X, _ = points
    whole = device.DeviceGram(X, Gaussian(0.3), "cpu")
    expected = whole.host(whole.combine(np.arange(9), np.ones(9)))
    monkeypatch.setattr(device.DeviceGram, "_tile_columns", lambda self, rows: 70)
    np.testing.assert_allclose(whole.host(whole.combine(np.arange(9), np.ones(9))), expected, rtol=1e-6)
    np.testing.assert_allclose(whole.host(whole.rows(np.arange(9)).combine(np.ones(9))), expected, rtol=1e-6)


@needs_torch
def test_memory_that_runs_out_makes_smaller_tiles_and_then_says_so(points, monkeypatch):
    torch = importlib.import_module("torch")
    gram = device.DeviceGram(np.repeat(points[0], 20, axis=0), Gaussian(0.3), "cpu")
    real, limit = gram._values, 2000

    def short(mine, sq, others, sq_others):
        if len(others) > limit:
            raise torch.cuda.OutOfMemoryError("none left")
        return real(mine, sq, others, sq_others)

    monkeypatch.setattr(gram, "_values", short)
    with pytest.warns(RuntimeWarning, match="GPU memory is short"):
        total = gram.host(gram.combine(np.arange(3), np.ones(3)))
    assert np.isfinite(total).all()
    limit = 10
    with pytest.warns(RuntimeWarning, match="short"), pytest.raises(MemoryError, match="smaller batches"):
        gram.combine(np.arange(3), np.ones(3))


@pytest.mark.parametrize("where", DEVICES)
def test_sparse_bytes_and_read_only_points(points, where):
    X, _ = points
    whole = (X * 10).astype(np.uint8)
    expected = Gram(as_points(whole.astype(np.float64), Gaussian(1e-3), exact=True)).combine([0, 1], [1.0, 1.0])
    frozen = whole.copy()
    frozen.flags.writeable = False
    for points_ in (whole, frozen, sp.csr_array(whole.astype(np.float32)), whole.astype(np.float64)):
        gram = device.DeviceGram(points_, Gaussian(1e-3), where)
        np.testing.assert_allclose(gram.host(gram.combine([0, 1], [1.0, 1.0])), expected, rtol=1e-4)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_lower_precision_is_close(points, where, precision):
    X, _ = points
    exact = device.DeviceGram(X, Gaussian(0.3), where)
    rough = device.DeviceGram(X, Gaussian(0.3), where, precision)
    a, b = (gram.host(gram.combine([0, 1], [1.0, 1.0])) for gram in (exact, rough))
    np.testing.assert_allclose(a, b, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("solver", [SBP(), SBP(8), SBP(5, output="best"), SBP(4, output="last", keep_p=True)])
def test_sbp_agrees_with_the_cpu_on_the_same_draws(points, solver, bias, where):
    X, y = points
    answers = []
    for gram in (Gram(as_points(X, Gaussian(0.3))), device.DeviceGram(X, Gaussian(0.3), where)):
        problem = KernelSlackConstrained(gram, y, 0.02, bias=bias)
        state = solver.advance(problem, solver.init(problem, 0), 60)
        answers.append(solver.solution(problem, state))
        if solver.keep_p:
            assert np.isfinite(solver.bound(problem, state))
    np.testing.assert_allclose(answers[0].beta, answers[1].beta, atol=1e-5)
    np.testing.assert_allclose(answers[0].responses, answers[1].responses, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_block_solver_certifies_the_same_optimum(points, bias, weighted, where):
    X, y = points
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    found = []
    for gram in (Gram(as_points(X, Gaussian(0.3))), device.DeviceGram(X, Gaussian(0.3), where)):
        problem = KernelRegularized.from_C(gram, y, 1.0, bias=bias, weight=weight)
        found.append(solve(problem, BlockDual(block=32), stop=Stop(tol=1e-4)).certificate)
    assert max(c.gap for c in found) <= 1e-4
    assert found[0].objective == pytest.approx(found[1].objective, rel=2e-4)


@needs_torch
def test_what_a_device_cannot_do(points):
    X, _ = points
    with pytest.raises(ValueError, match="on the host"):
        device.DeviceGram(X, Function(min), "cpu")
    with pytest.raises(ValueError, match="precision is"):
        device.DeviceGram(X, Linear(), "cpu", "fp8")


def test_no_torch_is_a_sentence(points, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = points
    with pytest.raises(ImportError, match="needs torch, which is not installed"):
        SVC(device="cuda").fit(X, y)


@needs_torch
def test_no_gpu_is_a_sentence(points):
    torch = importlib.import_module("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    X, y = points
    with pytest.raises(RuntimeError, match="finds no GPU"):
        SVC(device="cuda").fit(X, y)


@pytest.mark.slow
def test_the_cpu_never_imports_torch():
    code = (
        "import sys, numpy as np; from hinge import SVC; X = np.random.default_rng(0).random((50, 3));"
        "SVC().fit(X, X[:, 0] > 0.5).predict(X); print('torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


@pytest.mark.parametrize("where", DEVICES)
def test_sums_over_support_vectors(points, where):
    X, _ = points
    coef = np.random.default_rng(1).standard_normal((2, 40))
    for kernel in KERNELS:
        expected = np.stack([Gram(as_points(X, kernel, exact=True)).combine(np.arange(40), row) for row in coef], 1)
        sums = device.kernel_sums_on(where, X, X[:40], coef, kernel)
        np.testing.assert_allclose(sums, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.sampled
@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("regression", [False, True])
def test_machines_with_nu_are_the_same_there(where, regression):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 0, 1, -1)

    def answer(gram):
        problem = KernelNuRegression(gram, X[:, 0], 0.3) if regression else KernelNuClassification(gram, y, 0.5)
        return solve(problem, LevelBlocks(first=64, block=32), stop=Stop(1e-4))

    host = answer(Gram(as_points(X, Gaussian(0.3), exact=True)))
    there = answer(device.DeviceGram(X, Gaussian(0.3), device=where))
    assert there.certificate.gap <= 1e-4
    size = np.abs(host.solution.responses).max()
    np.testing.assert_allclose(there.solution.responses, host.solution.responses, atol=0.02 * size)
