"""All pairs at once: the optimum of each, certified, whatever the memory holds."""

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


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize(("bias", "C", "weighted"), [("free", 1.0, False), ("none", 1.0, True), ("free", 10.0, True)])
def test_each_has_the_optimum_of_the_host(points, where, bias, C, weighted):
    from hinge.solvers.kernel.device_pairs import solve_pairs

    kernel = Gaussian(0.2)
    problems = pairs_of(device.DeviceGram(points, kernel, where), bias, C, weighted)
    theirs = pairs_of(lambda rows: Gram(as_points(points[rows], kernel, exact=True)), bias, C, weighted)
    for result, problem, other in zip(
        solve_pairs(problems, DeviceBlock(block=32), 1e-3), problems, theirs, strict=True
    ):
        best = solve(other, BlockDual(), stop=Stop(1e-4)).certificate.objective
        assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-3
        assert result.certificate.objective == pytest.approx(best, rel=1.2e-3)
        assert other.objective(result.solution) == pytest.approx(result.certificate.objective, rel=1e-6)
        assert (result.solution.beta * problem.y >= 0).all() and result.n_iter > 1
        assert not {"_points", "_given"} & set(vars(problem.gram))  # no pair keeps a copy of its points


def test_memory_for_one_pair_at_a_time_does(points, monkeypatch):
    from hinge.solvers.kernel.device_pairs import solve_pairs

    gram = device.DeviceGram(points, Gaussian(0.2), "cpu")
    expected = [one.certificate.objective for one in solve_pairs(pairs_of(gram), DeviceBlock(block=32), 1e-4)]
    monkeypatch.setattr(device.DeviceGram, "free", lambda self: 1)
    found = solve_pairs(pairs_of(gram), DeviceBlock(block=32), 1e-4)
    assert [one.certificate.objective for one in found] == pytest.approx(expected, rel=2e-4)


def test_who_is_not_done_says_so(points):
    from hinge.solvers.kernel import device_pairs

    gram = device.DeviceGram(points, Gaussian(0.2), "cpu")
    found = device_pairs.solve_pairs(pairs_of(gram, C=100.0), DeviceBlock(block=16), 1e-6, ends=0.0)
    assert {one.n_iter for one in found} == {1}
    assert all(one.status is Status.STALLED and 1e-6 < one.certificate.gap < np.inf for one in found)
