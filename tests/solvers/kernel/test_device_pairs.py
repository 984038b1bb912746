"""All pairs jointly: the optimum of each, certified, whatever fits into memory."""

import importlib

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized
from hinge.solvers import BlockDual, DeviceBlock, solve

torch = pytest.importorskip("torch")
device = importlib.import_module("hinge.access.gram.device")
device_pairs = importlib.import_module("hinge.solvers.kernel.device_pairs")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]
SIZES = 150, 120, 90


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((sum(SIZES), 4)).astype(np.float32) + np.repeat(np.eye(3, 4), SIZES, axis=0)


def pairs_of(gram, bias="free", C=1.0, weighted=False):
    """The three pairs of three classes, of different numbers of points."""
    cuts, problems = np.concatenate([[0], np.cumsum(SIZES)]), []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        rows = np.concatenate([np.arange(cuts[k], cuts[k + 1]) for k in (i, j)])
        y = np.repeat([1, -1], [SIZES[i], SIZES[j]])
        weight = np.random.default_rng(i + j).integers(0, 3, len(y)).astype(float) if weighted else None
        part = gram.part(rows) if isinstance(gram, device.DeviceGram) else gram(rows)
        problems.append(KernelRegularized.from_C(part, y, C, bias=bias, weight=weight))
    return problems


def run(problems, tol, block=32, **limits):
    """The results of the batches of some problems."""
    settings = DeviceBlock(block=block)
    solver = device_pairs.DevicePairs(settings, tol)
    return [solve(batch, solver, stop=Stop(tol=tol, **limits)) for batch in device_pairs.batches_of(problems, settings)]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(("bias", "C", "weighted"), [("free", 1.0, False), ("none", 1.0, True), ("free", 10.0, True)])
def test_each_has_the_optimum_of_the_host(points, where, bias, C, weighted):
    kernel = Gaussian(0.2)
    problems = pairs_of(device.DeviceGram(points, kernel, where), bias, C, weighted)
    theirs = pairs_of(lambda rows: Gram(as_points(points[rows], kernel, exact=True)), bias, C, weighted)
    (result,) = run(problems, 1e-3)
    assert result.status is Status.CONVERGED and result.n_iter > 1
    assert result.history[-1].kernel_evals == sum(problem.kernel_evals for problem in problems) > 0
    for answer, certificate, problem, other in zip(
        result.solution.members, result.certificate.members, problems, theirs, strict=True
    ):
        best = solve(other, BlockDual(), stop=Stop(1e-4)).certificate.objective
        assert certificate.gap <= 1e-3 and certificate.objective == pytest.approx(best, rel=1.2e-3)
        assert other.objective(answer) == pytest.approx(certificate.objective, rel=1e-6)
        assert (answer.beta * problem.y >= 0).all()
        assert not {"_points", "_given"} & set(vars(problem.gram))  # no pair keeps a copy of its points


def test_memory_for_one_pair_at_a_time_does(points, monkeypatch):
    gram = device.DeviceGram(points, Gaussian(0.2), "cpu")
    expected = [one.objective for one in run(pairs_of(gram), 1e-4)[0].certificate.members]
    monkeypatch.setattr(device.DeviceGram, "free", lambda self: 1)
    found = run(pairs_of(gram), 1e-4)
    assert len(found) == 3 and all(one.status is Status.CONVERGED for one in found)
    assert [one.certificate.objective for one in found] == pytest.approx(expected, rel=2e-4)


def test_limits_and_stalling_are_said(points):
    gram = device.DeviceGram(points, Gaussian(0.2), "cpu")
    (result,) = run(pairs_of(gram, C=100.0), 1e-6, block=16, max_iter=1)
    assert result.status is Status.MAX_ITER and result.n_iter == 1
    assert all(1e-6 < one.gap < np.inf for one in result.certificate.members)
    (result,) = run(pairs_of(gram, C=100.0), 1e-15, block=16)
    assert result.status is Status.STALLED and result.n_iter == device_pairs.DevicePairs().most


def test_it_is_for_batches_on_a_device(points):
    problem = pairs_of(lambda rows: Gram(as_points(points[rows], Gaussian(0.2))))[0]
    with pytest.raises(ValueError, match="several problems over one DeviceGram"):
        solve(problem, device_pairs.DevicePairs())
